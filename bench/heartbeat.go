package main

// The heartbeat: the duration of a tick, and the cost of observed workspaces while nothing happens.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

func measureHeartbeat(ctx context.Context, b *bench) (found []figure, err error) {
	dir := b.path("beating")
	if err := b.fixture(ctx, dir, size{teams: 10, agents: 200, projects: 1, runs: 2000}); err != nil {
		return nil, err
	}
	if err := age(ctx); err != nil {
		return nil, err
	}
	c, err := b.serve(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	in := map[string]any{"workspace_dir": dir}
	var first time.Duration
	var decided samples
	for i := range 12 {
		began := time.Now()
		if err := c.call("heartbeat.tick", in, nil); err != nil {
			return nil, err
		}
		if took := time.Since(began); i == 0 {
			first = took // builds the index
		} else {
			decided = append(decided, took)
		}
	}
	found = []figure{{
		Name: "tick over 200 workers and 2,000 runs", Unit: "ms", Seen: ms(decided.quantile(0.5)), Target: 50,
		Note: fmt.Sprintf("with its writes; the first, which builds the index, %.0f ms", ms(first)),
	}}
	idle, err := b.idleObserved(ctx)
	return slices.Concat(found, idle), err
}

// idleObserved counts the context switches of an idle server that observes ten workspaces.
func (b *bench) idleObserved(ctx context.Context) (found []figure, err error) {
	c, err := b.serve(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	for i := range 10 {
		dir := b.path(fmt.Sprintf("observed-%d", i))
		if err := b.fixture(ctx, dir, size{agents: 2}); err != nil {
			return nil, err
		}
		if err := c.call("heartbeat.status", map[string]any{"workspace_dir": dir}, nil); err != nil {
			return nil, err
		}
	}
	if err := age(ctx); err != nil { // wait until it is idle
		return nil, err
	}
	woken, err := switchesIn(ctx, c.cmd.Process.Pid, 5*time.Second)
	return []figure{{
		Name: "idle server with ten heartbeats, switches in 5 s", Unit: "", Seen: woken, Zero: true, Note: "context switches of all threads",
	}}, err
}
