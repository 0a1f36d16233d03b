package lane

// Waiting: one watcher a process for all its tickets, while there are any. It
// notices grants by other processes through file events, or by polling where
// these do not work, and dead processes and the ends of cooldowns by polling.

import (
	"context"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// lookEvery is the polling interval of a process with waiting launches.
	lookEvery = 500 * time.Millisecond
	// unwatchedEvery is the polling interval where files cannot be watched.
	unwatchedEvery = 20 * time.Millisecond
)

// watch watches the tickets of this process's waiting launches.
type watch struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
	notify *fsnotify.Watcher // nil where files cannot be watched
}

// join registers a waiting launch. wake fires when its ticket, or anything that
// may concern it, has changed. stop unregisters it; the last one ends the
// watch.
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
		_ = l.watch.notify.Remove(l.file(name)) // usually removed with the ticket
	}
	l.mu.Unlock()
	if last != nil {
		last.cancel()
		last.done.Wait()
	}
}

// file is the path of a ticket for the watcher.
func (l *Lane) file(name string) string {
	return filepath.Join(l.w.Dir(), filepath.FromSlash(name))
}

// wake wakes one waiting launch of this process.
func (l *Lane) wake(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.waiters[name] <- struct{}{}:
	default: // of another process, or already woken
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

// newWatch makes the watch. The caller holds l.mu.
func (l *Lane) newWatch() *watch {
	ctx, cancel := context.WithCancel(context.Background())
	w := &watch{cancel: cancel}
	if st, err := l.w.FS.Lstat(dir); err == nil && st.IsDir() { // not a symlink
		w.notify, _ = fsnotify.NewWatcher() // nil: polling does
	}
	notify := w.notify
	w.done.Go(func() { l.follow(ctx, notify) })
	return w
}

func (w *watch) add(l *Lane, name string) {
	if w.notify != nil && w.notify.Add(l.file(name)) != nil {
		// If a ticket cannot be watched, poll for all of them.
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
			if !ok { // closed: polling does
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

// nextLook is when to poll again: after every, or when a cooldown ends.
func (l *Lane) nextLook(every time.Duration) time.Duration {
	cooldowns, _ := l.readCooldowns() // none if they cannot be read
	now := l.w.Env.Clock.Now().UnixMilli()
	for _, c := range cooldowns {
		if c.active(now) {
			every = min(every, time.Duration(c.UntilMS-now)*time.Millisecond)
		}
	}
	return max(every, time.Millisecond)
}

// lookAround grants what a dead process, or an expired cooldown, made room for.
func (l *Lane) lookAround(ctx context.Context) {
	unlock, err := l.lock.Lock(ctx)
	if err != nil {
		return // the context has ended
	}
	_ = l.regrant() // the next look tries again
	_ = unlock()
}
