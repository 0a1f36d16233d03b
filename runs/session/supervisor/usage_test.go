package supervisor_test

import (
	"testing"

	"ac/events"
	"ac/runs"
	"ac/runs/session"
)

// TestUsageNamesTheModel checks that the usage of a live session names the model that the agent
// reports. It counts for the run even if the supervisor is killed.
func TestUsageNamesTheModel(t *testing.T) {
	t.Parallel()
	for driver, model := range map[string]string{session.DriverCodex: "scripted-codex", session.DriverClaude: "scripted-claude", session.DriverACP: "scripted-acp"} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.litter = true
			k := s.liveOf(driver, "say a", func(l *session.LiveOrder) { l.Model = ""; keepOpen(l) })
			if got := k.await(events.UsageReported, nil); got.Model != model || got.Turn != 1 {
				t.Errorf("%+v, want model %s of turn 1", got, model)
			}
			k.kill(*k.record(k.order).OwnerPID)
			k.end()
			run, err := runs.Load(s.w, k.order.ProjectID, k.order.RunID)
			if err != nil || run.Usage == nil || run.Usage.TotalTokens != 35 {
				t.Errorf("usage %+v (%v), want the 35 tokens that were reported", run.Usage, err)
			}
		})
	}
}
