package index

import (
	"context"

	"ac/internal/fault"
)

// look ensures a freshness and reads. If the index turns out to be damaged during the read,
// look rebuilds it and calls fn once more.
func look(ctx context.Context, ix *Index, asked Freshness, fn func(*View) error) (EnsureResult, error) {
	done, err := ix.Ensure(ctx, asked)
	if err != nil {
		return done, err
	}
	if err = ix.ViewOf(ctx, done, fn); !fault.Is(err, fault.NoIndex) {
		return done, err
	}
	if done, err = ix.Ensure(ctx, FullRebuild); err != nil {
		return done, err
	}
	return done, ix.ViewOf(ctx, done, fn)
}
