package index

// Events in order of time. The index has that order for each project, and for each type in a
// project. A query over several of these sequences merges them. It asks each only for events
// before the last one found so far.

import (
	"cmp"
	"database/sql"
	"slices"
)

// sequence is the events of a project, or those of one type in it, in order of time.
type sequence struct {
	project int64
	kind    int64 // 0: all types
	edge    int64 // time of the first event in the requested order
}

// Locations is Events without the texts of the events.
func (v *View) Locations(f EventFilter) ([]EventLocation, error) {
	if f.RunID != "" {
		return v.locationsOfRun(f)
	}
	sequences, err := v.sequences(f)
	if err != nil {
		return nil, err
	}
	order := func(a, b EventLocation) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.ProjectID, b.ProjectID), cmp.Compare(a.RunID, b.RunID))
	}
	if !f.Ascending {
		forth := order
		order = func(a, b EventLocation) int { return forth(b, a) }
	}
	found := []EventLocation{}
	for _, s := range sequences {
		full := f.Limit > 0 && len(found) >= f.Limit
		if full && isAfter(s.edge, found[len(found)-1].at, f.Ascending) {
			break // the remaining sequences start even later
		}
		some, err := v.orderedLocations(s, f, full, found)
		if err != nil {
			return nil, err
		}
		if len(some) == 0 {
			continue
		}
		merge := len(found) > 0
		if found = append(found, some...); merge {
			slices.SortFunc(found, order)
		}
		if f.Limit > 0 {
			found = found[:min(len(found), f.Limit)]
		}
	}
	return found, nil
}

// isAfter reports whether at comes after last in the given order.
func isAfter(at, last int64, ascending bool) bool {
	if ascending {
		return at > last
	}
	return at < last
}

// orderedLocations lists the first events of a sequence. If found is full, it lists only those that may
// sort before its last event.
func (v *View) orderedLocations(s sequence, f EventFilter, full bool, found []EventLocation) ([]EventLocation, error) {
	var c conditions
	c.add("e.project=?", s.project)
	if s.kind != 0 {
		c.add("e.type=?", s.kind)
	}
	if f.SinceSeq > 0 {
		c.add("e.seq>?", f.SinceSeq)
	}
	order, until := " ORDER BY e.at DESC, e.seq DESC, r.run_id DESC"+limitClause, "e.at>=?"
	if f.Ascending {
		order, until = " ORDER BY e.at, e.seq, r.run_id"+limitClause, "e.at<=?"
	}
	if full {
		c.add(until, found[len(found)-1].at)
	}
	return query(v, "SELECT "+placeColumns+" FROM ac_events e CROSS JOIN ac_runs r ON r.id=e.id>>36"+c.text+order, append(c.args, limit(f.Limit)), scanLocation)
}

// sequences returns the sequences that a filter selects, ordered by their first event.
func (v *View) sequences(f EventFilter) ([]sequence, error) {
	projects, err := v.numbers(f.ProjectID, "WITH RECURSIVE p(x) AS (SELECT min(project) FROM ac_events UNION ALL SELECT (SELECT min(project) FROM ac_events WHERE project>x) FROM p WHERE x IS NOT NULL) SELECT x FROM p WHERE x IS NOT NULL")
	if err != nil {
		return nil, err
	}
	kinds := []int64{0}
	if len(f.Types) > 0 {
		kinds = kinds[:0]
		for _, name := range f.Types {
			some, err := v.numbers(name, "")
			if err != nil {
				return nil, err
			}
			if len(some) > 0 && !slices.Contains(kinds, some[0]) {
				kinds = append(kinds, some[0])
			}
		}
	}
	edge := "max"
	if f.Ascending {
		edge = "min"
	}
	var list []sequence
	for _, project := range projects {
		for _, kind := range kinds {
			text, args := "SELECT "+edge+"(at) FROM ac_events WHERE project=?", []any{project}
			if kind != 0 {
				text, args = text+" AND type=?", append(args, kind)
			}
			var at sql.NullInt64
			if err := v.conn.queryRow(v.ctx, text, args, &at); err != nil {
				return nil, err
			}
			if at.Valid {
				list = append(list, sequence{project, kind, at.Int64})
			}
		}
	}
	slices.SortFunc(list, func(a, b sequence) int {
		if f.Ascending {
			return cmp.Compare(a.edge, b.edge)
		}
		return cmp.Compare(b.edge, a.edge)
	})
	return list, nil
}

// numbers returns the ID of the word of, if it has one. Without a word it returns the IDs that
// the query otherwise yields.
func (v *View) numbers(of, otherwise string) ([]int64, error) {
	text, args := otherwise, []any(nil)
	if of != "" {
		text, args = "SELECT id FROM ac_words WHERE word=?", []any{of}
	}
	return query(v, text, args, func(rows *sql.Rows, id *int64) error { return rows.Scan(id) })
}
