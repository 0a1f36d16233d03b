package lane

// Waiting: while a process has waiting launches, it runs one watcher for all their tickets. The
// watcher notices grants by other processes through file events, or by polling where these do
// not work. It always polls for dead processes and expired cooldowns.

import (
	"context"
	"path"
	"path/filepath"
	"sync"
	"time"

	"ac/internal/watch"
)

const (
	// lookEvery is the polling interval of a process with waiting launches.
	lookEvery = 500 * time.Millisecond
	// unwatchedEvery is the polling interval if files cannot be watched.
	unwatchedEvery = 20 * time.Millisecond
)

// watcher watches the tickets of this process's waiting launches.
type watcher struct {
	cancel    context.CancelFunc
	done      sync.WaitGroup
	tree      *watch.Tree
	listener  *watch.Listener // nil if files cannot be watched
	unwatched chan struct{}   // closed when a ticket is not watched
}

// join registers a waiting launch. wake fires when its ticket changed, and on any event that may
// concern the launch. stop unregisters the launch. Stopping the last one ends the watcher.
func (l *Lane) join(name string) (wake <-chan struct{}, stop func()) {
	woken := make(chan struct{}, 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiters[name] = woken
	if l.watcher == nil {
		l.watcher = l.wait()
	}
	l.watcher.add(name)
	return woken, func() { l.part(name) }
}

func (l *Lane) part(name string) {
	l.mu.Lock()
	delete(l.waiters, name)
	var last *watcher
	if len(l.waiters) == 0 {
		last, l.watcher = l.watcher, nil
	} else if l.watcher.listener != nil {
		l.watcher.listener.Forget(path.Base(name))
	}
	l.mu.Unlock()
	if last != nil {
		last.cancel()
		last.done.Wait()
	}
}

// wake wakes a waiting launch of this process, if it is one.
func (l *Lane) wake(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.waiters[name] <- struct{}{}:
	default: // not of this process, or already woken
	}
}

func (l *Lane) wakeAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, woken := range l.waiters {
		select {
		case woken <- struct{}{}:
		default:
		}
	}
}

// wait starts the watcher. The caller holds l.mu.
func (l *Lane) wait() *watcher {
	ctx, cancel := context.WithCancel(context.Background())
	w := &watcher{
		cancel: cancel, unwatched: make(chan struct{}),
		tree: watch.NewSmallTree(filepath.Join(l.w.Dir(), filepath.FromSlash(dir))),
	}
	if st, err := l.w.FS.Lstat(dir); err == nil && st.IsDir() { // not a symlink
		w.listener, _ = w.tree.Listen() // if nil, the watcher polls
	}
	if w.listener == nil {
		close(w.unwatched)
	}
	heard := w.listener
	w.done.Go(func() {
		l.follow(ctx, heard, w.unwatched)
		_ = w.tree.Close() // no state is lost
	})
	return w
}

// add watches a ticket. If one ticket cannot be watched, the watcher polls for all.
func (w *watcher) add(name string) {
	if w.listener != nil && w.listener.AddFile(path.Base(name)) != nil {
		close(w.unwatched)
		w.listener = nil
	}
}

// follow wakes launches until ctx ends.
func (l *Lane) follow(ctx context.Context, heard *watch.Listener, unheard <-chan struct{}) {
	every := lookEvery
	var changed <-chan struct{}
	if heard != nil {
		changed = heard.Changed()
	}
	looked := l.w.Env.Clock.Now()
	timer := time.NewTimer(l.nextPoll(every))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-unheard:
			changed, unheard, every = nil, nil, unwatchedEvery
			timer.Reset(every)
		case <-changed:
			l.handleChanges(heard)
		case <-timer.C:
			if l.w.Env.Clock.Since(looked) >= lookEvery || every == lookEvery {
				l.poll(ctx)
				looked = l.w.Env.Clock.Now()
			}
			l.wakeAll()
			timer.Reset(l.nextPoll(every))
		}
	}
}

// handleChanges wakes the launches whose tickets changed.
func (l *Lane) handleChanges(heard *watch.Listener) {
	changes, lost := heard.Take()
	if lost {
		l.wakeAll()
	}
	for _, change := range changes {
		l.wake(dir + "/" + change.Name)
	}
}

// nextPoll returns the time until the next poll: every, or less if a cooldown ends sooner.
func (l *Lane) nextPoll(every time.Duration) time.Duration {
	cooldowns, _ := l.readCooldowns() // unreadable cooldowns count as none
	now := l.w.Env.Clock.Now().UnixMilli()
	for _, c := range cooldowns {
		if c.active(now) {
			every = min(every, time.Duration(c.UntilMS-now)*time.Millisecond)
		}
	}
	return max(every, time.Millisecond)
}

// poll grants launches into slots freed by dead processes or expired cooldowns.
func (l *Lane) poll(ctx context.Context) {
	unlock, err := l.lock.Lock(ctx)
	if err != nil {
		return // the context has ended
	}
	_ = l.regrant() // the next poll retries
	_ = unlock()
}
