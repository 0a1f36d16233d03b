package snapshot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"ac/index"
	"ac/internal/lock"
	"ac/internal/proc"
	"ac/workspace"
)

// takeIn is the environment variable that makes this binary a program that takes screens. It
// names the workspace.
const takeIn = "AC_TEST_TAKE_IN"

func TestMain(m *testing.M) {
	if dir := os.Getenv(takeIn); dir != "" {
		if err := takeElsewhere(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func takeElsewhere(dir string) error {
	w, err := workspace.Open(workspace.SystemEnv(), dir)
	if err != nil {
		return err
	}
	ix := index.For(w)
	for i := range 6 {
		ui, err := TakeUI(context.Background(), w, ix, everything(i == 3))
		if err == nil {
			err = whole(&ui)
		}
		if err != nil {
			return fmt.Errorf("screen %d: %w", i, err)
		}
	}
	return errors.Join(ix.Close(), w.Close())
}

func everything(rebuild bool) UIRequest {
	return UIRequest{Request: Request{Given: "ws", Index: index.FreshnessOf(rebuild, true)}, Runs: 5000, Pending: 5000, Decisions: 5000}
}

const staffRuns = 40

// whole checks that a screen of the workspace from staffed is complete.
func whole(ui *UI) error {
	if len(ui.Monitor.Rows) != staffRuns || ui.Usage.Totals.Runs != staffRuns || ui.Usage.Totals.Tokens != 10*staffRuns || len(ui.Inbox.Pending) != staffRuns {
		return fmt.Errorf("%d rows, %+v, %d pending", len(ui.Monitor.Rows), ui.Usage.Totals, len(ui.Inbox.Pending))
	}
	for _, r := range ui.Monitor.Rows {
		if r.LastEvent == nil || r.LastEvent.Seq != 3 || r.ParseErrors != 1 || r.TokenUsage == nil {
			return fmt.Errorf("a row is not whole: %+v", r)
		}
	}
	return nil
}

func runText(project, run, status string, second int) string {
	return fmt.Sprintf("schema_version: 1\ntype: run\nid: %s\nproject_id: %s\nagent_id: agent_%d\nprovider: cmd\ncreated_at: 2026-01-02T00:00:%02d.000Z\nstatus: %s\n"+
		"context_pack_id: c\nevents_relpath: e\nusage:\n  source: provider_reported\n  confidence: high\n  total_tokens: 10\n", run, project, second%3, second, status)
}

// staffed returns a workspace with finished runs, each with a log and an artifact that waits
// for a decision.
func staffed(t *testing.T) (*workspace.Workspace, *index.Index, string) {
	t.Helper()
	w, project := office(t)
	for n := range staffRuns {
		run := fmt.Sprintf("run_%02d", n)
		put(t, w, workspace.RunFile(project, run), runText(project, run, "ended", n))
		put(t, w, workspace.LogFile(project, run), `{"type":"run.started","ts_wallclock":"2026-01-02T00:00:00Z"}`+"\nno event\n"+`{"type":"run.ended"}`+"\n")
		put(t, w, workspace.ArtifactsDir(project)+"/art_"+run+".md", "---\ntype: memory_delta\nid: art_"+run+"\nrun_id: "+run+"\n---\n")
	}
	ix := index.For(w)
	t.Cleanup(func() {
		if err := ix.Close(); err != nil {
			t.Error(err)
		}
	})
	return w, ix, project
}

func sessionRecord(t *testing.T, w *workspace.Workspace, project, run, ref, status string, started int, owner string) {
	t.Helper()
	put(t, w, workspace.SessionFile(ref), fmt.Sprintf("schema_version: 1\ntype: session_record\nsession_ref: %s\nworkspace_dir: x\nproject_id: %s\nrun_id: %s\nstatus: %s\n"+
		"exit_code: null\nsignal: null\nstarted_at_ms: %d\n%s", ref, project, run, status, started, owner))
}

// alive returns the owner fields of running sessions: this process.
func alive() string {
	return fmt.Sprintf("owner_pid: %d\nowner_start: %q\n", os.Getpid(), proc.Self().Start)
}

func monitor(t *testing.T, w *workspace.Workspace, ix *index.Index, project string, limit int) (rows []string) {
	t.Helper()
	err := At(context.Background(), w, ix, Request{Index: index.UpToDate}, func(m *View) error {
		result, err := m.Monitor(project, limit)
		rows = nil
		for _, r := range result.Rows {
			text := r.RunID
			if r.RowSession != nil {
				text += " " + r.SessionRef + " " + r.LiveStatus
			}
			rows = append(rows, text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// TestMonitorSessions checks which session a row shows, and that runs with a running session
// come first however old they are. Records whose owner is gone are not rewritten.
func TestMonitorSessions(t *testing.T) {
	t.Parallel()
	w, ix, p := staffed(t)
	put(t, w, workspace.RunFile(p, "run_01"), runText(p, "run_01", "running", 1))
	sessionRecord(t, w, p, "run_00", "older", "running", 1, alive())                 // is shown, as it runs
	sessionRecord(t, w, p, "run_00", "newer", "failed", 9, "")                       // started later, but is over
	sessionRecord(t, w, p, "run_39", "first", "failed", 1, "")                       // not shown
	sessionRecord(t, w, p, "run_39", "last", "stopped", 2, "")                       // is shown, as it started last
	sessionRecord(t, w, p, "run_38", "gone", "running", 3, "owner_pid: 999999999\n") // its run is over
	sessionRecord(t, w, p, "run_01", "lost", "running", 3, "owner_pid: 999999999\n") // its run is not over
	sessionRecord(t, w, p, "run_none", "stray", "running", 4, alive())
	sessionRecord(t, w, "other", "run_none", "elsewhere", "ended", 4, "")
	want := []string{"run_01 lost running", "run_00 older running", "run_none stray running", "run_39 last stopped", "run_38 gone ended"}
	if diff := cmp.Diff(want, monitor(t, w, ix, "", 5)); diff != "" {
		t.Error(diff)
	}
	all := monitor(t, w, ix, "", 5000)
	if len(all) != staffRuns+2 || all[len(all)-1] != "run_none elsewhere ended" {
		t.Errorf("%d rows, the last is %s", len(all), all[len(all)-1])
	}
	if got := monitor(t, w, ix, p, 5000); len(got) != staffRuns+1 {
		t.Errorf("%d rows of the project", len(got))
	}
	for _, ref := range []string{"gone", "lost"} {
		text, err := w.Read(workspace.SessionFile(ref))
		if err != nil || !strings.Contains(string(text), "status: running") {
			t.Errorf("%s was written: %v\n%s", ref, err, text)
		}
	}
}

// TestHeartbeatRuns checks that the heartbeat is running while the lock of its tick is held.
func TestHeartbeatRuns(t *testing.T) {
	t.Parallel()
	w, _ := office(t)
	if readHeartbeat(w).Running {
		t.Error("it runs without a tick")
	}
	held, err := lock.Try(w.FS, workspace.HeartbeatLock)
	if err != nil {
		t.Fatal(err)
	}
	if !readHeartbeat(w).Running {
		t.Error("it does not run during a tick")
	}
	if err := held.Release(); err != nil {
		t.Fatal(err)
	}
}

// TestTotalOrder checks that snapshots of the same data are identical, even if rows differ only
// in their names.
func TestTotalOrder(t *testing.T) {
	t.Parallel()
	w, p := office(t)
	for _, project := range []string{p, "q"} {
		for _, run := range []string{"b", "B", "a", "ä", "_"} {
			put(t, w, workspace.RunFile(project, run), runText(project, run, "running", 0))
			put(t, w, workspace.ArtifactsDir(project)+"/"+run+".md", "---\ntype: memory_delta\nid: "+run+"\n---\n")
		}
	}
	var want string
	for i := range 6 {
		ix := index.For(w)
		ui, err := TakeUI(context.Background(), w, ix, everything(i%2 == 0))
		if err = errors.Join(err, ix.Close()); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal([]any{ui.Monitor.Rows, ui.Inbox.Pending, ui.Usage.RecentRuns, ui.Usage.ByProvider})
		if err != nil {
			t.Fatal(err)
		}
		if want == "" {
			want = string(text)
		}
		if diff := cmp.Diff(want, string(text)); diff != "" {
			t.Errorf("screen %d:\n%s", i, diff)
		}
	}
}

// TestIndexGoesAway takes screens while the index is deleted, overwritten and emptied under
// them. None fails, and each is complete.
func TestIndexGoesAway(t *testing.T) {
	t.Parallel()
	w, ix, _ := staffed(t)
	file := index.Path(w.Dir())
	began := time.Now()
	if _, err := TakeUI(context.Background(), w, ix, everything(true)); err != nil {
		t.Fatal(err)
	}
	// pace is the time that a rebuild takes. It grows if the machine gets busier.
	var pace atomic.Int64
	pace.Store(int64(time.Since(began)))
	stop := make(chan struct{})
	var vandal sync.WaitGroup
	vandal.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(time.Duration(pace.Load()) * time.Duration(1+i%5) / 2):
			}
			switch i % 3 {
			case 0:
				for _, suffix := range []string{"", "-wal", "-shm"} {
					_ = os.Remove(file + suffix)
				}
			case 1:
				_ = os.Remove(file)
				_ = os.WriteFile(file, []byte("this is no index"), 0o644)
			case 2:
				_ = os.Remove(file)
				_ = os.WriteFile(file, nil, 0o644)
			}
		}
	})
	for i := range 25 {
		began := time.Now()
		ui, err := TakeUI(context.Background(), w, ix, everything(i%5 == 0))
		pace.Store(max(pace.Load(), int64(time.Since(began))))
		if err == nil {
			err = whole(&ui)
		}
		if err != nil {
			t.Errorf("screen %d: %v", i, err)
		}
	}
	close(stop)
	vandal.Wait()
}

// TestProcessesAtOnce takes screens in eight processes at once, each of which also rebuilds the
// index.
func TestProcessesAtOnce(t *testing.T) {
	t.Parallel()
	w, _, _ := staffed(t)
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			child := exec.Command(os.Args[0])
			child.Env = append(os.Environ(), takeIn+"="+w.Dir())
			if out, err := child.CombinedOutput(); err != nil {
				t.Errorf("process %d: %v: %s", n, err, out)
			}
		})
	}
	all.Wait()
	if left, err := filepath.Glob(index.Path(w.Dir()) + ".*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}
