package agent

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// offers are the ways in which an agent offers its modes, each with the updates it sends when
// it changes its mode by itself.
var offers = map[string]struct{ session, usual, entered, left string }{
	"modes": {
		`,"modes":{"currentModeId":"default","availableModes":[{"id":"default"},{"id":"plan"}]}`, "default",
		`{"sessionUpdate":"current_mode_update","currentModeId":"plan"}`, `{"sessionUpdate":"current_mode_update","currentModeId":"default"}`,
	},
	"options": {
		`,"configOptions":[` + modeOption("build") + `]`, "build",
		`{"sessionUpdate":"config_option_update","configOptions":[` + modeOption("plan") + `]}`, `{"sessionUpdate":"config_option_update","configOptions":[` + modeOption("build") + `]}`,
	},
	"modes whose update is one of options": {
		`,"modes":{"currentModeId":"default","availableModes":[{"id":"default"},{"id":"plan"}]}`, "default",
		`{"sessionUpdate":"config_option_update","configOptions":[` + modeOption("plan") + `]}`, `{"sessionUpdate":"config_option_update","configOptions":[` + modeOption("default") + `]}`,
	},
}

func modeOption(current string) string {
	return `{"id":"mode","category":"mode","currentValue":"` + current + `","options":[{"value":"build"},{"value":"plan"}]}`
}

// modesSent returns the modes that the driver has requested.
func (h *stage) modesSent() (modes []string) {
	for _, frame := range h.sent {
		var m struct {
			Method string
			Params struct{ ModeID, Value string }
		}
		decode([]byte(frame), &m)
		if m.Method == "session/set_mode" || m.Method == "session/set_config_option" {
			modes = append(modes, m.Params.ModeID+m.Params.Value)
		}
	}
	return modes
}

func (h *stage) modes(modes ...string) {
	h.t.Helper()
	for _, mode := range modes {
		if err := h.d.Mode(mode); err != nil {
			h.t.Error(err)
		}
	}
}

func (h *stage) updated(update string) {
	h.line(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":` + update + `}}`)
}

// TestACPModeOfAgent checks that the driver follows modes that the agent enters or leaves by
// itself, and does not request the current one.
func TestACPModeOfAgent(t *testing.T) {
	t.Parallel()
	for name, offer := range offers {
		h := acpOpened(t, Start{}, "", offer.session)
		h.updated(offer.entered)
		h.modes("plan", "default")
		h.line(`{"jsonrpc":"2.0","id":3,"result":{}}`)
		h.updated(offer.entered)
		h.updated(offer.left)
		h.modes("default", "plan")
		if diff := cmp.Diff([]string{offer.usual, "plan"}, h.modesSent()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestACPModeRefused checks that a refused mode is requested again, but not one that was
// granted or is still unanswered.
func TestACPModeRefused(t *testing.T) {
	t.Parallel()
	refusal := `"error":{"code":-32603,"message":"no"}}`
	for name, offer := range offers {
		h := acpOpened(t, Start{}, "", offer.session)
		h.modes("plan", "plan")
		h.line(`{"jsonrpc":"2.0","id":3,` + refusal)
		h.modes("default", "plan", "default") // an answer to the older request leaves the newer one open
		h.line(`{"jsonrpc":"2.0","id":4,"result":{}}`)
		h.modes("default")
		h.line(`{"jsonrpc":"2.0","id":5,` + refusal)
		h.modes("plan", "default")
		h.line(`{"jsonrpc":"2.0","id":6,"result":{}}`)
		h.modes("default")
		if diff := cmp.Diff([]string{"plan", "plan", offer.usual, offer.usual}, h.modesSent()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if n := strings.Count(strings.Join(h.calls, "\n"), "notice The agent does not take the mode"); n != 2 {
			t.Errorf("%s: %d notices", name, n)
		}
	}
}
