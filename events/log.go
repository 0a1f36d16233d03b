package events

// Appending to a log. One hash chain spans all processes, and many writers share one fsync (group
// commit).

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"sync"
	"time"

	"ac/internal/canonjson"
	"ac/internal/durable"
	"ac/internal/lock"
)

// lockPatience is how long to wait for a log's lock. A correct process holds it for microseconds.
const lockPatience = 10 * time.Second

// Log appends to one run's log. It opens the file on first use. It is safe for
// concurrent use, and other processes may append at the same time.
type Log struct {
	fsys durable.FS
	name string

	mu         sync.Mutex // one append of this process at a time
	open       *handle
	rereadFrom int64    // offset from which the next append must re-read the file from disk; -1 for none
	witness    *Witness // nil if tampering is not detected
}

// OpenLog returns the appender of a log. It does not touch the file yet.
func OpenLog(fsys durable.FS, name string) *Log { return &Log{fsys: fsys, name: name, rereadFrom: -1} }

// handle is an open file of the log, and the known state of its tail.
type handle struct {
	file durable.File
	size int64  // file size at which head and lf were read; -1 if unknown
	head string // event_hash of the last sealed line
	lf   bool   // the file is empty or ends in LF

	mu      sync.Mutex
	cond    *sync.Cond
	written int64
	synced  int64
	syncing bool
	failed  error
	users   int  // how many callers may still sync it
	retired bool // to be closed by the last user
}

// use keeps the file open until release.
func (h *handle) use() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.users++
}

func (h *handle) release() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.users--
	return h.closeUnused()
}

// retire closes the file as soon as its last user has released it.
func (h *handle) retire() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.retired = true
	return h.closeUnused()
}

// drop is retire for a file whose lock may still be held or granted.
func (h *handle) drop() error { return errors.Join(lock.Unlock(h.file), h.retire()) }

func (h *handle) closeUnused() error {
	if !h.retired || h.users > 0 {
		return nil
	}
	return h.file.Close()
}

// Append seals the drafts, writes their lines in one write, and returns when
// they are durable. The run's directory must exist; a missing log is created.
func (l *Log) Append(ctx context.Context, drafts ...Draft) error {
	h, end, err := l.write(ctx, drafts)
	if err != nil {
		return err
	}
	return errors.Join(l.sync(h, end), h.release())
}

// Write is Append without waiting for the disk: Sync makes the lines durable. After a partial
// write it returns a *PartialError.
func (l *Log) Write(ctx context.Context, drafts ...Draft) error {
	h, _, err := l.write(ctx, drafts)
	if err != nil {
		return err
	}
	return h.release()
}

// Sync makes everything durable that this Log wrote before the call.
func (l *Log) Sync() error {
	l.mu.Lock()
	h := l.open
	if h != nil {
		h.use()
	}
	l.mu.Unlock()
	if h == nil {
		return nil
	}
	h.mu.Lock()
	end := h.written
	h.mu.Unlock()
	return errors.Join(l.sync(h, end), h.release())
}

// Close closes the file once its pending syncs are done.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		return nil
	}
	err := l.open.retire()
	l.open = nil
	return err
}

// write appends the drafts. The caller must release the handle.
func (l *Log) write(ctx context.Context, drafts []Draft) (*handle, int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h, err := l.lock(ctx)
	if err != nil {
		return nil, 0, fmt.Errorf("append to %s: %w", l.name, err)
	}
	end, err := l.appendWitnessed(h, drafts)
	if unlockErr := lock.Unlock(h.file); err == nil {
		err = unlockErr
	}
	if err != nil {
		h.size = -1
		return nil, 0, fmt.Errorf("append to %s: %w", l.name, err)
	}
	h.use()
	return h, end, nil
}

// appendWitnessed appends under the log's lock. If the witness finds events missing, it first
// appends an event that records the loss.
func (l *Log) appendWitnessed(h *handle, drafts []Draft) (end int64, err error) {
	if l.witness == nil {
		_, end, err = h.append(drafts)
		return end, err
	}
	all := l.witness.checkLines(h, drafts)
	if len(all) == 0 {
		return 0, nil // nothing to sync
	}
	lines, end, err := h.append(all)
	l.witness.recordLines(h, lines, err)
	if partial, ok := errors.AsType[*PartialError](err); ok {
		partial.Written = max(0, partial.Written-(len(all)-len(drafts)))
	}
	return end, err
}

// lock opens and locks the file that currently has the log's name.
func (l *Log) lock(ctx context.Context) (*handle, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, lockPatience, errors.New("the log is locked by another process"))
	defer cancel()
	if l.open != nil {
		if synced, broken := l.open.broken(); broken {
			l.rereadFrom = synced
			_ = l.open.retire() // it has already failed
			l.open = nil
		}
	}
	for {
		if l.open == nil {
			file, err := l.fsys.OpenFile(l.name, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o644)
			if err != nil {
				return nil, err
			}
			l.open = &handle{file: file, size: -1}
			l.open.cond = sync.NewCond(&l.open.mu)
		}
		h := l.open
		if err := lock.FileOr(ctx, h.file, h.drop); err != nil {
			l.open = nil
			return nil, err
		}
		mine, err := h.file.Stat()
		if err != nil {
			return nil, errors.Join(err, lock.Unlock(h.file))
		}
		there, err := l.fsys.Stat(l.name)
		if err == nil && durable.SameFile(mine, there) {
			if mine.Size() == 0 {
				err = l.fsys.SyncDir(path.Dir(l.name)) // the file may be new
			}
			if l.rereadFrom >= 0 {
				durable.DropPageCache(h.file, l.rereadFrom) // the page cache may contain data that never reached the disk
			}
			if err = errors.Join(err, h.readTail(mine.Size())); err != nil {
				return nil, errors.Join(err, lock.Unlock(h.file))
			}
			l.rereadFrom = -1
			return h, nil
		}
		// Replaced (by a migration) or removed: reopen by name.
		l.open = nil
		if dropErr := h.drop(); dropErr != nil {
			return nil, dropErr
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
}

// PartialError is an append that failed midway. The log contains complete lines for the first
// Written drafts and none for the others.
type PartialError struct {
	Written int
	Err     error
}

func (e *PartialError) Error() string { return e.Err.Error() }

// Unwrap returns the cause of the failure.
func (e *PartialError) Unwrap() error { return e.Err }

// envelopeRoom is the estimated size of a line without its payload, in bytes.
const envelopeRoom = 768

// append writes the lines of the drafts after the tail. It returns the lines and the new size of
// the log.
func (h *handle) append(drafts []Draft) (written []byte, end int64, err error) {
	size := 0
	for i := range drafts {
		size += len(drafts[i].Payload) + envelopeRoom
	}
	lines := make([]byte, 0, size)
	if !h.lf {
		lines = append(lines, '\n')
	}
	head := h.head
	ends := make([]int, len(drafts))
	for i := range drafts {
		lines, head = drafts[i].seal(lines, head)
		ends[i] = len(lines)
	}
	n, err := h.file.Write(lines)
	if err == nil && n < len(lines) {
		err = io.ErrShortWrite
	}
	if err != nil {
		whole := 0
		for whole < len(ends) && ends[whole] <= n {
			whole++
		}
		kept := 0
		if whole > 0 {
			kept = ends[whole-1]
		}
		h.takeBack(int64(n), int64(kept))
		return lines[:kept], 0, &PartialError{Written: whole, Err: err}
	}
	h.size += int64(len(lines))
	h.head, h.lf = head, true
	h.mu.Lock()
	h.written = h.size
	h.mu.Unlock()
	return lines, h.size, nil
}

// takeBack removes the unfinished line that a write of n bytes left after the
// first keep bytes, so that a full disk leaves no torn line. It runs under the
// log's lock and touches only the bytes of that write. If another process has
// grown the log meanwhile, the torn line stays.
func (h *handle) takeBack(n, keep int64) {
	if n <= keep {
		return
	}
	st, err := h.file.Stat()
	if err != nil || h.size < 0 || st.Size() != h.size+n {
		return
	}
	_ = h.file.Truncate(h.size + keep) // best effort: a remaining torn line costs only itself
}

// readTail reads the end of the chain, unless the file has the known size.
func (h *handle) readTail(size int64) error {
	if h.size == size {
		return nil
	}
	tail, err := ReadTail(h.file, size)
	if err != nil {
		return err
	}
	h.size, h.head, h.lf = size, tail.Head, tail.Complete
	return nil
}

// sync waits until the bytes before end are durable. One caller syncs for all callers whose bytes
// are already written.
func (l *Log) sync(h *handle, end int64) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.synced < end {
		if h.failed != nil {
			return fmt.Errorf("sync %s: %w", l.name, h.failed)
		}
		if h.syncing {
			h.cond.Wait()
			continue
		}
		h.syncing = true
		target := h.written
		h.mu.Unlock()
		err := h.file.SyncData()
		h.mu.Lock()
		h.syncing = false
		if err != nil {
			// The page cache is in an unknown state. So the next append reopens the file and
			// re-reads its tail from disk.
			h.failed = err
		} else {
			h.synced = max(h.synced, target)
		}
		h.cond.Broadcast()
	}
	return nil
}

// broken reports whether a sync of the file failed, and up to which offset the file was durable
// before.
func (h *handle) broken() (synced int64, broken bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.synced, h.failed != nil
}

// Tail is the end of a log.
type Tail struct {
	Head     string // event_hash of the last line that has one, "" when none has
	Complete bool   // the log is empty or ends in LF
}

// ReadTail reads the end of a log of the given size. It reads backwards past malformed lines.
func ReadTail(r io.ReaderAt, size int64) (Tail, error) {
	if size == 0 {
		return Tail{Complete: true}, nil
	}
	var tail Tail
	last := true
	err := Backward(r, size, func(line []byte) bool {
		if last {
			last, tail.Complete = false, line[len(line)-1] == '\n'
		}
		tail.Head = sealOf(line)
		return tail.Head == ""
	})
	return tail, err
}

// sealOf returns the event_hash of a line, or "" if the line is not an object with a string
// event_hash.
func sealOf(line []byte) string {
	var hash string
	err := canonjson.Members(bytes.TrimSpace(line), func(m canonjson.Member) {
		if string(m.Key) == "event_hash" {
			hash = ""
			if s := stringOf(m.Value); s != nil {
				hash = *s
			}
		}
	})
	if err != nil {
		return ""
	}
	return hash
}
