package supervisor_test

// Sessions that are executed for another machine.

import (
	"strings"
	"testing"

	"ac/internal/fault"
	"ac/runs/session"
	"ac/workspace"
)

// away returns the order of a run that is executed for another machine, and creates its permit.
func (s *stage) away(words ...string) session.Order {
	s.t.Helper()
	order := s.order(words...)
	dir := s.t.TempDir()
	order.Worker = &session.WorkerOrder{
		WorkerID: "wkr_01ARZ3NDEKTSV4RRFFQ69G5FAV", Permit: workspace.TempDir + "/" + order.RunID, Dir: dir, Context: "/context", Secrets: []string{"HARMLESS"},
	}
	order.Env = map[string]string{"HARMLESS": "not-to-be-seen", "AC_RUN": "theirs"}
	if err := s.w.Replace(order.Worker.Permit, nil, 0o600); err != nil {
		s.t.Fatal(err)
	}
	return order
}

func TestAwaySessionKnowsItsWorkerAndNoWorkspace(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	order := s.away("env")
	s.execute(order)
	out := s.output(order, "stdout.txt")
	if !strings.Contains(out, "AC_WORKER_ID="+order.Worker.WorkerID) || !strings.Contains(out, "AC_CONTEXT_DIR=/context") || !strings.Contains(out, "PWD="+order.Worker.Dir) {
		t.Errorf("the environment lacks something: %s", out)
	}
	for _, name := range []string{"AC_WORKSPACE=", "AC_PROJECT=", "AC_RUN=", "AC_ACTOR="} {
		if strings.Contains(out, name) {
			t.Errorf("%s is set", name)
		}
	}
	if !strings.Contains(out, "HARMLESS=[REDACTED]") || strings.Contains(strings.Join(s.log(order), ""), "not-to-be-seen") {
		t.Errorf("the secret is not masked: %s", out)
	}
}

func TestAwaySessionWithoutPermitNeverStarts(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	order := s.away("env")
	if err := s.w.FS.Remove(order.Worker.Permit); err != nil {
		t.Fatal(err)
	}
	if err := s.launcher.Launch(s.ctx, order); !fault.Is(err, fault.Conflict) {
		t.Errorf("launched: %v", err)
	}
	if _, err := session.Read(s.w, order.SessionRef); !fault.Is(err, fault.NotFound) {
		t.Errorf("there is a record: %v", err)
	}
}
