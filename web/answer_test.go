package web

import (
	"errors"
	"net/http"
	"testing"

	"ac/internal/fault"
	"ac/runs/agent"
)

// TestStatusOfAFailedAgent: an agent that does not come up is no fault of this program.
func TestStatusOfAFailedAgent(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{agent.ReasonHandshake, agent.ReasonProtocol, agent.ReasonAuth, agent.ReasonEnded, agent.ReasonStuck} {
		if got := statusOf(fault.New(fault.Reason(reason), "x")); got != http.StatusConflict {
			t.Errorf("%s: %d", reason, got)
		}
	}
	if got := statusOf(errors.New("x")); got != http.StatusInternalServerError {
		t.Error(got)
	}
}
