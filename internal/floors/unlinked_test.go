package floors

import (
	"os/exec"
	"strings"
	"testing"
)

// TestNoBrokerInAc checks that only ac-hub links the message broker, the hub and the worker. Every
// session runs two processes of ac, which would pay for it.
func TestNoBrokerInAc(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "../../cmd/ac").Output()
	if err != nil {
		t.Fatal(err)
	}
	deps := strings.Fields(string(out))
	if len(deps) < 100 {
		t.Fatalf("only %d packages", len(deps))
	}
	for _, dep := range deps {
		if strings.Contains(dep, "nats-io") || strings.HasPrefix(dep, "ac/fleet/carrier") || strings.HasPrefix(dep, "ac/fleet/hub") || strings.HasPrefix(dep, "ac/fleet/worker") {
			t.Errorf("cmd/ac links %s", dep)
		}
	}
}
