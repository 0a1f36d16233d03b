package feed

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestBackfillOfLongLogs compares the backfill with the end of a list. The logs are longer
// than the first block that is read, and the block begins at a line start or within a line.
func TestBackfillOfLongLogs(t *testing.T) {
	t.Parallel()
	for _, length := range []int{1 << 10, 1000} {
		for _, each := range []int{1, 300} {
			t.Run(fmt.Sprintf("lines of %d, each %d", length, each), func(t *testing.T) {
				t.Parallel()
				f := newFixture(t)
				var text strings.Builder
				var want []int64
				for n := 1; n <= 1500; n++ {
					kind := "other"
					if n%each == 0 {
						kind = "asked"
						want = append(want, int64(n))
					}
					plain := strings.TrimSuffix(line("run_1", kind, n), "}\n")
					fmt.Fprintf(&text, "%s,\"x\":%q}\n", plain, strings.Repeat("x", length-len(plain)-len(`,"x":""}`)-1))
				}
				f.write("p", "run_1", text.String())
				for _, limit := range []int{1, 4, 200, 5000} {
					sub := fmt.Sprintf("sub_%d", limit)
					f.subscribe(Spec{ID: sub, Types: []string{"asked"}, Backfill: limit})
					last := want[max(0, len(want)-limit):]
					if diff := cmp.Diff(last, f.seqs(t, sub, "run_1", want[len(want)-1])); diff != "" {
						t.Errorf("limit %d:\n%s", limit, diff)
					}
				}
			})
		}
	}
}

// TestBackfillMerges checks the order: by time between runs, by position within a
// run, even if its clock goes back.
func TestBackfillMerges(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	at := func(s int) time.Time { return time.Date(2026, 1, 2, 0, 0, s, 0, time.UTC) }
	for n, second := range []int{10, 40, 20, 30, 60} { // the clock goes back
		f.write("p", "run_a", lineAt("run_a", "note", n, at(second)))
	}
	for n, second := range []int{5, 35, 45, 50} {
		f.write("q", "run_b", lineAt("run_b", "note", n, at(second)))
	}
	for _, c := range []struct {
		spec Spec
		want string
	}{
		{Spec{Backfill: 100}, "b1 a1 b2 a2 a3 a4 b3 b4 a5"},
		{Spec{Backfill: 4}, "a4 b3 b4 a5"},
		{Spec{Backfill: 2, Project: "q"}, "b3 b4"},
		{Spec{Backfill: 3, Run: "run_a"}, "a3 a4 a5"},
		{Spec{Backfill: 3, Run: "run_b", Project: "p"}, ""},
		{Spec{Backfill: 3, Types: []string{"another"}}, ""},
	} {
		c.spec.ID = fmt.Sprintf("%+v", c.spec)
		f.subscribe(c.spec)
		want := strings.Fields(c.want)
		var got []string
		f.until(t, c.spec.ID, func() bool {
			got = nil
			for _, n := range f.notes {
				if n.Sub == c.spec.ID {
					got = append(got, fmt.Sprintf("%s%d", strings.TrimPrefix(n.run, "run_"), n.Seq))
				}
			}
			return len(got) >= len(want)
		})
		if !slices.Equal(want, got) {
			t.Errorf("%+v: got %v, want %v", c.spec, got, want)
		}
	}
}

// TestBackfillWithoutWorkspace checks that a subscription without a workspace gets no backfill.
func TestBackfillWithoutWorkspace(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write("p", "run_1", lines("run_1", 1, 3))
	_, start, err := f.hub.Subscribe(Spec{ID: "all", Backfill: 10})
	if err != nil {
		t.Fatal(err)
	}
	start()
	f.write("p", "run_1", lines("run_1", 4, 4))
	if diff := cmp.Diff([]int64{4}, f.seqs(t, "all", "run_1", 4)); diff != "" {
		t.Error(diff)
	}
}
