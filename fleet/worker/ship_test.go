package worker

// The shipper with a hub that seals in order, over a connection that loses, duplicates, delays and
// reorders messages.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ac/events"
	"ac/fleet"
	"ac/internal/durable"
	"ac/workspace/doc"
)

// road is a log, its shipper, and the hub at the other end.
type road struct {
	t       failing
	dir     string
	fs      durable.FS
	shipper *shipper
	now     time.Duration
	lines   int
	want    []string // ids of the drafts that are in the log, in order
	flying  [][]byte // published batches that have not arrived
	seen    map[string]bool
	sealed  []string
	size    int64            // of the log
	ends    map[string]int64 // where each draft's line ends in the log
	durable int64            // how far the log was synced
	down    bool
	loses   int // how many of the next messages get no answer; every second one of them arrives
}

// failing is what the tests use of testing.T and rapid.T.
type failing interface {
	Fatal(args ...any)
	Context() context.Context
}

func newRoad(t failing, dir string) *road {
	root, err := durable.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	r := &road{t: t, dir: dir, fs: root, seen: map[string]bool{}, ends: map[string]int64{}}
	first := logged("evt_0", "other", "run.started")
	if err := os.WriteFile(filepath.Join(dir, "log"), []byte(first), 0o600); err != nil {
		t.Fatal(err)
	}
	r.size = int64(len(first))
	r.begin(0, 0)
	return r
}

// begin creates the shipper of a new worker process.
func (r *road) begin(sealed, generation int64) {
	r.shipper = newShipper(shipperConfig{
		attempt: "a", session: "s", publish: r.publish, news: func() fleet.Record { return fleet.Record{} }, spec: func() *doc.Spec { return nil },
		log:     r.open,
		elapsed: func() time.Duration { return r.now },
		put:     func(context.Context, []byte) (string, error) { return "", errors.New("no object store") },
	}, 0, sealed, generation)
}

func logged(id, session, kind string) string {
	return fmt.Sprintf(`{"session_ref":%q,"type":%q,"payload":{"stream":"stdout"},"event_id":%q,"actor":"system","visibility":"org"}`+"\n", session, kind, id)
}

// grow appends n lines of one kind to the log.
func (r *road) grow(n int, kind, session string) {
	var text strings.Builder
	for range n {
		r.lines++
		id := fmt.Sprintf("evt_%d", r.lines)
		if kind == "torn" {
			text.WriteString(`{"session_re` + "\n")
			continue
		}
		text.WriteString(logged(id, session, kind))
		if session == "s" && kind == events.ProviderRaw {
			r.want = append(r.want, id)
			r.ends[id] = r.size + int64(text.Len())
		}
	}
	file, err := os.OpenFile(filepath.Join(r.dir, "log"), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = file.WriteString(text.String())
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		r.t.Fatal(err)
	}
	r.size += int64(text.Len())
}

// open opens the log.
func (r *road) open() (durable.File, error) {
	file, err := readLog(r.fs, "log")
	return &syncedFile{file, r}, err
}

// syncedFile is the log. It records how far the log was synced.
type syncedFile struct {
	durable.File
	road *road
}

func (f *syncedFile) SyncData() error {
	f.road.durable = f.road.size
	return f.File.SyncData()
}

func (r *road) publish(_ context.Context, id string, body []byte) (stored func(context.Context) error, err error) {
	if r.down {
		return nil, errors.New("down")
	}
	var b fleet.Batch
	if err := json.Unmarshal(body, &b); err != nil {
		r.t.Fatal(err)
	}
	for _, d := range b.Drafts {
		if r.ends[d.ID] > r.durable {
			r.t.Fatal("a draft is published that is not on the disk", d.ID)
		}
	}
	stored = atOnce
	if r.loses > 0 {
		r.loses--
		stored = func(context.Context) error { return errors.New("lost") }
		if r.loses%2 == 0 {
			return stored, nil
		}
	}
	if !r.seen[id] { // otherwise the carrier drops it as a duplicate
		r.seen[id] = true
		r.flying = append(r.flying, slices.Clone(body))
	}
	return stored, nil
}

// atOnce is the result of publishing a message that the carrier has stored already.
func atOnce(context.Context) error { return nil }

// arrive delivers a batch to the hub.
func (r *road) arrive(body []byte) {
	var b fleet.Batch
	if err := json.Unmarshal(body, &b); err != nil {
		r.t.Fatal(err)
	}
	next := int64(len(r.sealed)) + 1
	if b.First > next {
		r.shipper.from(next)
		return
	}
	for i, d := range b.Drafts {
		if b.First+int64(i) == int64(len(r.sealed))+1 {
			r.sealed = append(r.sealed, d.ID)
		}
	}
}

func (r *road) step() {
	for more := true; more; {
		var err error
		if more, err = r.shipper.step(r.t.Context()); err != nil {
			return
		}
	}
}

func TestShipperModel(tt *testing.T) {
	tt.Parallel()
	base, examples := tt.TempDir(), 0
	rapid.Check(tt, func(t *rapid.T) {
		examples++
		dir := filepath.Join(base, fmt.Sprint(examples))
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		r := newRoad(t, dir)
		defer func() {
			_ = r.fs.Close()
			_ = os.RemoveAll(dir) // the end of the test removes what is left
		}()
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 12).Draw(t, "what") {
			case 0, 1, 2:
				r.grow(rapid.IntRange(1, 400).Draw(t, "lines"), events.ProviderRaw, "s")
			case 3:
				r.grow(1, rapid.SampledFrom([]string{"policy.denied", "budget.alert", "run.ended", "torn", "run.continued"}).Draw(t, "kind"), "s")
				r.grow(1, events.ProviderRaw, "another session")
			case 4, 5:
				r.step()
			case 6, 7:
				if len(r.flying) > 0 {
					at := rapid.IntRange(0, len(r.flying)-1).Draw(t, "which")
					r.arrive(r.flying[at])
					if rapid.Bool().Draw(t, "once") {
						r.flying = slices.Delete(r.flying, at, at+1)
					}
				}
			case 8:
				r.flying = nil // the carrier's store was deleted
			case 9:
				r.shipper.seal(int64(len(r.sealed)))
			case 10:
				r.shipper.reset(int64(len(r.sealed))) // a new connection
			case 11:
				_, sealed, generation := r.shipper.state()
				r.begin(min(sealed, int64(rapid.IntRange(0, len(r.sealed)).Draw(t, "remembered"))), generation+1) // a restart
			case 12:
				r.now += time.Duration(rapid.IntRange(0, 40).Draw(t, "seconds")) * time.Second
				r.down = rapid.IntRange(0, 3).Draw(t, "down") == 0
				r.loses = rapid.IntRange(0, 3).Draw(t, "loses")
				r.shipper.overdue()
			}
			if len(r.sealed) > len(r.want) || !slices.Equal(r.sealed, r.want[:len(r.sealed)]) {
				t.Fatalf("sealed %v", r.sealed)
			}
		}
		r.down, r.loses = false, 0
		for range 200 { // nothing is lost from here on
			r.step()
			for _, body := range r.flying {
				r.arrive(body)
			}
			r.flying = nil
			r.shipper.seal(int64(len(r.sealed)))
			r.now += time.Minute
			r.shipper.overdue()
			if len(r.sealed) == len(r.want) {
				break
			}
		}
		if diff := cmp.Diff(r.want, r.sealed); diff != "" {
			t.Fatalf("not everything arrived once and in order: %s", diff)
		}
		if newest, err := r.shipper.newest(); err != nil || newest != int64(len(r.want)) {
			t.Fatalf("the newest is %d, %v, want %d", newest, err, len(r.want))
		}
	})
}

func TestShipperBatches(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, fleet.MaxBatchDrafts, fleet.MaxBatchDrafts + 1, fleet.MaxBatchDrafts * (fleet.MaxUnderWay + 2)} {
		r := newRoad(t, t.TempDir())
		r.grow(n, events.ProviderRaw, "s")
		r.step()
		batches := (n + fleet.MaxBatchDrafts - 1) / fleet.MaxBatchDrafts
		if len(r.flying) != min(batches, fleet.MaxUnderWay) {
			t.Errorf("%d batches are under way for %d drafts", len(r.flying), n)
		}
		if len(r.flying) > 0 && len(r.flying[0]) > fleet.MaxMessage {
			t.Errorf("a batch has %d bytes", len(r.flying[0]))
		}
		if err := r.fs.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestShipperPutsLongPayloadsAside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root, err := durable.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	long := `{"stream":"stdout","chunk":"` + strings.Repeat("x", fleet.MaxBatch) + `"}`
	text := strings.Replace(logged("evt_1", "s", events.ProviderRaw), `{"stream":"stdout"}`, long, 1) + logged("evt_2", "s", events.RunExecuting)
	if err := os.WriteFile(filepath.Join(dir, "log"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var stored []byte
	var batches []fleet.Batch
	s := newShipper(shipperConfig{
		attempt: "a", session: "s", news: func() fleet.Record { return fleet.Record{Turn: 3} }, spec: func() *doc.Spec { return &doc.Spec{Kind: doc.KindCommand} },
		log:     func() (durable.File, error) { return readLog(root, "log") },
		elapsed: func() time.Duration { return 0 },
		put:     func(_ context.Context, payload []byte) (string, error) { stored = payload; return "draft-1", nil },
		publish: func(_ context.Context, _ string, body []byte) (func(context.Context) error, error) {
			var b fleet.Batch
			err := json.Unmarshal(body, &b)
			batches = append(batches, b)
			return atOnce, err
		},
	}, 0, 0, 0)
	for more := true; more; {
		if more, err = s.step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if string(stored) != long || len(batches) != 1 || len(batches[0].Drafts) != 2 {
		t.Fatalf("%d bytes are stored, %d batches", len(stored), len(batches))
	}
	b := batches[0]
	if b.Drafts[0].Object != "draft-1" || len(b.Drafts[0].Payload) > 4 || b.Spec == nil || b.Record == nil || b.Record.Turn != 3 {
		t.Errorf("the batch is %+v", b)
	}
}

// TestOldest checks that the age is that of the first unsealed draft.
func TestOldest(t *testing.T) {
	t.Parallel()
	r := newRoad(t, t.TempDir())
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if age := r.shipper.oldest(now); age != 0 {
		t.Errorf("without drafts: %s", age)
	}
	for i := range 4 {
		r.lines++
		line := logged(fmt.Sprintf("evt_%d", r.lines), "s", events.ProviderRaw)
		line = strings.Replace(line, `{`, fmt.Sprintf(`{"ts_wallclock":%q,`, now.Add(-time.Duration(10-i)*time.Minute).Format(time.RFC3339Nano)), 1)
		file, err := os.OpenFile(filepath.Join(r.dir, "log"), os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, err = file.WriteString(line)
			err = errors.Join(err, file.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for sealed := range int64(4) {
		r.shipper.seal(sealed)
		if age, want := r.shipper.oldest(now), time.Duration(10-sealed)*time.Minute; age != want {
			t.Errorf("%d sealed: %s, want %s", sealed, age, want)
		}
		if _, err := r.shipper.step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	r.shipper.seal(4)
	if age := r.shipper.oldest(now); age != 0 {
		t.Errorf("with everything sealed: %s", age)
	}
}
