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

	"ac/runs/session"
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

// TestGuardsInitialiseLittle reads what is initialised in a guard: nothing of ac, and so few
// other packages that they allocate a tenth of what they do in every other process.
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
	took := map[string]time.Duration{}
	for name, i := range initsOf(t, self, "--version") {
		took[name] = i.took
	}
	return took
}

// packageInit is what the initialisation of a package took.
type packageInit struct {
	took  time.Duration
	bytes int
}

// initsOf starts the program once with a word and reads what it says of the initialisation of
// each package.
func initsOf(t *testing.T, self, word string) map[string]packageInit {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), self, word)
	cmd.Env = append(os.Environ(), asProgram+"=1", "GODEBUG=inittrace=1")
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	cmd.ExtraFiles = []*os.File{null, null, null, null} // a guard's
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
