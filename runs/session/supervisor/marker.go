package supervisor

// The stop marker: a file that asks for a stop when the socket cannot be reached.

import (
	"context"
	"path"
	"path/filepath"
	"time"

	"ac/internal/watch"
	"ac/runs/session"
	"ac/workspace"
)

// How often the marker is looked for: where its folder is watched, only in case a
// notice was lost. Linux lets a user watch with 128 processes or so at once, so that of
// more live sessions than that some look.
const (
	markerEvery   = time.Second
	markerWatched = 30 * time.Second
)

// watchMarker asks for a stop when the marker appears while the provider runs. The function
// that it returns ends the watch. close waits for that: the kernel takes some 20 ms to let go
// of a watched folder, for which no end of a session has to wait.
func (s *supervisor) watchMarker(ctx context.Context) (done func()) {
	marker := path.Join(workspace.ProjectDir(s.order.ProjectID), session.StopMarker(s.order.RunID))
	folder := watch.Folder{
		Dir: filepath.Join(s.w.Dir(), filepath.FromSlash(path.Dir(marker))), Name: path.Base(marker), Made: true,
		Often: markerEvery, Seldom: markerWatched,
	}
	ctx, cancel := context.WithCancel(ctx)
	s.watching.Go(func() {
		if folder.Until(ctx, func() bool { return s.w.Exists(marker) }) && ctx.Err() == nil {
			s.requestStop(true)
		}
	})
	return cancel
}
