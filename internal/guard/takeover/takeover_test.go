package takeover

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestNeedsLittle checks which packages are initialized before a guard takes over on Linux: three
// of our own, and none of the standard library that many others precede. Initialization follows
// the order of import paths.
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
