package hub

// The hub's socket: requests of other processes on this machine.

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"time"

	"ac/fleet"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/runs/session"
)

// maxRequest is the maximum size of a request line in bytes. It fits an order with its prompt.
const maxRequest = 16 << 20

// openSocket opens the socket and publishes its location in owner.json.
func (h *Hub) openSocket(ctx context.Context) error {
	listener, dir, name, err := session.NewSocket(ctx, h.w.Env.IDs.Hex)
	if err != nil {
		return err
	}
	h.sockets, h.owner.SocketDir, h.owner.Socket = listener, dir, name
	return h.writeOwner()
}

// serveSocket serves connections until the socket is closed.
func (h *Hub) serveSocket() {
	for {
		conn, err := h.sockets.Accept()
		if err != nil {
			return
		}
		h.wg.Go(func() { h.converse(conn) })
	}
}

// converse serves the one request of a connection. It cancels the request when the client
// disconnects.
func (h *Hub) converse(conn net.Conn) {
	ctx, cancel := context.WithCancel(h.ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	defer conn.Close()
	lines := bufio.NewReader(io.LimitReader(conn, maxRequest))
	line, err := lines.ReadBytes('\n')
	if err != nil {
		return
	}
	h.wg.Go(func() { // ends with the connection
		if _, err := lines.ReadByte(); err != nil {
			cancel()
		}
	})
	reply := fleet.HubReply{}
	result, err := h.ask(ctx, line)
	if picked, ok := result.(fleet.PickResult); ok && picked.Hold != "" {
		defer h.releaseHold(picked.Hold)
		defer func() { <-ctx.Done() }()
	}
	if err == nil {
		reply.Result, err = json.Marshal(result)
	}
	if err != nil {
		reply = refusal(err)
	}
	text, err := json.Marshal(reply)
	if err == nil {
		_ = durable.WriteAll(conn, append(text, '\n')) // the client may be gone
	}
}

func refusal(err error) fleet.HubReply {
	reply := fleet.HubReply{Error: err.Error(), Reason: string(fault.ReasonOf(err))}
	if e, ok := errors.AsType[*fault.Error](err); ok && e.Data != nil {
		if data, err := json.Marshal(e.Data); err == nil {
			reply.Data = data
		}
	}
	return reply
}

// ask executes a request.
func (h *Hub) ask(ctx context.Context, line []byte) (any, error) {
	var request fleet.HubRequest
	if err := json.Unmarshal(line, &request); err != nil || request.Version != 1 {
		return nil, fault.New(fault.Unsupported, "the hub and this program are of different versions")
	}
	switch request.Verb {
	case fleet.HubPlace:
		return handleVerb(request, func(p fleet.PlaceRequest) (any, error) { return h.place(ctx, p) })
	case fleet.HubPick:
		return handleVerb(request, func(p fleet.PickRequest) (any, error) { return h.pick(ctx, p) })
	case fleet.HubInvite:
		return handleVerb(request, func(p fleet.InviteRequest) (any, error) { return h.invite(ctx, p) })
	case fleet.HubUpdate:
		return handleVerb(request, func(p fleet.UpdateRequest) (any, error) { return h.update(p) })
	case fleet.HubDrain:
		return handleVerb(request, func(p fleet.DrainRequest) (any, error) { return h.drain(p) })
	case fleet.HubRevoke:
		return handleVerb(request, func(p fleet.RevokeRequest) (any, error) { return h.revoke(ctx, p) })
	case fleet.HubConfig:
		return handleVerb(request, func(p fleet.ConfigRequest) (any, error) { return h.change(p.Settings) })
	case fleet.HubAbandon:
		return handleVerb(request, func(p fleet.AbandonRequest) (any, error) { return struct{}{}, h.abandon(ctx, p) })
	case fleet.HubProbe:
		return handleVerb(request, func(p fleet.ProbeRequest) (any, error) { return h.probe(ctx, p) })
	case fleet.HubStatus:
		return h.status(ctx), nil
	case fleet.HubWorkers:
		return h.rows(), nil
	case fleet.HubStop:
		h.once.Do(func() { close(h.stop) })
		return struct{}{}, nil
	}
	return nil, fault.New(fault.Unsupported, "the hub does not know %s", request.Verb)
}

func handleVerb[P any](request fleet.HubRequest, do func(P) (any, error)) (any, error) {
	var p P
	if err := json.Unmarshal(request.Params, &p); err != nil {
		return nil, fault.New(fault.InvalidParams, "the request is not understood: %w", err)
	}
	return do(p)
}

// probe asks a worker what its agent for a provider can do.
func (h *Hub) probe(ctx context.Context, p fleet.ProbeRequest) (json.RawMessage, error) {
	h.mu.Lock()
	w, err := h.find(p.WorkerID)
	if err != nil {
		h.mu.Unlock()
		return nil, err
	}
	id := w.record.ID
	h.mu.Unlock()
	return h.probeWorker(ctx, id, fleet.Probe{Provider: p.Provider}, tellWithin)
}

// probeWorker returns a worker's reply to a probe.
func (h *Hub) probeWorker(ctx context.Context, worker string, probe fleet.Probe, within time.Duration) (json.RawMessage, error) {
	params, err := json.Marshal(probe)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, within, fault.New(fleet.WorkerUnreachable, "the worker has not answered within %s", within))
	defer cancel()
	reply, err := h.tell(ctx, worker, "", fleet.TellProbe, params)
	return reply.Result, err
}
