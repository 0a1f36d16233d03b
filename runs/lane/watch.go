package lane

// Waiting: one watch a process on the tickets of its launches, while there are
// any. Grants of other processes are noticed by the system's file events, and
// by looking where these don't work; the dead, and the ends of cooldowns, by
// looking.

import (
	"context"
	"path"
	"path/filepath"
	"sync"
	"time"

	"ac/internal/watch"
)

const (
	// lookEvery is how often a process with waiting launches looks for the dead.
	lookEvery = 500 * time.Millisecond
	// unwatchedEvery is the same where files cannot be watched.
	unwatchedEvery = 20 * time.Millisecond
)

// waiting follows the tickets of the waiting launches of this process.
type waiting struct {
	cancel  context.CancelFunc
	done    sync.WaitGroup
	tree    *watch.Tree
	heard   *watch.Listener // nil where files cannot be watched
	unheard chan struct{}   // closed when some ticket is not watched
}

// join registers a waiting launch: wake tells when its ticket, or anything that
// may concern it, has changed. stop ends that, and the watch with its last
// launch.
func (l *Lane) join(name string) (wake <-chan struct{}, stop func()) {
	woken := make(chan struct{}, 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiters[name] = woken
	if l.waiting == nil {
		l.waiting = l.wait()
	}
	l.waiting.add(name)
	return woken, func() { l.part(name) }
}

func (l *Lane) part(name string) {
	l.mu.Lock()
	delete(l.waiters, name)
	var last *waiting
	if len(l.waiters) == 0 {
		last, l.waiting = l.waiting, nil
	} else if l.waiting.heard != nil {
		l.waiting.heard.Forget(path.Base(name))
	}
	l.mu.Unlock()
	if last != nil {
		last.cancel()
		last.done.Wait()
	}
}

// wake tells one waiting launch of this process to look at its ticket.
func (l *Lane) wake(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.waiters[name] <- struct{}{}:
	default: // of another process, or told already
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

// wait begins to follow; the lane's state is locked.
func (l *Lane) wait() *waiting {
	ctx, cancel := context.WithCancel(context.Background())
	w := &waiting{
		cancel: cancel, unheard: make(chan struct{}),
		tree: watch.NewSmallTree(filepath.Join(l.w.Dir(), filepath.FromSlash(dir))),
	}
	if st, err := l.w.FS.Lstat(dir); err == nil && st.IsDir() { // no link leads away
		w.heard, _ = w.tree.Listen() // nil: looking serves
	}
	if w.heard == nil {
		close(w.unheard)
	}
	heard := w.heard
	w.done.Go(func() {
		l.follow(ctx, heard, w.unheard)
		_ = w.tree.Close() // nothing of it is kept
	})
	return w
}

// add watches a ticket. One that cannot be watched is looked at with all others.
func (w *waiting) add(name string) {
	if w.heard != nil && w.heard.AddFile(path.Base(name)) != nil {
		close(w.unheard)
		w.heard = nil
	}
}

// follow wakes launches until the context ends.
func (l *Lane) follow(ctx context.Context, heard *watch.Listener, unheard <-chan struct{}) {
	every := lookEvery
	var changed <-chan struct{}
	if heard != nil {
		changed = heard.Changed()
	}
	looked := l.w.Env.Clock.Now()
	timer := time.NewTimer(l.nextLook(every))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-unheard:
			changed, unheard, every = nil, nil, unwatchedEvery
			timer.Reset(every)
		case <-changed:
			l.heed(heard)
		case <-timer.C:
			if l.w.Env.Clock.Since(looked) >= lookEvery || every == lookEvery {
				l.lookAround(ctx)
				looked = l.w.Env.Clock.Now()
			}
			l.wakeAll()
			timer.Reset(l.nextLook(every))
		}
	}
}

// heed wakes the launches whose tickets changed.
func (l *Lane) heed(heard *watch.Listener) {
	changes, lost := heard.Take()
	if lost {
		l.wakeAll()
	}
	for _, change := range changes {
		l.wake(dir + "/" + change.Name)
	}
}

// nextLook is when to look again: in a while, or as soon as a cooldown ends.
func (l *Lane) nextLook(every time.Duration) time.Duration {
	cooldowns, _ := l.readCooldowns() // none when they cannot be read
	now := l.w.Env.Clock.Now().UnixMilli()
	for _, c := range cooldowns {
		if c.active(now) {
			every = min(every, time.Duration(c.UntilMS-now)*time.Millisecond)
		}
	}
	return max(every, time.Millisecond)
}

// lookAround grants what the death of a process, or time, has made room for.
func (l *Lane) lookAround(ctx context.Context) {
	unlock, err := l.lock.Lock(ctx)
	if err != nil {
		return // ended
	}
	_ = l.regrant() // the next look tries again
	_ = unlock()
}
