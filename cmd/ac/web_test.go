package main

// Tests of ui:web as the desktop shell runs it: a child process that prints its address and is
// stopped by a signal.

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

// webServer starts ui:web and returns the URL from its first line.
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
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // no-op if it has ended
	lines := bufio.NewReader(out)
	first, err := lines.ReadString('\n')
	second, secondErr := lines.ReadString('\n')
	if err := errors.Join(err, secondErr); err != nil || !strings.Contains(second, "Ctrl+C") {
		t.Fatalf("%v: %q, %q", err, first, second)
	}
	words = strings.Fields(first)
	return cmd, words[len(words)-1]
}

// program returns this program as a command with the given arguments.
func program(t *testing.T, words ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], words...)
	cmd.Env = append(os.Environ(), asProgram+"=1", "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	return cmd
}

// webWorkspace creates a workspace with a project.
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
		if took := time.Since(began); took > 10*time.Second { // about two seconds on an idle machine
			t.Errorf("%v: ended after %v, with a stream open", signal, took)
		}
		_ = stream.Body.Close() // the server cut it off
		client.CloseIdleConnections()
		if c, err := net.Dial("tcp", "127.0.0.1:"+port); err == nil {
			_ = c.Close()
			t.Errorf("%v: somebody listens still", signal)
		}
	}
}

// TestWebDialect checks that the control room serves dialects from its own process, prints their
// addresses, and stops them when it stops. If a dialect cannot listen, the control room exits.
func TestWebDialect(t *testing.T) {
	t.Parallel()
	dir, project := webWorkspace(t)
	cmd := program(t, "ui:web", dir, "--project", project, "--port", "0", "--dialect", "autonoma=127.0.0.1:0", "--dialect", "comma=127.0.0.1:0")
	out, err := cmd.StdoutPipe()
	if err := errors.Join(err, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // no-op if it has ended
	said := map[string]string{}
	for lines := bufio.NewScanner(out); lines.Scan() && !strings.Contains(lines.Text(), "Ctrl+C"); {
		name, address, _ := strings.Cut(strings.TrimPrefix(lines.Text(), "AgentCompany "), ": ")
		said[name] = address
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	get := func(url string) string {
		t.Helper()
		answer, err := client.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		if err = errors.Join(err, answer.Body.Close()); err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	socket := said["autonoma"]
	address := strings.TrimSuffix(strings.TrimPrefix(socket, "ws://"), "/ws")
	if !strings.HasPrefix(address, "127.0.0.1:") {
		t.Fatalf("the addresses: %v", said)
	}
	if got := get(said["Manager Web"] + "/api/health"); !strings.Contains(got, `"dialects":[{"name":"autonoma","address":"`+socket+`"},{"name":"comma","address":"`+said["comma"]+`"}]`) {
		t.Errorf("the health of the control room: %s", got)
	}
	if got := get("http://" + address + "/health"); !strings.Contains(got, `"dialect":"autonoma"`) {
		t.Errorf("the health of the dialect: %s", got)
	}
	if got := get("http" + strings.TrimSuffix(strings.TrimPrefix(said["comma"], "ws"), "/ws") + "/health"); !strings.Contains(got, `"activeRuns":0,"connectedClients":0`) {
		t.Errorf("the health of the other dialect: %s", got)
	}
	for given, want := range map[string]string{
		"autonoma=" + address: address + " is in use; give another with --dialect autonoma=ADDR",
		"autonoma=0.0.0.0:0":  "it listens on loopback only",
		"none":                `there is no dialect "none"`,
	} {
		other := program(t, "ui:web", dir, "--project", project, "--port", "0", "--dialect", given)
		var complaint strings.Builder
		other.Stderr = &complaint
		if err := other.Run(); err == nil || other.ProcessState.ExitCode() != 1 || !strings.Contains(complaint.String(), want) {
			t.Errorf("%s: %v, %q", given, err, complaint.String())
		}
	}
	if err := errors.Join(cmd.Process.Signal(syscall.SIGTERM), cmd.Wait()); err != nil {
		t.Error(err)
	}
	if c, err := net.Dial("tcp", address); err == nil {
		_ = c.Close()
		t.Error("somebody listens still")
	}
}

// TestWebStdoutClosed checks that the control room keeps running if its stdout is closed.
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
	defer func() { _ = cmd.Process.Kill() }() // no-op if it has ended
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
