package main

// Sessions started by another build of the program, such as before an upgrade.

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"ac/internal/proc/proctest"
)

// TestSupervisorsOfOtherBuilds starts a session with another build of the program and deletes
// that build's file. It checks that status and doctor report the session until it ends.
func TestSupervisorsOfOtherBuilds(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: only Linux says which program a process executes")
	}
	w := newWorld(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(w.dir, "other")
	if err := proctest.WriteProgram(other, append(text, 0)); err != nil { // the extra byte is not loaded
		t.Fatal(err)
	}
	sh := func(line string) string {
		t.Helper()
		said, err := w.shell(t, "", line)
		if err != nil {
			t.Fatalf("%s: %v\n%s", line, err, said)
		}
		return said
	}
	t.Cleanup(func() { _, _ = w.shell(t, "", "ac stop --all -y") }) // if the test ends early
	sh("ac run -d -- sleep 1000")
	if said := sh("ac status"); !strings.Contains(said, "HEALTH   ok") {
		t.Errorf("with sessions of its own:\n%s", said)
	}
	run := strings.TrimSpace(sh(other + " run -d -- sleep 1000"))
	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
	if said := sh("ac status"); !strings.Contains(said, "HEALTH   warn: sessions.build: 1 live session") {
		t.Errorf("status:\n%s", said)
	}
	if said, _ := w.shell(t, "", "ac doctor --json"); !strings.Contains(said, "1 live session of another build of ac") || !strings.Contains(said, ": run "+run+" of ") {
		t.Errorf("doctor:\n%s", said)
	}
	if said := sh("ac status --json"); !strings.Contains(said, "1 live session of another build of ac") {
		t.Errorf("status:\n%s", said)
	}
	sh("ac stop --all -y")
	if said := sh("ac status"); !strings.Contains(said, "HEALTH   ok") {
		t.Errorf("after its end:\n%s", said)
	}
}
