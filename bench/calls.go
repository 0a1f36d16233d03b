package main

// The transport: first answer, single calls, pipelined calls, one-shot calls.

import (
	"context"
	"errors"
	"os/exec"
	"time"
)

// pingLine is the smallest request.
const pingLine = `{"jsonrpc":"2.0","id":1,"method":"system.ping"}` + "\n"

// spawnTrue times the bare start and end of a process.
func spawnTrue(ctx context.Context) (samples, error) {
	return repeat(30, func() error { return exec.CommandContext(ctx, "true").Run() })
}

// firstAnswer times processes from the start to the first answer.
func firstAnswer(ctx context.Context, program string, args ...string) (samples, error) {
	var all samples
	for range 30 {
		began := time.Now()
		c, err := spawn(ctx, program, args...)
		if err != nil {
			return nil, err
		}
		err = c.ask([]byte(pingLine))
		all = append(all, time.Since(began))
		if err = errors.Join(err, c.close()); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func measureStart(ctx context.Context, b *bench) ([]figure, error) {
	bare, err := firstAnswer(ctx, "cat")
	if err != nil {
		return nil, err
	}
	seen, err := firstAnswer(ctx, b.program, "server:start")
	if err != nil {
		return nil, err
	}
	return []figure{{
		Name: "first answer after spawn", Unit: "ms", Seen: ms(seen.median()), Target: 8,
		Limit: ms(bare.median()), By: "cat", Note: seen.spread(),
	}}, nil
}

// roundTrips times n single requests and their answers.
func roundTrips(c *child, n int) (samples, error) {
	line := []byte(pingLine)
	if err := c.flood(line, 2000); err != nil { // warm
		return nil, err
	}
	return repeat(n, func() error { return c.ask(line) })
}

func measureCall(ctx context.Context, b *bench) ([]figure, error) {
	timeOf := func(program string, args ...string) (samples, error) {
		c, err := spawn(ctx, program, args...)
		if err != nil {
			return nil, err
		}
		all, err := roundTrips(c, 20_000)
		return all, errors.Join(err, c.close())
	}
	bare, err := timeOf("cat")
	if err != nil {
		return nil, err
	}
	seen, err := timeOf(b.program, "server:start")
	if err != nil {
		return nil, err
	}
	return []figure{{
		Name: "trivial call", Unit: "us", Seen: us(seen.median()), Target: 15,
		Limit: us(bare.median()), By: "pipe round trip through cat", Note: seen.spread(),
	}}, nil
}

func measurePipeline(ctx context.Context, b *bench) ([]figure, error) {
	const n = 400_000
	rateOf := func(program string, args ...string) (float64, error) {
		c, err := spawn(ctx, program, args...)
		if err != nil {
			return 0, err
		}
		err = c.flood([]byte(pingLine), n/20) // warm
		began := time.Now()
		err = errors.Join(err, c.flood([]byte(pingLine), n))
		seen := rate(n, time.Since(began))
		return seen, errors.Join(err, c.close())
	}
	bare, err := rateOf("cat")
	if err != nil {
		return nil, err
	}
	seen, err := rateOf(b.program, "server:start")
	if err != nil {
		return nil, err
	}
	small, err := pipelinedLists(ctx, b)
	return []figure{
		{Name: "pipelined trivial calls", Unit: "/s", Seen: seen, Target: 200_000, AtLeast: true, Limit: bare, By: "the same lines through cat"},
		{
			Name: "2,000 pipelined small requests", Unit: "ms", Seen: ms(small.median()), Target: 300,
			Limit: ms(time.Duration(2000 / bare * float64(time.Second))), By: "as many lines through cat", Note: "workspace.teams.list; " + small.spread(),
		},
	}, err
}

// pipelinedLists times 2,000 requests that read documents.
func pipelinedLists(ctx context.Context, b *bench) (samples, error) {
	dir := b.path("small")
	if err := b.fixture(ctx, dir, size{teams: 5, agents: 10}); err != nil {
		return nil, err
	}
	if err := age(ctx); err != nil {
		return nil, err
	}
	c, err := b.serve(ctx)
	if err != nil {
		return nil, err
	}
	line, err := c.request("workspace.teams.list", map[string]any{"workspace_dir": dir})
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	all, err := repeat(5, func() error { return c.flood(line, 2000) })
	return all, errors.Join(err, c.close())
}

func measureOneShot(ctx context.Context, b *bench) ([]figure, error) {
	dir := b.path("oneshot")
	if err := b.fixture(ctx, dir, size{teams: 5, agents: 10}); err != nil {
		return nil, err
	}
	bare, err := spawnTrue(ctx)
	if err != nil {
		return nil, err
	}
	seen, err := repeat(30, func() error {
		return exec.CommandContext(ctx, b.program, "rpc:call", "--method", "workspace.teams.list", "--params", `{"workspace_dir":"`+dir+`"}`).Run()
	})
	return []figure{{
		Name: "rpc:call, one shot", Unit: "ms", Seen: ms(seen.median()), Target: 20,
		Limit: ms(bare.median()), By: "spawn of true", Note: seen.spread(),
	}}, err
}
