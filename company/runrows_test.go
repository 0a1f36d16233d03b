package company

import (
	"testing"

	"ac/snapshot"
	"ac/workspace/doc"
)

// TestStates checks the short state that is shown for a run.
func TestStates(t *testing.T) {
	t.Parallel()
	of := func(live string) *snapshot.RowSession { return &snapshot.RowSession{LiveStatus: live} }
	failed := func(change func(*snapshot.RowSession)) *snapshot.RowSession {
		s := of(doc.StatusFailed)
		change(s)
		return s
	}
	for _, c := range []struct {
		want     string
		status   string
		session  *snapshot.RowSession
		exceeded int64
		waiting  int
	}{
		{want: StateNew, status: doc.StatusRunning},
		{want: StateRunning, status: doc.StatusRunning, session: of(doc.StatusRunning)},
		{want: StateAsks, status: doc.StatusRunning, session: of(doc.StatusRunning), waiting: 1},
		{want: StateLost, status: doc.StatusRunning, session: of(doc.StatusFailed)},
		{want: StateDone, status: doc.StatusEnded, session: of(doc.StatusEnded)},
		{want: StateRunning, status: doc.StatusEnded, session: of(doc.StatusRunning)}, // continued
		{want: StateStopped, status: doc.StatusStopped},
		{want: StateFailed, status: doc.StatusFailed},
		{want: StateFailed, status: doc.StatusFailed, session: failed(func(s *snapshot.RowSession) { s.ExitCode = new(0) })},
		{want: "exit 3", status: doc.StatusFailed, session: failed(func(s *snapshot.RowSession) { s.ExitCode, s.ErrorKind = new(3), "crash" })},
		{want: "auth", status: doc.StatusFailed, session: failed(func(s *snapshot.RowSession) { s.ExitCode, s.ErrorKind = new(1), "auth" })},
		{want: "rate limit", status: doc.StatusFailed, session: failed(func(s *snapshot.RowSession) { s.ErrorKind = "rate_limit" })},
		{want: "SIGKILL", status: doc.StatusFailed, session: failed(func(s *snapshot.RowSession) { s.Signal = new("SIGKILL") })},
		{want: StateLost, status: doc.StatusFailed, session: failed(func(s *snapshot.RowSession) { s.Error = "its supervisor died before the end was recorded" })},
		{want: StateOverBudget, status: doc.StatusFailed, session: failed(func(s *snapshot.RowSession) { s.Signal = new("SIGTERM") }), exceeded: 1},
	} {
		row := &snapshot.MonitorRow{RunStatus: c.status, RowSession: c.session, BudgetExceeded: c.exceeded}
		if got := stateOf(row, c.waiting); got != c.want {
			t.Errorf("%s with %+v, %d waiting: %q, want %q", c.status, c.session, c.waiting, got, c.want)
		}
	}
}

func TestFirstLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "", "\n  \n fix it \nnow": "fix it", "one": "one"} {
		if got := firstLine(text); got != want {
			t.Errorf("the first line of %q is %q, want %q", text, got, want)
		}
	}
}
