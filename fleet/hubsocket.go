package fleet

// The client of the hub's socket, for other processes on its machine. A request is one line
// of JSON, and so is its reply.

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"time"

	"ac/internal/durable"
	"ac/internal/fault"
	"ac/internal/lock"
	"ac/runs/session"
	"ac/workspace"
)

// HubAlive reports whether the workspace has a running hub.
func HubAlive(w *workspace.Workspace) bool {
	busy, err := lock.Busy(w.FS, HubLock())
	return err == nil && busy
}

// CallHub sends a request to the running hub of a workspace. params and result are those of
// the verb; result may be nil. If no hub runs, the error is fault.HubNotRunning. CallHub
// waits until ctx ends: a hub that waits for a worker replies late. When the connection
// ends, the request leaves the hub's queue.
func CallHub(ctx context.Context, w *workspace.Workspace, verb string, params, result any) error {
	conn, err := dialHub(ctx, w)
	if err != nil {
		return err
	}
	defer conn.Close()
	return askHub(ctx, conn, verb, params, result)
}

// HoldWorker lets the hub pick a worker and holds a slot of it until release is called or
// this process ends. The errors are those of CallHub.
func HoldWorker(ctx context.Context, w *workspace.Workspace, p PickRequest) (picked PickResult, release func(), err error) {
	conn, err := dialHub(ctx, w)
	if err != nil {
		return picked, nil, err
	}
	if err := askHub(ctx, conn, HubPick, p, &picked); err != nil {
		return picked, nil, errors.Join(err, conn.Close())
	}
	return picked, func() { _ = conn.Close() }, nil // nothing is read from it any more
}

// askHub asks on a connection.
func askHub(ctx context.Context, conn net.Conn, verb string, params, result any) error {
	reply, err := exchangeHub(ctx, conn, verb, params)
	if err != nil {
		return err
	}
	if reply.Error != "" || reply.Reason != "" {
		return Reply{Reason: reply.Reason, Error: reply.Error, Data: reply.Data}.Err()
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(reply.Result, result)
}

// hubPatience is how long a hub that has its lock may take until its socket is there.
const hubPatience = 2 * time.Second

func exchangeHub(ctx context.Context, conn net.Conn, verb string, params any) (reply HubReply, err error) {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) }) // ends the read below
	defer stop()
	text, err := json.Marshal(params)
	if err != nil {
		return reply, err
	}
	line, err := json.Marshal(HubRequest{Version: 1, Verb: verb, Params: text})
	if err != nil {
		return reply, err
	}
	if err = durable.WriteAll(conn, append(line, '\n')); err == nil {
		err = json.NewDecoder(bufio.NewReader(conn)).Decode(&reply)
	}
	if err != nil && ctx.Err() != nil {
		return reply, context.Cause(ctx)
	}
	if err != nil {
		return reply, session.HubNotRunning(fmt.Errorf("it ended before it answered: %w", err))
	}
	return reply, nil
}

// dialHub connects to the hub's socket. A hub that just began may not have it yet.
func dialHub(ctx context.Context, w *workspace.Workspace) (net.Conn, error) {
	var dialer net.Dialer
	patience := time.NewTimer(hubPatience)
	defer patience.Stop()
	for late := false; ; {
		if !HubAlive(w) {
			return nil, session.HubNotRunning(nil)
		}
		owner, err := ReadOwner(w.FS)
		if err == nil {
			var file string
			if file, err = session.SocketFile(owner.SocketDir, owner.Socket); err == nil {
				var conn net.Conn
				if conn, err = dialer.DialContext(ctx, "unix", filepath.Clean(file)); err == nil {
					return conn, nil
				}
			}
		}
		if late {
			return nil, session.HubNotRunning(fmt.Errorf("its lock is held, but its socket cannot be reached: %w", err))
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("reach the hub: %w", context.Cause(ctx)), err)
		case <-patience.C:
			late = true
		case <-time.After(hubPatience / 100):
		}
	}
}

// Starter is a runs.Starter for sessions on workers. Here starts a session on this machine,
// for a placement "any" that finds no free slot.
type Starter struct {
	Workspace *workspace.Workspace
	Placement Placement
	Priority  string
	// Only and Hold are the worker that was picked, and its slot; "" for none.
	Only string
	Hold string
	Here func(ctx context.Context, order session.Order) error
}

// Launch lets the hub place the session of an order. It returns when the provider runs on
// the worker, when the session is over, or a moment after its record was written.
func (s Starter) Launch(ctx context.Context, order session.Order) error {
	order.Version = session.OrderVersion
	var placed PlaceResult
	if err := CallHub(ctx, s.Workspace, HubPlace, PlaceRequest{Order: order, Placement: s.Placement, Priority: s.Priority, Only: s.Only, Hold: s.Hold}, &placed); err != nil {
		if s.Placement.Where == WhereAny && s.Here != nil && fault.Is(err, fault.HubNotRunning) {
			return s.Here(ctx, order)
		}
		return err
	}
	if placed.Local {
		return s.Here(ctx, order)
	}
	return nil
}
