package room

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// sample is a row with optional fields.
type sample struct {
	At    string  `json:"at"`
	Line  *string `json:"line,omitempty"`
	Count *int    `json:"count,omitempty"`
	Null  any     `json:"null"`
}

// store holds the rows that a reader has.
type store map[Key]map[string]string

func (s store) apply(f Frame) {
	if f.Full {
		clear(s)
	}
	for _, d := range f.Del {
		delete(s, d.Key)
	}
	for _, c := range f.Set {
		if s[c.Key] == nil {
			s[c.Key] = map[string]string{}
		}
		for name, value := range c.Fields {
			if value == nil || string(value) == "null" {
				delete(s[c.Key], name)
			} else {
				s[c.Key][name] = string(value)
			}
		}
	}
}

// wired returns a frame as a reader gets it, after encoding and decoding.
func wired(t fatal, f Frame) Frame {
	text, err := json.Marshal(f)
	if err != nil {
		t.Fatalf("%v", err)
	}
	var read struct {
		Full bool                 `json:"full"`
		Rev  int64                `json:"rev"`
		Set  [][3]json.RawMessage `json:"set"`
		Del  [][2]string          `json:"del"`
	}
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	got := Frame{Rev: read.Rev, Full: read.Full}
	for _, d := range read.Del {
		got.Del = append(got.Del, RowRemoved{Key{d[0], d[1]}})
	}
	for _, c := range read.Set {
		var key Key
		fields := map[string]json.RawMessage{}
		for i, into := range []any{&key.Table, &key.ID, &fields} {
			if err := json.Unmarshal(c[i], into); err != nil {
				t.Fatalf("%v: %s", err, text)
			}
		}
		got.Set = append(got.Set, RowChange{key, fields})
	}
	return got
}

type fatal interface {
	Fatalf(format string, args ...any)
}

// reader follows a room at its own pace.
type reader struct {
	filter Filter
	store  store
	rev    int64
	epoch  string
}

func (r *reader) read(t fatal, at time.Time, of *Room) {
	frames := []Frame{of.Since(at, r.rev, r.filter)}
	if !of.Resumes(r.epoch, r.rev) {
		frames = of.First(at, r.filter)
		r.epoch = of.Epoch
	}
	for i, f := range frames {
		if f.More != (i < len(frames)-1) || f.Full != (i == 0 && len(frames) > 0 && f.Full) {
			t.Fatalf("frame %d of %d: more %v, full %v", i, len(frames), f.More, f.Full)
		}
		f = wired(t, f)
		r.store.apply(f)
		r.rev = f.Rev
	}
}

// fresh returns the rows of a room that a new reader gets.
func fresh(of *Room, f Filter) store {
	s := store{}
	for _, c := range of.Rows(f) {
		s[c.Key] = map[string]string{}
		for name, value := range c.Fields {
			s[c.Key][name] = string(value)
		}
	}
	return s
}

// TestFramesAddUp checks that every reader, whenever it reads and wherever it resumes, has the
// rows that a new reader gets.
func TestFramesAddUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := time.Unix(1_795_329_000, 0)
		of := New("7f3a91c2")
		readers := []*reader{{store: store{}}, {store: store{}, filter: Filter{Project: "p"}}, {store: store{}, filter: Filter{Tables: []string{TableRuns}}}}
		last, processes := int64(0), 0
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 400).Draw(t, "seconds")) * time.Second)
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0: // another process
				processes++
				of, last = New(fmt.Sprintf("%08x", processes)), 0
			case 1:
				if _, err := of.Apply(now, of.Whole("needs", draw(t, "needs"))); err != nil {
					t.Fatal(err)
				}
			case 2, 3, 4:
				if _, err := of.Apply(now, draw(t, rapid.SampledFrom([]string{TableRuns, "needs"}).Draw(t, "table"))); err != nil {
					t.Fatal(err)
				}
			default:
				who := readers[rapid.IntRange(0, len(readers)-1).Draw(t, "reader")]
				who.read(t, now, of)
				if diff := cmp.Diff(fresh(of, who.filter), who.store); diff != "" {
					t.Fatalf("a reader at %d of %d (-fresh +its own):\n%s", who.rev, of.Rev(), diff)
				}
			}
			if of.Rev() < last {
				t.Fatalf("the revision fell from %d to %d", last, of.Rev())
			}
			last = of.Rev()
		}
		for _, who := range readers {
			who.read(t, now, of)
			if diff := cmp.Diff(fresh(of, who.filter), who.store); diff != "" {
				t.Fatalf("at the end (-fresh +its own):\n%s", diff)
			}
			if f := of.Since(now, who.rev, who.filter); !f.Empty() {
				t.Fatalf("a reader that has everything gets %+v", f)
			}
		}
	})
}

// draw returns a random batch of changes to a table.
func draw(t *rapid.T, table string) []Change {
	changes := map[string]Change{}
	for range rapid.IntRange(0, 5).Draw(t, "changes") {
		id := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "id")
		c := Change{Key: Key{table, id}, Project: map[string]string{"a": "p", "b": "q", "c": "p", "d": ""}[id]}
		if rapid.IntRange(0, 3).Draw(t, "removed") > 0 {
			row := sample{At: id}
			if n := rapid.IntRange(0, 3).Draw(t, "count"); n > 0 {
				row.Count = &n
			}
			if line := rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "line"); line != "" {
				row.Line = &line
			}
			c.Row = row
		}
		changes[id] = c
	}
	list := []Change{}
	for _, id := range []string{"a", "b", "c", "d"} {
		if c, ok := changes[id]; ok {
			list = append(list, c)
		}
	}
	return list
}

// TestFloor checks that old or excess removals are forgotten, and that readers that missed a
// forgotten one start from scratch.
func TestFloor(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_795_329_000, 0)
	of := New("e")
	change := func(at time.Time, changes ...Change) {
		t.Helper()
		if _, err := of.Apply(at, changes); err != nil {
			t.Fatal(err)
		}
	}
	change(now, Change{Key: Key{"needs", "a"}, Row: sample{}}, Change{Key: Key{"needs", "b"}, Row: sample{}})
	change(now, Change{Key: Key{"needs", "a"}})
	if !of.Resumes("e", 1) || of.Resumes("e", 3) || of.Resumes("f", 1) {
		t.Error("resumes where it must not, or does not where it must")
	}
	if f := of.Since(now, 1, Filter{}); len(f.Del) != 1 || len(f.Set) != 0 {
		t.Errorf("after the removal %+v", f)
	}
	change(now.Add(removedLife + time.Second))
	if of.Resumes("e", 1) || !of.Resumes("e", 2) {
		t.Error("a reader that missed a forgotten removal resumes")
	}
	for i := range mostRemoved + 2 {
		key := Key{"needs", fmt.Sprint(i)}
		change(now, Change{Key: key, Row: sample{}})
		change(now, Change{Key: key})
	}
	change(now)
	if len(of.gone) != mostRemoved {
		t.Errorf("%d removals are kept, want %d", len(of.gone), mostRemoved)
	}
}

// TestFirst checks how the first frames are split: small tables and the newest runs, then the
// rest.
func TestFirst(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_795_329_000, 0)
	of := New("e")
	long := string(make([]byte, 1000))
	var changes []Change
	for i := range 200 {
		changes = append(changes, Change{Key: Key{TableRuns, fmt.Sprintf("run_%03d", i)}, Row: sample{At: fmt.Sprintf("%03d", i), Line: &long}})
	}
	changes = append(changes, Change{Key: Key{"counts", "all"}, Row: sample{}})
	if rev, err := of.Apply(now, changes); rev != 1 || err != nil {
		t.Fatal(rev, err)
	}
	frames := of.First(now, Filter{})
	if len(frames) < 3 || len(frames[0].Set) != firstRuns+1 || frames[0].Set[0].Table != "counts" || frames[0].Set[1].ID != "run_199" {
		t.Fatalf("%d frames, %d rows in the first", len(frames), len(frames[0].Set))
	}
	seen := map[string]bool{}
	for i, f := range frames {
		if f.Full != (i == 0) || f.More != (i < len(frames)-1) {
			t.Errorf("frame %d: full %v, more %v", i, f.Full, f.More)
		}
		text, err := json.Marshal(f)
		if err != nil || i > 0 && len(text) > frameBytes+1024 {
			t.Errorf("frame %d has %d bytes (%v)", i, len(text), err)
		}
		for _, c := range f.Set {
			seen[c.ID] = true
		}
	}
	if len(seen) != 201 {
		t.Errorf("%d rows in all frames", len(seen))
	}
	// Unchanged rows do not advance the revision, however often they are applied.
	if rev, err := of.Apply(now, changes); rev != 1 || err != nil {
		t.Errorf("the same rows again: revision %d, %v", rev, err)
	}
}
