package supervisor_test

// Deaths of each process of a session: no provider survives, and the record has the cause.

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ac/events"
	"ac/internal/durable/faultfs"
	"ac/internal/fault"
	"ac/internal/proc"
	"ac/runs"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

var everyCall = flag.Bool("every-call", false, "kill supervisors at every call to the file system instead of some")

// TestKilled kills each process of a session, or stops the session. The provider either has
// descendants that ignore signals and leave its group and session, or closes its pipes and
// keeps running.
func TestKilled(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		victim string
		note   string // in the record's error
	}{{"supervisor", "supervisor died"}, {"guard", "guard"}, {"both", "supervisor died"}, {"provider", ""}, {"stop", ""}} {
		for _, how := range []string{"family", "quiet"} {
			t.Run(c.victim+" of "+how, func(t *testing.T) {
				t.Parallel()
				s := newStage(t)
				order := s.run(how)
				s.launch(order)
				if how == "family" {
					s.ready(order, 4)
					s.until("all descendants live", func() bool { return len(s.processes()) >= 5 })
				}
				s.until("the provider is known", func() bool { return s.record(order).PID != nil })
				record := s.record(order)
				status := doc.StatusFailed
				switch c.victim {
				case "supervisor":
					s.kill(*record.OwnerPID)
					s.until("the supervisor is gone", func() bool { return !session.Live(s.w, s.record(order)) })
				case "guard":
					s.kill(s.guardOf(*record.OwnerPID))
				case "both":
					victims := []int{s.guardOf(*record.OwnerPID), *record.OwnerPID}
					for _, pid := range victims { // neither sees the other die
						if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
							t.Fatal(err)
						}
					}
					for _, pid := range victims {
						s.kill(pid)
					}
					s.until("the supervisor is gone", func() bool { return !session.Live(s.w, s.record(order)) })
				case "provider":
					s.kill(*record.PID)
				case "stop":
					status = doc.StatusStopped
					if _, err := session.Stop(s.ctx, s.w, order.SessionRef); err != nil {
						t.Fatal(err)
					}
				}
				record = s.collect(order)
				if record.Status != status || !strings.Contains(record.Error, c.note) {
					t.Errorf("%s: %q", record.Status, record.Error)
				}
				if c.victim == "provider" && signalOf(record) != "SIGKILL" {
					t.Errorf("signal %q", signalOf(record))
				}
				s.gone()
			})
		}
	}
}

// TestCopyLeavesTheOriginalAlone opens a copy of a workspace during a run. In the copy the
// session is failed, since no supervisor follows it there. The original run continues.
func TestCopyLeavesTheOriginalAlone(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	order := s.run("family")
	s.launch(order)
	s.ready(order, 4)
	dir := filepath.Join(workspace.Canonical(t.TempDir()), "copy")
	if err := os.CopyFS(dir, os.DirFS(s.w.Dir())); err != nil {
		t.Fatal(err)
	}
	other, err := workspace.Open(workspace.SystemEnv(), dir)
	if err != nil {
		t.Fatal(err)
	}
	record, err := session.Current(s.ctx, other, order.SessionRef)
	if err := errors.Join(err, other.Close()); err != nil || record.Status != doc.StatusFailed {
		t.Errorf("in the copy: %+v, %v", record, err)
	}
	if living := s.processes(); len(living) < 5 {
		t.Errorf("processes of the original: %v", living)
	}
	if _, err := session.Stop(s.ctx, s.w, order.SessionRef); err != nil {
		t.Error(err)
	}
	if record := s.collect(order); record.Status != doc.StatusStopped {
		t.Errorf("%+v", record)
	}
}

// TestLeftBehind checks that processes a provider leaves behind when it exits are killed, even
// if they hold the pipes.
func TestLeftBehind(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	order := s.run("leave")
	if record := s.execute(order); record.Status != doc.StatusEnded {
		t.Errorf("%+v", record)
	}
	s.gone()
}

// TestLaunchAfterDeath checks that Launchable reconciles a run whose supervisor was killed, and
// refuses to launch it.
func TestLaunchAfterDeath(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	order := s.run("sleep")
	s.launch(order)
	s.ready(order, 1)
	if _, err := runs.Launchable(s.ctx, s.w, s.project, order.RunID, "another"); !fault.Is(err, fault.Conflict) {
		t.Errorf("a live run can be launched: %v", err)
	}
	s.kill(*s.record(order).OwnerPID)
	s.until("the supervisor is gone", func() bool { return !session.RunAlive(s.w, s.project, order.RunID) })
	for _, ref := range []string{order.SessionRef, "another"} {
		if _, err := runs.Launchable(s.ctx, s.w, s.project, order.RunID, ref); !fault.Is(err, fault.Conflict) {
			t.Errorf("%s: %v", ref, err)
		}
	}
	if record := s.record(order); record.Status != doc.StatusFailed {
		t.Errorf("the record was not reconciled: %+v", record)
	}
	s.checkEnd(order, doc.StatusFailed)
}

// TestStoppedThenKilled checks that a requested stop ends the session as stopped, even if the
// supervisor is killed before it records that.
func TestStoppedThenKilled(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	order := s.run("stubborn")
	s.launch(order)
	s.ready(order, 1)
	owner := *s.record(order).OwnerPID
	if _, err := session.Stop(s.ctx, s.w, order.SessionRef); err != nil {
		t.Fatal(err)
	}
	s.kill(owner)
	if record := s.collect(order); record.Status != doc.StatusStopped {
		t.Errorf("%+v", record)
	}
}

// TestSupervisorUnderFaults injects a fault into one file system call of a supervisor at a
// time, from the first call to the last. Either the supervisor is killed there, or the call
// fails as on a full disk, with a short write. Without -every-call it tests every 17th call.
func TestSupervisorUnderFaults(t *testing.T) {
	t.Parallel()
	for _, kind := range []faultfs.Kind{faultfs.Death, faultfs.Short} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.litter, s.torn = true, kind == faultfs.Short
			step := 17
			if *everyCall {
				step = 1
			}
			for n := 1; s.faultAt(n, kind); n += step {
				if t.Failed() {
					t.Fatalf("stopped at call %d", n)
				}
			}
		})
	}
}

// faultAt executes a run whose supervisor meets a fault at call n, and checks the records
// afterwards. It reports whether the fault was met.
func (s *stage) faultAt(n int, kind faultfs.Kind) bool {
	s.t.Helper()
	order := s.run("print", "out", "err")
	met := s.superviseUntil(order, n, kind)
	run, err := runs.Load(s.w, s.project, order.RunID)
	if err != nil {
		s.t.Fatalf("call %d: %v", n, err)
	}
	record, err := session.Current(s.ctx, s.w, order.SessionRef)
	switch {
	case fault.Is(err, fault.NotFound):
		// The supervisor ended before it recorded anything: the run is unchanged.
		if run.Status != doc.StatusRunning || run.Spec != nil {
			s.t.Errorf("call %d: no record, but %+v", n, run)
		}
		s.execute(order)
	case err != nil:
		s.t.Errorf("call %d: %v", n, err)
	default:
		s.collect(order)
		if record.Status == doc.StatusEnded && (code(record) != 0 || record.Error != "") {
			s.t.Errorf("call %d: ended, yet %d %q", n, code(record), record.Error)
		}
		if kind == faultfs.Short && strings.Contains(record.Error, "supervisor died") {
			s.t.Errorf("call %d: the cause is not told: %q", n, record.Error)
		}
	}
	return met
}

// superviseUntil runs a supervisor with a fault at the given call, and reports whether the
// fault was met.
func (s *stage) superviseUntil(order session.Order, call int, kind faultfs.Kind) (met bool) {
	s.t.Helper()
	order.Version, order.Environ = session.OrderVersion, s.launcher.Environ
	text, err := json.Marshal(order)
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command(s.launcher.Executable, dyingCommand, strconv.Itoa(call), strconv.Itoa(int(kind)))
	cmd.Stdin = bytes.NewReader(text)
	out, err := cmd.Output()
	if err == nil {
		return !strings.Contains(string(out), unhurt)
	}
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	killed := ok && status.Signaled() && status.Signal() == syscall.SIGKILL
	if killed != (kind == faultfs.Death) {
		s.t.Fatalf("call %d: %v\n%s", call, err, out)
	}
	// The lock file of a killed writer counts as stale after two seconds, an empty one after
	// two minutes.
	old := time.Now().Add(-3 * time.Minute)
	if err := os.Chtimes(filepath.Join(s.w.Dir(), ".local/locks/workspace.write.lock"), old, old); err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	return true
}

// foreign writes a session record as another program would, for a process that it starts.
func (s *stage) foreign(change func(r *doc.Session)) (session.Order, *exec.Cmd) {
	s.t.Helper()
	order := s.run("sleep")
	cmd := exec.Command(order.Argv[0], order.Argv[1:]...)
	cmd.Env = s.launcher.Environ
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = cmd.Process.Kill() // may have ended already
		_ = cmd.Wait()
	})
	now := time.Now().UnixMilli()
	record := doc.Session{
		SchemaVersion: doc.Version, Type: "session_record", Ref: order.SessionRef, WorkspaceDir: s.w.Dir(), ProjectID: s.project,
		RunID: order.RunID, Status: doc.StatusRunning, StartedAtMS: now, Mode: doc.KindCommand,
		PID: new(cmd.Process.Pid), PIDClaimedAtMS: &now,
	}
	change(&record)
	text, err := doc.SessionCodec.Encode(record)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.w.Replace(workspace.SessionFile(record.Ref), text, 0o600); err != nil {
		s.t.Fatal(err)
	}
	return order, cmd
}

// TestForeignRecords checks when a stop kills the process that another program's record names,
// and when it must not.
func TestForeignRecords(t *testing.T) {
	t.Parallel()
	old := time.Now().Add(-31 * time.Minute).UnixMilli()
	start := func(r *doc.Session) {
		id, _ := proc.Lookup(*r.PID)
		r.PIDStart = id.Start
	}
	for name, c := range map[string]struct {
		change func(r *doc.Session)
		killed bool
	}{
		"fresh claim":          {func(*doc.Session) {}, true},
		"start":                {start, true},
		"old claim with start": {func(r *doc.Session) { start(r); r.PIDClaimedAtMS = &old }, true},
		"old claim":            {func(r *doc.Session) { r.PIDClaimedAtMS = &old; r.StartedAtMS = old }, false},
		"another start":        {func(r *doc.Session) { r.PIDStart = "another:1" }, false},
		"no claim":             {func(r *doc.Session) { r.PIDClaimedAtMS = nil }, false},
		"no process":           {func(r *doc.Session) { r.PID, r.PIDClaimedAtMS = nil, nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			order, cmd := s.foreign(c.change)
			pid := proc.Identity{PID: cmd.Process.Pid}
			pid, _ = proc.Lookup(pid.PID)
			before, err := session.Current(s.ctx, s.w, order.SessionRef)
			if err != nil || !pid.Alive() {
				t.Fatalf("a look at it: %v, alive %v", err, pid.Alive())
			}
			now, err := session.Stop(s.ctx, s.w, order.SessionRef)
			if err != nil {
				t.Fatal(err)
			}
			if pid.Alive() == c.killed {
				t.Errorf("killed is not %v (before: %s %q, now: %s %q)", c.killed, before.Status, before.Error, now.Status, now.Error)
			}
			if !doc.Terminal(now.Status) && now.Error == "" {
				t.Error("nothing is said about a session that goes on")
			}
			if c.killed {
				_ = cmd.Wait()
				if record := s.collect(order); record.Status != doc.StatusStopped {
					t.Errorf("afterwards: %+v", record)
				}
			}
			_ = cmd.Process.Kill() // may have ended already
			_ = cmd.Wait()
		})
	}
}

// TestMarkerOfOldClaim checks that a stop marker never gets a process signalled whose claim is
// old.
func TestMarkerOfOldClaim(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	old := time.Now().Add(-31 * time.Minute).UnixMilli()
	// The claim is old, and as far as the record can tell, so is the process.
	order, cmd := s.foreign(func(r *doc.Session) { r.PIDClaimedAtMS, r.StartedAtMS = &old, old })
	marker := workspace.RunDir(s.project, order.RunID) + "/outputs/stop_requested.flag"
	if err := s.w.Replace(marker, []byte("now\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	id, _ := proc.Lookup(cmd.Process.Pid)
	if _, err := session.Current(s.ctx, s.w, order.SessionRef); err != nil || !id.Alive() {
		t.Errorf("alive %v (%v)", id.Alive(), err)
	}
	_ = cmd.Process.Kill() // clean up
	_ = cmd.Wait()
}

// TestForeignOrphan checks that another program's record whose process is gone ends with one
// run.failed event that is marked as orphaned.
func TestForeignOrphan(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	order, cmd := s.foreign(func(*doc.Session) {})
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if record := s.collect(order); record.Status != doc.StatusFailed {
		t.Errorf("%+v", record)
	}
	lines := s.log(order)
	if last := lines[len(lines)-1]; events.Type([]byte(last)) != events.RunFailed || !strings.Contains(last, `"orphaned":true`) {
		t.Errorf("%s", last)
	}
}
