package main

// What every start of the program pays.

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// TestInitIsCheap reads what the initialisation of each package costs: no package but Go's
// own allocates more than a small table. What it allocates is counted instead of its time,
// since that is the same on every machine, however busy, and under the race detector.
func TestInitIsCheap(t *testing.T) {
	t.Parallel()
	const most = 128 << 10 // bytes; patterns compiled too early, or an embedded table, are more
	ofTests := map[string]bool{"pgregory.net/rapid": true, "github.com/google/go-cmp/cmp": true}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "--version")
	cmd.Env = append(os.Environ(), asProgram+"=1", "GODEBUG=inittrace=1")
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	seen := 0
	for text := range strings.Lines(string(said)) { // init NAME @0.1 ms, 0.02 ms clock, N bytes, M allocs
		words := strings.Fields(text)
		if len(words) < 9 || words[0] != "init" {
			continue
		}
		seen++
		allocated, err := strconv.Atoi(words[7])
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		first, _, _ := strings.Cut(words[1], "/")
		if own := strings.Contains(first, ".") || first == "ac"; own && allocated > most && !ofTests[words[1]] {
			t.Errorf("the initialisation of %s allocates %d bytes", words[1], allocated)
		}
	}
	if seen < 20 {
		t.Fatalf("only %d packages were seen", seen)
	}
}
