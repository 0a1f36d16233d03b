// Package crashtest kills real servers, supervisors and job runners in the middle
// of their work and checks what they leave behind. It has only tests.
package crashtest

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ac/heartbeat/job"
	"ac/internal/runtimetest"
	"ac/pm"
	"ac/rpc"
	"ac/runs/session"
	"ac/runs/session/supervisor"
	"ac/workspace"
)

var (
	kills = flag.Int("kills", 12, "how many servers are killed")
	lanes = flag.Int("lanes", 2, "in how many workspaces at once")
	seed  = flag.Uint64("seed", 0, "of the moments and requests; 0 draws one")
)

// Roles that the test binary plays.
const (
	serveCommand = "serve"
	workCommand  = "work"
	worker       = "codex" // as the program's name
)

// keyVariable is the environment variable with the path of the servers' private key.
const keyVariable = "AC_TEST_KEY_FILE"

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == worker {
		os.Exit(exitOf(doJob(os.Args[1:])))
	}
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case session.GuardCommand:
			os.Exit(exitOf(session.RunGuard()))
		case session.SuperviseCommand, job.RunCommand, serveCommand:
			os.Exit(exitOf(play(os.Args[1])))
		case agentCommand:
			os.Exit(exitOf(speak()))
		case foundCommand:
			os.Exit(exitOf(found(os.Args[2:])))
		case askCommand:
			os.Exit(exitOf(askOnce(os.Args[2:])))
		case placeCommand:
			os.Exit(exitOf(place(os.Args[2:])))
		case workCommand: // a provider that prints lines for a moment
			for i := range 20 {
				fmt.Println("line", i)
				time.Sleep(time.Millisecond)
			}
			os.Exit(0)
		}
	}
	dir, err := os.MkdirTemp("", "run")
	if err == nil {
		err = os.Setenv("XDG_RUNTIME_DIR", dir) // for the sockets
	}
	code := exitOf(err)
	if err == nil {
		runtimetest.InMemory()
		code = m.Run()
	}
	if err := os.RemoveAll(dir); err != nil {
		code = exitOf(err)
	}
	os.Exit(code)
}

func exitOf(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func play(part string) error {
	executable, err := os.Executable()
	if err != nil {
		return err
	}
	switch part {
	case session.SuperviseCommand:
		return supervisor.Main(executable, os.Stdin, os.Stdout, nil)
	case job.RunCommand:
		return job.RunMain(executable, os.Stdin, os.Stdout, nil, nil)
	}
	return rpc.Serve(context.Background(), rpc.Options{
		In: os.Stdin, Out: os.Stdout, Log: slog.New(slog.DiscardHandler), Env: workspace.SystemEnv(), Executable: executable,
		SealEvery: 30 * time.Millisecond, SealKeyFile: os.Getenv(keyVariable),
	})
}

// doJob plays a worker that takes a moment to do its job.
func doJob(args []string) error {
	switch strings.Join(args, " ") {
	case "login status":
		fmt.Println("Logged in using ChatGPT")
		return nil
	case "exec --help", "--help":
		fmt.Println("  --output-schema <FILE>")
		return nil
	case "--version":
		fmt.Println("codex 1.2.3")
		return nil
	}
	prompt, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	named := func(what string) string {
		_, rest, _ := strings.Cut(string(prompt), "\n"+what+": ")
		value, _, _ := strings.Cut(rest, "\n")
		return value
	}
	if err := act(named("job_id"), named("attempt_run_id")); err != nil {
		return err
	}
	time.Sleep(time.Duration(rand.IntN(40)) * time.Millisecond) // its work
	fmt.Printf("{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":%q}}\n", `{"schema_version":1,"type":"result","job_id":"`+
		named("job_id")+`","attempt_run_id":"`+named("attempt_run_id")+`","status":"succeeded","summary":"done",`+
		`"files_changed":[],"commands_run":[],"artifacts":[],"next_actions":[],"errors":[]}`)
	return nil
}

// ground is a workspace whose servers are killed.
type ground struct {
	t          *testing.T
	env        workspace.Env
	dir        string
	executable string
	environ    []string // of servers, and so of providers and workers
	token      string   // in environ
	keyFile    string
	actsDir    string
	ledger     *ledger
	own, tasks []string // of each client
	sealed     int64    // records of the newest checkpoint
}

const clients = 3

func newGround(t *testing.T, r *rand.Rand) *ground {
	t.Helper()
	g := &ground{t: t, env: workspace.SystemEnv(), dir: filepath.Join(workspace.Canonical(t.TempDir()), "ws"), ledger: newLedger()}
	g.env.LockPatience = time.Minute
	bin := t.TempDir()
	g.keyFile, g.token = filepath.Join(bin, "audit.key"), "AC_TEST_KILLS="+strconv.FormatUint(r.Uint64(), 36)
	g.actsDir = t.TempDir()
	var err error
	g.executable, err = os.Executable()
	g.must(err)
	g.must(os.Symlink(g.executable, filepath.Join(bin, worker)))
	g.environ = append(slices.DeleteFunc(os.Environ(), func(entry string) bool {
		return strings.HasPrefix(entry, "OPENAI_API_KEY=") || strings.HasPrefix(entry, "CODEX_API_KEY=")
	}), g.token, keyVariable+"="+g.keyFile, actsVariable+"="+g.actsDir, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	g.must(workspace.Init(t.Context(), g.env, g.dir, workspace.InitOptions{CompanyName: "Acme"}))
	w, err := workspace.Open(g.env, g.dir)
	g.must(err)
	defer func() { g.must(w.Close()) }()
	_, err = w.NewAgent(t.Context(), workspace.AgentSpec{Name: "Worker", Role: "worker", Provider: worker})
	g.must(err)
	for range clients {
		made, err := w.CreateProjectWithDefaults(t.Context(), "P", "", nil)
		g.must(err)
		task, err := pm.NewTask(t.Context(), w, made.ID, pm.TaskSpec{Title: "T", Visibility: "org"})
		g.must(err)
		g.own, g.tasks = append(g.own, made.ID), append(g.tasks, task)
		g.ledger.note("", "project", made.ID)
	}
	return g
}

func (g *ground) must(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

// latest is the longest time between a server's first answer and its kill, in milliseconds.
const latest = 300

func moment(r *rand.Rand) time.Duration { return time.Duration(1+r.IntN(latest)) * time.Millisecond }

// kill kills a server while its clients send requests. At another random moment it
// kills a runner, if one is alive.
func (g *ground) kill(r *rand.Rand) {
	g.t.Helper()
	s := start(g.t, g.environ)
	if !s.call("system.ping", nil, nil) {
		g.t.Fatal("the server does not answer")
	}
	var group sync.WaitGroup
	for i := range clients {
		c := &client{s: s, l: g.ledger, r: rand.New(rand.NewPCG(r.Uint64(), 2)), dir: g.dir, executable: g.executable, own: g.own[i], task: g.tasks[i]}
		group.Go(c.work)
	}
	group.Go(g.runnerKiller(r))
	time.Sleep(moment(r)) // the random moment itself
	if err := s.cmd.Process.Kill(); err != nil {
		g.t.Error(err)
	}
	group.Wait()
	_ = s.cmd.Wait() // it was killed
	g.forgetWriter()
}

// forgetWriter backdates the lock file of a killed writer, so that it is stale at once. Otherwise
// that takes two seconds, or two minutes if the file is still empty.
func (g *ground) forgetWriter() {
	g.t.Helper()
	old := time.Now().Add(-3 * time.Minute)
	if err := os.Chtimes(filepath.Join(g.dir, ".local/locks/workspace.write.lock"), old, old); err != nil && !os.IsNotExist(err) {
		g.t.Fatal(err)
	}
}

// TestKills kills servers and job runners at random moments of mixed writes, and sometimes a
// supervisor. It checks the workspace after a third of the kills on average, so that some
// servers find what several killed ones left. It also checks after the last kill of each
// workspace.
func TestKills(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", *seed)
	const perGround = 10
	var left atomic.Int64
	left.Store(int64(*kills))
	total := newLedger()
	t.Run("lanes", func(t *testing.T) {
		for lane := range *lanes {
			t.Run(strconv.Itoa(lane), func(t *testing.T) {
				t.Parallel()
				r := rand.New(rand.NewPCG(*seed, uint64(lane)))
				for !t.Failed() {
					n := perGround + min(0, left.Add(-perGround))
					if n <= 0 {
						return
					}
					total.add(killsOf(t, r, int(n)))
				}
			})
		}
	})
	acknowledged := 0
	for _, method := range slices.Sorted(maps.Keys(total.answers)) {
		t.Logf("%6d %s", total.answers[method], method)
		acknowledged += total.answers[method]
	}
	t.Logf("%d kills of servers, %d of runners, %d requests acknowledged", *kills-int(max(0, left.Load())), total.runners, acknowledged)
	alone(t)
}

// killsOf kills servers of one workspace and returns what they acknowledged.
func killsOf(t *testing.T, r *rand.Rand, n int) (l *ledger) {
	t.Helper()
	name := fmt.Sprintf("%d kills", n)
	t.Run(name, func(t *testing.T) { // whose end removes its folders
		g := newGround(t, r)
		l = g.ledger
		for i := range n {
			g.kill(r)
			if i == n-1 || r.IntN(3) == 0 {
				g.look(r)
			}
			if t.Failed() {
				return
			}
		}
	})
	return l
}
