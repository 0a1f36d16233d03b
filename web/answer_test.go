package web

import (
	"errors"
	"net/http"
	"testing"

	"ac/internal/fault"
	"ac/runs/agent"
)

// TestStatusOfAFailedAgent checks that an agent failure maps to 409 and an unknown error to 500.
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
