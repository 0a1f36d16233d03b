package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ac/cmd/ac/cli"
)

// TestFullOutput checks that commands fail with an error if stdout cannot be written, however they
// print.
func TestFullOutput(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("SKIPPED: this system has no /dev/full: ", err)
	}
	defer full.Close()
	ws := filepath.Join(t.TempDir(), "ws")
	for _, words := range []string{"workspace:init " + ws + " --name X", "workspace:validate " + ws, "run:list " + ws, "pm:snapshot " + ws, "session:list " + ws, "version", "help"} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], strings.Fields(words)...)
		cmd.Env = append(os.Environ(), asProgram+"=1", "GORACE=atexit_sleep_ms=0")
		cmd.Stdout = full
		said := &strings.Builder{}
		cmd.Stderr = said
		if err := cmd.Run(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != cli.ExitFailure || !strings.Contains(said.String(), "no space left on device") {
			t.Errorf("%s: %v, %s", words, err, said)
		}
	}
}
