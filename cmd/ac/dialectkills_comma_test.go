//go:build unix

package main

// The comma client of TestKilledDialects.

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/coder/websocket"
)

// flows are the runs of the comma client.
type flows struct {
	mu sync.Mutex
	by map[string]*flow
}

// flow records a run.
type flow struct {
	input   string
	started bool   // the server reported its start
	end     string // the reported end, or ""
	stopped bool   // the client stops it once it has started
	heard   int    // number of acknowledgements
}

// commaFrame is a message of the comma daemon.
type commaFrame struct {
	Type      string
	RunID     string `json:"runId"`
	RequestID string `json:"requestId"`
	Code      string
	Message   string
	Result    json.RawMessage
	Error     struct{ Code, Message string }
}

// mostFlows limits the runs per company.
const mostFlows = 8

// flow starts runs and follows each to its end.
func (k *served) flow(ctx context.Context, r *rand.Rand, s *dialectServer) {
	for {
		k.flows.mu.Lock()
		id, f := "", (*flow)(nil)
		for name, known := range k.flows.by { // prefer a run without an end to a new one
			if known.end == "" {
				id, f = name, known
			}
		}
		if f == nil && len(k.flows.by) < mostFlows {
			id, f = fmt.Sprintf("flow-%x", r.Uint64()), &flow{input: word(r), stopped: r.IntN(4) == 0}
			k.flows.by[id] = f
		}
		k.flows.mu.Unlock()
		if f == nil && !k.listFlows(ctx, s) || f != nil && !k.flowTo(ctx, r, s, id, f) {
			return
		}
	}
}

// listFlows lists the runs once. It returns false if the server is gone.
func (k *served) listFlows(ctx context.Context, s *dialectServer) bool {
	conn := dialed(ctx, s.comma)
	if conn == nil {
		return false
	}
	defer func() { _ = conn.CloseNow() }()
	_, ok := k.statusOf(ctx, conn, "none")
	return ok
}

// flowTo prepares, starts or joins a run and follows it to its end. It returns false if the server
// is gone or the test failed.
func (k *served) flowTo(ctx context.Context, r *rand.Rand, s *dialectServer, id string, f *flow) bool {
	conn := dialed(ctx, s.comma)
	if conn == nil {
		return false
	}
	defer func() { _ = conn.CloseNow() }()
	status, ok := k.statusOf(ctx, conn, id)
	switch {
	case !ok:
		return false
	case status == "" && f.started:
		k.t.Errorf("%s was started, and is lost", id)
		return false
	case status == "" || status == "pending":
		if !send(ctx, conn, object{"type": "prepare_run", "requestId": "p", "runId": id, "strategyPath": k.strategy}) {
			return false
		}
		m, ok := receive(ctx, conn, func(m commaFrame) bool { return m.RequestID == "p" })
		if !ok {
			return false
		}
		if m.Type != "run_prepared" {
			k.t.Errorf("%s: %+v", id, m)
			return false
		}
		if !send(ctx, conn, object{"type": "start_run", "requestId": "s", "runId": id, "input": f.input}) {
			return false
		}
	case status == "running":
		f.started = true
		if !send(ctx, conn, object{"type": "subscribe", "requestId": "b", "runId": id}) {
			return false
		}
	default:
		f.end = status
		return true
	}
	return k.follows(ctx, r, conn, id, f)
}

// follows follows a run to its end and answers its permission requests.
func (k *served) follows(ctx context.Context, r *rand.Rand, conn *websocket.Conn, id string, f *flow) bool {
	_, ok := receive(ctx, conn, func(m commaFrame) bool {
		if m.Type == "error" && m.Code == "NO_PENDING_PERMISSION" && f.stopped {
			return false // the stop overtook the decision
		}
		if m.Type == "error" {
			k.t.Errorf("%s (stopped: %t): %+v", id, f.stopped, m)
			return true
		}
		if m.RunID != id {
			return false
		}
		switch m.Type {
		case "strategy_started":
			f.started, f.heard = true, f.heard+1
			if f.stopped {
				return !send(ctx, conn, object{"type": "stop_run", "requestId": "x", "runId": id})
			}
		case "request_permission":
			return !send(ctx, conn, object{
				"type": "permission_decision", "requestId": "d", "runId": id, "permissionRequestId": m.RequestID, "decision": []string{"allow", "deny"}[r.IntN(2)],
			})
		case "strategy_completed":
			f.end, f.heard = "completed", f.heard+1
		case "strategy_error":
			f.end, f.heard = "error", f.heard+1
			if m.Error.Code == "CANCELLED" {
				f.end = "cancelled"
			}
		}
		return f.end != ""
	})
	return ok && !k.t.Failed()
}

// statusOf returns the listed status of a run, "" if it is not listed. It returns false if the
// server is gone.
func (k *served) statusOf(ctx context.Context, conn *websocket.Conn, id string) (status string, ok bool) {
	if !send(ctx, conn, object{"type": "list_strategies", "requestId": "l"}) {
		return "", false
	}
	m, ok := receive(ctx, conn, func(m struct {
		RequestID string `json:"requestId"`
		Runs      []struct{ RunID, Status string }
	},
	) bool {
		return m.RequestID == "l"
	})
	for _, run := range m.Runs {
		if run.RunID == id {
			status = run.Status
		}
	}
	return status, ok
}
