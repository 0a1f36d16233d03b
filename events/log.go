package events

// Appending to a log: one chain across processes, one sync for many writers.

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

// lockPatience bounds the wait for a log's lock, which is held for
// microseconds by everybody who behaves.
const lockPatience = 10 * time.Second

// Log appends to one run's log. It opens the file when it is first needed. It
// is safe for concurrent use; other processes may append beside it.
type Log struct {
	fsys durable.FS
	name string

	mu      sync.Mutex // one append of this process at a time
	open    *handle
	doubt   int64    // what lies behind it has to be read from the disk; -1 for nothing
	witness *Witness // nil when nobody looks whether events stay
}

// OpenLog makes the appender of a log. Nothing is touched yet.
func OpenLog(fsys durable.FS, name string) *Log { return &Log{fsys: fsys, name: name, doubt: -1} }

// handle is one opening of the file, with what is known of its end.
type handle struct {
	file durable.File
	size int64  // the tail below is that of a file of this size; -1 when unknown
	head string // event_hash of the last sealed line
	lf   bool   // the file is empty or ends in LF

	mu      sync.Mutex
	cond    *sync.Cond
	written int64
	synced  int64
	syncing bool
	failed  error
	users   int  // who may still sync it
	retired bool // closed by the last of them
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

// retire closes the file as soon as nobody syncs it any more.
func (h *handle) retire() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.retired = true
	return h.closeUnused()
}

// drop is retire for a file whose lock may still come.
func (h *handle) drop() error { return errors.Join(lock.Unlock(h.file), h.retire()) }

func (h *handle) closeUnused() error {
	if !h.retired || h.users > 0 {
		return nil
	}
	return h.file.Close()
}

// Append seals the drafts, writes their lines in one write and returns when
// they are durable. The run's directory must exist; a missing log is made.
func (l *Log) Append(ctx context.Context, drafts ...Draft) error {
	h, end, err := l.write(ctx, drafts)
	if err != nil {
		return err
	}
	return errors.Join(l.sync(h, end), h.release())
}

// Write is Append without the wait for the disk: Sync makes the lines durable.
// A write that got part of its way is a PartialError.
func (l *Log) Write(ctx context.Context, drafts ...Draft) error {
	h, _, err := l.write(ctx, drafts)
	if err != nil {
		return err
	}
	return h.release()
}

// Sync makes everything durable that was written through this Log before.
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

// Close releases the file, once those who sync it are done.
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

// write writes the drafts; the caller releases the handle.
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

// appendWitnessed appends under the log's lock, behind the event of a loss where there
// was one.
func (l *Log) appendWitnessed(h *handle, drafts []Draft) (end int64, err error) {
	if l.witness == nil {
		_, end, err = h.append(drafts)
		return end, err
	}
	all := l.witness.look(h, drafts)
	if len(all) == 0 {
		return 0, nil // nothing that a sync would wait for
	}
	lines, end, err := h.append(all)
	l.witness.wrote(h, lines, err)
	if partial, ok := errors.AsType[*PartialError](err); ok {
		partial.Written = max(0, partial.Written-(len(all)-len(drafts)))
	}
	return end, err
}

// lock locks the file that is at the name now.
func (l *Log) lock(ctx context.Context) (*handle, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, lockPatience, errors.New("the log is locked by another process"))
	defer cancel()
	if l.open != nil {
		if synced, broken := l.open.broken(); broken {
			l.doubt = synced
			_ = l.open.retire() // it failed already
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
				err = l.fsys.SyncDir(path.Dir(l.name)) // its name may be new
			}
			if l.doubt >= 0 {
				durable.Forget(h.file, l.doubt) // the kernel may hold what the disk never took
			}
			if err = errors.Join(err, h.readTail(mine.Size())); err != nil {
				return nil, errors.Join(err, lock.Unlock(h.file))
			}
			l.doubt = -1
			return h, nil
		}
		// Replaced (migrated) or removed: the name decides.
		l.open = nil
		if dropErr := h.drop(); dropErr != nil {
			return nil, dropErr
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
}

// PartialError is an append that failed on its way: the first Written drafts
// stand in the log as whole lines, the others do not.
type PartialError struct {
	Written int
	Err     error
}

func (e *PartialError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *PartialError) Unwrap() error { return e.Err }

// envelopeRoom is about what a line has around its payload.
const envelopeRoom = 768

// append writes the lines of the drafts behind the tail, and returns them with the
// size of the log after them.
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

// takeBack removes the line that a write of n bytes left unfinished behind the bytes
// to keep, so that a full disk leaves no torn line. It is called under the log's
// lock, and touches nothing but the bytes of that write: a log that somebody else
// has grown meanwhile stays as it is.
func (h *handle) takeBack(n, keep int64) {
	if n <= keep {
		return
	}
	st, err := h.file.Stat()
	if err != nil || h.size < 0 || st.Size() != h.size+n {
		return
	}
	_ = h.file.Truncate(h.size + keep) // else the torn line stays, and costs only itself
}

// readTail finds the end of the chain, unless the file is as we left it.
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

// sync waits until the bytes before end are on the disk. One writer syncs for
// all whose bytes are there already.
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
			// What the kernel still holds is unknown: the next append opens the
			// file anew and reads its tail again.
			h.failed = err
		} else {
			h.synced = max(h.synced, target)
		}
		h.cond.Broadcast()
	}
	return nil
}

// broken reports whether a sync of the file failed, and what was durable before.
func (h *handle) broken() (synced int64, broken bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.synced, h.failed != nil
}

// Tail is the end of a log.
type Tail struct {
	Head     string // event_hash of the last line that has one, "" when none has
	Complete bool   // empty, or ends in LF
}

const tailBlock = 16 << 10

// ReadTail reads the end of a log of the given size, backwards from there past
// malformed lines.
func ReadTail(r io.ReaderAt, size int64) (Tail, error) {
	tail := Tail{Complete: true}
	var text []byte // what was read so far: the file from start on
	block := int64(tailBlock)
	for start := size; start > 0; {
		from := max(0, start-block)
		block = min(2*block, 4<<20)
		more := make([]byte, start-from, start-from+int64(len(text)))
		if _, err := r.ReadAt(more, from); err != nil && !errors.Is(err, io.EOF) {
			return tail, err
		}
		if start == size {
			tail.Complete = more[len(more)-1] == '\n'
		}
		text, start = append(more, text...), from
		for {
			i := bytes.LastIndexByte(bytes.TrimRight(text, "\n"), '\n')
			if i < 0 && start > 0 {
				break // the line begins further up
			}
			if hash := sealOf(text[i+1:]); hash != "" {
				tail.Head = hash
				return tail, nil
			}
			if i < 0 {
				return tail, nil
			}
			text = text[:i+1]
		}
	}
	return tail, nil
}

// sealOf reads the event_hash of a line that parses as an object.
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
