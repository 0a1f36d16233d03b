package main

// The processes of a session, as /proc shows them.

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"ac/internal/proc"
	"ac/runs/session"
)

// family is the live processes of one session. starts is its provider's STARTS variable.
type family struct {
	supervisor, guard, provider int
	starts                      string
}

// families returns the sessions whose supervisor is the program in bin.
func families(bin string) (all []family) {
	dirs, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return nil
	}
	for _, name := range dirs {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err != nil || !plays(pid, bin, session.SuperviseCommand) {
			continue
		}
		one := family{supervisor: pid}
		for _, child := range children(pid) {
			if plays(child, bin, session.GuardCommand) {
				one.guard = child
			}
		}
		for _, child := range children(one.guard) {
			if starts, ok := startsOf(child); ok {
				one.provider, one.starts = child, starts
			}
		}
		all = append(all, one)
	}
	return all
}

func children(pid int) []int {
	if pid == 0 {
		return nil
	}
	found, err := proc.Children(pid)
	if err != nil {
		return nil // the process is gone
	}
	return found
}

// plays reports whether a process is the program in bin, run with this command.
func plays(pid int, bin, command string) bool {
	line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	words := strings.Split(string(line), "\x00")
	return err == nil && len(words) > 1 && strings.HasPrefix(words[0], bin+"/") && words[1] == command
}

// startsOf returns the STARTS variable of a process.
func startsOf(pid int) (string, bool) {
	environ, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
	if err != nil {
		return "", false
	}
	for entry := range bytes.SplitSeq(environ, []byte{0}) {
		if value, ok := bytes.CutPrefix(entry, []byte("STARTS=")); ok {
			return string(value), true
		}
	}
	return "", false
}

func (f family) has(kind string) bool {
	switch kind {
	case "provider":
		return f.provider != 0
	case "guard", "pair":
		return f.guard != 0
	}
	return true
}

// kill kills one process of the family, or supervisor and guard together.
func (f family) kill(kind string) bool {
	switch kind {
	case "provider":
		return syscall.Kill(f.provider, syscall.SIGKILL) == nil
	case "guard":
		return syscall.Kill(f.guard, syscall.SIGKILL) == nil
	case "pair":
		hit := syscall.Kill(f.supervisor, syscall.SIGKILL) == nil
		return syscall.Kill(f.guard, syscall.SIGKILL) == nil || hit
	}
	return syscall.Kill(f.supervisor, syscall.SIGKILL) == nil
}
