package main

// What every start of the program pays.

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestInitIsCheap reads what the initialisation of each package takes: no package but Go's
// own takes a millisecond. The least of some starts counts, since others may be disturbed.
func TestInitIsCheap(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	least := map[string]time.Duration{}
	for range 5 {
		cmd := exec.CommandContext(t.Context(), self, "--version")
		cmd.Env = append(os.Environ(), asProgram+"=1", "GODEBUG=inittrace=1")
		said, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		for text := range strings.Lines(string(said)) { // init NAME @0.1 ms, 0.02 ms clock, ...
			words := strings.Fields(text)
			if len(words) < 5 || words[0] != "init" {
				continue
			}
			ms, err := strconv.ParseFloat(words[4], 64)
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			took := time.Duration(ms * float64(time.Millisecond))
			if before, known := least[words[1]]; !known || took < before {
				least[words[1]] = took
			}
		}
	}
	if len(least) < 20 {
		t.Fatalf("only %d packages were seen", len(least))
	}
	for name, took := range least {
		first, _, _ := strings.Cut(name, "/")
		if own := strings.Contains(first, ".") || first == "ac"; own && took >= time.Millisecond {
			t.Errorf("the initialisation of %s takes %v", name, took)
		}
	}
}
