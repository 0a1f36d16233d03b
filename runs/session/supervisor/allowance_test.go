package supervisor_test

// The limits verb, for sessions of any kind.

import (
	"strings"
	"testing"

	"ac/internal/fault"
	"ac/runs/budget"
	"ac/runs/session"
	"ac/workspace/doc"
)

// TestLimits checks that an allowance stops a session whose agent has reached it, even if that
// is a command.
func TestLimits(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	order := s.order("sh", "-c", `echo '{"usage":{"input_tokens":100,"output_tokens":50}}'; exec sleep 600`)
	s.launch(order)
	s.until("the usage is reported", func() bool { return strings.Contains(strings.Join(s.log(order), "\n"), "usage.reported") })
	record := s.record(order)
	_, err := session.Limit(t.Context(), s.w, record, session.LimitsRequest{InForceAfterMS: -1})
	if !fault.Is(err, fault.InvalidParams) {
		t.Errorf("a negative wait: %v", err)
	}
	told, err := session.Limit(t.Context(), s.w, record, session.LimitsRequest{Allowance: &budget.Allowance{Tokens: new(int64(0))}, InForceAfterMS: 600_000})
	if err != nil || told.InForce {
		t.Errorf("%+v: %v", told, err)
	}
	told, err = session.Limit(t.Context(), s.w, record, session.LimitsRequest{
		Allowance: &budget.Allowance{Tokens: new(int64(150)), Counted: &budget.CountedSpend{}},
	})
	if err != nil || !told.InForce {
		t.Errorf("%+v: %v", told, err)
	}
	if record := s.collect(order); record.Status != doc.StatusFailed || !strings.Contains(record.Error, "stopped in mid-run, budget exceeded") {
		t.Errorf("%s: %s", record.Status, record.Error)
	}
}
