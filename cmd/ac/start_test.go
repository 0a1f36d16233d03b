package main

// Startup cost: what package initialization takes.

import (
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ac/runs/session"
)

// TestInitIsCheap checks that no package outside the standard library needs a millisecond to
// initialize, or ten with the race detector. It takes the minimum over several starts, because
// single starts may be disturbed. It ignores packages that only tests link.
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
		for name, before := range slow { // only packages that were slow at every start count
			took[name] = min(took[name], before)
		}
		if slow = slowOf(took, limit); len(slow) == 0 {
			return
		}
	}
	t.Errorf("the initialisation of these packages takes too long: %v", slow)
}

// TestGuardsInitialiseLittle checks that a guard initializes no package of ac. Its other packages
// may allocate at most a tenth of what all packages allocate in other processes.
func TestGuardsInitialiseLittle(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	guard := initsOf(t, self, session.GuardCommand) // it ends at once: its supervisor is gone
	other := initsOf(t, self, "--version")
	var few, all int
	for name, i := range guard {
		if few += i.bytes; strings.HasPrefix(name, "ac/") {
			t.Errorf("%s is initialised in a guard", name)
		}
	}
	for _, i := range other {
		all += i.bytes
	}
	if len(guard) < 10 || few > all/10 {
		t.Errorf("%d packages allocate %d bytes in a guard, %d in others", len(guard), few, all)
	}
}

// slowOf returns the packages that take the limit or more, except those of the standard library
// and of tests.
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

// initTimes starts the program once and returns how long each package took to initialize.
func initTimes(t *testing.T, self string) map[string]time.Duration {
	t.Helper()
	took := map[string]time.Duration{}
	for name, i := range initsOf(t, self, "--version") {
		took[name] = i.took
	}
	return took
}

// packageInit is the cost of initializing a package.
type packageInit struct {
	took  time.Duration
	bytes int
}

// initsOf starts the program once with an argument and returns the initialization cost of each
// package, as traced by the Go runtime.
func initsOf(t *testing.T, self, word string) map[string]packageInit {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), self, word)
	cmd.Env = append(os.Environ(), asProgram+"=1", "GODEBUG=inittrace=1")
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	cmd.ExtraFiles = []*os.File{null, null, null, null} // descriptors that a guard expects
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	inits := map[string]packageInit{}
	for text := range strings.Lines(string(said)) { // init NAME @0.1 ms, 0.02 ms clock, 64 bytes, 2 allocs
		words := strings.Fields(text)
		if len(words) < 8 || words[0] != "init" {
			continue
		}
		ms, err := strconv.ParseFloat(words[4], 64)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		n, err := strconv.Atoi(words[7])
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		inits[words[1]] = packageInit{took: time.Duration(ms * float64(time.Millisecond)), bytes: n}
	}
	return inits
}
