// Package granttest provides a fake supervisor for testing agents' tools. It serves the socket
// of a session without an agent.
package granttest

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"ac/internal/fault"
	"ac/runs/grant"
	"ac/runs/interaction"
)

// Socket is the name of the fake supervisor's socket, without its extension.
const Socket = "0123456789abcdef"

// Supervisor is a grant.Host whose people answer when the test calls Resolve. Set its fields
// before calling Serve.
type Supervisor struct {
	Who    grant.Identity
	Now    func() time.Time
	Masked func([]byte) []byte // nil masks nothing

	listener net.Listener
	serving  sync.WaitGroup
	cancel   context.CancelFunc

	mu    sync.Mutex
	over  bool
	asked map[string]func(interaction.Record)
	open  map[string]interaction.Record
	jobs  []string
}

// Serve serves the socket in the test's directory dir and returns the name of the grant file.
// End stops it, and so does the end of the test.
func (s *Supervisor) Serve(tb testing.TB, dir string) (grantFile string) {
	tb.Helper()
	s.asked, s.open = map[string]func(interaction.Record){}, map[string]interaction.Record{}
	grantFile, token, err := grant.Write(dir, Socket, hexOf)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	var config net.ListenConfig
	if s.listener, err = config.Listen(ctx, "unix", filepath.Join(dir, Socket+".sock")); err != nil {
		tb.Fatal(err)
	}
	server := grant.NewServer(token, s, s.Now)
	s.serving.Go(func() {
		for {
			conn, err := s.listener.Accept()
			if err != nil {
				return
			}
			s.serving.Go(func() { serve(ctx, server, conn) })
		}
	})
	tb.Cleanup(s.End)
	return grantFile
}

// End ends the session and closes its socket. It waits for all connections.
func (s *Supervisor) End() {
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	s.cancel()
	_ = s.listener.Close() // some tests call End themselves
	s.serving.Wait()
}

// hexOf returns 2*n hexadecimal digits. They are not random.
func hexOf(n int) string {
	text := make([]byte, 2*n)
	for i := range text {
		text[i] = "0123456789abcdef"[i%16]
	}
	return string(text)
}

type request struct {
	Verb   string          `json:"verb"`
	ID     json.RawMessage `json:"id"`
	Params json.RawMessage `json:"params"`
}

type reply struct {
	Version int             `json:"version"`
	ID      json.RawMessage `json:"id"`
	Error   string          `json:"error,omitempty"`
	Reason  fault.Reason    `json:"reason,omitempty"`
	Result  any             `json:"result,omitempty"`
}

// serve answers one connection like a supervisor's socket.
func serve(ctx context.Context, server *grant.Server, conn net.Conn) {
	c := server.Conn(ctx)
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	var writing sync.Mutex
	write := func(r reply) {
		writing.Lock()
		defer writing.Unlock()
		text, _ := json.Marshal(r)            // replies always encode
		_, _ = conn.Write(append(text, '\n')) // best effort: the client may be gone
	}
	var running sync.WaitGroup
	lines := bufio.NewScanner(conn)
	lines.Buffer(nil, 2<<20) // the limit of a supervisor's socket
	for lines.Scan() {
		var r request
		if json.Unmarshal(lines.Bytes(), &r) != nil {
			break
		}
		running.Go(func() {
			answer := reply{Version: 2, ID: r.ID}
			result, known, err := c.Handle(r.Verb, r.Params, func(over interaction.Record) { write(reply{Version: 2, ID: r.ID, Result: over}) })
			switch {
			case !known:
				answer.Error, answer.Reason = "unknown verb "+r.Verb, fault.Unsupported
			case err != nil:
				answer.Error, answer.Reason = err.Error(), fault.ReasonOf(err)
			default:
				answer.Result = result
			}
			write(answer)
		})
	}
	running.Wait()
	_ = conn.Close() // both sides are done
	c.Close()
}

// Identity implements grant.Host.
func (s *Supervisor) Identity() (grant.Identity, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return grant.Identity{}, fault.New(fault.Denied, "the session is over")
	}
	return s.Who, nil
}

// Mask implements grant.Host.
func (s *Supervisor) Mask(value []byte) []byte {
	if s.Masked == nil {
		return value
	}
	return s.Masked(value)
}

// Ask implements grant.Host. It ignores the timeout.
func (s *Supervisor) Ask(r interaction.Request, _ time.Duration, resolved func(interaction.Record)) (interaction.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.InteractionID = "int_" + string(rune('A'+len(s.asked)))
	record := interaction.Record{RunID: s.Who.RunID, ProjectID: s.Who.ProjectID, AgentID: s.Who.AgentID, Request: r, State: interaction.Open}
	s.asked[r.InteractionID], s.open[r.InteractionID] = resolved, record
	return record, nil
}

// StartJob implements grant.Host. It only records the job.
func (s *Supervisor) StartJob(_ context.Context, jobID string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.jobs = append(s.jobs, jobID)
	return nil
}

// Jobs returns the ids of the jobs that StartJob recorded.
func (s *Supervisor) Jobs() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.jobs...)
}

// Asked returns the record of an open question.
func (s *Supervisor) Asked(id string) (interaction.Record, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.open[id]
	return r, ok
}

// Resolve closes a question: with the person's answer a, or as cancelled if a is nil.
func (s *Supervisor) Resolve(tb testing.TB, id string, a *interaction.Answer) {
	tb.Helper()
	s.mu.Lock()
	record, resolved := s.open[id], s.asked[id]
	delete(s.open, id)
	s.mu.Unlock()
	if resolved == nil {
		tb.Fatalf("nobody asked %s", id)
	}
	if a == nil {
		record.State, record.Outcome = interaction.Cancelled, interaction.Outcome{By: "system", Reason: interaction.SessionEnded}
	} else {
		v, err := record.Decide(*a)
		if err != nil {
			tb.Fatal(err)
		}
		record.State, record.Outcome = v.State, v.Outcome
	}
	resolved(record)
}
