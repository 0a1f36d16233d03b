package runtimetest

// Who is left of what tests started.

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Lives reports whether another process lives that was started with a word in its
// environment. The error is for systems that do not tell, which have no /proc.
func Lives(word string) (bool, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return false, fmt.Errorf("this system has no /proc to look for survivors in: %w", err)
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		if threadLives(e.Name(), word) {
			return true, nil
		}
	}
	return false, nil
}

// threadLives reports whether a process has a thread that lives, with a word in its environment,
// which those have no more that are over. The first thread of a process that is killed may be over
// while others still write.
func threadLives(pid, word string) bool {
	tasks, err := os.ReadDir(filepath.Join("/proc", pid, "task"))
	if err != nil {
		return false // it is over
	}
	return slices.ContainsFunc(tasks, func(e os.DirEntry) bool {
		environ, err := os.ReadFile(filepath.Join("/proc", pid, "task", e.Name(), "environ"))
		return err == nil && strings.Contains(string(environ), word)
	})
}
