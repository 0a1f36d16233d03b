package main

// What every start of the program pays.

import (
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestInitIsCheap reads what the initialisation of each package takes: no package but Go's
// own takes a millisecond, or ten where the race detector watches every access. The least of
// some starts counts, since others may be disturbed, and packages that only tests link do not.
func TestInitIsCheap(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	limit := time.Millisecond
	if build, ok := debug.ReadBuildInfo(); ok && slices.Contains(build.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		limit *= 10
	}
	var slow map[string]time.Duration
	for range 30 {
		took := initTimes(t, self)
		if len(took) < 20 {
			t.Fatalf("only %d packages were seen", len(took))
		}
		for name, before := range slow { // a package is slow that was so at every start
			took[name] = min(took[name], before)
		}
		if slow = slowOf(took, limit); len(slow) == 0 {
			return
		}
	}
	t.Errorf("the initialisation of these packages takes too long: %v", slow)
}

// slowOf picks the packages that are not Go's own and take the limit or more.
func slowOf(took map[string]time.Duration, limit time.Duration) map[string]time.Duration {
	slow := map[string]time.Duration{}
	for name, d := range took {
		first, _, _ := strings.Cut(name, "/")
		if own := strings.Contains(first, ".") || first == "ac"; own && d >= limit && !ofTests(name) {
			slow[name] = d
		}
	}
	return slow
}

// ofTests reports whether only tests link a package.
func ofTests(name string) bool {
	return name == "pgregory.net/rapid" || strings.HasPrefix(name, "github.com/google/go-cmp/cmp")
}

// initTimes starts the program once and reads what each package's initialisation took.
func initTimes(t *testing.T, self string) map[string]time.Duration {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), self, "--version")
	cmd.Env = append(os.Environ(), asProgram+"=1", "GODEBUG=inittrace=1")
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	took := map[string]time.Duration{}
	for text := range strings.Lines(string(said)) { // init NAME @0.1 ms, 0.02 ms clock, ...
		words := strings.Fields(text)
		if len(words) < 5 || words[0] != "init" {
			continue
		}
		ms, err := strconv.ParseFloat(words[4], 64)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		took[words[1]] = time.Duration(ms * float64(time.Millisecond))
	}
	return took
}
