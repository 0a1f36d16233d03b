package needs

import (
	"context"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"ac/workspace"
	"ac/workspace/workspacetest"
)

func TestLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", " a \n\tb  ": "a b", "\x1b[31mred\x07": "[31mred", "key ghp_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": "key [REDACTED_GITHUB_TOKEN]",
		"a\u202eb": "ab", strings.Repeat("é", 300): strings.Repeat("é", 159) + "…",
	} {
		if got := Line(text); got != want {
			t.Errorf("the line of %q is %q, want %q", text, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		line := Line(rapid.String().Draw(t, "text"))
		if utf8.RuneCountInString(line) > MostLine || strings.ContainsAny(line, "\n\r\t\x1b") || !utf8.ValidString(line) {
			t.Fatalf("%q is no line", line)
		}
	})
}

// TestOrder checks that needs are sorted by severity, then by age.
func TestOrder(t *testing.T) {
	t.Parallel()
	need := func(kind, ref, at string) Need {
		n := New(kind, ref, "")
		n.At = at
		return n
	}
	list := []Need{
		need(BrokenLog, "a", "2026-01-01T00:00:00Z"), need(Memory, "b", "2026-01-01T00:00:00Z"), need(RunFailed, "c:1", "2026-01-02T00:00:00Z"),
		need(OverBudget, "d", "2026-01-01T00:00:00Z"), need(Help, "e", "2026-01-03T00:00:00Z"), need(Question, "f", "2026-01-04T00:00:00Z"),
	}
	Sort(list)
	ids := idsOf(list)
	if want := []string{"interaction:f", "help:e", "over_budget:d", "run_failed:c:1", "memory:b", "broken_log:a"}; !slices.Equal(ids, want) {
		t.Errorf("order %v, want %v", ids, want)
	}
	for _, n := range list {
		if CheckID("x", n.NeedID) != nil || Dismissible(n.NeedID) != (n.Group == GroupRun) {
			t.Errorf("%s: checked %v, dismissible %v", n.NeedID, CheckID("x", n.NeedID), Dismissible(n.NeedID))
		}
	}
}

func idsOf(list []Need) (ids []string) {
	for _, n := range list {
		ids = append(ids, n.NeedID)
	}
	return ids
}

// TestDismissals checks that the file keeps only the newest line of each need.
func TestDismissals(t *testing.T) {
	t.Parallel()
	w := workspacetest.New(t, workspace.SystemEnv())
	ctx := context.Background()
	record := func(lines ...Dismissal) Dismissals {
		t.Helper()
		if err := Record(ctx, w, lines); err != nil {
			t.Fatal(err)
		}
		found, err := ReadDismissals(w)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	broken := New(BrokenLog, "run_l", "")
	broken.Faults = 2
	failed := New(RunFailed, "run_f:1", "")
	found := record(Dismissal{NeedID: broken.NeedID, Faults: 2}, Dismissal{NeedID: failed.NeedID, ActorID: "human"})
	for _, n := range []Need{broken, failed} {
		if _, ok := found.Of(n); !ok {
			t.Errorf("%s is not dismissed", n.NeedID)
		}
	}
	broken.Faults = 3
	if _, ok := found.Of(broken); ok {
		t.Error("a log with more faults stays dismissed")
	}
	found = record(Dismissal{NeedID: failed.NeedID, Restored: true})
	if _, ok := found.Of(failed); ok || len(found) != 2 {
		t.Errorf("after the restoring %+v", found)
	}
	text, err := w.Read(workspace.DismissedFile)
	if err != nil || strings.Count(string(text), "\n") != 2 {
		t.Errorf("%v: %q", err, text)
	}
	if workspace.IsExportable(workspace.NeedsDir) {
		t.Error("dismissals are exported")
	}
}
