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

// HubAlive reports whether a hub runs for the workspace.
func HubAlive(w *workspace.Workspace) bool {
	busy, err := lock.Busy(w.FS, HubLock())
	return err == nil && busy
}

// CallHub sends a request to the running hub of a workspace. params and result are those of the
// verb; result may be nil. If no hub runs, the error is fault.HubNotRunning. CallHub waits until
// ctx ends, because a hub that waits for a worker replies late. When the connection closes, the
// hub removes the request from its queue.
func CallHub(ctx context.Context, w *workspace.Workspace, verb string, params, result any) error {
	conn, err := dialHub(ctx, w)
	if err != nil {
		return err
	}
	defer conn.Close()
	return askHub(ctx, conn, verb, params, result)
}

// HoldWorker asks the hub to pick a worker and reserves a slot there until release is called or
// this process ends. It returns the same errors as CallHub.
func HoldWorker(ctx context.Context, w *workspace.Workspace, p PickRequest) (picked PickResult, release func(), err error) {
	conn, err := dialHub(ctx, w)
	if err != nil {
		return picked, nil, err
	}
	if err := askHub(ctx, conn, HubPick, p, &picked); err != nil {
		return picked, nil, errors.Join(err, conn.Close())
	}
	return picked, func() { _ = conn.Close() }, nil // nothing reads from it any more
}

// askHub sends a request over conn and decodes its result.
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

// hubPatience is how long a hub that holds its lock may take to open its socket.
const hubPatience = 2 * time.Second

func exchangeHub(ctx context.Context, conn net.Conn, verb string, params any) (reply HubReply, err error) {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) }) // unblocks the read below
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

// dialHub connects to the hub's socket. It retries for hubPatience, because a hub that just
// started may not have opened it yet.
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

// Starter is a runs.Starter for sessions on workers. Here starts a session on this machine when
// the placement is "any" and no slot is free or no hub runs.
type Starter struct {
	Workspace *workspace.Workspace
	Placement Placement
	Priority  string
	// Only is the worker that was picked and Hold its reserved slot; "" for none.
	Only        string
	Hold        string
	LaunchLocal func(ctx context.Context, order session.Order) error
}

// Launch asks the hub to place the order's session. It returns when the provider runs on the
// worker, when the session is over, or shortly after its record was written.
func (s Starter) Launch(ctx context.Context, order session.Order) error {
	order.Version = session.OrderVersion
	var placed PlaceResult
	if err := CallHub(ctx, s.Workspace, HubPlace, PlaceRequest{Order: order, Placement: s.Placement, Priority: s.Priority, Only: s.Only, Hold: s.Hold}, &placed); err != nil {
		if s.Placement.Where == WhereAny && s.LaunchLocal != nil && fault.Is(err, fault.HubNotRunning) {
			return s.LaunchLocal(ctx, order)
		}
		return err
	}
	if placed.Local {
		return s.LaunchLocal(ctx, order)
	}
	return nil
}
