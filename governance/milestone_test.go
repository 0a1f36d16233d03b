package governance

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ac/governance/policy"
	"ac/internal/fault"
	"ac/pm"
	"ac/workspace"
	"ac/workspace/doc"
)

// coding creates a task with a coding milestone and a report on it.
func (c *company) coding(t *testing.T, evidence, tests []string) (task, milestone, report string) {
	t.Helper()
	ctx := t.Context()
	task, err := pm.NewTask(ctx, c.Workspace, c.project, pm.TaskSpec{Title: "T", Visibility: "org"})
	if err != nil {
		t.Fatal(err)
	}
	if milestone, err = pm.AddMilestone(ctx, c.Workspace, c.project, task, doc.Milestone{Title: "M", Kind: "coding"}); err != nil {
		t.Fatal(err)
	}
	report, err = NewMilestoneReport(ctx, c.Workspace, c.project, ReportSpec{
		ArtifactSpec: ArtifactSpec{Title: "R", RunID: c.run}, TaskID: task, MilestoneID: milestone, Evidence: evidence, Tests: tests,
	})
	if err != nil {
		t.Fatal(err)
	}
	return task, milestone, report
}

// headOf returns the front matter of a task.
func headOf(id, status, milestones string) string {
	return "schema_version: 1\ntype: task\nid: " + id + "\nproject_id: p\ntitle: T\ncreated_at: 2026-11-20T15:06:35.484Z\nstatus: " + status +
		"\nvisibility: org\nmilestones:" + milestones + "\n"
}

func (c *company) approveMilestone(t *testing.T, task, milestone, report string) (Resolution, error) {
	return ApproveMilestone(t.Context(), c.Workspace, MilestoneRuling{
		Ruling: Ruling{Item: Item{c.project, report}, Actor: policy.Actor{ID: c.manager, Role: "manager"}}, TaskID: task, MilestoneID: milestone,
	})
}

// TestEvidence checks which files count as evidence of a patch.
func TestEvidence(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	dir := filepath.Join(c.Dir(), filepath.FromSlash(workspace.ArtifactsDir(c.project)))
	outside := filepath.Join(t.TempDir(), "outside.patch")
	file := func(name, text string) func() error {
		return func() error { return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600) }
	}
	for _, e := range []struct {
		what     string
		evidence []string
		put      func() error
		counts   bool
	}{
		{"nothing", nil, nil, false},
		{"an id without a file", []string{"art_a"}, nil, false},
		{"an empty file", []string{"art_b"}, file("art_b.patch", ""), false},
		{"another extension", []string{"art_c"}, file("art_c.txt", "x"), false},
		{"a path", []string{"../artifacts/art_d"}, file("art_d.patch", "x"), false},
		{"a directory", []string{"art_e"}, func() error { return os.Mkdir(filepath.Join(dir, "art_e.patch"), 0o750) }, false},
		{"a FIFO", []string{"art_f"}, func() error { return syscall.Mkfifo(filepath.Join(dir, "art_f.patch"), 0o600) }, false},
		{"a link out of the workspace", []string{"art_g"}, func() error {
			if err := os.WriteFile(outside, []byte("x"), 0o600); err != nil {
				return err
			}
			return os.Symlink(outside, filepath.Join(dir, "art_g.patch"))
		}, false},
		{"a link to nothing", []string{"art_h"}, func() error { return os.Symlink("none", filepath.Join(dir, "art_h.patch")) }, false},
		{"NUL", []string{"a\x00b"}, nil, false},
		{"a file, behind others that are none", []string{"..", "art_a", "art_i"}, file("art_i.patch", "x"), true},
		{"a link within the workspace", []string{"art_j"}, func() error { return os.Symlink("art_i.patch", filepath.Join(dir, "art_j.patch")) }, true},
	} {
		if e.put != nil {
			if err := e.put(); err != nil {
				t.Fatal(err)
			}
		}
		task, milestone, report := c.coding(t, e.evidence, []string{"art_i"})
		_, err := c.approveMilestone(t, task, milestone, report)
		// The tests are always missing. An error about them means that the patch counted.
		if !fault.Is(err, fault.Conflict) || strings.Contains(err.Error(), "requires tests") != e.counts {
			t.Errorf("%s: %v", e.what, err)
		}
		if task, err := c.Task(c.project, task); err != nil || task.Status != "draft" || task.Milestones[0].Status != "draft" {
			t.Errorf("%s: %+v, %v", e.what, task, err)
		}
	}
	if err := file("art_i.json", "{}")(); err != nil {
		t.Fatal(err)
	}
	task, milestone, report := c.coding(t, []string{"art_i"}, []string{"art_i"})
	if done, err := c.approveMilestone(t, task, milestone, report); err != nil || done.TaskStatus != "done" || done.MilestoneStatus != "done" {
		t.Errorf("%+v, %v", done, err)
	}
}

// TestWhatAMilestoneAsksFor checks that a milestone's own evidence rules override those of its
// kind.
func TestWhatAMilestoneAsksFor(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	for _, m := range []struct{ milestone, refused string }{
		{"{id: m, title: M, kind: coding, status: ready, acceptance_criteria: []}", "requires a patch"},
		{"{id: m, title: M, kind: coding, status: blocked, acceptance_criteria: [], evidence: {requires_patch: false, requires_tests: false}}", ""},
		{"{id: m, title: M, kind: coding, status: draft, acceptance_criteria: [], evidence: {requires_patch: false, requires_tests: true}}", "requires tests"},
		{"{id: m, title: M, kind: planning, status: ready, acceptance_criteria: []}", ""},
		{"{id: m, title: M, kind: research, status: ready, acceptance_criteria: [], evidence: {requires_patch: true, requires_tests: false}}", "requires a patch"},
	} {
		for _, status := range []string{"ready", "canceled"} {
			task := c.Env.IDs.New("task")
			name := workspace.TaskFile(c.project, task)
			c.write(t, name, "---\n"+headOf(task, status, "\n  - "+m.milestone)+"---\n\nbody\r\n")
			report, err := NewMilestoneReport(t.Context(), c.Workspace, c.project, ReportSpec{
				ArtifactSpec: ArtifactSpec{Title: "R", RunID: c.run}, TaskID: task, MilestoneID: "m",
			})
			if err != nil {
				t.Fatal(err)
			}
			done, err := c.approveMilestone(t, task, "m", report)
			if m.refused != "" {
				if err == nil || !strings.Contains(err.Error(), m.refused) {
					t.Errorf("%s: %v", m.milestone, err)
				}
				continue
			}
			want := map[string]string{"ready": "done", "canceled": "canceled"}[status]
			if err != nil || done.TaskStatus != want {
				t.Errorf("%s of a task that is %s: %+v, %v", m.milestone, status, done, err)
			}
			if text, err := c.Read(name); err != nil || !strings.HasSuffix(string(text), "---\n\nbody\r\n") {
				t.Errorf("%q, %v", text, err)
			}
		}
	}
}

// TestBrokenSiblings checks that unreadable documents in the same folders do not block an approval.
func TestBrokenSiblings(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	task, milestone, report := c.coding(t, []string{"art_p"}, []string{"art_p"})
	for name, text := range map[string]string{
		workspace.ArtifactsDir(c.project) + "/art_p.patch": "x", workspace.ArtifactsDir(c.project) + "/art_p.txt": "x",
		workspace.TaskFile(c.project, "task_broken"): "---\n[", workspace.TaskFile(c.project, "copy"): "---\n" + headOf(task, "draft", " []") + "---\n",
		ArtifactFile(c.project, "art_broken"): "nothing", ReviewFile("rev_broken"): "type: [", ReviewFile("rev_copy"): "type: review",
	} {
		if err := c.Replace(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(c.Dir(), "inbox", "reviews", "rev_dir.yaml"), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(c.Dir(), "inbox", "reviews", "rev_fifo.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(c.Dir(), "inbox", "reviews", "rev_link.yaml")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.approveMilestone(t, task, milestone, report); err != nil {
		t.Fatal(err)
	}
	tasks, err := pm.Tasks(c.Workspace, c.project)
	if err != nil || len(tasks) != 1 || tasks[0].ID != task {
		t.Errorf("%+v, %v", tasks, err)
	}
}

// TestEventsOfAMilestone checks the events of a refusal, a denial, and an approval without
// sufficient evidence.
func TestEventsOfAMilestone(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	log := workspace.LogFile(c.project, c.run)
	before := len(c.events(t, log, 0))
	task, milestone, report := c.coding(t, []string{"art_p"}, nil)
	rule := Ruling{Item: Item{c.project, report}, Actor: policy.Actor{ID: c.worker, Role: "manager"}}
	if _, err := DenyMilestone(t.Context(), c.Workspace, rule); !fault.Is(err, fault.Denied) {
		t.Error(err)
	}
	rule.Actor = policy.Actor{ID: c.manager, Role: "manager"}
	denied, err := DenyMilestone(t.Context(), c.Workspace, rule)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.approveMilestone(t, task, milestone, report); !fault.Is(err, fault.Conflict) {
		t.Error(err)
	}
	told := c.events(t, log, before)
	if got := types(told); got != "policy.decision policy.denied policy.decision approval.decided policy.decision" {
		t.Error(got)
	}
	payload := told[3].Payload
	if payload["review_id"] != denied.ReviewID || payload["subject_kind"] != "milestone" || payload["decision"] != "denied" ||
		payload["task_id"] != task || payload["milestone_id"] != milestone || payload["report_artifact_id"] != report || payload["artifact_id"] != nil {
		t.Errorf("%+v", payload)
	}
	reviews, err := Reviews(c.Workspace, 10)
	if err != nil || len(reviews) != 1 || reviews[0].Subject != (doc.ReviewSubject{Kind: "milestone", ArtifactID: report, ProjectID: c.project}) {
		t.Errorf("%+v, %v", reviews, err)
	}
}

// TestHelpRequests checks that help requests are listed newest first, without stray copies.
func TestHelpRequests(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	var ids []string
	for range 3 {
		id, err := NewHelpRequest(t.Context(), c.Workspace, HelpSpec{Title: "T", Visibility: "managers", Requester: "human", TargetManager: "nobody"})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	text, err := c.Read(HelpRequestFile(ids[0]))
	if issues := ValidateHelpRequest(text); err != nil || len(issues) > 0 {
		t.Errorf("%+v, %v", issues, err)
	}
	for _, name := range []string{"help_z", "zz"} {
		if err := c.Replace(HelpRequestFile(name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	slices.Reverse(ids)
	for limit, want := range map[int][]string{1: ids[:1], 2: ids[:2], 1000: ids} {
		found, err := HelpRequests(c.Workspace, limit)
		got := make([]string, len(found))
		for i, h := range found {
			got[i] = h.ID
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%d: %v, %v", limit, got, err)
		}
	}
}
