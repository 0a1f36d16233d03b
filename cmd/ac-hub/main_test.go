package main

// The test binary stands in for the programs: tests start it under their names.

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ac/events"
	"ac/fleet"
	"ac/fleet/carrier/natstest"
	"ac/heartbeat/job"
	"ac/internal/proc"
	"ac/internal/proc/proctest"
	"ac/internal/runtimetest"
	"ac/runs"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "ac":
		os.Exit(playAC(os.Args[1]))
	case "codex":
		os.Exit(playCodex(os.Args[1:]))
	case "ac-hub":
		os.Exit(playHub(os.Args[1:]))
	case "nats-server":
		os.Exit(exitCode(natstest.Serve(os.Args[1], os.Stdout)))
	}
	os.Exit(withProgram(runtimetest.With(m)))
}

// programVariable names the copy of this program that the tests start.
const programVariable = "AC_HUB_TEST_PROGRAM"

// withProgram runs the tests with a copy of this program on the same file system as their files.
// Each company links to the copy. It is written before any test forks: a child just being forked
// would hold the copy open for writing, and nobody could execute it.
func withProgram(m runtimetest.Tests) int {
	dir, err := os.MkdirTemp("", "ac-hub-program")
	if err != nil {
		panic(err) // no test can run
	}
	defer func() { _ = os.RemoveAll(dir) }() // nothing else can be done
	executable, err := os.Executable()
	if err == nil {
		err = link(executable, filepath.Join(dir, "program"))
	}
	if err := errors.Join(err, os.Setenv(programVariable, filepath.Join(dir, "program"))); err != nil {
		panic(err)
	}
	return m.Run()
}

// playAC stands in for the hidden commands of ac.
func playAC(command string) int {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // as ac does: its parent may be killed
	var err error
	switch command {
	case session.GuardCommand:
		err = session.RunGuard()
	case session.SuperviseCommand:
		err = playSupervisor()
	case "mcp:serve":
		err = serveMCP(os.Args[3])
	case job.RunCommand:
		var executable string
		if executable, err = os.Executable(); err == nil {
			err = job.RunMain(executable, os.Stdin, os.Stdout, make(chan struct{}), nil)
		}
	}
	return exitCode(err)
}

func exitCode(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// patience bounds every wait for a state, even on a busy machine.
const patience = 60 * time.Second

// company is a workspace with the processes of its hub and workers.
type company struct {
	t       *testing.T
	w       *workspace.Workspace
	project string
	bin     string            // directory of the programs
	bins    map[string]string // program directories of simulated machines, by name
	relay   *relay
	hub     *process
	hubArgs []string
	workers map[string]*process
	folders map[string]string
	environ []string        // of the programs; nil means that of the tests
	admit   func()          // registers the workers with an external carrier
	place   func(*exec.Cmd) // makes a program run on its own machine
}

// process is a program that was started and reported that it is ready.
type process struct {
	cmd    *exec.Cmd
	ready  string
	stderr *output
	exited chan struct{}
}

func newCompany(t *testing.T, hubArgs ...string) *company {
	t.Helper()
	c := makeCompany(t)
	c.hubArgs = append(c.hubArgs, hubArgs...)
	t.Cleanup(c.end)
	c.startHub()
	return c
}

// makeCompany returns a company whose hub is not started. The caller ends it.
func makeCompany(t *testing.T) *company {
	t.Helper()
	return makeCompanyIn(t, t.TempDir())
}

// makeCompanyIn does the same with the workspace in a given folder.
func makeCompanyIn(t *testing.T, home string) *company {
	t.Helper()
	env := workspace.SystemEnv()
	env.LockPatience = patience
	dir := filepath.Join(workspace.Canonical(home), "ws")
	c := &company{t: t, bin: t.TempDir(), relay: newRelay(t), workers: map[string]*process{}, folders: map[string]string{}, admit: func() {}, place: func(*exec.Cmd) {}}
	if err := workspace.Init(t.Context(), env, dir, workspace.InitOptions{CompanyName: "Acme"}); err != nil {
		t.Fatal(err)
	}
	var err error
	if c.w, err = workspace.Open(env, dir); err != nil {
		t.Fatal(err)
	}
	if c.project, err = c.w.NewProject(t.Context(), "P"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ac", "ac-hub", "nats-server"} {
		if err := link(os.Getenv(programVariable), filepath.Join(c.bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	c.hubArgs = []string{"hub:start", dir, "--beat", "200ms", "--unreachable-after", "1500ms", "--advertise", c.relay.listener.Addr().String()}
	return c
}

// link hard-links a program under another name, or copies it where that is not possible.
func link(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return proctest.WriteProgram(to, text)
}

// end kills hub and workers. It checks that every session is terminal and no process is left.
func (c *company) end() {
	for name := range c.workers {
		c.kill(c.workers[name])
	}
	c.kill(c.hub)
	records, err := session.All(c.w)
	if err != nil {
		c.t.Error(err)
	}
	for _, record := range records {
		if !doc.Terminal(record.Status) {
			c.t.Errorf("session %s is %s", record.Ref, record.Status)
		}
	}
	for _, folder := range c.folders {
		c.until("no process is left in "+folder, func() bool { return len(processesIn(folder)) == 0 })
	}
	if err := c.w.Close(); err != nil {
		c.t.Error(err)
	}
}

// processesIn returns the processes whose working directory is inside a folder.
func processesIn(folder string) (pids []string) {
	dirs, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		return nil
	}
	for _, dir := range dirs {
		if at, err := os.Readlink(dir); err == nil && strings.HasPrefix(at, folder+"/") {
			pids = append(pids, dir)
		}
	}
	return pids
}

// command returns ac-hub with these arguments, or nats-server with a configuration.
func (c *company) command(args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(c.bin, "ac-hub"), args...)
	if args[0] == "nats-server" {
		cmd = exec.Command(filepath.Join(c.bin, args[0]), args[1:]...)
	}
	cmd.Env = c.environ
	c.place(cmd)
	return cmd
}

// start starts a program and waits until it reports that it is ready.
func (c *company) start(args ...string) *process {
	c.t.Helper()
	cmd := c.command(args...)
	p := &process{cmd: cmd, stderr: &output{}, exited: make(chan struct{})}
	cmd.Stderr = p.stderr
	cmd.SysProcAttr = proc.NewGroup()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		c.t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	go func() { // ends with the process
		_, _ = io.Copy(io.Discard, lines)
		_ = cmd.Wait()
		close(p.exited)
	}()
	if err != nil {
		<-p.exited
		c.t.Fatalf("%s: %v: %s", args[0], err, p.stderr)
	}
	p.ready = line
	return p
}

// output is what a program has written so far.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(text)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// kill kills a program with SIGKILL.
func (c *company) kill(p *process) {
	if p == nil {
		return
	}
	_ = p.cmd.Process.Signal(syscall.SIGKILL) // it may have exited already
	<-p.exited
}

func (c *company) startHub() {
	c.t.Helper()
	c.hub = c.start(c.hubArgs...)
	var ready struct {
		Listen []string `json:"listen"`
	}
	if err := json.Unmarshal([]byte(c.hub.ready), &ready); err != nil || len(ready.Listen) > 1 {
		c.t.Fatalf("%q: %v", c.hub.ready, err)
	}
	for _, address := range ready.Listen { // none with an external carrier
		c.relay.leadTo(address)
	}
}

// hire invites a worker, lets it join, and starts it.
func (c *company) hire(name string, slots int) {
	c.t.Helper()
	c.hireIn(name, slots, c.t.TempDir())
}

// hireIn hires a worker whose folder is inside home.
func (c *company) hireIn(name string, slots int, home string) {
	c.t.Helper()
	var invited fleet.InviteResult
	c.ask(fleet.HubInvite, fleet.InviteRequest{Name: name, Slots: slots}, &invited)
	c.folders[name] = filepath.Join(workspace.Canonical(home), name)
	c.admit()
	cmd := c.command("worker:join", "-", "--dir", c.folders[name])
	cmd.Stdin = strings.NewReader(invited.Token + "\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		c.t.Fatalf("join: %v: %s", err, out)
	}
	c.admit()
	c.startWorker(name)
}

func (c *company) startWorker(name string) {
	c.t.Helper()
	c.workers[name] = c.start("worker:start", "--dir", c.folders[name], "--min-free", "1")
}

// ask sends a request to the hub. It retries while the hub starts.
func (c *company) ask(verb string, params, result any) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	if err := fleet.CallHub(ctx, c.w, verb, params, result); err != nil {
		c.t.Fatalf("%s: %v", verb, err)
	}
}

// launch runs a shell script on some worker.
func (c *company) launch(script string, env map[string]string) session.Order {
	c.t.Helper()
	order := c.order(script, env)
	c.ask(fleet.HubPlace, fleet.PlaceRequest{Order: order, Placement: fleet.Placement{Where: fleet.WhereRemote}}, nil)
	return order
}

func (c *company) order(script string, env map[string]string) session.Order {
	c.t.Helper()
	made, err := runs.Create(c.t.Context(), c.w, c.project, "agent", "cmd")
	if err != nil {
		c.t.Fatal(err)
	}
	return session.Order{
		Version: session.OrderVersion, WorkspaceDir: c.w.Dir(), ProjectID: c.project, RunID: made.RunID, SessionRef: session.LocalRef(made.RunID),
		AgentID: "agent", Provider: "cmd", Argv: []string{"/bin/sh", "-c", script}, Env: env,
	}
}

// collect waits for the end of a session.
func (c *company) collect(order session.Order) doc.Session {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	record, err := session.Collect(ctx, c.w, order.SessionRef)
	if err != nil || !doc.Terminal(record.Status) {
		said := "hub: " + c.hub.last()
		for name, w := range c.workers {
			said += "\n" + name + ": " + w.last()
		}
		types, printed := c.log(order)
		c.t.Fatalf("collect: %s on %s of epoch %d is %s, %s: %v; printed %d bytes, last %s\n%s", record.Ref, record.WorkerID, record.Epoch, record.Status, record.Reach,
			err, len(printed), types[len(types)-1], said)
	}
	return record
}

// last ends the process with SIGQUIT and returns its stderr, which ends with all goroutine stacks.
func (p *process) last() string {
	_ = p.cmd.Process.Signal(syscall.SIGQUIT) // it may be gone
	select {
	case <-p.exited:
	case <-time.After(patience):
	}
	return p.stderr.String()
}

// until waits for a state.
func (c *company) until(what string, state func() bool) {
	c.t.Helper()
	for began := time.Now(); !state(); time.Sleep(5 * time.Millisecond) {
		if time.Since(began) > patience {
			c.t.Fatalf("%s: not after %s", what, patience)
		}
	}
}

// log returns the event types of a run's log and what its provider printed. It verifies the
// log's chain against the run's record.
func (c *company) log(order session.Order) (types []string, printed string) {
	c.t.Helper()
	report, err := runs.VerifyLog(c.w, order.ProjectID, order.RunID)
	if err != nil || len(report.VerificationIssues)+len(report.RecordIssues)+len(report.ParseIssues) > 0 {
		c.t.Errorf("the log is not sound: %+v (%v)", report, err)
	}
	err = session.EachEvent(c.w, workspace.LogFile(order.ProjectID, order.RunID), func(kind string, line []byte) {
		types = append(types, kind)
		var e struct {
			Payload struct {
				Stream, Chunk string
			}
		}
		if kind == events.ProviderRaw && json.Unmarshal(line, &e) == nil && e.Payload.Stream == "stdout" {
			printed += e.Payload.Chunk
		}
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return types, printed
}

func count(list []string, want string) (n int) {
	for _, one := range list {
		if one == want {
			n++
		}
	}
	return n
}
