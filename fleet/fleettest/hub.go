// Package fleettest is a fake hub of a workspace, for tests of its clients.
package fleettest

import (
	"bufio"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"ac/fleet"
	"ac/internal/durable"
	"ac/internal/lock"
	"ac/workspace"
)

// Answer answers a request to the hub. params are those of the verb.
type Answer func(verb string, params json.RawMessage) (result any, err error)

// Hub is a fake hub that runs until the end of its test, or Close.
type Hub struct {
	Asked []fleet.HubRequest // requests so far; read it only after the last request

	t        testing.TB
	w        *workspace.Workspace
	hold     *lock.Hold
	listener net.Listener
	serving  sync.WaitGroup
	mu       sync.Mutex
	closed   bool
}

// Start starts a fake hub of a workspace.
func Start(t testing.TB, w *workspace.Workspace, answer Answer) *Hub {
	t.Helper()
	const name = "00000000000000aa"
	dir, err := os.MkdirTemp("", "hub") //nolint:usetesting // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	h := &Hub{t: t, w: w}
	if err := durable.MkdirAll(w.FS, fleet.HubDir, 0o700); err != nil {
		t.Fatal(err)
	}
	if h.hold, err = lock.Try(w.FS, fleet.HubLock()); err != nil {
		t.Fatal(err)
	}
	var config net.ListenConfig
	if h.listener, err = config.Listen(t.Context(), "unix", filepath.Join(dir, name+".sock")); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(fleet.Owner{PID: os.Getpid(), Boot: "boot", Socket: name, SocketDir: dir})
	if err == nil {
		err = w.Replace(fleet.OwnerFile, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	h.serving.Go(func() { h.accept(answer) })
	t.Cleanup(func() {
		h.Close()
		_ = os.RemoveAll(dir)
	})
	return h
}

func (h *Hub) accept(answer Answer) {
	for {
		conn, err := h.listener.Accept()
		if err != nil {
			return
		}
		h.serving.Go(func() { h.serve(conn, answer) })
	}
}

func (h *Hub) serve(conn net.Conn, answer Answer) {
	defer conn.Close()
	var request fleet.HubRequest
	if json.NewDecoder(bufio.NewReader(conn)).Decode(&request) != nil {
		return
	}
	h.mu.Lock()
	h.Asked = append(h.Asked, request)
	h.mu.Unlock()
	result, err := answer(request.Verb, request.Params)
	reply := fleet.HubReply{}
	if err != nil {
		refusal := fleet.Refusal(0, err)
		reply.Reason, reply.Error, reply.Data = refusal.Reason, refusal.Error, refusal.Data
	} else if reply.Result, err = json.Marshal(result); err != nil {
		h.t.Error(err)
	}
	if err := json.NewEncoder(conn).Encode(reply); err != nil {
		h.t.Log(err) // the client is gone
	}
}

// Close stops the hub as if it were killed: its files remain.
func (h *Hub) Close() {
	h.mu.Lock()
	closed := h.closed
	h.closed = true
	h.mu.Unlock()
	if closed {
		return
	}
	_ = h.listener.Close()
	h.serving.Wait()
	if err := h.hold.Release(); err != nil {
		h.t.Error(err)
	}
}

// Nothing is an Answer that returns an empty result.
func Nothing(string, json.RawMessage) (any, error) { return struct{}{}, nil }
