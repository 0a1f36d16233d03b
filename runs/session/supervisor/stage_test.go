package supervisor_test

// The stage that the tests of sessions share: a workspace with a run, launches, and checks for
// leftovers.

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ac/events"
	"ac/internal/proc"
	"ac/runs"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// patience bounds every wait for a state. It is long enough for a busy machine.
const patience = 2 * time.Minute

type stage struct {
	t        *testing.T
	ctx      context.Context //nolint:containedctx // of the test
	w        *workspace.Workspace
	launcher *session.Launcher
	project  string
	token    string // in the environment of every provider of this stage
	torn     bool   // a short write may have left half a line in a log
	litter   bool   // a killed supervisor may have left the files of its locks and its socket
}

func newStage(t *testing.T) *stage {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{t: t, ctx: t.Context(), token: "AC_TEST_STAGE=" + t.Name() + strconv.FormatInt(time.Now().UnixNano(), 36)}
	env := workspace.SystemEnv()
	env.LockPatience = patience
	dir := filepath.Join(workspace.Canonical(t.TempDir()), "ws")
	if err := workspace.Init(s.ctx, env, dir, workspace.InitOptions{CompanyName: "Acme"}); err != nil {
		t.Fatal(err)
	}
	if s.w, err = workspace.Open(env, dir); err != nil {
		t.Fatal(err)
	}
	if s.project, err = s.w.NewProject(s.ctx, "P"); err != nil {
		t.Fatal(err)
	}
	s.launcher = &session.Launcher{Executable: executable, Environ: append(os.Environ(), "INHERITED=yes", s.token)}
	t.Cleanup(func() {
		s.gone()
		if err := s.w.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// run creates a run, and returns the order to execute it with the test binary as its provider.
func (s *stage) run(words ...string) session.Order {
	s.t.Helper()
	return s.order(append([]string{s.launcher.Executable, providerCommand}, words...)...)
}

func (s *stage) order(argv ...string) session.Order {
	s.t.Helper()
	made, err := runs.Create(s.ctx, s.w, s.project, "agent", "cmd")
	if err != nil {
		s.t.Fatal(err)
	}
	return session.Order{
		WorkspaceDir: s.w.Dir(), ProjectID: s.project, RunID: made.RunID, SessionRef: session.LocalRef(made.RunID),
		AgentID: "agent", Provider: "cmd", Argv: argv,
	}
}

func (s *stage) launch(order session.Order) {
	s.t.Helper()
	if err := s.launcher.Launch(s.ctx, order); err != nil {
		s.t.Fatalf("launch: %v", err)
	}
}

// collect waits for the end of a session and checks what every end guarantees.
func (s *stage) collect(order session.Order) doc.Session {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	record, err := session.Collect(ctx, s.w, order.SessionRef)
	if err != nil || !doc.Terminal(record.Status) {
		s.t.Fatalf("collect: %+v (%v)", record, err)
	}
	s.checkEnd(order, record.Status)
	return record
}

// execute launches and collects.
func (s *stage) execute(order session.Order) doc.Session {
	s.t.Helper()
	s.launch(order)
	return s.collect(order)
}

// checkEnd checks that run, log and record agree: one terminal event, which is the last one, a
// valid chain, and a matching checkpoint.
func (s *stage) checkEnd(order session.Order, status string) {
	s.t.Helper()
	s.checkStory(order, status)
	lines := s.log(order)
	if kind := events.Type([]byte(lines[len(lines)-1])); kind != "run."+status {
		s.t.Errorf("the last event is %s", kind)
	}
}

// checkStory is checkEnd for a log that may have decisions after the end.
func (s *stage) checkStory(order session.Order, status string) {
	s.t.Helper()
	run, err := runs.Load(s.w, order.ProjectID, order.RunID)
	if err != nil {
		s.t.Fatal(err)
	}
	if run.Status != status || run.EndedAt == "" || run.Log == nil {
		s.t.Errorf("the run is %s, ended at %q, log %+v; the session %s", run.Status, run.EndedAt, run.Log, status)
	}
	report, err := runs.VerifyLog(s.w, order.ProjectID, order.RunID)
	if err != nil || len(report.VerificationIssues)+len(report.RecordIssues) > 0 || (len(report.ParseIssues) > 0 && !s.torn) {
		s.t.Errorf("the log is not sound: %+v (%v)", report, err)
	}
	lines := s.log(order)
	s.checkLive(lines)
	between := []string{events.RunContinued, events.PolicyDecision, events.BudgetDecision, events.SteerQueued, events.CompactRequested, events.Compacted} // allowed between two sessions
	over, ended := false, ""
	for i, line := range lines {
		switch kind := events.Type([]byte(line)); {
		case events.Terminal(kind) && over, over && !slices.Contains(between, kind):
			s.t.Errorf("line %d of %d: %s", i+1, len(lines), line)
		case events.Terminal(kind):
			over, ended = true, kind
		case kind == events.RunContinued:
			over = false
		}
	}
	if !over {
		s.t.Errorf("the log of a run that is over ends with %s", lines[len(lines)-1])
	}
	last, before := []byte(lines[len(lines)-1]), []byte(lines[max(len(lines)-2, 0)])
	if ended != "run."+status {
		s.t.Errorf("the last end is %s", ended)
	}
	if events.Text(last, "ts_wallclock") < events.Text(before, "ts_wallclock") {
		s.t.Errorf("the end goes back in time: %s after %s", last, before)
	}
}

func (s *stage) log(order session.Order) []string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.w.Dir(), workspace.LogFile(order.ProjectID, order.RunID)))
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// output reads a file of the run's outputs.
func (s *stage) output(order session.Order, name string) string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.w.Dir(), workspace.RunDir(order.ProjectID, order.RunID), "outputs", name))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// until waits for a state.
func (s *stage) until(what string, reached func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(patience); !reached(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("never: %s", what)
		}
	}
}

// ready waits until n processes of a provider have printed that they are ready.
func (s *stage) ready(order session.Order, n int) {
	s.t.Helper()
	name := filepath.Join(s.w.Dir(), workspace.RunDir(order.ProjectID, order.RunID), "outputs/stdout.txt")
	s.until("the provider is ready", func() bool {
		text, err := os.ReadFile(name) // the file is missing until the launch has created it
		return err == nil && strings.Count(string(text), "ready") >= n
	})
}

// record reads the record as it was written, without reconciling it.
func (s *stage) record(order session.Order) doc.Session {
	s.t.Helper()
	record, err := session.Read(s.w, order.SessionRef)
	if err != nil {
		s.t.Fatal(err)
	}
	return record
}

// processes lists the live providers of the stage and what they started.
func (s *stage) processes() (pids []int) {
	s.t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		s.t.Skip("SKIPPED: this system has no /proc to look for survivors in: ", err)
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		environ, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if err == nil && strings.Contains(string(environ), s.token) {
			if _, alive := proc.Lookup(pid); alive {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// guardOf finds the guard of a supervisor.
func (s *stage) guardOf(supervisor int) int {
	s.t.Helper()
	children, err := proc.Children(supervisor)
	if err != nil || len(children) != 1 {
		s.t.Fatalf("children of the supervisor: %v (%v)", children, err)
	}
	return children[0]
}

// gone checks that nothing of the stage is left: no process, no lock file, no
// socket of a session that is over.
func (s *stage) gone() {
	s.t.Helper()
	s.until("no provider lives", func() bool { return len(s.processes()) == 0 })
	locks, err := filepath.Glob(filepath.Join(s.w.Dir(), ".local/locks/*"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.until("the locks are gone", func() bool {
		for _, name := range locks {
			base := filepath.Base(name)
			if _, err := os.Stat(name); err == nil && !s.litter && (strings.HasPrefix(base, "run-") || strings.HasPrefix(base, "session-")) {
				return false
			}
		}
		return true
	})
	records, err := session.All(s.w)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, r := range records {
		if s.litter || r.Socket == "" || !doc.Terminal(r.Status) {
			continue
		}
		name := filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "ac", r.Socket+".sock")
		s.until("the socket is gone", func() bool {
			_, err := os.Lstat(name)
			return errors.Is(err, fs.ErrNotExist)
		})
	}
}

// kill kills one process by its number.
func (s *stage) kill(pid int) {
	s.t.Helper()
	if err := proc.Kill(pid); err != nil {
		s.t.Fatal(err)
	}
}
