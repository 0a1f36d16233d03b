// Package proc is what ac knows about processes: who they are beyond their
// number, which ones descend from us, and how they are signalled. It is one of
// the few packages with code for each operating system.
//
// Invariant: no process is signalled on its number alone; the start of the
// process is compared on the very handle that the signal goes through, where
// the system has one.
package proc

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// ErrUnsupported is returned where the operating system lacks what is asked.
var ErrUnsupported = errors.New("not supported on this operating system")

// ErrFull says that a write would have to wait for the reader.
var ErrFull = errors.New("the reader has not read enough")

// Identity names a process beyond its number: Start is opaque and differs for
// every process that ever had the number.
type Identity struct {
	PID   int
	Start string
}

// Self is the identity of this process.
func Self() Identity {
	id, _ := Lookup(os.Getpid())
	return id
}

// Alive reports whether the very process still lives. A zombie does not; nor
// does one whose start is unknown.
func (id Identity) Alive() bool {
	now, ok := Lookup(id.PID)
	return ok && id.Start != "" && now.Start == id.Start
}

// Signal sends a signal to the very process, and to nobody else: os.ErrProcessDone
// when it is gone.
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

// Exists reports whether a process of that number exists, ours or not.
func Exists(pid int) bool {
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer func() { _ = process.Release() }()
	err = process.Signal(syscall.Signal(0))
	return err == nil || errors.Is(err, syscall.EPERM)
}

// LookPath finds the program of an argv in a PATH given as text. A name with a
// slash is taken as it is, relative to dir.
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
