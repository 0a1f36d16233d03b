// Package lock provides mutual exclusion between processes: kernel locks (flock) on descriptors
// of our own, which the kernel releases when their holder dies, and the lock file that other
// programs of a workspace know.
//
// Invariants:
//   - A kernel lock counts only while the locked inode is still the file at its
//     name, so the holder may remove the lock file.
//   - A context bounds every wait.
//   - Waiters of one process are served first in, first out; processes take
//     turns.
package lock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"time"

	"ac/internal/durable"
)

// ErrBusy is returned if another process, or another goroutine, holds the lock.
var ErrBusy = errors.New("locked by another process")

// Hold is a lock that is held. It is not safe for concurrent use.
type Hold struct {
	fsys durable.FS
	name string
	file durable.File
}

// Release releases the lock; the lock file stays.
func (h *Hold) Release() error { return Close(h.file) }

// RemoveAndRelease removes the lock file and then releases the lock, for a lock whose object ceases to
// exist. A process that waits on the removed file notices and opens the new one.
func (h *Hold) RemoveAndRelease() error {
	return errors.Join(h.fsys.Remove(h.name), Close(h.file))
}

// Close unlocks a file and closes it. Closing alone is not enough: a forked
// child that has not yet called exec still has the descriptor and would keep
// the lock until it does.
func Close(file durable.File) error { return errors.Join(funlock(file), file.Close()) }

// maxProbeRetries bounds, to about a second, how often Try retries while other processes merely probe the
// lock. A probe holds a shared lock for a moment, and longer only on a busy machine.
const maxProbeRetries = 1000

// Try takes the lock, or returns ErrBusy if it is held. A concurrent Busy does
// not make it fail. It creates the file and its directory.
func Try(fsys durable.FS, name string) (*Hold, error) {
	for attempt := 0; ; attempt++ {
		held, err := tryOnce(fsys, name)
		if !errors.Is(err, ErrBusy) {
			return held, err
		}
		busy, lookErr := Busy(fsys, name)
		if lookErr != nil {
			return nil, lookErr
		}
		if busy && attempt >= maxHeldRetries || attempt >= maxProbeRetries {
			return nil, err
		}
		time.Sleep(time.Duration(min(attempt, maxHeldRetries)) * 200 * time.Microsecond)
	}
}

// maxHeldRetries is how often Try retries a lock that is held, because another Try may hold it only for
// a moment.
const maxHeldRetries = 5

func tryOnce(fsys durable.FS, name string) (*Hold, error) {
	for {
		file, err := open(fsys, name)
		if err != nil {
			return nil, err
		}
		if err := flock(file, false, true); err != nil {
			return nil, errors.Join(err, file.Close())
		}
		mine, err := isCurrent(fsys, name, file)
		if mine {
			return &Hold{fsys: fsys, name: name, file: file}, nil
		}
		if err = errors.Join(err, Close(file)); err != nil {
			return nil, err
		}
	}
}

// Wait takes the lock. It waits in the kernel until the context ends.
func Wait(ctx context.Context, fsys durable.FS, name string) (*Hold, error) {
	for {
		file, err := open(fsys, name)
		if err != nil {
			return nil, err
		}
		if err := File(ctx, file); err != nil {
			return nil, err
		}
		mine, err := isCurrent(fsys, name, file)
		if mine {
			return &Hold{fsys: fsys, name: name, file: file}, nil
		}
		if err = errors.Join(err, Close(file)); err != nil {
			return nil, err
		}
	}
}

// File takes an exclusive kernel lock on an open file; Unlock or Close releases
// it. On failure the file is closed, at the latest when the pending kernel call
// returns.
func File(ctx context.Context, file durable.File) error { return FileOr(ctx, file, file.Close) }

// FileOr is File for a file that is shared with others: on failure it calls
// drop instead of Close, at the latest when the pending kernel call returns.
// The file may be locked when drop is called.
func FileOr(ctx context.Context, file durable.File, drop func() error) error {
	err := flock(file, false, true)
	if err == nil {
		return nil
	}
	if !errors.Is(err, ErrBusy) {
		return errors.Join(err, drop())
	}
	if ctx.Done() == nil {
		if err := flock(file, false, false); err != nil {
			return errors.Join(err, drop())
		}
		return nil
	}
	// A flock in the kernel cannot be canceled. When the context ends, the
	// goroutine remains until the holder releases the lock.
	got := make(chan error, 1)
	go func() { got <- flock(file, false, false) }()
	select {
	case err := <-got:
		if err != nil {
			return errors.Join(err, drop())
		}
		return nil
	case <-ctx.Done():
		go func() {
			<-got      //nolint:errcheck // the result no longer matters
			_ = drop() // nothing was written through it
		}()
		return context.Cause(ctx)
	}
}

// Unlock releases the kernel lock of an open file and keeps the file open.
func Unlock(file durable.File) error { return funlock(file) }

// Busy reports whether the lock is held. A missing file is not held.
func Busy(fsys durable.FS, name string) (bool, error) {
	file, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = flock(file, true, true)
	if errors.Is(err, ErrBusy) {
		return true, file.Close()
	}
	if err != nil {
		return false, errors.Join(err, file.Close())
	}
	return false, Close(file)
}

func open(fsys durable.FS, name string) (durable.File, error) {
	file, err := fsys.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if !errors.Is(err, os.ErrNotExist) {
		return file, err
	}
	if err := durable.MkdirAll(fsys, path.Dir(name), 0o755); err != nil {
		return nil, err
	}
	return fsys.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
}

// isCurrent reports whether the locked file is still the one at its name.
func isCurrent(fsys durable.FS, name string, file durable.File) (bool, error) {
	mine, err := file.Stat()
	if err != nil {
		return false, err
	}
	there, err := fsys.Stat(name)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil && durable.SameFile(mine, there), err
}

// Mutex is a lock on one name, fair between the goroutines of a process and
// between processes. A second lock file is a turnstile that every waiter
// passes, so that a process that has just released the lock queues at the end.
type Mutex struct {
	fsys  durable.FS
	name  string
	queue chan struct{}
}

// NewMutex returns the mutex of a lock file. A process must create only one for each file.
func NewMutex(fsys durable.FS, name string) *Mutex {
	return &Mutex{fsys: fsys, name: name, queue: make(chan struct{}, 1)}
}

// Lock waits until the lock is held or the context ends. The caller must call
// the returned function exactly once.
func (m *Mutex) Lock(ctx context.Context) (unlock func() error, err error) {
	select {
	case m.queue <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	held, err := m.acquire(ctx)
	if err != nil {
		<-m.queue
		return nil, err
	}
	return func() error {
		err := held.Release()
		<-m.queue
		return err
	}, nil
}

func (m *Mutex) acquire(ctx context.Context) (*Hold, error) {
	turnstile, err := Wait(ctx, m.fsys, m.name+".turn")
	if err != nil {
		return nil, fmt.Errorf("wait for a turn at %s: %w", m.name, err)
	}
	held, err := Wait(ctx, m.fsys, m.name)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("wait for %s: %w", m.name, err), turnstile.Release())
	}
	if err := turnstile.Release(); err != nil {
		return nil, errors.Join(err, held.Release())
	}
	return held, nil
}
