package lane

// Waiting: one watch a process on the tickets of its launches, while there are
// any. Grants of other processes are noticed by the system's file events, and
// by looking where these don't work; the dead, and the ends of cooldowns, by
// looking.

import (
	"context"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// lookEvery is how often a process with waiting launches looks for the dead.
	lookEvery = 500 * time.Millisecond
	// unwatchedEvery is the same where files cannot be watched.
	unwatchedEvery = 20 * time.Millisecond
)

// watch follows the tickets of the waiting launches of this process.
type watch struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
	notify *fsnotify.Watcher // nil where files cannot be watched
}

// join registers a waiting launch: wake tells when its ticket, or anything that
// may concern it, has changed. stop ends that, and the watch with its last
// launch.
func (l *Lane) join(name string) (wake <-chan struct{}, stop func()) {
	woken := make(chan struct{}, 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiters[name] = woken
	if l.watch == nil {
		l.watch = l.newWatch()
	}
	l.watch.add(l, name)
	return woken, func() { l.part(name) }
}

func (l *Lane) part(name string) {
	l.mu.Lock()
	delete(l.waiters, name)
	var last *watch
	if len(l.waiters) == 0 {
		last, l.watch = l.watch, nil
	} else if l.watch.notify != nil {
		_ = l.watch.notify.Remove(l.file(name)) // gone with the ticket, usually
	}
	l.mu.Unlock()
	if last != nil {
		last.cancel()
		last.done.Wait()
	}
}

// file is the path of a ticket for the system's watches.
func (l *Lane) file(name string) string {
	return filepath.Join(l.w.Dir(), filepath.FromSlash(name))
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

// newWatch runs with the lane's state locked.
func (l *Lane) newWatch() *watch {
	ctx, cancel := context.WithCancel(context.Background())
	w := &watch{cancel: cancel}
	if st, err := l.w.FS.Lstat(dir); err == nil && st.IsDir() { // no link leads away
		w.notify, _ = fsnotify.NewWatcher() // nil: looking serves
	}
	notify := w.notify
	w.done.Go(func() { l.follow(ctx, notify) })
	return w
}

func (w *watch) add(l *Lane, name string) {
	if w.notify != nil && w.notify.Add(l.file(name)) != nil {
		// A launch that cannot be watched is looked at with the others.
		_ = w.notify.Close()
		w.notify = nil
	}
}

// follow wakes launches until the context ends.
func (l *Lane) follow(ctx context.Context, notify *fsnotify.Watcher) {
	every := unwatchedEvery
	var changes <-chan fsnotify.Event
	var faults <-chan error
	if notify != nil {
		defer notify.Close()
		changes, faults, every = notify.Events, notify.Errors, lookEvery
	}
	looked := l.w.Env.Clock.Now()
	timer := time.NewTimer(l.nextLook(every))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case change, ok := <-changes:
			if !ok { // given up: looking serves
				changes, every = nil, unwatchedEvery
				timer.Reset(every)
				continue
			}
			l.wake(dir + "/" + filepath.Base(change.Name))
		case _, ok := <-faults: // events were lost
			if !ok {
				faults = nil
				continue
			}
			l.wakeAll()
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
