package room

// Frames: the deltas that a reader applies to its rows.

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"time"
)

// Filter selects rows. Empty fields match all.
type Filter struct {
	Project string
	Tables  []string
}

func (f Filter) wants(key Key, project string) bool {
	return (f.Project == "" || project == "" || project == f.Project) && (len(f.Tables) == 0 || slices.Contains(f.Tables, key.Table))
}

// Frame holds the changes up to a revision. The reader merges Set into its rows: a null field is
// removed, and an unknown row is added. Full means that the reader first drops all its rows. More
// means that another frame follows at once.
type Frame struct {
	Rev  int64        `json:"rev"`
	AtMS int64        `json:"at"`
	Full bool         `json:"full"`
	More bool         `json:"more"`
	Set  []RowChange  `json:"set"`
	Del  []RowRemoved `json:"del"`
}

// RowRemoved is a removed row, encoded as an array of its table and its key.
type RowRemoved struct{ Key }

// MarshalJSON encodes the array.
func (r RowRemoved) MarshalJSON() ([]byte, error) { return json.Marshal([2]string{r.Table, r.ID}) }

// RowChange is a row with its changed fields, encoded as an array of its table, its key, and the
// fields.
type RowChange struct {
	Key

	Fields map[string]json.RawMessage // a nil value is a removed field
}

// MarshalJSON encodes the array.
func (c RowChange) MarshalJSON() ([]byte, error) {
	head, err := json.Marshal([2]string{c.Table, c.ID})
	if err != nil {
		return nil, err
	}
	fields, err := json.Marshal(c.Fields)
	if err != nil {
		return nil, err
	}
	return slices.Concat(head[:len(head)-1], []byte(","), fields, []byte("]")), nil
}

// Since returns the changes after a revision that the reader has. Its cost depends on the number of
// changes, not of rows. A reader that does not resume begins with First.
func (r *Room) Since(at time.Time, since int64, f Filter) Frame {
	frame := Frame{Rev: r.rev, AtMS: at.UnixMilli(), Set: []RowChange{}, Del: []RowRemoved{}}
	for place := r.order.Back(); place != nil; place = place.Prev() {
		known := place.Value.(*row) //nolint:forcetypeassert // nothing else is in the list
		if known.rev <= since {
			break
		}
		if !f.wants(known.key, known.project) {
			continue
		}
		c := RowChange{known.key, map[string]json.RawMessage{}}
		for name, v := range known.fields {
			if v.rev > since {
				c.Fields[name] = v.value
			}
		}
		frame.Set = append(frame.Set, c)
	}
	slices.Reverse(frame.Set)
	for i := len(r.gone) - 1; i >= 0 && r.gone[i].rev > since; i-- {
		if g := &r.gone[i]; f.wants(g.key, g.project) {
			frame.Del = append(frame.Del, RowRemoved{g.key})
		}
	}
	return frame
}

// Empty reports whether a frame changes nothing.
func (f Frame) Empty() bool { return !f.Full && len(f.Set) == 0 && len(f.Del) == 0 }

// Limits of the first frames: runs in the first one, bytes in each further one.
const (
	firstRuns  = 60
	frameBytes = 64 << 10
)

// TableRuns is the table whose rows are sent newest first, after those of all other tables.
const TableRuns = "runs"

// First returns everything, for a new reader. The first frame has the other tables and the newest
// runs. Further frames of at most 64 KiB have the rest.
func (r *Room) First(at time.Time, f Filter) []Frame {
	frames := []Frame{{Rev: r.rev, AtMS: at.UnixMilli(), Full: true, Set: []RowChange{}, Del: []RowRemoved{}}}
	runs, size := 0, 0
	for _, c := range r.Rows(f) {
		last := &frames[len(frames)-1]
		if c.Table == TableRuns {
			runs++
		}
		bytes := c.size()
		if c.Table == TableRuns && (runs == firstRuns+1 || len(frames) > 1 && size+bytes > frameBytes) {
			last.More = true
			frames = append(frames, Frame{Rev: r.rev, AtMS: at.UnixMilli(), Set: []RowChange{}, Del: []RowRemoved{}})
			last, size = &frames[len(frames)-1], 0
		}
		size += bytes
		last.Set = append(last.Set, c)
	}
	return frames
}

// Cut drops the last rows of a first frame beyond a size in bytes, and sets More. The reader gets
// the dropped rows in the frames that follow.
func (f *Frame) Cut(limit int) {
	size := 0
	for i := range f.Set {
		if size += f.Set[i].size(); size > limit {
			f.Set, f.More = f.Set[:i], true
			return
		}
	}
}

// size returns the approximate size of an encoded row in bytes.
func (c *RowChange) size() int {
	n := len(c.Table) + len(c.ID) + len(`["","",{}],`)
	for name, value := range c.Fields {
		n += len(name) + len(value) + len(`"":,`)
	}
	return n
}

// Rows returns the rows of all tables but the runs, by table and key, then the runs, newest first.
func (r *Room) Rows(f Filter) []RowChange {
	rows := make([]RowChange, 0, len(r.rows))
	for key, known := range r.rows {
		if !f.wants(key, known.project) {
			continue
		}
		c := RowChange{key, make(map[string]json.RawMessage, len(known.fields))}
		for name, v := range known.fields {
			if v.value != nil {
				c.Fields[name] = v.value
			}
		}
		rows = append(rows, c)
	}
	slices.SortFunc(rows, func(a, b RowChange) int {
		if aRun, bRun := a.Table == TableRuns, b.Table == TableRuns; aRun != bRun {
			if aRun {
				return 1
			}
			return -1
		}
		newer := 0
		if a.Table == TableRuns {
			newer = bytes.Compare(b.Fields["at"], a.Fields["at"])
		}
		return cmp.Or(cmp.Compare(a.Table, b.Table), newer, cmp.Compare(a.ID, b.ID))
	})
	return rows
}
