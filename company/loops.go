package company

// The heartbeats of the observed workspaces in this process.

import (
	"context"
	"sync/atomic"
	"time"

	"ac/heartbeat"
	"ac/index"
	"ac/workspace"
)

// Jobs returns the launcher that heartbeats submit jobs with.
func (cs *Host) Jobs() heartbeat.Launcher {
	return heartbeat.Launcher{Starter: cs.runners, Launched: func(w *workspace.Workspace, project, id string) { cs.remember(w.Dir(), project, id) }}
}

// Loop returns the heartbeat of a workspace in this process, nil during shutdown.
func (cs *Host) Loop(dir string) *heartbeat.Loop {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.loops == nil {
		return nil
	}
	l := cs.loops[dir]
	if l == nil {
		l = heartbeat.NewLoop(heartbeat.Options{
			Clock: cs.env.Clock, Dir: dir, Jobs: cs.Jobs(),
			Open: func(ctx context.Context) (*workspace.Workspace, *index.Index, error) {
				w, err := cs.In(dir).workspace(ctx)
				if err != nil {
					return nil, nil, err
				}
				return w, cs.indexOf(w), nil
			},
		})
		cs.loops[dir] = l
	}
	return l
}

// closeLoops ends all heartbeats for good.
func (cs *Host) closeLoops() {
	cs.mu.Lock()
	loops := cs.loops
	cs.loops = nil
	cs.mu.Unlock()
	for _, l := range loops {
		l.Close()
	}
}

// sighting records when a workspace was last observed under one spelling of its path, in
// milliseconds of the monotonic clock.
type sighting struct{ at atomic.Int64 }

const (
	// observeEvery is the minimum time between two checks of a workspace that requests name
	// repeatedly.
	observeEvery = time.Second
	// maxSightings bounds the number of remembered spellings.
	maxSightings = 4096
)

// Observe records that a request named a directory, or that something happened there. In a
// long-lived process, the workspace's heartbeat ticks from then on. Observe is cheap: it checks a
// directory at most once a second.
func (cs *Host) Observe(dir string) {
	if cs.hub == nil || dir == "" {
		return
	}
	now := cs.env.Clock.MonotonicMS()
	cs.mu.Lock()
	seen := cs.sightings[dir]
	cs.mu.Unlock()
	if seen != nil {
		if last := seen.at.Load(); now-last < observeEvery.Milliseconds() || !seen.at.CompareAndSwap(last, now) {
			return
		}
	}
	c := cs.In(dir)
	w, err := c.workspace(cs.ctx)
	if err != nil {
		return // not a workspace: nothing to observe
	}
	if seen == nil {
		cs.noticeWorkspace(dir, now)
	}
	if l := cs.Loop(c.dir); l != nil {
		l.Observe(w)
	}
}

func (cs *Host) noticeWorkspace(dir string, now int64) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if len(cs.sightings) >= maxSightings {
		clear(cs.sightings)
	}
	seen := &sighting{}
	seen.at.Store(now)
	cs.sightings[dir] = seen
}
