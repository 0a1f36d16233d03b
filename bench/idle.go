package main

// The server without requests.

import (
	"context"
	"errors"
	"time"
)

func measureIdle(ctx context.Context, b *bench) (found []figure, err error) {
	dir, project, err := b.workplace(ctx, "idle")
	if err != nil {
		return nil, err
	}
	c, err := b.serve(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	in := map[string]any{"workspace_dir": dir}
	err = errors.Join(
		c.call("events.subscribe", in, nil), c.call("workspace.open", in, nil),
		c.call("workspace.projects.list", in, nil), c.call("workspace.agents.list", in, nil),
	)
	if err != nil {
		return nil, err
	}
	if _, err := c.newRun(dir, project); err != nil {
		return nil, err
	}
	if err := age(ctx); err != nil { // wait until it is idle
		return nil, err
	}
	const span = 5 * time.Second
	woken, err := switchesIn(ctx, c.cmd.Process.Pid, span)
	if err != nil {
		return nil, err
	}
	m, err := memoryOf(c.cmd.Process.Pid)
	return []figure{
		{Name: "idle server, RSS", Unit: "MB", Seen: m.resident, Target: 25, Note: "after some requests, with a subscription"},
		{Name: "idle server, switches in 5 s", Unit: "", Seen: woken, Zero: true, Note: "context switches of all threads"},
	}, err
}
