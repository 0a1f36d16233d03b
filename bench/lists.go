package main

import (
	"context"
	"fmt"
	"time"
)

// psRounds is the number of ac ps calls, each after a bare start.
const psRounds = 60

// measureLists times ac ps of 2,000 runs, beyond a start that only prints the version. Processes of
// both alternate, so that other load affects both.
func measureLists(ctx context.Context, b *bench) ([]figure, error) {
	const runs = 2000
	dir := b.path("lists")
	if err := b.fixture(ctx, dir, size{teams: 2, agents: 6, projects: 1, runs: runs}); err != nil {
		return nil, err
	}
	if err := age(ctx); err != nil {
		return nil, err
	}
	ps := []string{"ps", "-C", dir}
	for range 2 { // builds the index and fills the caches
		if _, err := b.run(ctx, ps...); err != nil {
			return nil, err
		}
	}
	var bare, listed, more samples
	for range psRounds {
		start, err := b.run(ctx, "--version")
		if err != nil {
			return nil, err
		}
		took, err := b.run(ctx, ps...)
		if err != nil {
			return nil, err
		}
		bare, listed, more = append(bare, start), append(listed, took), append(more, max(0, took-start))
	}
	return []figure{{
		Name: fmt.Sprintf("ac ps of %d runs, beyond ac --version", runs), Unit: "ms", Seen: ms(more.median()), Target: ms(15 * time.Millisecond),
		Note: fmt.Sprintf("%s; whole %s; bare %s", more.spread(), listed.spread(), bare.spread()),
	}}, nil
}
