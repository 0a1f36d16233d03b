package index

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ask and answer return the events of an interaction at a given second.
func ask(second int, id, more string) string {
	return fmt.Sprintf(`{"type":"interaction.requested","ts_wallclock":"2026-01-01T00:00:%02d.000Z","actor":"a1","session_ref":"s","payload":{"interaction_id":%q,"kind":"question"%s}}`+"\n", second, id, more)
}

func answer(second int, id string) string {
	return fmt.Sprintf(`{"type":"interaction.resolved","ts_wallclock":"2026-01-01T00:00:%02d.000Z","actor":"human","payload":{"interaction_id":%q,"kind":"question","state":"answered"}}`+"\n", second, id)
}

// interactions returns what a filter finds: run, interaction, and the seqs of its events.
func interactions(t *testing.T, ix *Index, f InteractionFilter) (found []string) {
	t.Helper()
	err := ix.View(t.Context(), func(v *View) error {
		list, err := v.Interactions(f)
		if err != nil {
			return err
		}
		found = []string{}
		v.InteractionLines(list, func(i Interaction, requested, resolved []byte) {
			seq := int64(0)
			if (i.Resolved != nil) != (resolved != nil) || len(requested) == 0 {
				t.Errorf("%+v has the lines %s and %s", i, requested, resolved)
			}
			if i.Resolved != nil {
				seq = i.Resolved.Seq
			}
			found = append(found, fmt.Sprintf("%s/%s %d %d", i.RunID, i.InteractionID, i.Requested.Seq, seq))
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestInteractions(t *testing.T) {
	t.Parallel()
	c, w := newCompany(t, filepath.Join(t.TempDir(), "ws"), true)
	defer func() { must(w.Close()) }()
	ix := For(w)
	defer func() { must(ix.Close()) }()
	logs := map[string]string{}
	for _, run := range []string{"r1", "r2", "r3"} {
		logs[run] = "work/projects/p/runs/" + run + "/events.jsonl"
		agent := "a1"
		if run == "r2" {
			agent = "a2"
		}
		c.put("work/projects/p/runs/"+run+"/run.yaml", runYAML(run, agent, "running"))
	}
	c.append(logs["r1"], answer(1, "early")+ask(5, "A", "")+ask(6, "A", `,"n":2`)+ask(2, "B", `,"workflow":{"run_id":"r3"}`)+eventLine(3, "interaction.undelivered")+"\n"+answer(30, "A")+answer(31, "A"))
	c.append(logs["r2"], ask(4, "C", "")+ask(7, "D", "")+answer(20, "D")+ask(8, "bad/id", "")+ask(40, "A", ""))
	if _, err := ix.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	check := func(name string, f InteractionFilter, want ...string) {
		t.Helper()
		if diff := cmp.Diff(append([]string{}, want...), interactions(t, ix, f)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	check("open", InteractionFilter{}, "r1/B 4 0", "r2/C 1 0", "r2/A 5 0")
	check("resolved", InteractionFilter{Resolved: true}, "r1/A 2 6", "r2/D 2 3")
	check("the newest resolved", InteractionFilter{Resolved: true, Limit: 1}, "r1/A 2 6")
	check("of a run", InteractionFilter{RunID: "r2"}, "r2/C 1 0", "r2/A 5 0")
	check("of an agent", InteractionFilter{AgentID: "a2", Resolved: true}, "r2/D 2 3")
	check("of a workflow", InteractionFilter{RunID: "r3"}, "r1/B 4 0")
	check("of another project", InteractionFilter{ProjectID: "q"})
	check("of a kind", InteractionFilter{Kind: "plan"})
	check("of no run", InteractionFilter{RunID: "nope"})

	// A last line without LF counts until the log shows that it was torn.
	c.append(logs["r1"], answer(50, "B")[:len(answer(50, "B"))-1])
	if _, err := ix.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("resolved by the last line", InteractionFilter{Resolved: true, RunID: "r1"}, "r1/B 4 8", "r1/A 2 6")
	c.append(logs["r1"], "x")
	if _, err := ix.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("open again: the line was torn", InteractionFilter{RunID: "r1"}, "r1/B 4 0")
	must(os.RemoveAll(c.path("work/projects/p/runs/r1")))
	if _, err := ix.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("of a run that is gone", InteractionFilter{RunID: "r1"})
}
