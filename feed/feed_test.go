package feed

// Helpers for the tests of subscriptions: a workspace whose logs are written as by other
// programs, and a client that records its notifications.

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ac/events"
	"ac/internal/runtimetest"
	"ac/workspace"
)

// appendTo is the variable that makes this binary append to the log of a new run, in the
// workspace that it names.
const appendTo = "AC_TEST_APPEND_TO"

func TestMain(m *testing.M) {
	if dir := os.Getenv(appendTo); dir != "" {
		if err := appendElsewhere(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	runtimetest.Overlap()
	runtimetest.InMemory()
	goleak.VerifyTestMain(m)
}

func appendElsewhere(dir string) error {
	w, err := workspace.Open(workspace.SystemEnv(), dir)
	if err != nil {
		return err
	}
	defer w.Close()
	if err := os.MkdirAll(filepath.Join(dir, workspace.RunDir("child", "run_c")), 0o755); err != nil {
		return err
	}
	for i := range 3 {
		draft, err := w.Events.Draft(events.Draft{RunID: "run_c", Type: "note", Actor: "system", Visibility: "org"}, i)
		if err != nil {
			return err
		}
		if err := w.Append(context.Background(), workspace.LogFile("child", "run_c"), draft); err != nil {
			return err
		}
	}
	return nil
}

// note is a decoded notification.
type note struct {
	Sub     string          `json:"subscription_id"`
	Project string          `json:"project_id"`
	Dir     string          `json:"workspace_dir"`
	Seq     int64           `json:"seq"`
	Event   json.RawMessage `json:"event"`
	run     string          // of the event
}

// recorder is a client. It does not read notifications of a subscription in stuck
// until the subscription's channel is closed.
type recorder struct {
	stuck map[string]chan struct{}

	mu      sync.Mutex
	notes   []note
	waiting map[string]int // calls of Notify that have not returned
	most    int
	more    chan struct{}
}

func newRecorder() *recorder {
	return &recorder{stuck: map[string]chan struct{}{}, waiting: map[string]int{}, more: make(chan struct{})}
}

func (r *recorder) Notify(ctx context.Context, line []byte) error {
	var message struct {
		Method string `json:"method"`
		Params note   `json:"params"`
	}
	if err := json.Unmarshal(line, &message); err != nil {
		return fmt.Errorf("%w in %.300q", err, line)
	}
	n := message.Params
	n.run = events.Text(n.Event, "run_id")
	r.mu.Lock()
	r.waiting[n.Sub]++
	r.most = max(r.most, r.waiting[n.Sub])
	r.signal()
	r.mu.Unlock()
	if stuck := r.stuck[n.Sub]; stuck != nil {
		select {
		case <-ctx.Done():
		case <-stuck:
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting[n.Sub]--
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r.notes = append(r.notes, n)
	r.signal()
	return nil
}

func (r *recorder) signal() {
	close(r.more)
	r.more = make(chan struct{})
}

// until waits for a condition on the client.
func (r *recorder) until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		r.mu.Lock()
		ok, more := holds(), r.more
		r.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-more:
		case <-deadline:
			t.Fatalf("%s: not within 30 s; %d notifications", what, len(r.got("")))
		}
	}
}

// got returns the notifications of a subscription, of all if sub is "".
func (r *recorder) got(sub string) []note {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.notes), func(n note) bool { return sub != "" && n.Sub != sub })
}

// seqs waits until a subscription's last event of a run has a seq, and returns all
// seqs of that run.
func (r *recorder) seqs(t testing.TB, sub, run string, last int64) []int64 {
	t.Helper()
	r.until(t, fmt.Sprintf("%s: seq %d of %s", sub, last, run), func() bool {
		for _, n := range slices.Backward(r.notes) {
			if n.Sub == sub && n.run == run {
				return n.Seq == last
			}
		}
		return false
	})
	var seqs []int64
	for _, n := range r.got(sub) {
		if n.run == run {
			seqs = append(seqs, n.Seq)
		}
	}
	return seqs
}

type fixture struct {
	*recorder
	t   testing.TB
	ws  *workspace.Workspace
	hub *Hub
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "ws")
	f := &fixture{recorder: newRecorder(), t: t, ws: makeWorkspace(t, dir)}
	f.hub = f.newHub(f.recorder)
	return f
}

func makeWorkspace(t testing.TB, dir string) *workspace.Workspace {
	t.Helper()
	env := workspace.SystemEnv()
	if err := workspace.Init(context.Background(), env, dir, workspace.InitOptions{CompanyName: "Acme"}); err != nil {
		t.Fatal(err)
	}
	return openWorkspace(t, workspace.Canonical(dir))
}

func openWorkspace(t testing.TB, dir string) *workspace.Workspace {
	t.Helper()
	w, err := workspace.Open(workspace.SystemEnv(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// newHub creates a hub for another client.
func (f *fixture) newHub(sink Sink) *Hub {
	h := NewHub(sink, f.ws.Env.Clock, f.ws.Env.IDs.New)
	f.t.Cleanup(h.Close)
	h.Register(f.ws)
	return h
}

// subscribe subscribes to the workspace.
func (f *fixture) subscribe(spec Spec) SubscribeResult {
	f.t.Helper()
	spec.Workspace = f.ws
	answer, start, err := f.hub.Subscribe(spec)
	if err != nil {
		f.t.Fatal(err)
	}
	start()
	return answer
}

func (f *fixture) file(project, run string) string {
	f.t.Helper()
	dir := filepath.Join(f.ws.Dir(), workspace.RunDir(project, run))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		f.t.Fatal(err)
	}
	return filepath.Join(dir, events.FileName)
}

// write appends text to a log in one write.
func (f *fixture) write(project, run, text string) {
	f.t.Helper()
	log, err := os.OpenFile(f.file(project, run), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		f.t.Fatal(err)
	}
	_, err = log.WriteString(text)
	if closed := log.Close(); err == nil {
		err = closed
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

// replace puts another file in place of a log.
func (f *fixture) replace(project, run, text string) {
	f.t.Helper()
	file := f.file(project, run)
	if err := os.WriteFile(file+".new", []byte(text), 0o644); err != nil {
		f.t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		f.t.Fatal(err)
	}
}

// line returns an event. n distinguishes it from others of its run.
func line(run, kind string, n int) string {
	return lineAt(run, kind, n, time.Date(2026, 1, 2, 0, 0, 0, n*int(time.Millisecond), time.UTC))
}

func lineAt(run, kind string, n int, at time.Time) string {
	return fmt.Sprintf(`{"event_id":"evt_%s_%d","run_id":%q,"type":%q,"ts_wallclock":%q}`+"\n",
		run, n, run, kind, at.Format("2006-01-02T15:04:05.000Z"))
}

// lines returns the events of a run with the numbers from and to, and those between.
func lines(run string, from, to int) (text string) {
	for n := from; n <= to; n++ {
		text += line(run, "note", n)
	}
	return text
}

func counted(from, to int64) (seqs []int64) {
	for seq := from; seq <= to; seq++ {
		seqs = append(seqs, seq)
	}
	return seqs
}
