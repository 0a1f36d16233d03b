package runtimetest

// Finding processes that survive the tests that started them.

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// HasProcess reports whether another process is alive that has a word in its environment. It fails
// on systems without /proc.
func HasProcess(word string) (bool, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return false, fmt.Errorf("this system has no /proc to look for survivors in: %w", err)
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		if hasThread(e.Name(), word) {
			return true, nil
		}
	}
	return false, nil
}

// hasThread reports whether a process has a live thread with a word in its environment. A
// thread that has ended no longer has one. The first thread of a killed process may have ended
// while others still write.
func hasThread(pid, word string) bool {
	tasks, err := os.ReadDir(filepath.Join("/proc", pid, "task"))
	if err != nil {
		return false // it has ended
	}
	return slices.ContainsFunc(tasks, func(e os.DirEntry) bool {
		environ, err := os.ReadFile(filepath.Join("/proc", pid, "task", e.Name(), "environ"))
		return err == nil && strings.Contains(string(environ), word)
	})
}
