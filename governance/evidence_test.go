package governance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ac/internal/fault"
	"ac/workspace"
)

// TestReportEvidence checks evidence of each form: missing, empty, binary, large, and a patch
// with its line counts.
func TestReportEvidence(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	dir := filepath.Join(c.Dir(), filepath.FromSlash(workspace.ArtifactsDir(c.project)))
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	secret := "ghp_" + strings.Repeat("Zz9", 12)
	diff := "diff --git a/a.go b/a.go\n--- a/a.go\n+++ b/a.go\n@@ -1,2 +1,3 @@\n a\n-b\n+c\n+--- d " + secret + "\n--- a/e\n+++ b/e\n@@ -0,0 +1 @@\n+e\n"
	put("art_p.patch", diff)
	put("art_e.patch", "")
	put("art_b.txt", "a\x00b")
	put("art_l.txt", strings.Repeat("a line of it\n", 3<<20/13))
	put("art_two.md", "# A report")
	put("art_two.json", "{}")
	evidence := []string{"art_p", "art_none", "art_e", "../art_p", "art_two"}
	task, milestone, report := c.coding(t, evidence, []string{"art_b", "art_l"})
	e, err := ReportEvidence(c.Workspace, Item{c.project, report}, true)
	if err != nil {
		t.Fatal(err)
	}
	if !e.Fits || e.Why != "" || e.Task.ID != task || e.Task.Title != "T" || e.Milestone.ID != milestone || e.Milestone.Kind != "coding" || !e.Requires.Patch || !e.Requires.Tests {
		t.Errorf("%+v", e)
	}
	type row struct {
		id, role, form    string
		truncated, binary bool
	}
	want := []row{
		{"art_p", "evidence", "patch", false, false}, {"art_none", "evidence", FormMissing, false, false}, {"art_e", "evidence", "patch", false, false},
		{"../art_p", "evidence", FormMissing, false, false}, {"art_two", "evidence", FormMarkdown, false, false}, {"art_two", "evidence", "json", false, false},
		{"art_b", "tests", "text", false, true}, {"art_l", "tests", "text", true, false},
	}
	if len(e.Items) != len(want) {
		t.Fatalf("%d items: %+v", len(e.Items), e.Items)
	}
	for i, item := range e.Items {
		if got := (row{item.ID, item.Role, item.Form, item.Truncated, item.Binary}); got != want[i] {
			t.Errorf("item %d is %+v, want %+v", i, got, want[i])
		}
	}
	p, large := e.Items[0], e.Items[7]
	if *p.Added != 3 || *p.Removed != 1 || *p.Files != 2 || strings.Contains(p.Text, secret) || !strings.Contains(p.Text, "[REDACTED") || p.Bytes != int64(len(diff)) || len(p.SHA256) != 64 {
		t.Errorf("the patch: %+v", p)
	}
	if large.Bytes < 3<<20-13 || len(large.Text) > evidenceText || !strings.HasSuffix(large.Text, "of it\n") || e.Items[6].Text != "" {
		t.Errorf("%d bytes with a text of %d", large.Bytes, len(large.Text))
	}
	if open, err := ReportEvidence(c.Workspace, Item{c.project, report}, false); err != nil || open.Items[0].Text != diff {
		t.Errorf("unmasked: %v", err)
	}
	if _, err := c.approveMilestone(t, task, milestone, report); err != nil {
		t.Fatal(err)
	}
	if e, err = ReportEvidence(c.Workspace, Item{c.project, report}, true); err != nil || e.Fits || !strings.Contains(e.Why, "done already") {
		t.Errorf("after the approval: %v %q, %v", e.Fits, e.Why, err)
	}
	_, _, bare := c.coding(t, nil, nil)
	if e, err = ReportEvidence(c.Workspace, Item{c.project, bare}, true); err != nil || e.Fits || !strings.Contains(e.Why, "requires a patch") || e.Items == nil || e.Criteria == nil {
		t.Errorf("%+v, %v", e, err)
	}
	if _, err := ReportEvidence(c.Workspace, Item{c.project, "art_two"}, true); err == nil {
		t.Error("what is no report has evidence")
	}
	if _, err := ReportEvidence(c.Workspace, Item{c.project, "art_nothing"}, true); !fault.Is(err, fault.NotFound) {
		t.Errorf("%v", err)
	}
}

// TestEvidenceHasABound checks that the total evidence text of a full report stays within its
// bound and that every item is still listed.
func TestEvidenceHasABound(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	dir := filepath.Join(c.Dir(), filepath.FromSlash(workspace.ArtifactsDir(c.project)))
	var ids []string
	for _, letter := range "abcdefghijkl" {
		id := "art_" + string(letter)
		ids = append(ids, id)
		if err := os.WriteFile(filepath.Join(dir, id+".txt"), []byte(strings.Repeat("x y\n", 70_000)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, _, report := c.coding(t, ids, nil)
	e, err := ReportEvidence(c.Workspace, Item{c.project, report}, true)
	sum := 0
	for _, item := range e.Items {
		sum += len(item.Text)
		if !item.Truncated || item.Bytes != 280_000 {
			t.Errorf("%+v", item.ID)
		}
	}
	if err != nil || len(e.Items) != len(ids) || sum > evidenceTexts {
		t.Errorf("%d items of %d bytes, %v", len(e.Items), sum, err)
	}
}
