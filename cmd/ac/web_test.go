package main

// ui:web as the desktop shell starts it: a child that is known by its address
// and ended by a signal.

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// webServer starts ui:web and gives its address, as its first line tells it.
func webServer(t *testing.T, words ...string) (cmd *exec.Cmd, url string) {
	t.Helper()
	cmd = program(t, append([]string{"ui:web"}, words...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended
	lines := bufio.NewReader(out)
	first, err := lines.ReadString('\n')
	second, secondErr := lines.ReadString('\n')
	if err := errors.Join(err, secondErr); err != nil || !strings.Contains(second, "Ctrl+C") {
		t.Fatalf("%v: %q, %q", err, first, second)
	}
	words = strings.Fields(first)
	return cmd, words[len(words)-1]
}

// program is this program with a command line.
func program(t *testing.T, words ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], words...)
	cmd.Env = append(os.Environ(), asProgram+"=1", "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	return cmd
}

// webWorkspace makes a workspace with a project.
func webWorkspace(t *testing.T) (dir, project string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "ws")
	if out, err := program(t, "workspace:init", dir).Output(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out, err := program(t, "project:new", dir, "--name", "A").Output()
	if err != nil {
		t.Fatal(err)
	}
	return dir, strings.TrimSpace(string(out))
}

func TestWeb(t *testing.T) {
	t.Parallel()
	dir, project := webWorkspace(t)
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		cmd, url := webServer(t, dir, "--project", project, "--host", "127.0.0.1", "--port", "0", "--monitor-limit", "200", "--refresh-index")
		port := strings.TrimPrefix(url, "http://127.0.0.1:")
		if port == url || port == "0" {
			t.Fatalf("address %q", url)
		}
		client := &http.Client{Transport: &http.Transport{}}
		page, err := client.Get(url + "/")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(page.Body)
		if err = errors.Join(err, page.Body.Close()); err != nil || !strings.Contains(string(text), "AgentCompany Manager Web") {
			t.Errorf("the page: %v, %.200s", err, text)
		}
		stream, err := client.Get(url + "/api/events")
		if err != nil {
			t.Fatal(err)
		}
		other := program(t, "ui:web", dir, "--project", project, "--port", port)
		var said strings.Builder
		other.Stderr = &said
		if err := other.Run(); err == nil || other.ProcessState.ExitCode() != 1 || !strings.HasPrefix(said.String(), "ERROR: ") || !strings.Contains(said.String(), "in use") {
			t.Errorf("an address in use: %v, %q", err, said.String())
		}
		began := time.Now()
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %v", signal, err)
		}
		if took := time.Since(began); took > 10*time.Second { // two on a machine at rest
			t.Errorf("%v: ended after %v, with a stream open", signal, took)
		}
		_ = stream.Body.Close() // it was cut off
		client.CloseIdleConnections()
		if c, err := net.Dial("tcp", "127.0.0.1:"+port); err == nil {
			_ = c.Close()
			t.Errorf("%v: somebody listens still", signal)
		}
	}
}

// TestWebStdoutClosed pins that a parent which reads nothing does not end it.
func TestWebStdoutClosed(t *testing.T) {
	t.Parallel()
	dir, project := webWorkspace(t)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := read.Close(); err != nil {
		t.Fatal(err)
	}
	_, port, _ := strings.Cut(address, ":")
	cmd := program(t, "ui:web", dir, "--project", project, "--port", port)
	cmd.Stdout = write
	if err := errors.Join(cmd.Start(), write.Close()); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }() // it ended already, when all went well
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for deadline := time.Now().Add(time.Minute); ; {
		answer, err := client.Get("http://" + address + "/api/health")
		if err == nil {
			_ = answer.Body.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := errors.Join(cmd.Process.Signal(syscall.SIGTERM), cmd.Wait()); err != nil {
		t.Error(err)
	}
}
