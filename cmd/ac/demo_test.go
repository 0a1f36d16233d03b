package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestDemo runs the demo and checks that it prints every sentence that the README shows. It
// ignores lines with times, numbers and ids, which differ between runs.
func TestDemo(t *testing.T) {
	t.Parallel()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(executable, "demo", "--remove")
	cmd.Env = append(os.Environ(), asProgram+"=1", "TMPDIR="+t.TempDir(), "GORACE=atexit_sleep_ms=0")
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(string(readme), "<!-- demo -->")
	shown, _, _ = strings.Cut(shown, "<!-- /demo -->")
	fixed := regexp.MustCompile(`^[A-Za-z ,:;'.-]+$`)
	lines := 0
	for line := range strings.Lines(shown) {
		line = strings.TrimSpace(line)
		if !fixed.MatchString(line) || line == "..." {
			continue
		}
		lines++
		if !strings.Contains(string(said), line) {
			t.Errorf("the README shows %q, the demo does not say it:\n%s", line, said)
		}
	}
	if lines < 8 {
		t.Errorf("only %d sentences of the demo are in the README", lines)
	}
}

// TestDemoWithoutAShell checks that without sh the demo fails and creates no files.
func TestDemoWithoutAShell(t *testing.T) {
	t.Parallel()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := exec.Command(executable, "demo")
	cmd.Env = []string{asProgram + "=1", "PATH=" + dir, "TMPDIR=" + dir, "HOME=" + dir, "GORACE=atexit_sleep_ms=0"}
	said, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(said), "ERROR: the agents of the demo need sh") {
		t.Errorf("%v: %s", err, said)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left: %v", left, err)
	}
}
