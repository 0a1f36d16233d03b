package pm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/doc"
	"ac/workspace/validate"
	"ac/workspace/workspacetest"
)

// company is a workspace with a project.
type company struct {
	*workspace.Workspace

	project string
}

func newCompany(t testing.TB) *company {
	t.Helper()
	ctx := t.Context()
	env := workspace.SystemEnv()
	w := workspacetest.New(t, env)
	project, err := w.NewProject(ctx, "Apollo")
	if err != nil {
		t.Fatal(err)
	}
	return &company{w, project}
}

func (c *company) writeTask(t *testing.T, id, head, body string) string {
	t.Helper()
	name := workspace.TaskFile(c.project, id)
	if err := c.Replace(name, []byte("---\n"+head+"---\n"+body), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

func headOf(id, status, milestones string) string {
	return "schema_version: 1\ntype: task\nid: " + id + "\nproject_id: p\ntitle: T\ncreated_at: 2026-11-20T15:06:35.484Z\nstatus: " + status +
		"\nvisibility: org\nmilestones:" + milestones + "\n"
}

// TestBodiesAreKept checks that a change of a task keeps its body byte for byte.
func TestBodiesAreKept(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	for i, body := range []string{
		"", "\n", "text without end", "\r\n# T\r\n\r\n## Contract\r\n", "\n---\nfence: below\n---\n", "\n# \u0085 \u2028 \xff\x00\n", "\n\n\n  \t\n", "\nmixed\r\nlines\n\r\r\n",
	} {
		id := fmt.Sprintf("task_%d", i)
		name := c.writeTask(t, id, headOf(id, "draft", " []"), body)
		if _, err := UpdatePlan(t.Context(), c.Workspace, c.project, id, PlanChange{ExecutionPlan: &doc.ExecutionPlan{PreferredModel: "m"}}); err != nil {
			t.Fatalf("%q: %v", body, err)
		}
		text, err := c.Read(name)
		if err != nil {
			t.Fatal(err)
		}
		_, after, ok := strings.Cut(string(text), "\n---\n")
		if body != "" && body[0] != '\n' && body[0] != '\r' {
			body = "\n" + body // an empty line is added before such a body
		}
		if !ok || after != body {
			t.Errorf("the body %q became %q", body, after)
		}
	}
}

// TestHeadsAreRewritten checks that a change rewrites hand-written front matter in canonical form,
// and that invalid front matter is refused and kept.
func TestHeadsAreRewritten(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	name := c.writeTask(t, "task_a", "# a comment\r\nmilestones: []\r\nvisibility: org # why\r\nstatus: draft\r\ncreated_at: 2026-11-20\r\ntitle: \"\\u0085 yes\"\r\nproject_id: p\r\nid: task_a\r\ntype: task\r\nschema_version: 1\r\n", "\r\nbody\r\n")
	if _, err := UpdatePlan(t.Context(), c.Workspace, c.project, "task_a", PlanChange{Schedule: &doc.Schedule{PlannedStart: "2026-03-01"}}); err != nil {
		t.Fatal(err)
	}
	text, err := c.Read(name)
	want := "---\nschema_version: 1\ntype: task\nid: task_a\nproject_id: p\ntitle: \"\\N yes\"\ncreated_at: \"2026-11-20\"\nstatus: draft\nvisibility: org\n" +
		"schedule:\n  planned_start: \"2026-03-01\"\n  depends_on_task_ids: []\nmilestones: []\n---\n\r\nbody\r\n"
	if err != nil || string(text) != want {
		t.Errorf("%v\n%q\n%q", err, text, want)
	}
	for what, head := range map[string]string{
		"an unknown key":         headOf("task_b", "draft", " []") + "more: 1\n",
		"an unknown inner key":   headOf("task_b", "draft", "\n  - {id: m, title: M, kind: coding, status: ready, acceptance_criteria: [], more: 1}"),
		"a key twice":            headOf("task_b", "draft", " []") + "title: T\n",
		"no YAML":                "id: [",
		"a null":                 headOf("task_b", "draft", " []") + "team_id: null\n",
		"a status of milestones": headOf("task_b", "draft", "\n  - {id: m, title: M, kind: coding, status: canceled, acceptance_criteria: []}"),
	} {
		name := c.writeTask(t, "task_b", head, "\n")
		before, err := c.Read(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := UpdatePlan(t.Context(), c.Workspace, c.project, "task_b", PlanChange{ClearSchedule: true}); !fault.Is(err, fault.InvalidFile) {
			t.Errorf("%s: %v", what, err)
		}
		if after, err := c.Read(name); err != nil || string(after) != string(before) {
			t.Errorf("%s: the file became %q (%v)", what, after, err)
		}
	}
}

// TestNothingChangedNothingWritten checks that a no-op change does not rewrite the file.
func TestNothingChangedNothingWritten(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	name := c.writeTask(t, "task_a", "# kept\n"+headOf("task_a", "draft", " []")+"schedule: {duration_days: 3}\n", "\nbody\n")
	file := filepath.Join(c.Dir(), filepath.FromSlash(name))
	before, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	days := 3
	for _, change := range []PlanChange{
		{}, {Schedule: &doc.Schedule{DurationDays: &days}}, {ClearExecution: true},
	} {
		if _, err := UpdatePlan(t.Context(), c.Workspace, c.project, "task_a", change); err != nil {
			t.Fatal(err)
		}
		after, err := os.Stat(file)
		if err != nil || !os.SameFile(before, after) || !before.ModTime().Equal(after.ModTime()) {
			t.Errorf("%+v wrote the file again (%v)", change, err)
		}
	}
}

func TestMilestonesRuleTheTask(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ task, other, status, want string }{
		{"in_progress", "done", "done", "done"},
		{"draft", "done", "done", "done"},
		{"blocked", "ready", "done", "blocked"},
		{"canceled", "done", "done", "canceled"},
		{"done", "done", "blocked", "in_progress"},
		{"done", "draft", "done", "in_progress"},
		{"canceled", "ready", "draft", "canceled"},
	} {
		task := doc.Task{ID: "t", Status: c.task, Milestones: []doc.Milestone{{ID: "a", Status: c.other}, {ID: "b", Status: "ready"}}}
		if err := SetMilestoneStatus(&task, "b", c.status); err != nil || task.Status != c.want || task.Milestones[1].Status != c.status {
			t.Errorf("%+v: %+v, %v", c, task, err)
		}
	}
	task := doc.Task{ID: "t"}
	if err := SetMilestoneStatus(&task, "none", "done"); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
}

// TestPlansAndMilestonesSideBySide checks that concurrent changes of one task are all kept.
func TestPlansAndMilestonesSideBySide(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	id, err := NewTask(t.Context(), c.Workspace, c.project, TaskSpec{Title: "T", Visibility: "org"})
	if err != nil {
		t.Fatal(err)
	}
	const n = 8
	failures := make([]error, 2*n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			_, failures[i] = AddMilestone(t.Context(), c.Workspace, c.project, id, doc.Milestone{Title: "M", Kind: "planning"})
		})
		wg.Go(func() {
			_, failures[n+i] = ChangeTask(t.Context(), c.Workspace, c.project, id, func(task *doc.Task) error {
				schedule := doc.Schedule{DependsOnTaskIDs: []string{}}
				if task.Schedule != nil {
					schedule = *task.Schedule
				}
				schedule.DependsOnTaskIDs = append(schedule.DependsOnTaskIDs, fmt.Sprint("task_", i))
				return ApplyPlan(task, PlanChange{Schedule: &schedule}, "")
			})
		})
	}
	wg.Wait()
	task, err := c.Task(c.project, id)
	if err := errors.Join(errors.Join(failures...), err); err != nil || len(task.Milestones) != n || len(task.Schedule.DependsOnTaskIDs) != n {
		t.Errorf("%+v: %v", task, err)
	}
}

func TestNewTasks(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	for _, title := range []string{"a\nb", "a\rb", "a\u2028b", "a\u0085b"} {
		if _, err := NewTask(t.Context(), c.Workspace, c.project, TaskSpec{Title: title, Visibility: "org"}); !fault.Is(err, fault.InvalidParams) {
			t.Errorf("%q: %v", title, err)
		}
	}
	if _, err := NewTask(t.Context(), c.Workspace, "proj_none", TaskSpec{Title: "T", Visibility: "org"}); !fault.Is(err, fault.NotFound) || c.Exists(workspace.ProjectDir("proj_none")) {
		t.Error(err)
	}
	for _, title := range []string{"yes", "---", "# x", "a: b", "\"q\"", "2026-01-01", " padded "} {
		id, err := NewTask(t.Context(), c.Workspace, c.project, TaskSpec{Title: title, Visibility: "org"})
		if err != nil {
			t.Fatal(err)
		}
		text, err := c.Read(workspace.TaskFile(c.project, id))
		if issues := ValidateTask(text); err != nil || len(issues) > 0 {
			t.Errorf("%q: %v, %v", title, issues, err)
		}
		if task, err := c.Task(c.project, id); err != nil || task.Title != title {
			t.Errorf("%q became %q: %v", title, task.Title, err)
		}
	}
	if findings := validate.Folder(workspace.SystemEnv(), c.Dir()); len(findings.Issues) > 0 {
		t.Error(findings.Issues)
	}
	// A task with milestones and notes, as the pipelines create it.
	_, text, err := DraftTask(c.Env, c.project, TaskSpec{Title: "T", Visibility: "org"}, []doc.Milestone{{Title: "M", Kind: "planning", Status: "ready"}}, "- note\n\n")
	if err != nil || !strings.HasSuffix(string(text), "\n## Milestones\n\n- note\n") || !strings.Contains(string(text), "  - id: ms_") {
		t.Errorf("%s (%v)", text, err)
	}
}

func TestValidateTask(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":            "frontmatter: missing_frontmatter",
		"---\na: 1\n": "frontmatter: frontmatter_unclosed",
		"---\n" + headOf("t", "ready", " []") + "---\n## contract \n##  Milestones": "missing_heading contract_incomplete contract_incomplete contract_incomplete",
		"---\n" + headOf("t", "done", " []") + "---\n## CONTRACT\n## Milestones":    "",
		"---\n" + headOf("t", "lost", " 7") + "---\n":                               "frontmatter_schema frontmatter_schema",
		"---\na: 1\na: 2\n---\n": "frontmatter",
	} {
		issues := ValidateTask([]byte(text))
		var codes []string
		for _, issue := range issues {
			codes = append(codes, issue.Code)
		}
		code, message, _ := strings.Cut(want, ": ")
		if strings.Join(codes, " ") != code || message != "" && issues[0].Message != message {
			t.Errorf("%q: %+v", text, issues)
		}
	}
}
