package takeover

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestNeedsLittle holds what a guard waits for on Linux: packages of Go's own, and none of
// those before whose turn many others are initialised. The order is that of import paths.
func TestNeedsLittle(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}} {{.ImportPath}}", ".")
	cmd.Env = append(os.Environ(), "GOOS=linux", "CGO_ENABLED=0")
	said, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	ours := []string{"ac/internal/guard/takeover", "ac/internal/guard", "ac/internal/proc"}
	late := []string{"net", "os/exec", "encoding/json", "crypto/sha256", "path/filepath", "regexp", "log/slog"}
	seen := 0
	for line := range strings.Lines(string(said)) {
		words := strings.Fields(line)
		name := words[len(words)-1]
		if foreign := len(words) == 2; foreign && !slices.Contains(ours, name) || slices.Contains(late, name) {
			t.Errorf("a guard waits for package %s", name)
		}
		if slices.Contains(ours, name) {
			seen++
		}
	}
	if seen != len(ours) {
		t.Errorf("only %d packages of ours in\n%s", seen, said)
	}
}
