package feed

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ac/events"
	"ac/internal/lateness"
	"ac/internal/proc"
	"ac/workspace"
	"ac/workspace/doc"
)

// TestOthersAppend checks that events of other processes arrive within two seconds,
// even from runs and projects that those processes create.
func TestOthersAppend(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.subscribe(Spec{ID: "one"})
	_, start, err := f.hub.Subscribe(Spec{ID: "all"})
	if err != nil {
		t.Fatal(err)
	}
	start()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), appendTo+"="+f.ws.Dir())
	if out, err := child.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	late, ended := lateness.Measure(), time.Now()
	for _, sub := range []string{"one", "all"} {
		if diff := cmp.Diff(counted(1, 3), f.seqs(t, sub, "run_c", 3)); diff != "" {
			t.Errorf("%s: %s", sub, diff)
		}
	}
	if took := time.Since(ended); took > 2*time.Second+late() {
		t.Errorf("the events of another process took %v", took)
	}
	if n := f.got("one")[0]; n.Project != "child" || n.Dir != f.ws.Dir() {
		t.Errorf("project %q, workspace %q", n.Project, n.Dir)
	}
}

// TestWorkspacesNamedLater checks that a subscription to all workspaces also gets events
// of workspaces registered later, with their paths.
func TestWorkspacesNamedLater(t *testing.T) {
	t.Parallel()
	f, later := newFixture(t), newFixture(t)
	_, start, err := f.hub.Subscribe(Spec{ID: "all"})
	if err != nil {
		t.Fatal(err)
	}
	start()
	later.write("p", "run_1", lines("run_1", 1, 2))
	f.hub.Register(later.ws)
	later.write("p", "run_1", lines("run_1", 3, 3))
	later.write("q", "run_2", lines("run_2", 1, 1))
	f.seqs(t, "all", "run_2", 1)
	if diff := cmp.Diff([]int64{3}, f.seqs(t, "all", "run_1", 3)); diff != "" {
		t.Error(diff)
	}
	for _, n := range f.got("all") {
		if n.Dir != later.ws.Dir() {
			t.Errorf("workspace %q, want %q", n.Dir, later.ws.Dir())
		}
	}
}

// TestManySubscriptions checks that each matching subscription gets an event once, and that
// notifications name the workspace as the client did.
func TestManySubscriptions(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for i := range 60 {
		f.subscribe(Spec{ID: fmt.Sprint("sub_", i), Given: "./ws/", Types: [][]string{nil, {"note"}, {"x"}}[i%3]})
	}
	f.write("p", "run_1", lines("run_1", 1, 5)+line("run_1", "x", 6))
	for i := range 60 {
		last := []int64{6, 5, 6}[i%3]
		want := [][]int64{counted(1, 6), counted(1, 5), {6}}[i%3]
		if diff := cmp.Diff(want, f.seqs(t, fmt.Sprint("sub_", i), "run_1", last)); diff != "" {
			t.Errorf("%d: %s", i, diff)
		}
	}
	if n := f.got("")[0]; n.Dir != "./ws/" {
		t.Errorf("workspace %q", n.Dir)
	}
}

// TestSlowClient checks that a client that does not read holds at most one line per
// subscription, delays no other subscription, and can unsubscribe at once.
func TestSlowClient(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.stuck["slow"], f.stuck["late"] = make(chan struct{}), make(chan struct{})
	f.subscribe(Spec{ID: "slow"})
	f.subscribe(Spec{ID: "late"})
	f.subscribe(Spec{ID: "quick"})
	f.write("p", "run_1", lines("run_1", 1, 500))
	f.until(t, "slow and late wait", func() bool { return f.waiting["slow"] == 1 && f.waiting["late"] == 1 })
	f.seqs(t, "quick", "run_1", 500)

	late, began := lateness.Measure(), time.Now()
	if !f.hub.Unsubscribe("slow") || f.hub.Unsubscribe("slow") {
		t.Error("the first time there is one, the second time none")
	}
	if took := time.Since(began); took > time.Second+late() {
		t.Errorf("unsubscribing took %v", took)
	}
	f.write("p", "run_1", lines("run_1", 501, 600))
	close(f.stuck["slow"])
	close(f.stuck["late"])
	f.seqs(t, "quick", "run_1", 600)
	if diff := cmp.Diff(counted(1, 600), f.seqs(t, "late", "run_1", 600)); diff != "" {
		t.Error(diff)
	}
	if got := f.got("slow"); len(got) > 0 {
		t.Errorf("sent after the end: %v", got)
	}
	if f.most > 1 {
		t.Errorf("%d lines in the hands of one subscription", f.most)
	}
}

// TestReplacedSubscription checks that a subscription with a used ID replaces the
// old one, which sends nothing more.
func TestReplacedSubscription(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write("p", "run_1", lines("run_1", 1, 3))
	f.stuck["sub"] = make(chan struct{})
	f.subscribe(Spec{ID: "sub", Backfill: 3})
	f.until(t, "the first waits", func() bool { return f.waiting["sub"] == 1 })
	f.subscribe(Spec{ID: "sub", Types: []string{"x"}})
	close(f.stuck["sub"])
	f.write("p", "run_1", lines("run_1", 4, 5)+line("run_1", "x", 6))
	if diff := cmp.Diff([]int64{6}, f.seqs(t, "sub", "run_1", 6)); diff != "" {
		t.Error(diff)
	}
}

// TestOddLines checks which lines are events, and when they are sent.
func TestOddLines(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.subscribe(Spec{ID: "sub"})
	whole := line("run_1", "note", 1)
	f.write("p", "run_1", whole[:20])
	f.settle()
	if got := f.got("sub"); len(got) > 0 {
		t.Fatalf("a torn line was sent: %v", got)
	}
	f.subscribe(Spec{ID: "between"}) // its cursor is within the torn line
	f.write("p", "run_1", whole[20:])
	if diff := cmp.Diff([]int64{1}, f.seqs(t, "sub", "run_1", 1)); diff != "" {
		t.Error(diff)
	}
	f.write("p", "run_1", `{"torn":1`)
	draft := f.ws.Events.Raw(events.Draft{RunID: "run_1", Type: "sealed", Payload: []byte("null")})
	if err := f.ws.Append(context.Background(), workspace.LogFile("p", "run_1"), draft); err != nil {
		t.Fatal(err)
	}
	f.write("p", "run_1", "\n \t\r\n[1]\n\"x\"\nnull\n{\"a\":}\n{} {}\n\u00a0\n{\"a\":\"\xff\"}\n")
	f.seqs(t, "between", "run_1", 3)
	f.hub.Unsubscribe("between")
	f.write("p", "run_1", strings.TrimSuffix(line("run_1", "long", 2), "}\n")+`,"x":"`+strings.Repeat("y", 20<<20)+"\"}\n")
	f.write("p", "run_1", "\t"+strings.TrimSuffix(line("run_1", "last", 3), "\n")+" \r\n")
	if diff := cmp.Diff([]int64{1, 3, 10, 11}, f.seqs(t, "sub", "run_1", 11)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int64{1, 3}, f.seqs(t, "between", "run_1", 3)); diff != "" {
		t.Error(diff)
	}
	got := f.got("sub")
	if len(got[3].Event) < 20<<20 {
		t.Error("the long line came short")
	}
	if n := got[2]; n.Seq != 9 || n.run != "" {
		t.Errorf("the line without run: %+v", n)
	}
}

// TestHeldUntilRecorded checks that the terminal event of a run waits for its record, at
// most 250 ms, and delays no other run.
func TestHeldUntilRecorded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	me := proc.Self()
	record := func(run, status string) {
		text, err := doc.SessionCodec.Encode(doc.Session{
			SchemaVersion: 1, Type: "session_record", Ref: "ref_" + run, WorkspaceDir: f.ws.Dir(), ProjectID: "p", RunID: run,
			Status: status, StartedAtMS: 1, Mode: "command", OwnerPID: &me.PID, OwnerStart: me.Start,
		})
		if err == nil {
			err = os.MkdirAll(filepath.Join(f.ws.Dir(), workspace.SessionsDir), 0o755)
		}
		if err == nil {
			err = f.ws.Replace(workspace.SessionFile("ref_"+run), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	ended := func(run string) string {
		return strings.Replace(line(run, events.RunEnded, 2), "{", `{"session_ref":"ref_`+run+`",`, 1)
	}
	f.subscribe(Spec{ID: "sub"})
	var runs []string
	for i := range 16 {
		runs = append(runs, fmt.Sprint("run_", i))
	}
	late, began := lateness.Measure(), time.Now()
	for _, run := range runs {
		record(run, "running")
		f.write("p", run, line(run, "note", 1)+ended(run)+line(run, "note", 3))
	}
	f.write("p", "run_free", line("run_free", "note", 1)+ended("run_free"))
	f.seqs(t, "sub", "run_free", 2)
	early := 0
	for _, n := range f.got("sub") {
		if n.run != "run_free" && n.Seq > 1 {
			early++
		}
	}
	if waited := time.Since(began); early > 0 && waited < holdTerminal {
		t.Errorf("%d events before their record, after %v", early, waited)
	}
	record("run_0", "ended")
	for _, run := range runs {
		if diff := cmp.Diff(counted(1, 3), f.seqs(t, "sub", run, 3)); diff != "" {
			t.Errorf("%s: %s", run, diff)
		}
	}
	if took := time.Since(began); took > 10*holdTerminal+late() {
		t.Errorf("the runs were held one after another: %v", took)
	}
}

// TestLostEvents checks that no line is missed when the system loses file events.
func TestLostEvents(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"overflow", "no watches"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.write("p", "run_1", lines("run_1", 1, 1))
			f.subscribe(Spec{ID: "sub"})
			w := f.watcher()
			w.deafen()
			f.write("p", "run_1", lines("run_1", 2, 2))
			f.write("q", "run_2", lines("run_2", 1, 1))
			if name == "overflow" {
				f.ws.Watched().MarkLost()
			} else {
				f.hub.mu.Lock()
				w.startPolling()
				f.hub.mu.Unlock()
			}
			f.seqs(t, "sub", "run_1", 2)
			f.seqs(t, "sub", "run_2", 1)
			f.write("p", "run_1", lines("run_1", 3, 3))
			f.write("q", "run_2", lines("run_2", 2, 2))
			f.write("q", "run_3", lines("run_3", 1, 1))
			if diff := cmp.Diff(counted(2, 3), f.seqs(t, "sub", "run_1", 3)); diff != "" {
				t.Error(diff)
			}
			f.seqs(t, "sub", "run_2", 2)
			f.seqs(t, "sub", "run_3", 1)
		})
	}
}

func (f *fixture) watcher() *watcher {
	f.hub.mu.Lock()
	defer f.hub.mu.Unlock()
	return f.hub.watchers[f.ws.Dir()]
}

// TestLinkedRun checks that the log of a run is followed through a symlink within the workspace.
func TestLinkedRun(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.file("p", "run_0")
	target := filepath.Join(f.ws.Dir(), "work", "elsewhere")
	if err := os.MkdirAll(target, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../../../elsewhere", filepath.Join(f.ws.Dir(), workspace.RunDir("p", "run_1"))); err != nil {
		t.Fatal(err)
	}
	f.subscribe(Spec{ID: "sub"})
	f.write("p", "run_1", lines("run_1", 1, 2))
	f.seqs(t, "sub", "run_1", 2)
}

// TestIdle checks that nothing is watched without subscriptions, and that a closed
// hub accepts none.
func TestIdle(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if f.watcher() != nil {
		t.Error("watched before anybody listened")
	}
	f.subscribe(Spec{ID: "a"})
	f.subscribe(Spec{ID: "b"})
	w := f.watcher()
	f.hub.Unsubscribe("a")
	if w == nil || f.watcher() != w {
		t.Error("not watched for b")
	}
	f.hub.Unsubscribe("b")
	<-w.ctx.Done()
	if f.watcher() != nil {
		t.Error("watched after the last left")
	}
	_, start, err := f.hub.Subscribe(Spec{ID: "c", Workspace: f.ws})
	if err != nil {
		t.Fatal(err)
	}
	f.hub.Close()
	start() // too late
	f.hub.Register(makeWorkspace(t, filepath.Join(t.TempDir(), "ws")))
	if _, _, err := f.hub.Subscribe(Spec{ID: "d", Workspace: f.ws}); err == nil {
		t.Error("a closed hub took a subscription")
	}
}

// BenchmarkSubscribe measures the cost of a subscription up to its answer, with 2,000 runs.
func BenchmarkSubscribe(b *testing.B) {
	f := newFixture(b)
	for i := range 2000 {
		run := fmt.Sprint("run_", i)
		f.write("p", run, lines(run, 1, 3))
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			f.subscribe(Spec{ID: "sub"})
			f.hub.Unsubscribe("sub")
		}
	})
	f.subscribe(Spec{ID: "other"})
	b.Run("further", func(b *testing.B) {
		for b.Loop() {
			f.subscribe(Spec{ID: "sub"})
		}
	})
}
