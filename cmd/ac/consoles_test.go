package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestConsolesOfDialects checks which processes offer consoles to ACECode clients, and that a
// shell ends with its process.
func TestConsolesOfDialects(t *testing.T) {
	t.Parallel()
	dir, project := webWorkspace(t)
	for words, want := range map[string]int{
		"ui:web DIR --port 0 --dialect acecode=127.0.0.1:0":                     http.StatusServiceUnavailable,
		"ui:web DIR --port 0 --dialect acecode=127.0.0.1:0 --terminals":         http.StatusCreated,
		"dialect:serve acecode DIR --listen 127.0.0.1:0":                        http.StatusCreated,
		"dialect:serve acecode DIR --listen 127.0.0.1:0 --no-terminals":         http.StatusServiceUnavailable,
		"dialect:serve comma,acecode DIR --listen comma=:0 --listen acecode=:0": http.StatusCreated,
	} {
		words = strings.ReplaceAll(words, "=:0", "=127.0.0.1:0")
		args := strings.Fields(words + " --project " + project)
		for i := range args {
			if args[i] == "DIR" {
				args[i] = dir
			}
		}
		cmd := program(t, args...)
		out, err := cmd.StdoutPipe()
		if err := errors.Join(err, cmd.Start()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() }) // no-op if it has ended
		address := ""
		for lines := bufio.NewScanner(out); lines.Scan() && !strings.Contains(lines.Text(), "Ctrl+C"); {
			if of, found := strings.CutPrefix(lines.Text(), "AgentCompany acecode: "); found {
				address = of
			}
		}
		answer, err := http.Post(address+"api/pty", "application/json", strings.NewReader(`{"shell":"sh"}`))
		if err != nil {
			t.Fatal(words, err)
		}
		var made struct{ PID int }
		err = errors.Join(json.NewDecoder(answer.Body).Decode(&made), answer.Body.Close())
		if err != nil || answer.StatusCode != want || (made.PID != 0) != (want == http.StatusCreated) {
			t.Errorf("%s: %d %+v %v", words, answer.StatusCode, made, err)
		}
		if err := errors.Join(cmd.Process.Signal(syscall.SIGTERM), cmd.Wait()); err != nil {
			t.Error(words, err)
		}
		if made.PID != 0 && !awaited(func() bool { return !isThere(made.PID) }) {
			t.Errorf("%s: the shell runs on", words)
		}
	}
}

// isThere reports whether a process exists.
func isThere(pid int) bool {
	process, err := os.FindProcess(pid)
	return err == nil && process.Signal(syscall.Signal(0)) == nil
}
