// Package crashtest kills real servers and supervisors in the middle of their
// work and looks at what is left. It has tests only.
package crashtest

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ac/events"
	"ac/internal/proc"
	"ac/rpc"
	"ac/runs"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

var (
	kills = flag.Int("kills", 12, "how many servers are killed")
	seed  = flag.Uint64("seed", 0, "of the moments and requests; 0 draws one")
)

// Parts that the test binary plays.
const (
	serveCommand = "serve"
	workCommand  = "work"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case session.GuardCommand:
			os.Exit(exitOf(session.RunGuard()))
		case session.SuperviseCommand, serveCommand:
			os.Exit(exitOf(play(os.Args[1])))
		case placeCommand:
			os.Exit(exitOf(place(os.Args[2:])))
		case workCommand: // a provider that says something for a moment
			for i := range 20 {
				fmt.Println("line", i)
				time.Sleep(time.Millisecond)
			}
			os.Exit(0)
		}
	}
	dir, err := os.MkdirTemp("", "run")
	if err == nil {
		err = os.Setenv("XDG_RUNTIME_DIR", dir) // of the sockets
	}
	code := exitOf(err)
	if err == nil {
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
	if part == session.SuperviseCommand {
		return session.SuperviseMain(executable, os.Stdin, os.Stdout, nil)
	}
	return rpc.Serve(context.Background(), rpc.Options{
		In: os.Stdin, Out: os.Stdout, Log: slog.New(slog.DiscardHandler), Env: workspace.SystemEnv(), Executable: executable,
	})
}

// ledger is what servers acknowledged. Its methods are safe for concurrent use.
type ledger struct {
	mu       sync.Mutex
	projects []string
	links    map[string][]string // by project
	runs     [][2]string         // project and run
	sessions []string
	answers  int
}

func (l *ledger) note(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answers++
	change()
}

// pick draws a project that is known.
func (l *ledger) pick(r *rand.Rand) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.projects) == 0 {
		return ""
	}
	return l.projects[r.IntN(len(l.projects))]
}

// server is a real one, and a client of it with several requests in flight.
type server struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.WriteCloser

	mu      sync.Mutex
	next    int
	waiting map[int]chan json.RawMessage // closed without a value when the server is gone
	gone    bool
}

func start(t *testing.T, token string) *server {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, cmd: exec.Command(executable, serveCommand), waiting: map[int]chan json.RawMessage{}}
	s.cmd.Env = append(os.Environ(), token)
	s.cmd.Stderr = os.Stderr
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go s.read(stdout) // ends with the server
	return s
}

func (s *server) read(stdout io.Reader) {
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var answer struct {
			ID     *int
			Result json.RawMessage
			Error  json.RawMessage
		}
		// A line that the kill cut is no answer.
		if json.Unmarshal(lines.Bytes(), &answer) != nil || answer.ID == nil {
			continue
		}
		if answer.Error != nil {
			s.t.Errorf("the server refused: %s", answer.Error)
		}
		s.mu.Lock()
		if waiter := s.waiting[*answer.ID]; waiter != nil && answer.Error == nil {
			waiter <- answer.Result
		}
		s.mu.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = true
	for _, waiter := range s.waiting {
		close(waiter)
	}
}

// call sends a request and waits for its answer; false when the server is gone.
func (s *server) call(method string, params map[string]any, result any) bool {
	answer := make(chan json.RawMessage, 1)
	s.mu.Lock()
	if s.gone {
		s.mu.Unlock()
		return false
	}
	s.next++
	id := s.next
	s.waiting[id] = answer
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	if err == nil {
		_, err = s.stdin.Write(append(text, '\n'))
	}
	s.mu.Unlock()
	if err != nil {
		return false
	}
	raw, ok := <-answer
	if ok && result != nil {
		if err := json.Unmarshal(raw, result); err != nil {
			s.t.Errorf("%s: %v", method, err)
		}
	}
	return ok
}

// client makes requests until the server is gone.
func client(s *server, l *ledger, dir string, r *rand.Rand, executable string) {
	for {
		project := l.pick(r)
		var made struct {
			ProjectID  string `json:"project_id"`
			RunID      string `json:"run_id"`
			SessionRef string `json:"session_ref"`
		}
		switch what := r.IntN(8); {
		case project == "" || what == 0:
			if !s.call("workspace.project.create_with_defaults", map[string]any{"workspace_dir": dir, "name": "P", "repo_ids": []string{"r"}}, &made) {
				return
			}
			l.note(func() { l.projects = append(l.projects, made.ProjectID) })
		case what < 4:
			repo := "repo" + strconv.FormatUint(r.Uint64(), 36)
			if !s.call("workspace.project.link_repo", map[string]any{"workspace_dir": dir, "project_id": project, "repo_id": repo}, nil) {
				return
			}
			l.note(func() { l.links[project] = append(l.links[project], repo) })
		default:
			if !s.call("run.create", map[string]any{"workspace_dir": dir, "project_id": project, "agent_id": "a", "provider": "cmd"}, &made) {
				return
			}
			run := made.RunID
			l.note(func() { l.runs = append(l.runs, [2]string{project, run}) })
			if what < 6 {
				continue
			}
			params := map[string]any{"workspace_dir": dir, "project_id": project, "run_id": run, "argv": []string{executable, workCommand}}
			if !s.call("session.launch", params, &made) {
				return
			}
			l.note(func() { l.sessions = append(l.sessions, made.SessionRef) })
		}
	}
}

// TestKills kills servers at random moments of their work, sometimes with a
// supervisor, and looks at everything after each.
func TestKills(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", *seed)
	r := rand.New(rand.NewPCG(*seed, 1))
	const perWorkspace = 10
	answers, sessions := 0, 0
	for done := 0; done < *kills && !t.Failed(); done += perWorkspace {
		l := killsOf(t, r, min(perWorkspace, *kills-done))
		answers, sessions = answers+l.answers, sessions+len(l.sessions)
	}
	t.Logf("%d kills, %d writes acknowledged, %d of them launches", *kills, answers, sessions)
}

// killsOf kills servers over one workspace.
func killsOf(t *testing.T, r *rand.Rand, n int) *ledger {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	env := workspace.SystemEnv()
	env.LockPatience = 30 * time.Second
	dir := filepath.Join(workspace.Canonical(t.TempDir()), "ws")
	if err := workspace.Init(t.Context(), env, dir, workspace.InitOptions{CompanyName: "Acme"}); err != nil {
		t.Fatal(err)
	}
	token := "AC_TEST_KILLS=" + strconv.FormatUint(r.Uint64(), 36)
	l := &ledger{links: map[string][]string{}}
	for i := 0; i < n && !t.Failed(); i++ {
		s := start(t, token)
		if !s.call("system.ping", nil, nil) {
			t.Fatal("the server does not answer")
		}
		var clients sync.WaitGroup
		for range 3 {
			own := rand.New(rand.NewPCG(r.Uint64(), 2))
			clients.Go(func() { client(s, l, dir, own, executable) })
		}
		time.Sleep(time.Duration(1+r.IntN(400)) * time.Millisecond) // the random moment itself
		if err := s.cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		clients.Wait()
		_ = s.cmd.Wait() // it was killed
		// The lock file of a killed writer counts as stale after two seconds, one
		// that says nothing yet after two minutes, which are not waited for here.
		old := time.Now().Add(-3 * time.Minute)
		if err := os.Chtimes(filepath.Join(dir, ".local/locks/workspace.write.lock"), old, old); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		check(t, env, dir, l, token, r.IntN(3) == 0)
	}
	return l
}

// check looks at everything that a killed server left.
func check(t *testing.T, env workspace.Env, dir string, l *ledger, token string, killSupervisor bool) {
	t.Helper()
	w, err := workspace.Open(env, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	records, err := session.All(w)
	if err != nil {
		t.Fatal(err)
	}
	for _, record := range records {
		if killSupervisor && session.Live(w, record) {
			_ = proc.Identity{PID: *record.OwnerPID, Start: record.OwnerStart}.Signal(os.Kill) // over meanwhile
			killSupervisor = false
		}
		record, err = session.Collect(ctx, w, record.Ref)
		if err != nil || !doc.Terminal(record.Status) {
			t.Errorf("session %s: %s (%v)", record.Ref, record.Status, err)
		}
	}
	if err := w.Settle(ctx); err != nil {
		t.Fatalf("settle: %v", err)
	}
	if findings := workspace.Validate(env, dir); len(findings.Issues) > 0 {
		t.Errorf("issues: %+v", findings.Issues)
	}
	acknowledged(t, w, l)
	for _, project := range l.projects {
		ids, err := workspace.Dirs(w.FS, workspace.RunsDir(project))
		if err != nil {
			t.Error(err)
		}
		for _, id := range ids {
			story(t, w, project, id)
		}
	}
	if pids := survivors(t, token); len(pids) > 0 {
		t.Errorf("survivors: %v", pids)
	}
}

// acknowledged checks that nothing is lost that a server has answered.
func acknowledged(t *testing.T, w *workspace.Workspace, l *ledger) {
	t.Helper()
	for _, project := range l.projects {
		if _, err := w.Project(project); err != nil {
			t.Errorf("a project is lost: %v", err)
		}
		links, err := w.RepoLinks(project)
		if err != nil {
			t.Error(err)
		}
		there := map[string]bool{}
		for _, link := range links {
			there[link.RepoID] = true
		}
		for _, repo := range l.links[project] {
			if !there[repo] {
				t.Errorf("link %s of %s is lost", repo, project)
			}
		}
	}
	for _, run := range l.runs {
		if _, err := runs.Load(w, run[0], run[1]); err != nil {
			t.Errorf("a run is lost: %v", err)
		}
	}
	for _, ref := range l.sessions {
		if _, err := session.Read(w, ref); err != nil {
			t.Errorf("a session is lost: %v", err)
		}
	}
}

// story holds a run and its log to each other.
func story(t *testing.T, w *workspace.Workspace, project, id string) {
	t.Helper()
	run, err := runs.Load(w, project, id)
	if err != nil {
		t.Error(err)
		return
	}
	report, err := runs.VerifyLog(w, project, id)
	if err != nil || !report.Sound() {
		t.Errorf("%s: %+v (%v)", id, report, err)
	}
	text, err := os.ReadFile(filepath.Join(w.Dir(), workspace.LogFile(project, id)))
	if err != nil {
		t.Error(err)
	}
	ends := 0
	for line := range strings.Lines(string(text)) {
		if events.Terminal(events.Type([]byte(line))) {
			ends++
		}
	}
	if (ends == 1) != doc.Terminal(run.Status) || ends > 1 {
		t.Errorf("%s is %s and has %d terminal events", id, run.Status, ends)
	}
}

// survivors lists the live processes of providers.
func survivors(t *testing.T, token string) (pids []int) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		pids = nil
		environs, err := filepath.Glob("/proc/[0-9]*/environ")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range environs {
			environ, err := os.ReadFile(file)
			if err != nil || !strings.Contains(string(environ), token) {
				continue
			}
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			if _, alive := proc.Lookup(pid); err == nil && alive {
				pids = append(pids, pid)
			}
		}
		if len(pids) == 0 || time.Now().After(deadline) {
			return pids
		}
	}
}
