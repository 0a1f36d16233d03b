package collation

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOrder checks the order that every list uses: blanks, punctuation, digits, letters. Accents
// and case only break ties.
func TestOrder(t *testing.T) {
	t.Parallel()
	want := []string{
		" z", "_x", "-y", "10", "2", "alpha", "Alpha", "apple pie", "apple-pie", "applepie", "beta",
		"éa", "eb", "écho", "Écho", "ss", "ß", "Zed", "日本",
	}
	got := append([]string(nil), want...)
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // an order to start from
	random.Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
	itself := func(s string) string { return s }
	SortBy(got, itself, itself)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestEqualNames checks that equal names are ordered by id.
func TestEqualNames(t *testing.T) {
	t.Parallel()
	type row struct{ name, id string }
	rows := []row{{"a", "3"}, {"a", "1"}, {"A", "0"}, {"a", "2"}}
	SortBy(rows, func(r row) string { return r.name }, func(r row) string { return r.id })
	if diff := cmp.Diff([]row{{"a", "1"}, {"a", "2"}, {"a", "3"}, {"A", "0"}}, rows, cmp.AllowUnexported(row{})); diff != "" {
		t.Error(diff)
	}
}
