package supervisor_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ac/runs"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// TestTampered empties, removes and cuts the log during a run. The log is reported as tampered,
// and the lost events are kept.
func TestTampered(t *testing.T) {
	t.Parallel()
	for name, attack := range map[string]func(file string) error{
		"emptied": func(file string) error { return os.Truncate(file, 0) },
		"removed": os.Remove,
		"one line only": func(file string) error {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			first, _, _ := strings.Cut(string(text), "\n")
			return os.WriteFile(file, []byte(first+"\n"), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			gate := filepath.Join(t.TempDir(), "gate")
			order := s.order("sh", "-c", "echo secret plan; while [ ! -e "+gate+" ]; do sleep 0.02; done; echo harmless")
			s.launch(order)
			s.until("the first line is logged", func() bool { return strings.Contains(strings.Join(s.log(order), "\n"), `"chunk":"secret plan`) })
			file := filepath.Join(s.w.Dir(), filepath.FromSlash(workspace.LogFile(order.ProjectID, order.RunID)))
			if err := attack(file); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(gate, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := session.Collect(t.Context(), s.w, order.SessionRef); err != nil {
				t.Fatal(err)
			}
			report, err := runs.VerifyLog(s.w, order.ProjectID, order.RunID)
			if err != nil || report.Sound() || !report.Tampered {
				t.Errorf("%+v %v", report, err)
			}
			record, err := workspace.Load(s.w, doc.RunCodec, workspace.RunFile(order.ProjectID, order.RunID))
			if err != nil || record.LogIntegrity == nil || record.LogIntegrity.LostEvents == 0 {
				t.Errorf("%+v %v", record.LogIntegrity, err)
			}
			if lost := s.output(order, "lost-events.jsonl"); !strings.Contains(lost, "secret plan") {
				t.Errorf("kept: %q", lost)
			}
			if last := s.log(order); !strings.Contains(last[len(last)-1], `"log_integrity":{"state":"broken"`) {
				t.Error(last[len(last)-1])
			}
		})
	}
}

// TestLooksBesideEnds verifies the logs of runs at least a thousand times while they end. None
// is reported as broken.
func TestLooksBesideEnds(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	const looks = 1000
	var seen, ended atomic.Int64
	var churn sync.WaitGroup
	for range 2 {
		churn.Go(func() {
			for ended.Load() < 20 || seen.Load() < looks {
				order := s.order("echo", "x")
				if err := s.launcher.Launch(s.ctx, order); err != nil {
					t.Error(err)
					return
				}
				if _, err := session.Collect(s.ctx, s.w, order.SessionRef); err != nil {
					t.Error(err)
					return
				}
				ended.Add(1)
			}
		})
	}
	for seen.Load() < looks || ended.Load() < 20 {
		ids, err := workspace.Dirs(s.w.FS, workspace.RunsDir(s.project))
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range ids[max(0, len(ids)-3):] {
			report, err := runs.VerifyLog(s.w, s.project, id)
			if err != nil || !report.Sound() {
				t.Fatalf("%s: %+v %v", id, report, err)
			}
			seen.Add(1)
		}
		if t.Failed() {
			break
		}
	}
	churn.Wait()
}

// TestLooksAtHalfALine verifies a log while its last line is being written. A reader may see a
// torn tail, which is not a fault.
func TestLooksAtHalfALine(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	gate := filepath.Join(t.TempDir(), "gate")
	order := s.order("sh", "-c", "echo x; while [ ! -e "+gate+" ]; do sleep 0.02; done")
	s.launch(order)
	s.until("the first line is logged", func() bool { return strings.Contains(strings.Join(s.log(order), "\n"), `"chunk":"x`) })
	file := filepath.Join(s.w.Dir(), filepath.FromSlash(workspace.LogFile(order.ProjectID, order.RunID)))
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	half := int64(len(text) - 100)
	over := make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() {
		for {
			select {
			case <-over:
				return
			default:
			}
			err := log.Truncate(half)
			time.Sleep(100 * time.Microsecond) // like a writer that is preempted
			_, writeErr := log.WriteAt(text[half:], half)
			if err := errors.Join(err, writeErr); err != nil {
				t.Error(err)
				return
			}
			time.Sleep(100 * time.Microsecond)
		}
	})
	for range 200 {
		if report, err := runs.VerifyLog(s.w, order.ProjectID, order.RunID); err != nil || !report.Sound() {
			t.Errorf("%+v %v", report, err)
			break
		}
	}
	close(over)
	writing.Wait()
	if _, err := log.WriteAt(text[half:], half); err != nil {
		t.Error(err)
	}
	if err := errors.Join(log.Close(), os.WriteFile(gate, nil, 0o600)); err != nil {
		t.Error(err)
	}
	if _, err := session.Collect(s.ctx, s.w, order.SessionRef); err != nil {
		t.Error(err)
	}
}
