package runtimetest

// Who is left of what tests started.

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"ac/internal/proc"
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
		environ, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if _, alive := proc.Lookup(pid); err == nil && alive && strings.Contains(string(environ), word) {
			return true, nil
		}
	}
	return false, nil
}
