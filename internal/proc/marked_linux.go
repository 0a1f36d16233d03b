package proc

// Finding processes by an environment entry that they were started with. Every
// fork and session inherits it, so it identifies descendants even when all
// processes that knew them are dead.

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"time"
)

// requiredEmptyScans is how many scans in a row must find nothing, because a scan can miss a process
// whose parent dies meanwhile.
const requiredEmptyScans = 2

// KillMarked kills every process whose environment has the entry NAME=VALUE and waits until
// they have ended. It gives up after patience and returns the processes that are left. It does
// not find processes that cleared their environment or belong to another user.
func KillMarked(entry string, patience time.Duration) (left []int) {
	deadline := time.Now().Add(patience)
	for without := 0; without < requiredEmptyScans; {
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

// killMarked does one scan and returns the processes that it killed.
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

// killIfMarked opens a handle on the process before it reads the environment, so that it kills
// that process and not one that reused the PID.
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
	_ = process.Kill() // gone meanwhile, or in the next scan
	return true
}
