package proc

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestUnchangedParts checks which parts of a program may be unmapped: read-only mappings of its
// file without anonymous pages.
func TestUnchangedParts(t *testing.T) {
	t.Parallel()
	const smaps = `00400000-00500000 r-xp 00000000 fe:00 12 /usr/bin/ac
Size:               1024 kB
Anonymous:             0 kB
00500000-00600000 r--p 00100000 fe:00 12 /usr/bin/ac
Anonymous:             0 kB
00600000-00700000 r--p 00200000 fe:00 12 /usr/bin/ac
Anonymous:             4 kB
00700000-00800000 rw-p 00300000 fe:00 12 /usr/bin/ac
Anonymous:             0 kB
c000000000-c000400000 rw-p 00000000 00:00 0
Anonymous:             0 kB
7f0000000000-7f0000001000 r-xp 00000000 fe:00 13 /usr/lib/other
Anonymous:             0 kB
`
	want := []part{{0x400000, 0x100000}, {0x500000, 0x100000}}
	if got := unchangedParts(strings.NewReader(smaps), "/usr/bin/ac"); !slices.Equal(got, want) {
		t.Errorf("%x, not %x", got, want)
	}
}

// TestRest unmaps this program's code while it runs, and execution maps it again. At some point
// fewer file pages are resident than before.
func TestRest(t *testing.T) {
	t.Parallel()
	before := mappedCode(t)
	r := NewIdleUnmapper()
	defer r.Close()
	for deadline := time.Now().Add(time.Minute); mappedCode(t) >= before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("still %d pages", before)
		}
		before = max(before, mappedCode(t))
	}
}

// mappedCode returns the number of resident file pages, from /proc/self/statm (proc(5)).
func mappedCode(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, c := range strings.Fields(string(text))[2] {
		n = n*10 + int(c-'0')
	}
	return n
}

// TestRestMakesNoGarbage bounds the allocations of unchangedParts. An idle process never collects
// that garbage.
func TestRestMakesNoGarbage(t *testing.T) { //nolint:paralleltest // its garbage is that of the process
	text, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	n := testing.AllocsPerRun(5, func() { found = len(unchangedParts(strings.NewReader(string(text)), self)) })
	if found == 0 || n > 40 {
		t.Errorf("%d parts, %v allocations", found, n)
	}
}
