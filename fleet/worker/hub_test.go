package worker

// A worker with a real hub over the real carrier.

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ac/events"
	"ac/fleet"
	"ac/fleet/carrier"
	"ac/fleet/hub"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/runs"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// company is a workspace with a hub, and a worker that joined it.
type company struct {
	t       *testing.T
	w       *workspace.Workspace
	project string
	hub     *hub.Hub
	dir     string // of the worker
	folder  *Folder
	stop    context.CancelFunc
	over    chan error
	log     *slog.Logger
}

func newCompany(t *testing.T) *company {
	t.Helper()
	c := &company{t: t, dir: filepath.Join(t.TempDir(), "worker"), log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	dir := filepath.Join(workspace.Canonical(t.TempDir()), "ws")
	err := workspace.Init(t.Context(), workspace.SystemEnv(), dir, workspace.InitOptions{CompanyName: "Acme"})
	if err == nil {
		c.w, err = workspace.Open(workspace.SystemEnv(), dir)
	}
	if err == nil {
		c.project, err = c.w.NewProject(t.Context(), "P")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.w.Close(); err != nil {
			t.Error(err)
		}
	})
	c.startHub()
	t.Cleanup(func() { c.endHub() })
	var invited fleet.InviteResult
	c.ask(fleet.HubInvite, fleet.InviteRequest{Name: "w", Slots: 4}, &invited)
	token, err := fleet.ParseToken(invited.Token)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Join(t.Context(), workspace.SystemEnv(), JoinOptions{Token: token, Dir: c.dir, Version: "test", Connect: carrier.ConnectWorker}); err != nil {
		t.Fatal(err)
	}
	c.startWorker()
	t.Cleanup(func() { c.endWorker() })
	return c
}

func (c *company) startHub() {
	c.t.Helper()
	var err error
	start := func() bool {
		c.hub, err = hub.Start(c.t.Context(), hub.Options{
			Workspace: c.w, Version: "test", Environ: os.Environ(), Log: c.log, Elapsed: clock.SinceBoot,
			Settings: fleet.Settings{BeatMS: 200, UnreachableAfterMS: 1000},
		})
		return !errors.Is(err, syscall.EADDRINUSE) // another process's connection may hold the port briefly
	}
	c.until("the port of the hub before is free", start)
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *company) endHub() {
	c.t.Helper()
	if c.hub == nil {
		return
	}
	if err := c.hub.Close(); err != nil {
		c.t.Error(err)
	}
	c.hub = nil
}

func (c *company) startWorker() {
	c.t.Helper()
	var err error
	if c.folder, err = OpenFolder(c.t.Context(), workspace.SystemEnv(), c.dir); err != nil {
		c.t.Fatal(err)
	}
	executable, err := os.Executable()
	if err != nil {
		c.t.Fatal(err)
	}
	w, err := Open(c.folder, Host{
		Connect: carrier.ConnectWorker, Starter: Supervisors{Executable: executable}, Environ: os.Environ(), Version: "test", Elapsed: clock.SinceBoot,
		Free: func(string) (uint64, error) { return 1 << 40, nil }, Log: c.log, Probe: func(context.Context, doc.Machine) map[string]fleet.ProviderProbe { return nil },
	})
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	c.stop, c.over = stop, make(chan error, 1)
	go func() { c.over <- w.Run(ctx) }()
}

func (c *company) endWorker() {
	c.t.Helper()
	if c.stop == nil {
		return
	}
	c.stop()
	if err := errors.Join(<-c.over, c.folder.Close()); err != nil {
		c.t.Error(err)
	}
	c.stop = nil
}

func (c *company) ask(verb string, params, result any) {
	c.t.Helper()
	if err := fleet.CallHub(c.t.Context(), c.w, verb, params, result); err != nil {
		c.t.Fatalf("%s: %v", verb, err)
	}
}

// launch runs a shell script on the worker.
func (c *company) launch(script string, change func(*fleet.Placement, *session.Order)) session.Order {
	c.t.Helper()
	made, err := runs.Create(c.t.Context(), c.w, c.project, "agent", "cmd")
	if err != nil {
		c.t.Fatal(err)
	}
	order := session.Order{
		WorkspaceDir: c.w.Dir(), ProjectID: c.project, RunID: made.RunID, SessionRef: session.LocalRef(made.RunID), AgentID: "agent", Provider: "cmd",
		Argv: []string{"/bin/sh", "-c", script},
	}
	placement := fleet.Placement{Where: fleet.WhereRemote}
	if change != nil {
		change(&placement, &order)
	}
	if err := (fleet.Starter{Workspace: c.w, Placement: placement}).Launch(c.t.Context(), order); err != nil {
		c.t.Fatal(err)
	}
	return order
}

// collect waits for the end of a session and verifies its log.
func (c *company) collect(o session.Order) doc.Session {
	c.t.Helper()
	record, err := session.Collect(c.t.Context(), c.w, o.SessionRef)
	if err != nil {
		c.t.Fatal(err)
	}
	run, err := runs.Load(c.w, o.ProjectID, o.RunID)
	if err != nil {
		c.t.Fatal(err)
	}
	file, err := c.w.FS.OpenFile(workspace.LogFile(o.ProjectID, o.RunID), os.O_RDONLY, 0)
	if err != nil {
		c.t.Fatal(err)
	}
	defer file.Close()
	report, err := events.Verify(file, run.Log, true, func(events.Line) {})
	if err != nil || len(report.VerificationIssues) > 0 || len(report.ParseIssues) > 0 || run.Status != record.Status {
		c.t.Errorf("the log: %+v, %v; the run is %s, the session %s", report, err, run.Status, record.Status)
	}
	return record
}

// output returns the provider output that a run's log contains.
func (c *company) output(o session.Order) string {
	c.t.Helper()
	var b strings.Builder
	err := session.EachEvent(c.w, workspace.LogFile(o.ProjectID, o.RunID), func(kind string, line []byte) {
		if kind == events.ProviderRaw {
			var said struct{ Payload struct{ Chunk string } }
			if json.Unmarshal(line, &said) == nil {
				b.WriteString(said.Payload.Chunk)
			}
		}
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return b.String()
}

func (c *company) until(what string, reached func() bool) {
	c.t.Helper()
	for !reached() {
		if c.t.Context().Err() != nil {
			c.t.Fatalf("never: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// reached retries a request until the worker is reachable: on a busy machine a beat may be late.
func (c *company) reached(what string, ask func() error) {
	c.t.Helper()
	c.until(what, func() bool { return !fault.Is(ask(), fleet.WorkerUnreachable) })
}

func TestHubAndWorker(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	o := c.launch("echo hello; echo there > made.txt; exit 3", func(p *fleet.Placement, _ *session.Order) { p.Outputs = []string{"made.txt"} })
	record := c.collect(o)
	if record.Status != doc.StatusFailed || record.ExitCode == nil || *record.ExitCode != 3 || record.WorkerID == "" {
		t.Errorf("the session is %+v", record)
	}
	if got := c.output(o); got != "hello\n" {
		t.Errorf("the output is %q", got)
	}
	text, err := c.w.Read(workspace.RunDir(o.ProjectID, o.RunID) + "/outputs/made.txt")
	if err != nil || string(text) != "there\n" {
		t.Errorf("the result is %q, %v", text, err)
	}
}

func TestHubAndWorkerComeAndGo(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	dir := t.TempDir()
	o := c.launch("echo one; "+waitFor(dir+"/two")+"; echo two; "+waitFor(dir+"/three")+"; echo three; "+waitFor(dir+"/end"), nil)
	c.until("the first line", func() bool { return c.output(o) == "one\n" })
	c.endWorker()
	touch(t, dir+"/two")
	c.startWorker()
	c.until("the second line", func() bool { return c.output(o) == "one\ntwo\n" })
	c.endHub()
	touch(t, dir+"/three")
	c.startHub()
	c.until("the third line", func() bool { return c.output(o) == "one\ntwo\nthree\n" })
	touch(t, dir+"/end")
	if record := c.collect(o); record.Status != doc.StatusEnded || c.output(o) != "one\ntwo\nthree\n" {
		t.Errorf("%s, %q", record.Status, c.output(o))
	}
}

func TestHubStopsASessionOfAWorker(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	o := c.launch("echo one; exec sleep 600", nil)
	c.until("the first line", func() bool { return c.output(o) == "one\n" })
	if _, err := session.Stop(t.Context(), c.w, o.SessionRef); err != nil {
		t.Fatal(err)
	}
	if record := c.collect(o); record.Status != doc.StatusStopped {
		t.Errorf("the session is %+v", record)
	}
}
