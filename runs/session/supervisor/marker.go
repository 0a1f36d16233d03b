package supervisor

// The stop marker: a file that requests a stop if the socket is unreachable.

import (
	"context"
	"path"
	"path/filepath"
	"time"

	"ac/internal/watch"
	"ac/runs/session"
	"ac/workspace"
)

// Polling intervals for the marker. markerWatched applies where the folder is watched, as a
// safety net for lost notifications. Linux limits watches to about 128 processes per user, so
// further live sessions poll.
const (
	markerEvery   = time.Second
	markerWatched = 30 * time.Second
)

// watchMarker requests a stop if the marker appears while the provider runs. The returned
// function cancels the watch without waiting for it, because the kernel takes about 20 ms to
// release a watched folder. supervisor.close waits for it, after the end is recorded.
func (s *supervisor) watchMarker(ctx context.Context) (done func()) {
	marker := path.Join(workspace.ProjectDir(s.order.ProjectID), session.StopMarker(s.order.RunID))
	folder := watch.Folder{
		Dir: filepath.Join(s.w.Dir(), filepath.FromSlash(path.Dir(marker))), Name: path.Base(marker), OnlyNew: true,
		PollUnwatched: markerEvery, PollWatched: markerWatched,
	}
	ctx, cancel := context.WithCancel(ctx)
	s.watching.Go(func() {
		if folder.Until(ctx, func() bool { return s.w.Exists(marker) }) && ctx.Err() == nil {
			s.requestStop(true)
		}
	})
	return cancel
}
