package worker

// Conversations and repositories, with a real hub.

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ac/fleet"
	"ac/internal/fault"
	"ac/runs"
	"ac/runs/session"
	"ac/workspace/doc"
)

// spoken turns an order into a conversation. Each turn is a process that prints its prompt and
// waits for the file that the prompt names.
func spoken(prompt string) func(*fleet.Placement, *session.Order) {
	return func(_ *fleet.Placement, o *session.Order) {
		o.Argv = nil
		o.Live = &session.LiveOrder{
			Driver: session.DriverCommand, Template: []string{os.Args[0], hearCommand, "--", "{PROMPT}"}, Prompt: prompt, Version: "1", KeepOpen: true, ActorID: "human",
			IdleMS: 60_000, Policy: doc.RunPolicy{Mode: doc.ModeDefault, PermissionLevel: doc.LevelRunCommands, Rules: []doc.PolicyRule{}},
		}
	}
}

func TestHubPassesOnWhatIsSaid(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	first, second := t.TempDir()+"/first", t.TempDir()+"/second"
	o := c.launch("", spoken(first))
	c.until("the first turn", func() bool { return c.output(o) == "heard: "+first+"\n" })
	record := func() doc.Session {
		record, err := session.Read(c.w, o.SessionRef)
		if err != nil {
			t.Fatal(err)
		}
		return record
	}
	c.until("it is busy", func() bool { return record().Activity == "busy" })
	for range 2 { // a repetition is idempotent
		var said session.SteerResult
		var err error
		c.reached("it is said", func() error {
			said, err = session.Steer(t.Context(), c.w, record(), session.SteerRequest{Actor: "human", Text: second, ClientMessageID: "m1"})
			return err
		})
		if err != nil || !said.Accepted || said.QueueLength != 1 {
			t.Fatalf("said: %+v, %v", said, err)
		}
	}
	var state session.LiveState
	var err error
	c.reached("the state", func() error { state, err = session.StateOf(t.Context(), c.w, record()); return err })
	if err != nil || state.Turn != 1 || state.Activity != "busy" {
		t.Errorf("the state is %+v, %v", state, err)
	}
	c.endWorker()
	c.until("it is unreachable", func() bool { return record().Reach == doc.ReachUnreachable })
	if _, err := session.Steer(t.Context(), c.w, record(), session.SteerRequest{Actor: "human", Text: "third"}); !fault.Is(err, fleet.WorkerUnreachable) {
		t.Errorf("said to a worker that is away: %v", err)
	}
	touch(t, first)
	c.startWorker()
	c.until("it is reached", func() bool { return record().Reach == doc.ReachOK })
	if end := c.collect(o); end.Status != doc.StatusEnded || c.output(o) != "heard: "+first+"\n" {
		t.Errorf("%+v, %q", end, c.output(o))
	}
	touch(t, second)
	next := session.Order{
		WorkspaceDir: o.WorkspaceDir, ProjectID: o.ProjectID, RunID: o.RunID, SessionRef: o.SessionRef + "_2", AgentID: o.AgentID, Provider: o.Provider,
	}
	spoken("")(nil, &next)
	next.Live.Continue, next.Live.HasWaitingTexts, next.Live.Turns, next.Live.KeepOpen = true, true, 1, false
	if err := (fleet.Starter{Workspace: c.w, Placement: fleet.Placement{Where: fleet.WhereRemote}}).Launch(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	if end := c.collect(next); end.Status != doc.StatusEnded || c.output(o) != "heard: "+first+"\nheard: "+second+"\n" {
		t.Errorf("the run that went on: %+v, %q", end, c.output(o))
	}
}

// repository creates a repository and maps it in the workspace.
func (c *company) repository() (dir string) {
	c.t.Helper()
	dir = c.t.TempDir()
	git(c.t, dir, "init", "-q", "-b", "main")
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("one\n"), 0o600); err != nil {
		c.t.Fatal(err)
	}
	git(c.t, dir, "add", "-A")
	git(c.t, dir, "commit", "-q", "-m", "one")
	if _, err := c.w.SetRepoRoot(c.t.Context(), "repo", dir, true); err != nil {
		c.t.Fatal(err)
	}
	return dir
}

func TestHubHasWhatTheAgentChanged(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	dir := c.repository()
	for _, via := range []string{fleet.ViaBundle, fleet.ViaAuto} {
		o := c.launch("cat a; echo two > b; git add b; git -c user.name=t -c user.email=t@t commit -qm two; echo three > c", func(p *fleet.Placement, o *session.Order) {
			o.RepoID, o.Worktree = "repo", &session.Worktree{Owner: o.RunID, Run: o.RunID}
			p.Source = &fleet.Source{Via: via}
		})
		if record := c.collect(o); record.Status != doc.StatusEnded || c.output(o) != "one\n" {
			t.Fatalf("%+v, %q", record, c.output(o))
		}
		branch, wip := "ac/"+o.ProjectID+"/"+o.RunID+"/"+o.RunID, "refs/ac/wip/"+o.RunID
		if git(t, dir, "show", branch+":b") != "two" || git(t, dir, "show", wip+":c") != "three" || git(t, dir, "status", "--porcelain") != "" {
			t.Error("the work is not in the repository")
		}
		run, err := runs.Load(c.w, o.ProjectID, o.RunID)
		if err != nil || run.Spec == nil || run.Spec.WorktreeBranch != branch || run.Spec.WorktreeRel != "" {
			t.Errorf("the run's spec is %+v, %v", run.Spec, err)
		}
	}
}

func TestSecretsOfAWorkerStayThere(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	c.endWorker()
	file := filepath.Join(c.dir, configFile)
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, append(text, []byte("secrets:\n  key:\n    command: [/bin/echo, worker-secret-value]\n")...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.startWorker()
	o := c.launch(`echo "$K" | wc -c; echo "$K"`, func(p *fleet.Placement, _ *session.Order) { p.SecretRefs = map[string]string{"K": "key"} })
	if record := c.collect(o); record.Status != doc.StatusEnded || c.output(o) != "20\n[REDACTED]\n" {
		t.Fatalf("%+v, %q", record, c.output(o))
	}
	err = filepath.WalkDir(c.w.Dir(), func(at string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(at)
		if strings.Contains(string(text), "worker-secret-value") {
			t.Errorf("%s has the secret", at)
		}
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
}
