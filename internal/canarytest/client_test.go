package canarytest

// A server in its own process, whose output is recorded.

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// object is the type of request params.
type object map[string]any

// server is a real server that gets one request after another. Its output is recorded verbatim.
type server struct {
	t              *testing.T
	cmd            *exec.Cmd
	stdin          io.WriteCloser
	lines          *bufio.Reader
	stdout, stderr bytes.Buffer
	next           int
}

func start(t *testing.T, environ []string) *server {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, cmd: exec.Command(executable, serveCommand)}
	s.cmd.Env, s.cmd.Stderr = environ, &s.stderr
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.lines = bufio.NewReader(io.TeeReader(stdout, &s.stdout))
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stuck := time.AfterFunc(3*time.Minute, func() { _ = s.cmd.Process.Kill() })
	t.Cleanup(func() { stuck.Stop() })
	return s
}

// ask sends a request and returns the result or the error of the response.
func (s *server) ask(method string, params object) (result, failure json.RawMessage) {
	s.t.Helper()
	s.next++
	text, err := json.Marshal(object{"jsonrpc": "2.0", "id": s.next, "method": method, "params": params})
	if err == nil {
		_, err = s.stdin.Write(append(text, '\n'))
	}
	for err == nil {
		var line []byte
		if line, err = s.lines.ReadBytes('\n'); err != nil {
			break
		}
		var answer struct {
			ID            *int
			Result, Error json.RawMessage
		}
		if err = json.Unmarshal(line, &answer); err == nil && answer.ID != nil && *answer.ID == s.next {
			return answer.Result, answer.Error
		}
	}
	s.t.Fatalf("%s: the server does not answer: %v\n%s", method, err, &s.stderr)
	return nil, nil
}

// must sends a request that must succeed.
func (s *server) must(method string, params object, result any) {
	s.t.Helper()
	raw, failure := s.ask(method, params)
	if failure != nil {
		s.t.Fatalf("%s: %s", method, failure)
	}
	if result == nil {
		return
	}
	if err := json.Unmarshal(raw, result); err != nil {
		s.t.Fatalf("%s: %v", method, err)
	}
}

// stop closes the server's stdin, reads the rest of its output, and waits for its exit.
func (s *server) stop() {
	s.t.Helper()
	if err := s.stdin.Close(); err != nil {
		s.t.Error(err)
	}
	if _, err := io.Copy(io.Discard, s.lines); err != nil {
		s.t.Error(err)
	}
	if err := s.cmd.Wait(); err != nil {
		s.t.Errorf("the server ended with %v: %s", err, &s.stderr)
	}
}

// run runs a command and returns its combined output.
func run(t *testing.T, environ []string, params any, words ...string) string {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(executable, words...)
	cmd.Env, cmd.Stdin = environ, bytes.NewReader(text)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", strings.Join(words, " "), err, out)
	}
	return string(out)
}
