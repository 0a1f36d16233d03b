// Package proc identifies processes beyond their PID, finds their descendants, and signals
// them. It is one of the few packages with code for each operating system.
//
// Invariant: no process is signaled by PID alone, which would race with the reuse of PIDs.
// Where the system has process handles, the start of the process is checked after the handle
// that the signal goes through was opened.
package proc

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// ErrUnsupported is returned where the operating system has no such call.
var ErrUnsupported = errors.New("not supported on this operating system")

// Identity identifies a process beyond its PID. Start is opaque and differs for every process
// that ever had the PID.
type Identity struct {
	PID   int
	Start string
}

// Self returns the identity of this process.
func Self() Identity {
	id, _ := Lookup(os.Getpid())
	return id
}

// Alive reports whether this process still lives. A zombie does not, nor does a process whose
// start is unknown.
func (id Identity) Alive() bool {
	now, ok := Lookup(id.PID)
	return ok && id.Start != "" && now.Start == id.Start
}

// Signal signals this process and no other. If it is gone the error is
// os.ErrProcessDone.
func (id Identity) Signal(sig os.Signal) error {
	process, err := os.FindProcess(id.PID)
	if err != nil {
		return err
	}
	defer func() { _ = process.Release() }()
	if !id.Alive() {
		return os.ErrProcessDone
	}
	return process.Signal(sig)
}

// Exists reports whether any process has that PID.
func Exists(pid int) bool {
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer func() { _ = process.Release() }()
	err = process.Signal(syscall.Signal(0))
	return err == nil || errors.Is(err, syscall.EPERM)
}

// LookPath finds the program of an argv in a PATH passed as text. A name with a slash is not
// looked up; a relative one is relative to dir.
func LookPath(name, path, dir string) (string, error) {
	if strings.ContainsRune(name, '/') {
		full := name
		if !strings.HasPrefix(name, "/") {
			full = strings.TrimSuffix(dir, "/") + "/" + name
		}
		return full, executable(full)
	}
	for _, entry := range strings.Split(path, string(os.PathListSeparator)) {
		if entry == "" {
			continue
		}
		full := strings.TrimSuffix(entry, "/") + "/" + name
		if executable(full) == nil {
			return full, nil
		}
	}
	return "", fmt.Errorf("%s: not found in PATH", name)
}

func executable(file string) error {
	st, err := os.Stat(file)
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() || st.Mode()&0o111 == 0 {
		return &os.PathError{Op: "exec", Path: file, Err: os.ErrPermission}
	}
	return nil
}
