package worker

// Workers with real sessions and an in-memory hub.

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ac/fleet"
	"ac/internal/fault"
	"ac/internal/runtimetest"
	"ac/runs/session"
	"ac/runs/session/supervisor"
	"ac/workspace"
	"ac/workspace/doc"
)

// hearCommand makes the test binary an agent that prints its prompt.
const hearCommand = "hear"

// TestMain lets the test binary act as supervisor, guard and agent.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		var err error
		switch os.Args[1] {
		case session.GuardCommand:
			err = session.RunGuard()
		case session.SuperviseCommand:
			executable, _ := os.Executable()
			err = supervisor.Main(executable, os.Stdin, os.Stdout, nil)
		case hearCommand:
			fmt.Printf("heard: %s\n", os.Args[3])
			for err == nil || errors.Is(err, os.ErrNotExist) {
				if _, err = os.Stat(os.Args[3]); err == nil {
					os.Exit(0)
				}
				time.Sleep(10 * time.Millisecond)
			}
		default:
			os.Exit(runtimetest.With(m).Run())
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(runtimetest.With(m).Run())
}

func TestSessionFromOrderToEnd(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.begin()
	o := s.order("echo hello; env; echo made > made.txt; echo oops >&2; exit 3")
	o.Outputs, o.Env = []string{"*.txt"}, map[string]string{"GIVEN": "yes"}
	s.hub.order(o)
	end := s.settled(o)
	if end.Status != doc.StatusFailed || end.ExitCode == nil || *end.ExitCode != 3 || end.Stopped || end.Orphaned || len(end.Last) == 0 {
		t.Errorf("the end is %+v", end)
	}
	text := s.text(o)
	for _, want := range []string{"hello\n", "oops\n", "GIVEN=yes\n", "AC_WORKER_ID=wkr_", "AC_CONTEXT_DIR="} {
		if !strings.Contains(text, want) {
			t.Errorf("the output lacks %q: %s", want, text)
		}
	}
	for _, not := range []string{"NOT_PASSED", "AC_WORKSPACE", "AC_RUN=", "sesame-open"} {
		if strings.Contains(text, not) {
			t.Errorf("the output has %q", not)
		}
	}
	files := s.files(end.Results.Outputs)
	if files["made.txt"] != "made\n" || !strings.Contains(files["stdout.txt"], "hello") || files["stderr.txt"] != "oops\n" {
		t.Errorf("the results are %v", files)
	}
	s.hub.until("the objects are deleted", func() bool { return s.hub.acked["deleted "+end.Results.Outputs.Name] > 0 })
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	a := s.hub.attempts[o.Attempt]
	if s.hub.acked[o.Attempt] != 1 || a.claims != 1 || a.specs == 0 || a.record.PID == nil {
		t.Errorf("acknowledged %d times, claimed %d times, %d specs, record %+v", s.hub.acked[o.Attempt], a.claims, a.specs, a.record)
	}
	for _, d := range a.drafts {
		if !isDraft(d.Type) {
			t.Errorf("a draft is of type %s", d.Type)
		}
	}
}

func TestRestartedWorkerAdoptsItsSessions(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.begin()
	dir := t.TempDir()
	o := s.order("echo one; " + waitFor(dir+"/go") + "; echo two; " + waitFor(dir+"/end") + "; echo three")
	s.hub.order(o)
	s.hub.until("the first line", func() bool { return s.said(o) == "one\n" })
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
	touch(t, dir+"/go") // the session continues without the worker
	s.begin()
	s.hub.until("another hello", func() bool { return len(s.hub.hellos) > 1 })
	s.restart()
	touch(t, dir+"/end")
	if end := s.settled(o); end.Status != doc.StatusEnded || s.text(o) != "one\ntwo\nthree\n" || s.started() != 1 {
		t.Errorf("%s, %q, started %d times", end.Status, s.text(o), s.started())
	}
}

func TestCutIsSpooledAndShippedLater(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.begin()
	dir := t.TempDir()
	o := s.order("echo one; " + waitFor(dir+"/go") + "; echo two; touch " + dir + "/said; " + waitFor(dir+"/end"))
	s.hub.order(o)
	s.hub.until("the first line", func() bool { return s.said(o) == "one\n" })
	s.hub.do(func() { s.hub.cut = true })
	touch(t, dir+"/go")
	s.exists(dir + "/said")
	touch(t, dir+"/end")
	s.hub.mend()
	if end := s.settled(o); end.Status != doc.StatusEnded || s.text(o) != "one\ntwo\n" {
		t.Errorf("%s, %q", end.Status, s.text(o))
	}
}

// exists waits until a file exists.
func (s *site) exists(file string) {
	s.t.Helper()
	for s.t.Context().Err() == nil {
		if _, err := os.Stat(file); err == nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	s.t.Fatalf("%s is never there", file)
}

func TestOrderDeliveredTwiceStartsOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.begin()
	dir := t.TempDir()
	o := s.order(waitFor(dir + "/end"))
	s.hub.order(o)
	s.hub.until("it is acknowledged", func() bool { return s.hub.acked[o.Attempt] == 1 })
	for range 2 {
		s.hub.order(o)
	}
	s.hub.until("all are acknowledged", func() bool { return s.hub.acked[o.Attempt] == 3 })
	touch(t, dir+"/end")
	s.settled(o)
	if s.started() != 1 {
		t.Errorf("started %d times", s.started())
	}
}

func TestRefusedClaimIsForgotten(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	o := s.order("true")
	s.hub.do(func() { s.hub.attempt(o.Attempt).refused = "fenced" })
	s.begin()
	s.hub.order(o)
	s.hub.until("it is acknowledged", func() bool { return s.hub.acked[o.Attempt] == 1 })
	newer := s.order("true")
	newer.Critical = []string{"something new"}
	s.hub.order(newer)
	s.hub.until("it is refused", func() bool { return len(s.hub.attempts[newer.Attempt].gaveUp) == 1 && s.hub.acked[newer.Attempt] == 1 })
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(filepath.Join(s.dir, attemptsDir))
	if err != nil || len(left) > 0 || s.started() != 0 {
		t.Errorf("%d attempts are left, %v; started %d times", len(left), err, s.started())
	}
}

func TestStopFenceAndVerbs(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.begin()
	stop, fence, told := s.order("exec sleep 600"), s.order("exec sleep 600"), s.order("exec sleep 600")
	for _, o := range []fleet.Order{stop, fence} {
		s.hub.order(o)
		s.hub.until("it runs", func() bool { return s.hub.attempts[o.Attempt].record.PID != nil })
	}
	s.hub.do(func() {
		s.hub.attempts[stop.Attempt].stop = true
		s.hub.attempts[fence.Attempt].fenced = true
	})
	if end := s.settled(stop); end.Status != doc.StatusStopped || !end.Stopped {
		t.Errorf("the stopped one: %+v", end)
	}
	if end := s.settled(fence); end.Status != doc.StatusStopped {
		t.Errorf("the fenced one: %+v", end)
	}
	s.hub.order(told)
	s.hub.until("it runs", func() bool { return s.hub.attempts[told.Attempt].record.PID != nil })
	if reply := s.hub.tell(told.Attempt, "steer", map[string]string{"text": "hello"}); reply.Reason != string(fault.RunNotSteerable) {
		t.Errorf("a command was steered: %+v", reply)
	}
	if reply := s.hub.tell(told.Attempt, fleet.TellLimits, session.LimitsRequest{}); reply.Err() != nil || reply.N == 0 {
		t.Errorf("limits: %+v", reply)
	}
	if reply := s.hub.tell("0123456789abcdef-1", fleet.TellStop, nil); reply.Reason != string(fault.NotFound) {
		t.Errorf("an unknown attempt: %+v", reply)
	}
	if reply := s.hub.tell("", fleet.TellProbe, fleet.Probe{Provider: "codex"}); !strings.Contains(string(reply.Result), `"ok":true`) {
		t.Errorf("the probe: %+v", reply)
	}
	if reply := s.hub.tell(told.Attempt, fleet.TellStop, nil); reply.Err() != nil {
		t.Errorf("the stop: %+v", reply)
	}
	s.settled(told)
}

func TestLeaseEndsTheSessionOfAWorkerThatIsCutOff(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.begin()
	stops, goesOn := s.order("exec sleep 600"), s.order("exec sleep 600")
	for _, o := range []fleet.Order{stops, goesOn} {
		s.hub.order(o)
		s.hub.until("it runs", func() bool { return s.hub.attempts[o.Attempt].record.PID != nil })
	}
	s.hub.do(func() { s.hub.cut = true })
	s.stopped()
	if err := <-s.over; err != nil {
		t.Fatal(err)
	}
	s.stopped = nil
	a, err := s.folder.attempts()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range a { // one of them continues when it is cut off
		if r.Attempt == goesOn.Attempt {
			r.OnCutOff = fleet.CutOffContinue
			if err := s.folder.writeRecord(r, false); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.folder.Close(); err != nil {
		t.Fatal(err)
	}
	s.elapsed.Add(int64(3601 * time.Second)) // the machine slept
	s.begin()
	s.recorded(stops, doc.StatusStopped)
	s.hub.mend()
	if end := s.settled(stops); end.Reason != reasonLease || end.Status != doc.StatusStopped {
		t.Errorf("the end is %+v", end)
	}
	record, err := session.Read(s.folder.Spool, goesOn.SessionRef)
	if err != nil || record.Status != doc.StatusRunning {
		t.Errorf("the one that goes on is %s, %v", record.Status, err)
	}
	s.hub.do(func() { s.hub.attempts[goesOn.Attempt].stop = true })
	s.settled(goesOn)
}

// recorded waits until the spool records a status of a session.
func (s *site) recorded(o fleet.Order, status string) {
	s.t.Helper()
	for s.t.Context().Err() == nil {
		if record, err := session.Read(s.folder.Spool, o.SessionRef); err == nil && record.Status == status {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	s.t.Fatalf("the session is never %s", status)
}

func TestDrainedWorkerTakesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.hub.drain = true
	s.begin()
	o := s.order("true")
	s.hub.until("a beat", func() bool { return s.hub.beats > 1 })
	s.hub.order(o)
	s.hub.until("more beats", func() bool { return s.hub.beats > 3 })
	s.hub.mu.Lock()
	claims, free := s.hub.attempts[o.Attempt].claims, s.hub.lastBeat.FreeSlots
	s.hub.mu.Unlock()
	if claims != 0 || free != 0 {
		t.Errorf("claimed %d times, %d free slots", claims, free)
	}
	s.hub.do(func() { s.hub.drain = false })
	s.settled(o)
}

func TestDuplicateFolderEndsTheWorker(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.hub.refuse = fleet.DuplicateWorker
	s.begin()
	if err := <-s.over; !fault.Is(err, fleet.DuplicateWorker) {
		t.Errorf("it ended with %v", err)
	}
	s.stopped = nil
	if err := s.folder.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestFolderIsOfOneProcessAndOneMachine(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	folder := s.open()
	if _, err := OpenFolder(t.Context(), workspace.SystemEnv(), s.dir); !fault.Is(err, fleet.WorkerRunning) {
		t.Errorf("it was opened twice: %v", err)
	}
	drawn := folder.Instance
	if err := folder.Close(); err != nil {
		t.Fatal(err)
	}
	if folder = s.open(); folder.Instance != drawn {
		t.Error("another instance was drawn")
	}
	if err := errors.Join(folder.Close(), os.WriteFile(filepath.Join(s.dir, instanceFile), []byte(drawn+" another-machine\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if folder = s.open(); folder.Instance == drawn {
		t.Error("the copy has the same instance")
	}
	if err := folder.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenFolder(t.Context(), workspace.SystemEnv(), t.TempDir()); !fault.Is(err, fault.NotFound) {
		t.Errorf("an empty folder: %v", err)
	}
}

func TestSessionsStopWithTheWorkerWhereThatIsAsked(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.host = func(h *Host) { h.StopAtExit = true }
	s.begin()
	o := s.order("exec sleep 600")
	s.hub.order(o)
	s.hub.until("it runs", func() bool { return s.hub.attempts[o.Attempt].record.PID != nil })
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
	s.begin() // it finds the end, which the hub did not request
	if end := s.settled(o); end.Status != doc.StatusStopped {
		t.Errorf("the end is %+v", end)
	}
}

func TestFullDiskTakesNoOrders(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var free atomic.Uint64
	free.Store(1 << 40)
	s.host = func(h *Host) { h.Free = func(string) (uint64, error) { return free.Load(), nil } }
	s.begin()
	reserve := filepath.Join(s.dir, reserveFile)
	s.exists(reserve)
	free.Store(1 << 20)
	s.hub.until("the beat says so", func() bool { return s.hub.lastBeat.Why == "disk" && s.hub.lastBeat.FreeSlots == 0 })
	o := s.order("true")
	s.hub.order(o)
	beats := s.hub.beatsNow()
	s.hub.until("more beats", func() bool { return s.hub.beats > beats+2 })
	s.hub.mu.Lock()
	claims := s.hub.attempts[o.Attempt].claims
	s.hub.mu.Unlock()
	if _, err := os.Stat(reserve); !errors.Is(err, os.ErrNotExist) || claims != 0 {
		t.Errorf("the reserve: %v; claimed %d times", err, claims)
	}
	free.Store(1 << 40)
	s.settled(o)
	s.exists(reserve)
}
