// Package room holds the rows that people watch all day, with a version for each field, so that a
// reader gets only what changed since its last read. It is pure: the caller passes in rows and
// time.
package room

import (
	"bytes"
	"container/list"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"ac/internal/canonjson"
)

// Key identifies a row.
type Key struct{ Table, ID string }

// Change is the current content of a row, or its removal.
type Change struct {
	Key

	Project string // for readers of one project, "" for a row of all projects
	Row     any    // a struct that encodes as an object; nil removes the row
}

// Limits on remembered removals.
const (
	removedLife = 10 * time.Minute
	mostRemoved = 10_000
)

// Room holds the rows of a workspace. It is not safe for concurrent use.
type Room struct {
	Epoch string // of this process; revisions of another epoch are meaningless here

	rev   int64
	floor int64 // revision of the newest forgotten removal
	rows  map[Key]*row
	order *list.List // rows by their last change, newest at the back
	gone  []removal  // by revision
}

// row is a row with the revision of each field.
type row struct {
	key     Key
	project string
	fields  map[string]field
	rev     int64 // of its last change
	place   *list.Element
}

// field is a value of a row. A removed field has a nil value.
type field struct {
	value json.RawMessage
	rev   int64
}

// removal is a removed row. If the row comes back, its former fields, names, become null fields.
type removal struct {
	key     Key
	project string
	names   []string
	rev     int64
	at      time.Time
}

// New makes an empty room.
func New(epoch string) *Room {
	return &Room{Epoch: epoch, rows: map[Key]*row{}, order: list.New()}
}

// Rev returns the revision of the last batch that changed anything.
func (r *Room) Rev() int64 { return r.rev }

// Resumes reports whether a reader with this epoch and revision can continue from there.
func (r *Room) Resumes(epoch string, since int64) bool {
	return epoch == r.Epoch && since >= r.floor && since <= r.rev
}

// Apply applies a batch of changes and returns the resulting revision. A batch that changes nothing
// does not advance it.
func (r *Room) Apply(at time.Time, changes []Change) (int64, error) {
	r.forget(at)
	next := r.rev + 1
	for _, c := range changes {
		if c.Row == nil {
			r.remove(c.Key, at, next)
			continue
		}
		fields, err := fieldsOf(c.Row)
		if err != nil {
			return r.rev, fmt.Errorf("row %s of %s: %w", c.ID, c.Table, err)
		}
		r.put(c, fields, next)
	}
	return r.rev, nil
}

// Whole completes the changes of a whole table: it adds removals of all rows that are not among
// them.
func (r *Room) Whole(table string, changes []Change) []Change {
	there := make(map[string]bool, len(changes))
	for _, c := range changes {
		there[c.ID] = true
	}
	for key := range r.rows {
		if key.Table == table && !there[key.ID] {
			changes = append(changes, Change{Key: key})
		}
	}
	return changes
}

// put updates the fields of a row that differ.
func (r *Room) put(c Change, fields map[string]json.RawMessage, rev int64) {
	known := r.rows[c.Key]
	if known == nil {
		known = &row{key: c.Key, project: c.Project, fields: map[string]field{}}
		r.revive(known, rev)
		known.place = r.order.PushBack(known)
		r.rows[c.Key] = known
		r.changed(known, rev)
	}
	for name, value := range fields {
		if was, ok := known.fields[name]; !ok || !bytes.Equal(was.value, value) {
			known.fields[name] = field{value, rev}
			r.changed(known, rev)
		}
	}
	for name, was := range known.fields {
		if _, ok := fields[name]; !ok && was.value != nil {
			known.fields[name] = field{nil, rev}
			r.changed(known, rev)
		}
	}
}

// revive turns the former fields of a removed row into null fields, for readers that have not
// received the removal.
func (r *Room) revive(known *row, rev int64) {
	r.gone = slices.DeleteFunc(r.gone, func(g removal) bool {
		if g.key != known.key {
			return false
		}
		for _, name := range g.names {
			known.fields[name] = field{nil, rev}
		}
		return true
	})
}

func (r *Room) changed(known *row, rev int64) {
	r.rev, known.rev = rev, rev
	r.order.MoveToBack(known.place)
}

func (r *Room) remove(key Key, at time.Time, rev int64) {
	known := r.rows[key]
	if known == nil {
		return
	}
	delete(r.rows, key)
	r.order.Remove(known.place)
	r.gone = append(r.gone, removal{key, known.project, slices.Collect(maps.Keys(known.fields)), rev, at})
	r.rev = rev
}

// forget drops removals that are too old or too many.
func (r *Room) forget(at time.Time) {
	n := 0
	for n < len(r.gone) && (len(r.gone)-n > mostRemoved || at.Sub(r.gone[n].at) > removedLife) {
		n++
	}
	if n > 0 {
		r.floor = r.gone[n-1].rev
		r.gone = slices.Delete(r.gone, 0, n)
	}
}

// fieldsOf returns the members of a row, without null ones.
func fieldsOf(row any) (map[string]json.RawMessage, error) {
	text, err := json.Marshal(row)
	if err != nil {
		return nil, err
	}
	fields := map[string]json.RawMessage{}
	err = canonjson.Members(text, func(m canonjson.Member) {
		if string(m.Value) != "null" {
			fields[string(m.Key)] = bytes.Clone(m.Value)
		}
	})
	return fields, err
}
