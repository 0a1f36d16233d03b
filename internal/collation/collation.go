// Package collation defines the sort order of names: Unicode collation in the root locale, so
// that every list has the same order on every machine.
package collation

import (
	"cmp"
	"slices"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"
)

// SortBy sorts rows by name, then by ID.
func SortBy[T any](rows []T, name, id func(T) string) {
	c := collate.New(language.Und)
	var buf collate.Buffer
	type keyed struct {
		key []byte
		row T
	}
	all := make([]keyed, len(rows))
	for i, row := range rows {
		all[i] = keyed{key: c.KeyFromString(&buf, name(row)), row: row}
	}
	slices.SortStableFunc(all, func(a, b keyed) int {
		return cmp.Or(slices.Compare(a.key, b.key), cmp.Compare(name(a.row), name(b.row)), cmp.Compare(id(a.row), id(b.row)))
	})
	for i := range all {
		rows[i] = all[i].row
	}
}

// Lazy returns a comparison in collation order, with ties broken by code point.
// It loads the collation tables only when two texts differ. The function is not
// safe for concurrent use.
func Lazy() func(a, b string) int {
	var c *collate.Collator
	return func(a, b string) int {
		if a == b {
			return 0
		}
		if c == nil {
			c = collate.New(language.Und)
		}
		return cmp.Or(c.CompareString(a, b), cmp.Compare(a, b))
	}
}
