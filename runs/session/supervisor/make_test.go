package supervisor_test

// Starting a run creates and launches it, or does neither.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"ac/events"
	"ac/governance/policy"
	"ac/internal/durable/faultfs"
	"ac/internal/fault"
	"ac/runs"
	"ac/runs/lane"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// startSpec returns the request to start a run of an agent.
func (s *stage) startSpec(agent, key string, words ...string) runs.StartSpec {
	return runs.StartSpec{
		LaunchSpec: runs.LaunchSpec{
			ProjectID: s.project, Argv: append([]string{s.launcher.Executable, providerCommand}, words...), Version: "1",
			Actor: policy.Actor{ID: "human", Role: "human"}, Environ: s.launcher.Environ,
		},
		AgentID: agent, Key: key, Content: strings.Join(words, " "),
	}
}

func (s *stage) agentNamed(name, provider string) string {
	s.t.Helper()
	id, err := s.w.NewAgent(s.ctx, workspace.AgentSpec{Name: name, Role: "worker", Provider: provider})
	if err != nil {
		s.t.Fatal(err)
	}
	return id
}

func (s *stage) start(starter runs.Starter, spec runs.StartSpec) (runs.StartResult, error) {
	return runs.Start(s.ctx, s.w, runs.NewAdmission(s.w, lane.Limits{Workspace: 4, Provider: 4, Team: 4}), starter, spec)
}

// madeBy returns the runs created with a start key.
func (s *stage) madeBy(key string) (ids []string) {
	s.t.Helper()
	rows, err := runs.List(s.w, s.project)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, row := range rows {
		if run, err := runs.Load(s.w, s.project, row.RunID); err != nil || run.StartKey == key {
			ids = append(ids, row.RunID)
		}
	}
	return ids
}

// whole checks that a key created either one run, with its context pack and its session, or
// nothing at all. It returns the run.
func (s *stage) whole(key string) (run string) {
	s.t.Helper()
	if err := s.w.Recover(s.ctx); err != nil { // as the next writer does
		s.t.Fatal(err)
	}
	made := s.madeBy(key)
	if len(made) > 1 {
		s.t.Fatalf("%s made %v", key, made)
	}
	first, known := session.StartedBy(s.w, s.project, key)
	if known != (len(made) == 1) {
		s.t.Fatalf("%s: key %v, runs %v", key, first, made)
	}
	if !known {
		return ""
	}
	record, err := session.Current(s.ctx, s.w, first.Ref)
	if err != nil || record.RunID != made[0] || first.RunID != made[0] {
		s.t.Fatalf("%s made %v with session %+v (%v)", key, made, record, err)
	}
	loaded, err := runs.Load(s.w, s.project, made[0])
	if err != nil || !s.w.Exists(workspace.ContextPackDir(s.project, loaded.ContextPackID)) {
		s.t.Fatalf("%s: %+v (%v)", key, loaded, err)
	}
	return made[0]
}

// dyingStarter is a starter whose supervisor is killed at a file system call.
type dyingStarter struct {
	s    *stage
	call int
	met  bool
}

func (d *dyingStarter) Launch(_ context.Context, order session.Order) error {
	if d.met = d.s.superviseUntil(order, d.call, faultfs.Death); d.met {
		return fault.New(fault.Internal, "it died")
	}
	return nil
}

// TestStartKilled kills the supervisor of a start at file system calls, from the first to the
// last. Afterwards there is a run with a session, or neither. A repeated request makes no
// second run.
func TestStartKilled(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.litter = true
	agent := s.agentNamed("Shell", "cmd")
	step := 7
	if *everyCall {
		step = 1
	}
	for n := 1; ; n += step {
		key := fmt.Sprintf("key %d", n)
		dying := &dyingStarter{s: s, call: n}
		_, _ = s.start(dying, s.startSpec(agent, key, "print", "out", "err")) // it may die
		before := s.whole(key)
		again, err := s.start(s.launcher, s.startSpec(agent, key, "print", "out", "err"))
		if err != nil || (before != "" && again.RunID != before) {
			t.Fatalf("call %d: %q, then %+v (%v)", n, before, again, err)
		}
		s.collect(session.Order{ProjectID: s.project, RunID: again.RunID, SessionRef: again.SessionRef})
		if s.whole(key) != again.RunID {
			t.Fatalf("call %d: %+v is not the only one", n, again)
		}
		if !dying.met {
			break
		}
	}
}

// startingCommand makes the test binary a process that starts a run and is killed at a file
// system call. The workspace, the project, the agent, the key and the number of the call
// follow.
const startingCommand = "starting"

func startUntil(dir, project, agent, key, call string) error {
	n, err := strconv.Atoi(call)
	if err != nil {
		return err
	}
	executable, err := os.Executable()
	if err != nil {
		return err
	}
	plan := faultfs.NewPlan(n, faultfs.Death)
	plan.OnDeath = func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) }
	env := workspace.SystemEnv()
	env.OpenFS = plan.Open
	w, err := workspace.Open(env, dir)
	if err != nil {
		return err
	}
	s := &stage{w: w, project: project, launcher: &session.Launcher{Executable: executable, Environ: os.Environ()}, ctx: context.Background()}
	if _, err := s.start(s.launcher, s.startSpec(agent, key, "print", "out", "err")); err != nil {
		return err
	}
	fmt.Println(unhurt)
	return w.Close()
}

// TestStarterKilled kills the process that starts a run at file system calls. What it leaves is
// complete, and the same request of another process makes no second run.
func TestStarterKilled(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.litter = true
	agent := s.agentNamed("Shell", "cmd")
	for n := 1; ; n += 5 {
		key := fmt.Sprintf("key %d", n)
		cmd := exec.Command(s.launcher.Executable, startingCommand, s.w.Dir(), s.project, agent, key, strconv.Itoa(n))
		cmd.Env = s.launcher.Environ
		out, _ := cmd.CombinedOutput() // it may be killed
		again, err := s.start(s.launcher, s.startSpec(agent, key, "print", "out", "err"))
		if err != nil {
			t.Fatalf("call %d: %v\n%s", n, err, out)
		}
		s.collect(session.Order{ProjectID: s.project, RunID: again.RunID, SessionRef: again.SessionRef})
		if s.whole(key) != again.RunID {
			t.Fatalf("call %d: %+v is not the only one", n, again)
		}
		if strings.Contains(string(out), unhurt) {
			break
		}
	}
}

// TestHalfAnOrder sends a supervisor only the beginning of an order. Nothing is created.
func TestHalfAnOrder(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	caught := &catcher{}
	if _, err := s.start(caught, s.startSpec(s.agentNamed("Shell", "cmd"), "half", "print", "out")); err != nil {
		t.Fatal(err)
	}
	caught.order.Version = session.OrderVersion
	text, err := json.Marshal(caught.order)
	if err != nil {
		t.Fatal(err)
	}
	for _, cut := range []int{0, 1, len(text) / 2, len(text) - 1} {
		cmd := exec.Command(s.launcher.Executable, session.SuperviseCommand)
		cmd.Stdin, cmd.Env = bytes.NewReader(text[:cut]), s.launcher.Environ
		if out, err := cmd.CombinedOutput(); err == nil {
			t.Errorf("%d bytes were an order: %s", cut, out)
		}
		if run := s.whole("half"); run != "" {
			t.Errorf("%d bytes made %s", cut, run)
		}
	}
}

// catcher is a starter that records the order and starts nothing.
type catcher struct{ order session.Order }

func (c *catcher) Launch(_ context.Context, order session.Order) error {
	c.order = order
	return nil
}

// TestStartsAtOnce checks that one of many concurrent, equal requests creates a run. A
// different request with the same key is refused.
func TestStartsAtOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	agent := s.agentNamed("Shell", "cmd")
	var wg sync.WaitGroup
	made := make([]runs.StartResult, 6)
	for i := range made {
		wg.Go(func() {
			var err error
			if made[i], err = s.start(s.launcher, s.startSpec(agent, "one", "print", "out")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, m := range made[1:] {
		if m != made[0] {
			t.Errorf("%+v and %+v", made[0], m)
		}
	}
	if s.whole("one") != made[0].RunID {
		t.Error("not the only one")
	}
	if _, err := s.start(s.launcher, s.startSpec(agent, "one", "print", "else")); !fault.Is(err, fault.Conflict) {
		t.Errorf("another request by the same id: %v", err)
	}
	s.collect(session.Order{ProjectID: s.project, RunID: made[0].RunID, SessionRef: made[0].SessionRef})
}

// TestStartRefusals checks that a refused start leaves no run behind. The audit log has the
// denials by the policy.
func TestStartRefusals(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	team, err := s.w.NewTeam(s.ctx, "Team")
	if err != nil {
		t.Fatal(err)
	}
	agent, err := s.w.NewAgent(s.ctx, workspace.AgentSpec{Name: "Shell", Role: "worker", Provider: "cmd", TeamID: team})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*runs.StartSpec)
		want   fault.Reason
	}{
		"agent":   {func(p *runs.StartSpec) { p.AgentID = "agent_none" }, fault.NotFound},
		"project": {func(p *runs.StartSpec) { p.ProjectID = "proj_none" }, fault.NotFound},
		"task":    {func(p *runs.StartSpec) { p.TaskID = "task_none" }, fault.NotFound},
		"program": {func(p *runs.StartSpec) { p.Argv = []string{"no-such-program"} }, fault.ProgramMissing},
		"words":   {func(p *runs.StartSpec) { p.Argv = nil }, fault.InvalidParams},
		"repo":    {func(p *runs.StartSpec) { p.RepoID = "none" }, fault.PlaceUnavailable},
		"budget":  {func(p *runs.StartSpec) { p.Budget = &doc.Budget{HardTokens: new(int64)} }, fault.BudgetRefused},
		"actor":   {func(p *runs.StartSpec) { p.Actor = policy.Actor{ID: "w", Role: "worker", Team: "other"} }, fault.Denied},
		"plan":    {func(p *runs.StartSpec) { p.ExpectPlan = "other" }, fault.PlanChanged},
	} {
		spec := s.startSpec(agent, "", "print", "out")
		c.change(&spec)
		if _, err := s.start(s.launcher, spec); fault.ReasonOf(err) != c.want {
			t.Errorf("%s: %v", name, err)
		}
		if spec.ExpectPlan == "" {
			spec.DryRun = true
			if _, err := s.start(s.launcher, spec); fault.ReasonOf(err) != c.want {
				t.Errorf("%s, dry: %v", name, err)
			}
		}
	}
	if left, err := runs.List(s.w, s.project); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
	text, err := os.ReadFile(filepath.Join(s.w.Dir(), workspace.AuditLog))
	if err != nil || !strings.Contains(string(text), events.PolicyDenied) {
		t.Errorf("the audit log has %q (%v)", text, err)
	}
}

// TestStartByPlan checks that a dry run creates nothing, and that its plan hash starts the
// planned run.
func TestStartByPlan(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	agent := s.agentNamed("Shell", "cmd")
	spec := s.startSpec(agent, "", "print", "out")
	spec.DryRun, spec.Title = true, "say out"
	planned, err := s.start(s.launcher, spec)
	if err != nil || planned.Plan == nil || planned.Plan.Agent.Name != "Shell" || planned.Plan.Program != s.launcher.Executable || planned.Plan.CWD != s.w.Dir() {
		t.Fatalf("%+v: %v", planned.Plan, err)
	}
	if left, err := runs.List(s.w, s.project); err != nil || len(left) > 0 {
		t.Fatalf("a dry run made %v (%v)", left, err)
	}
	spec.DryRun, spec.ExpectPlan = false, planned.PlanHash
	made, err := s.start(s.launcher, spec)
	if err != nil {
		t.Fatal(err)
	}
	s.collect(session.Order{ProjectID: s.project, RunID: made.RunID, SessionRef: made.SessionRef})
	if run, err := runs.Load(s.w, s.project, made.RunID); err != nil || run.Title != "say out" {
		t.Errorf("%+v: %v", run, err)
	}
	again, err := runs.RetrySpec(s.ctx, s.w, s.project, made.RunID, nil)
	if err != nil || again.Title != "say out" || again.AgentID != agent || again.RetryOf != made.RunID || strings.Join(again.Argv, " ") != strings.Join(spec.Argv, " ") {
		t.Errorf("%+v: %v", again, err)
	}
}
