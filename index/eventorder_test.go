package index

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestOrderOfTime compares the merged order of events with a full sort, for several filters and
// limits.
func TestOrderOfTime(t *testing.T) {
	t.Parallel()
	c, w := newCompany(t, filepath.Join(t.TempDir(), "ws"), false)
	defer w.Close()
	random := rand.New(rand.NewPCG(7, 11))
	kinds := []string{"note", "policy.decision", "rare"}
	for _, project := range []string{"p", "q", "empty", "z"} {
		for run := range 3 {
			dir := fmt.Sprintf("work/projects/%s/runs/%s_r%d", project, project, run)
			c.put(dir+"/run.yaml", runYAML(fmt.Sprintf("%s_r%d", project, run), "a1", "ended"))
			var b strings.Builder
			for i := range 40 {
				if project == "empty" {
					break
				}
				kind := kinds[random.IntN(2)]
				if project == "q" && i == 20 {
					kind = "rare"
				}
				if random.IntN(8) == 0 {
					fmt.Fprintf(&b, `{"type":%q}`+"\n", kind) // without a time
					continue
				}
				fmt.Fprintf(&b, `{"type":%q,"ts_wallclock":"2026-01-01T00:00:%02d.000Z"}`+"\n", kind, random.IntN(20)+map[string]int{"z": 40}[project])
			}
			c.append(dir+"/events.jsonl", b.String())
		}
	}
	ix := For(w)
	defer ix.Close()
	ctx := context.Background()
	if _, err := ix.Sync(ctx); err != nil {
		t.Fatal(err)
	}
	err := ix.View(ctx, func(v *View) error {
		for _, f := range []EventFilter{{}, {ProjectID: "p"}, {ProjectID: "nothing"}, {Types: []string{"rare"}}, {Types: []string{"rare", "note", "note", "unheard"}}, {ProjectID: "q", Types: kinds[:2]}, {SinceSeq: 30}} {
			for _, f.Ascending = range []bool{true, false} {
				all := f
				all.Limit = 0
				want, err := v.Locations(all)
				if err != nil {
					return err
				}
				sorted := slices.Clone(want)
				slices.SortFunc(sorted, func(a, b EventLocation) int {
					order := cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.ProjectID, b.ProjectID), cmp.Compare(a.RunID, b.RunID))
					if !f.Ascending {
						order = -order
					}
					return order
				})
				if !slices.Equal(sorted, want) {
					t.Errorf("%+v: not in order", f)
				}
				if len(want) == 0 && f.ProjectID != "nothing" {
					t.Errorf("%+v: nothing found", f)
				}
				for _, f.Limit = range []int{1, 2, 7, 50, 119, 120, 121, 5000} {
					got, err := v.Locations(f)
					if err != nil {
						return err
					}
					if !slices.Equal(got, want[:min(f.Limit, len(want))]) {
						t.Errorf("%+v: %d of %d events are others", f, len(got), len(want))
					}
				}
			}
		}
		every, err := v.Locations(EventFilter{})
		if len(every) != 3*3*40 {
			t.Errorf("%d events in all", len(every))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
