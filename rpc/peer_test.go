package rpc

// A client of an in-process server, over a pair of pipes.

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"ac/workspace"
)

// patience bounds every wait of these tests, so that a hang fails them. A line at the cap takes
// half a minute on a machine with a load of 28.
const patience = 2 * time.Minute

// peer is a client, for use by one goroutine.
type peer struct {
	t      testing.TB
	in     *os.File
	out    *os.File
	lines  chan string
	ended  chan error
	closed bool
	serial int
}

// newPeer starts a server that ends with the test.
func newPeer(t testing.TB) *peer { return newPeerWith(t, func(*Server) {}) }

// newPeerWith lets the test change the server before it serves.
func newPeerWith(t testing.TB, change func(*Server)) *peer {
	t.Helper()
	t.TempDir() // the first call registers their cleanup, which so runs after the server's
	serverIn, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, serverOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(Options{
		In: serverIn, Out: serverOut, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Env: workspace.SystemEnv(), Executable: executable, Version: "test", Terminals: true, SearchPatience: time.Minute,
	})
	change(s)
	p := &peer{t: t, in: in, out: out, lines: make(chan string, 1<<16), ended: make(chan error, 1)}
	go func() { // ends with the server, which finish waits for
		err := s.serve(context.Background())
		serverOut.Close()
		serverIn.Close()
		p.ended <- err
	}()
	go func() { // ends with the server's output
		defer close(p.lines)
		r := bufio.NewReader(out)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			p.lines <- strings.TrimSuffix(line, "\n")
		}
	}()
	t.Cleanup(func() { p.finish() })
	return p
}

// finish closes the input, waits for the server to end, and returns the lines that
// were still unread.
func (p *peer) finish() (rest []string) {
	p.t.Helper()
	if p.closed {
		return nil
	}
	p.closed = true
	p.in.Close()
	deadline := time.After(patience)
	for {
		select {
		case line, ok := <-p.lines:
			if ok {
				rest = append(rest, line)
				continue
			}
			if err := <-p.ended; err != nil {
				p.t.Errorf("serve: %v", err)
			}
			p.out.Close()
			return rest
		case <-deadline:
			p.t.Fatal("the server did not end")
		}
	}
}

// send writes bytes as they are.
func (p *peer) send(text string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, text); err != nil {
		p.t.Fatal(err)
	}
}

// next returns the next line of the server.
func (p *peer) next() string {
	p.t.Helper()
	select {
	case line, ok := <-p.lines:
		if !ok {
			p.t.Fatal("the server ended its output")
		}
		return line
	case <-time.After(patience):
		p.t.Fatal("the server does not answer")
	}
	return ""
}

type object = map[string]any

// answer is a decoded line of the server.
type answer struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

// paths lists the fields that a -32602 names, as JSON.
func (a answer) paths(t testing.TB) (paths []string) {
	t.Helper()
	if a.Error == nil {
		return nil
	}
	var issues []struct {
		Path    json.RawMessage
		Code    string
		Message string
	}
	if err := json.Unmarshal(a.Error.Data, &issues); err != nil {
		t.Fatalf("data %s: %v", a.Error.Data, err)
	}
	for _, i := range issues {
		if i.Code == "" || i.Message == "" {
			t.Errorf("an issue without code or message: %s", a.Error.Data)
		}
		paths = append(paths, string(i.Path))
	}
	return paths
}

// read decodes a line.
func (p *peer) read(line string) (a answer) {
	p.t.Helper()
	if err := json.Unmarshal([]byte(line), &a); err != nil {
		p.t.Fatalf("%s: %v", line, err)
	}
	return a
}

func requestLine(id any, method string, params any) string {
	message := object{"jsonrpc": "2.0", "id": id, "method": method}
	if params != nil {
		message["params"] = params
	}
	text, err := json.Marshal(message)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// post sends a request and returns its id, without waiting.
func (p *peer) post(method string, params any) (id string) {
	p.t.Helper()
	p.serial++
	p.send(requestLine(p.serial, method, params) + "\n")
	return fmt.Sprint(p.serial)
}

// await reads until it has all these answers. It skips notifications.
func (p *peer) await(ids ...string) map[string]answer {
	p.t.Helper()
	found := map[string]answer{}
	for len(found) < len(ids) {
		a := p.read(p.next())
		if a.Method == "" {
			found[string(a.ID)] = a
		}
	}
	for _, id := range ids {
		if _, ok := found[id]; !ok {
			p.t.Fatalf("no answer to %s, but to %v", id, found)
		}
	}
	return found
}

// call sends a request, waits for the answer, and decodes the result into target.
func (p *peer) call(method string, params, target any) {
	p.t.Helper()
	id := p.post(method, params)
	p.decode(p.await(id)[id], target)
}

// decode decodes the result of an answer into target.
func (p *peer) decode(a answer, target any) {
	p.t.Helper()
	if a.Error != nil {
		p.t.Fatalf("answer %s: %d %s %s", a.ID, a.Error.Code, a.Error.Message, a.Error.Data)
	}
	if target != nil {
		if err := json.Unmarshal(a.Result, target); err != nil {
			p.t.Fatal(err)
		}
	}
}
