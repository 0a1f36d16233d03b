package proc

// Processes known by an entry of the environment that they were started with.
// It is handed down through every fork and session, when all who knew of their
// kin are dead.

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"time"
)

// looksWithout is how many looks in a row must find nobody: one can miss a
// process whose parent dies meanwhile.
const looksWithout = 2

// KillMarked kills every process whose environment has an entry NAME=VALUE, and
// waits for their end. It gives up after patience and tells who is left. Those
// that cleared their environment, or belong to another user, are not found.
func KillMarked(entry string, patience time.Duration) (left []int) {
	deadline := time.Now().Add(patience)
	for without := 0; without < looksWithout; {
		if left = killMarked(entry); len(left) == 0 {
			without++
			continue
		}
		if without = 0; time.Now().After(deadline) {
			return left
		}
		time.Sleep(sweepPause)
	}
	return nil
}

// killMarked kills those it finds.
func killMarked(entry string) (found []int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && pid != os.Getpid() && killIfMarked(pid, entry) {
			found = append(found, pid)
		}
	}
	return found
}

// killIfMarked takes its hold on the process before it reads the environment, so
// that the one is killed that was read.
func killIfMarked(pid int, entry string) bool {
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer func() { _ = process.Release() }()
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil || !slices.ContainsFunc(bytes.Split(environ, []byte{0}), func(e []byte) bool { return string(e) == entry }) {
		return false
	}
	_ = process.Kill() // gone meanwhile, or found again
	return true
}
