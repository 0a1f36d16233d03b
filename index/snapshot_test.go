package index

import (
	"context"

	"ac/internal/fault"
)

// look ensures a freshness and reads. An index that turns out to be spoilt while it is
// read is built anew, and fn is called once more.
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
