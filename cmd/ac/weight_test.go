package main

// Memory of the processes that wait beside every session.

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Limits of the private memory of an idle supervisor and guard, in KiB: the values measured in this
// test binary plus a tenth, since systems differ. In ac itself they are 3.1 and 0.8 MB. All other
// pages belong to the program file and are shared.
const (
	mostSupervisor = 6000
	mostGuard      = 1330
)

// TestWaitingProcessesAreLight checks the private memory of an idle supervisor and guard. Packages
// that only tests link add to it.
func TestWaitingProcessesAreLight(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: only Linux says which pages are a process's own")
	}
	if build, ok := debug.ReadBuildInfo(); ok && slices.Contains(build.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		t.Skip("SKIPPED: the race detector has memory of its own in every process")
	}
	w := newWorld(t)
	said, err := w.shell(t, "", "ac run -d -- sleep 1000")
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	t.Cleanup(func() {
		if said, err := w.shell(t, "", "ac stop --all -y"); err != nil {
			t.Errorf("%v\n%s", err, said)
		}
	})
	record, err := os.ReadFile(filepath.Join(w.dir, "w", ".local", "sessions", "local_"+strings.TrimSpace(said)+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	supervisor, provider := numberIn(t, record, `(?m)^owner_pid: (\d+)$`), numberIn(t, record, `(?m)^pid: (\d+)$`)
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", provider))
	if err != nil {
		t.Fatal(err)
	}
	guard, err := strconv.Atoi(string(bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])[1]))
	if err != nil {
		t.Fatal(err)
	}
	var own [2]int
	if !awaited(func() bool {
		own = [2]int{privateOf(t, supervisor), privateOf(t, guard)}
		return own[0] <= mostSupervisor && own[1] <= mostGuard
	}) {
		t.Errorf("a supervisor keeps %d KiB (%d), a guard %d KiB (%d)", own[0], mostSupervisor, own[1], mostGuard)
	}
	t.Logf("a supervisor keeps %d KiB, a guard %d KiB", own[0], own[1])
}

// numberIn returns the number that the first group of an expression matches in a text.
func numberIn(t *testing.T, text []byte, expression string) int {
	t.Helper()
	found := regexp.MustCompile(expression).FindSubmatch(text)
	if found == nil {
		t.Fatalf("%s is not in\n%s", expression, text)
	}
	n, err := strconv.Atoi(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// privateOf returns the private memory of a process, in KiB.
func privateOf(t *testing.T, pid int) (kib int) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range regexp.MustCompile(`(?m)^Private_(?:Clean|Dirty): +(\d+) kB$`).FindAllSubmatch(text, -1) {
		n, err := strconv.Atoi(string(line[1]))
		if err != nil {
			t.Fatal(err)
		}
		kib += n
	}
	return kib
}
