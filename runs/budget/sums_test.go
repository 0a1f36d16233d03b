package budget

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ac/index"
	"ac/internal/clock"
	"ac/internal/durable"
	"ac/workspace"
	"ac/workspace/doc"
	"ac/workspace/workspacetest"
)

func newWorkspace(t testing.TB, env workspace.Env) *workspace.Workspace {
	t.Helper()
	w := workspacetest.New(t, env)
	return w
}

func run(id, status, task string, tokens int64, cost *float64) doc.Run {
	r := doc.Run{
		SchemaVersion: 1, Type: "run", ID: id, ProjectID: "p", AgentID: "a", Provider: "cmd", CreatedAt: "2026-01-02T03:04:05.678Z",
		Status: status, ContextPackID: "c", EventsRelpath: "runs/" + id + "/events.jsonl",
		Spec: &doc.Spec{Kind: doc.KindCommand, Argv: []string{"true"}, TaskID: task},
	}
	if tokens >= 0 {
		r.Usage = &doc.Usage{Source: "provider_reported", Confidence: "high", TotalTokens: tokens, CostUSD: cost}
	}
	return r
}

type fataler interface{ Fatal(args ...any) }

func put(t fataler, w *workspace.Workspace, r doc.Run) {
	text, err := doc.RunCodec.Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	write(t, w, r.ID, text)
}

func write(t fataler, w *workspace.Workspace, id string, text []byte) {
	file := filepath.Join(w.Dir(), workspace.RunFile("p", id))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	// Replace the file instead of overwriting it, as every program does.
	if err := os.WriteFile(file+".new", text, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

// nextTick waits until the file system's timestamps advance.
func nextTick(t fataler, dir string) {
	stamp := func() time.Time {
		name := filepath.Join(dir, "tick")
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		st, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		return st.ModTime()
	}
	for first := stamp(); !stamp().After(first); {
		runtime.Gosched()
	}
}

// TestSumsModel creates, ends, edits and removes runs, and compares the cached sums with a
// model. It asks both while the files are fresh and when they seem old enough for their
// timestamps to be trusted.
func TestSumsModel(t *testing.T) {
	t.Parallel()
	env := workspace.SystemEnv()
	var ahead time.Duration
	env.Clock = clock.New(func() time.Time { return time.Now().Add(ahead) }, 0)
	w := newWorkspace(t, env)
	rapid.Check(t, func(t *rapid.T) {
		if err := os.RemoveAll(filepath.Join(w.Dir(), workspace.ProjectDir("p"))); err != nil {
			t.Fatal(err)
		}
		sums, model := NewSums(w), map[string]doc.Run{}
		for range rapid.IntRange(1, 10).Draw(t, "changes") {
			nextTick(t, w.Dir())
			change(t, w, model)
			for range rapid.IntRange(0, 2).Draw(t, "questions") {
				ahead = time.Duration(rapid.IntRange(0, 1).Draw(t, "settled")) * time.Hour
				ask(t, sums, model)
			}
		}
		ask(t, sums, model)
	})
}

// change creates, ends, edits or removes one of four runs.
func change(t *rapid.T, w *workspace.Workspace, model map[string]doc.Run) {
	id := rapid.SampledFrom([]string{"run_1", "run_2", "run_3", "run_4"}).Draw(t, "id")
	r, there := model[id]
	switch {
	case !there:
		model[id] = run(id, doc.StatusRunning, rapid.SampledFrom([]string{"t1", "t2"}).Draw(t, "task"), -1, nil)
	case rapid.IntRange(0, 4).Draw(t, "goes") == 0:
		delete(model, id)
		if err := os.RemoveAll(filepath.Join(w.Dir(), workspace.RunDir("p", id))); err != nil {
			t.Fatal(err)
		}
		return
	default: // it ends, or somebody edits it
		var cost *float64
		if rapid.Bool().Draw(t, "priced") {
			cost = new(float64(rapid.IntRange(0, 1000).Draw(t, "cost")) / 1000)
		}
		model[id] = run(id, doc.StatusEnded, r.Spec.TaskID, rapid.Int64Range(0, 1<<52).Draw(t, "tokens"), cost)
	}
	put(t, w, model[id])
}

func ask(t *rapid.T, sums *Sums, model map[string]doc.Run) {
	without, task := rapid.SampledFrom([]string{"", "run_2"}).Draw(t, "without"), rapid.SampledFrom([]string{"", "t1"}).Draw(t, "task")
	var want Totals
	for id, r := range model {
		if id == without {
			continue
		}
		want.Project = want.Project.Plus(Of(r.Usage))
		if task != "" && r.Spec.TaskID == task {
			want.Task = want.Task.Plus(Of(r.Usage))
		}
	}
	if got, err := sums.Of(Subject{Project: "p", Task: task, Run: without}); err != nil || got != want {
		t.Fatalf("sums %+v, %v, want %+v", got, err, want)
	}
}

// TestUnreadableRuns checks that unreadable runs count for nothing until they can be read, like
// runs without usage and stray files beside runs.
func TestUnreadableRuns(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, workspace.SystemEnv())
	put(t, w, run("run_1", doc.StatusEnded, "t", 100, new(0.25)))
	put(t, w, run("run_2", doc.StatusFailed, "t", -1, nil))
	write(t, w, "run_3", []byte("usage: ["))
	if err := w.Replace(workspace.RunsDir("p")+"/stray.txt", []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	sums := NewSums(w)
	for _, step := range []struct {
		fix  func()
		want int64
	}{
		{func() {}, 100},
		{func() { put(t, w, run("run_3", doc.StatusEnded, "t", 7, nil)) }, 107},
	} {
		step.fix()
		if got, err := sums.Of(Subject{Project: "p", Task: "t"}); err != nil || got.Project.Tokens != step.want || got.Task.Tokens != step.want || got.Project.Billionths != billion/4 {
			t.Errorf("sums %+v, %v, want %d tokens", got, err, step.want)
		}
	}
	if got, err := sums.Of(Subject{Project: "none"}); err != nil || got != (Totals{}) {
		t.Errorf("a project that is not there has spent %+v, %v", got, err)
	}
}

// TestLimitsOf checks that a document that cannot be read, or has another id, has no budget.
func TestLimitsOf(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, workspace.SystemEnv())
	project := func(budget string) string {
		return "schema_version: 1\ntype: project\nid: p\nname: P\nstatus: active\ncreated_at: 2026-01-02T03:04:05.678Z\n" + budget
	}
	task := func(id, budget string) string {
		return "---\nschema_version: 1\ntype: task\nid: " + id + "\nproject_id: p\ntitle: T\ncreated_at: 2026-01-02T03:04:05.678Z\n" +
			"status: draft\nvisibility: org\n" + budget + "milestones: []\n---\nbody\n"
	}
	for _, c := range []struct {
		name, project, task string
		hasProject, hasTask bool
	}{
		{"both", project("budget:\n  hard_tokens: 5\n"), task("t", "budget:\n  soft_cost_usd: 0.5\n"), true, true},
		{"none", project(""), task("t", ""), false, false},
		{"hard below soft", project("budget:\n  soft_tokens: 5\n  hard_tokens: 4\n"), task("t", "budget:\n  hard_tokens: -1\n"), false, false},
		{"unknown key", project("budget:\n  hard_tokens: 5\n  hard: 5\n"), task("t", "budget:\n  tokens: 5\n"), false, false},
		{"damaged", "id: [", "no front matter", false, false},
		{"another's id", "id: q", task("u", "budget:\n  soft_cost_usd: 0.5\n"), false, false},
	} {
		for name, text := range map[string]string{workspace.ProjectFile("p"): c.project, workspace.TasksDir("p") + "/t.md": c.task} {
			if err := w.Replace(name, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		run := &doc.Budget{}
		got := LimitsOf(w, run, Subject{Project: "p", Task: "t"})
		if got.Run != run || (got.Project != nil) != c.hasProject || (got.Task != nil) != c.hasTask {
			t.Errorf("%s: limits %+v", c.name, got)
		}
	}
	if got := LimitsOf(w, nil, Subject{Project: "p", Task: "../p", Workflow: "../p"}); got.Task != nil {
		t.Errorf("a task that is a path has the limits %+v", got)
	}
}

// BenchmarkSums measures sums over ten thousand runs: with nothing changed, and just after a
// run was created.
func BenchmarkSums(b *testing.B) {
	w := newWorkspace(b, workspace.SystemEnv())
	for i := range 10_000 {
		put(b, w, run(fmt.Sprintf("run_%05d", i), doc.StatusEnded, "t", 100, new(0.25)))
	}
	time.Sleep(2500 * time.Millisecond) // change times cannot be set: wait until the files count as old
	began := time.Now()
	sums := NewSums(w)
	sum := func(b *testing.B) {
		if got, err := sums.Of(Subject{Project: "p", Task: "t"}); err != nil || got.Task.Tokens < 1_000_000 {
			b.Fatal(got, err)
		}
	}
	sum(b)
	b.Logf("cold: %s", time.Since(began))
	b.Run("warm", func(b *testing.B) {
		for b.Loop() {
			sum(b)
		}
	})
	put(b, w, run("run_fresh", doc.StatusRunning, "t", -1, nil))
	b.Run("after a run was made", func(b *testing.B) {
		for b.Loop() {
			sum(b)
		}
	})
}

// opened counts how often a run's record is opened.
type opened struct {
	durable.FS
	runs int
}

func (o *opened) OpenFile(name string, flag int, perm fs.FileMode) (durable.File, error) {
	if strings.HasSuffix(name, "/run.yaml") {
		o.runs++
	}
	return o.FS.OpenFile(name, flag, perm)
}

// TestSumsOfIndex checks that sums use the index for finished runs whose files have not changed
// since they were indexed, and read all others.
func TestSumsOfIndex(t *testing.T) {
	t.Parallel()
	env := workspace.SystemEnv()
	env.Clock = clock.New(func() time.Time { return time.Now().Add(time.Hour) }, 0) // files seem old
	w := newWorkspace(t, env)
	put(t, w, run("run_live", doc.StatusRunning, "t", -1, nil))
	for i := range 200 {
		put(t, w, run(fmt.Sprintf("run_%03d", i), doc.StatusEnded, []string{"t", "u"}[i%2], 10, new(0.5)))
	}
	ix := index.For(w)
	if _, err := ix.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := ix.Close(); err != nil {
		t.Fatal(err)
	}
	counting := &opened{FS: w.FS}
	w.FS = counting
	sums := func(want Totals, most int) {
		t.Helper()
		counting.runs = 0
		got, err := NewSums(w).Of(Subject{Project: "p", Task: "t"})
		if err != nil || got != want || counting.runs > most {
			t.Errorf("%+v (%v) with %d records read, want %+v with %d at most", got, err, counting.runs, want, most)
		}
	}
	half := int64(500_000_000)
	sums(Totals{Spend{2000, 200 * half}, Spend{1000, 100 * half}, Spend{}}, 1)
	// Files that changed since the sync are read.
	nextTick(t, w.Dir())
	put(t, w, run("run_000", doc.StatusEnded, "t", 1010, nil))
	put(t, w, run("run_new", doc.StatusFailed, "t", 7, nil))
	sums(Totals{Spend{3007, 199 * half}, Spend{2007, 99 * half}, Spend{}}, 3)
	if err := os.WriteFile(index.Path(w.Dir()), []byte("no index"), 0o600); err != nil {
		t.Fatal(err)
	}
	sums(Totals{Spend{3007, 199 * half}, Spend{2007, 99 * half}, Spend{}}, 202)
}
