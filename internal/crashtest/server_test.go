package crashtest

// A server in its own process, and a client with several requests in flight.

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
)

// object holds the params of a request.
type object map[string]any

// server is a real server process and its client.
type server struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.WriteCloser

	refuses  bool                  // errors count as answers
	notified func(json.RawMessage) // receives the params of notifications; may be nil

	mu      sync.Mutex
	next    int
	waiting map[int]chan json.RawMessage // closed without a value when the server is gone
	gone    bool
}

func start(t *testing.T, environ []string) *server {
	t.Helper()
	return startWith(t, environ, nil)
}

// startWith is start for a client that receives notifications and accepts errors as answers.
func startWith(t *testing.T, environ []string, notified func(json.RawMessage)) *server {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, cmd: exec.Command(executable, serveCommand), waiting: map[int]chan json.RawMessage{}, refuses: notified != nil, notified: notified}
	s.cmd.Env = environ
	s.cmd.Stderr = os.Stderr
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go s.read(stdout) // ends with the server
	return s
}

func (s *server) read(stdout io.Reader) {
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var answer struct {
			ID     *int
			Method string
			Params json.RawMessage
			Result json.RawMessage
			Error  json.RawMessage
		}
		// Skip a line that the kill tore.
		if json.Unmarshal(lines.Bytes(), &answer) != nil {
			continue
		}
		if answer.ID == nil {
			if s.notified != nil && answer.Method != "" {
				s.notified(answer.Params)
			}
			continue
		}
		if answer.Error != nil && s.refuses {
			answer.Result, answer.Error = answer.Error, nil
		}
		if answer.Error != nil {
			s.t.Errorf("the server refused: %s", answer.Error)
		}
		s.mu.Lock()
		if waiter := s.waiting[*answer.ID]; waiter != nil && answer.Error == nil {
			waiter <- answer.Result
		}
		s.mu.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = true
	for _, waiter := range s.waiting {
		close(waiter)
	}
}

// call sends a request and waits for its answer. It returns false if the server is gone.
func (s *server) call(method string, params object, result any) bool {
	answer := make(chan json.RawMessage, 1)
	s.mu.Lock()
	if s.gone {
		s.mu.Unlock()
		return false
	}
	s.next++
	id := s.next
	s.waiting[id] = answer
	text, err := json.Marshal(object{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	if err == nil {
		_, err = s.stdin.Write(append(text, '\n'))
	}
	s.mu.Unlock()
	if err != nil {
		return false
	}
	raw, ok := <-answer
	if ok && result != nil {
		if err := json.Unmarshal(raw, result); err != nil {
			s.t.Errorf("%s: %v", method, err)
		}
	}
	return ok
}
