package feed

// A cursor: the position of a subscription in one log, and how it is found again when another file
// has replaced the log.

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"ac/events"
	"ac/internal/clock"
	"ac/internal/durable"
	"ac/workspace"
)

const (
	// tailBytes is how many bytes before a position identify it. It is enough for the hash at the
	// end of a line.
	tailBytes = 80
	// headBytes is the maximum length of a first line that can identify its log.
	headBytes  = 64 << 10
	alignBlock = 16 << 10
)

// cursor is a position in a log: an offset, after seq counted lines. The file size alone fixes it.
// The start of the line there and its number are determined on demand.
type cursor struct {
	id     durable.Identity // of the file the cursor was set in; zero if there was no file
	offset int64
	seq    int64     // -1 until counted
	tail   []byte    // the bytes right before offset, once offset is aligned to the beginning of a line
	first  string    // the event_id of the log's first line, once read
	held   time.Time // since when an event has been waiting for its record
}

// runLog is a run's log, open for reading. Reads fail once ctx is done.
type runLog struct {
	ctx  context.Context //nolint:containedctx // a log is open for one reading
	file durable.File
	id   durable.Identity
	size int64
}

func openLog(ctx context.Context, ws *workspace.Workspace, key logKey) (*runLog, error) {
	f, err := ws.FS.OpenFile(key.file(), os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &runLog{ctx: ctx, file: f, id: durable.IdentityOf(st), size: st.Size()}, nil
}

// openWritten is openLog for a log that has text. It treats an empty file as a missing one: a log
// that is being restored is empty before it is whole.
func openWritten(ctx context.Context, ws *workspace.Workspace, key logKey) (*runLog, error) {
	l, err := openLog(ctx, ws, key)
	if err == nil && l.size == 0 {
		l.close()
		return nil, fs.ErrNotExist
	}
	return l, err
}

func (l *runLog) close() { _ = l.file.Close() } // it was opened only for reading

// ReadAt implements io.ReaderAt. It fails once the log's context is done.
func (l *runLog) ReadAt(p []byte, at int64) (int, error) {
	if err := l.ctx.Err(); err != nil {
		return 0, err
	}
	return l.file.ReadAt(p, at)
}

func (l *runLog) part(from, to int64) *io.SectionReader { return io.NewSectionReader(l, from, to-from) }

// block reads up to n bytes at an offset.
func (l *runLog) block(at, n int64) ([]byte, error) {
	block := make([]byte, max(0, min(n, l.size-at)))
	read, err := l.ReadAt(block, at)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return block[:read], err
}

// attach moves the cursor to its position in the current file, at the beginning of a line.
func (c *cursor) attach(l *runLog) error {
	if c.id == (durable.Identity{}) && c.seq < 0 {
		*c = cursor{id: l.id, offset: l.size, seq: -1}
	}
	stands, err := c.matches(l)
	if err == nil && !stands {
		err = c.relocate(l)
	}
	if err != nil {
		return err
	}
	c.id = l.id
	return c.align(l)
}

// matches reports whether the cursor's offset is also its position in this file.
func (c *cursor) matches(l *runLog) (bool, error) {
	if l.size < c.offset {
		return false, nil
	}
	want := c.tail
	if want == nil {
		if c.id == l.id || c.offset == 0 {
			return true, nil
		}
		want = []byte{'\n'} // in a copy of the file, a line ends there
	}
	got, err := l.block(c.offset-int64(len(want)), int64(len(want)))
	return bytes.Equal(got, want), err
}

// relocate moves the cursor to its position in a file that replaced another: after the same number of
// lines, or to the start if the log has other events. If the position was never counted, find skips
// what is there.
func (c *cursor) relocate(l *runLog) error {
	if c.first != "" {
		first, err := l.first()
		if err != nil {
			return err
		}
		if first != "" && first != c.first {
			*c = cursor{}
			return nil
		}
	}
	if c.seq < 0 {
		*c = cursor{offset: l.size, seq: -1}
		return nil
	}
	return c.seek(l, c.seq)
}

// seek moves the cursor after the given number of whole lines, or after the last one if there are
// fewer.
func (c *cursor) seek(l *runLog, seq int64) error {
	*c = cursor{id: l.id}
	if seq == 0 {
		return nil
	}
	return c.lines(l, func(line events.Line) bool {
		if line.Seq > seq {
			return false
		}
		c.pass(line)
		return true
	})
}

// resume moves the cursor after the last line that a client has. In a shorter log it moves to the
// end.
func (c *cursor) resume(ctx context.Context, ws *workspace.Workspace, key logKey, seq int64) error {
	l, err := openLog(ctx, ws, key)
	if errors.Is(err, fs.ErrNotExist) {
		*c = cursor{}
		return nil
	}
	if err != nil {
		return err
	}
	defer l.close()
	return c.seek(l, seq)
}

// slack is how much older a log's modification time may be than an event in it, because of
// timestamp granularity.
const slack = time.Second

// resumeAfter moves the cursor to the first event that is not older than moment. An event counts as
// no older than the previous one of its run. The cursor stays at the end of a log that was not
// written since.
func (c *cursor) resumeAfter(ctx context.Context, ws *workspace.Workspace, key logKey, moment time.Time) error {
	st, err := ws.FS.Stat(key.file())
	if err == nil && st.ModTime().Add(slack).Before(moment) {
		return nil
	}
	l, err := openLog(ctx, ws, key)
	if errors.Is(err, fs.ErrNotExist) {
		*c = cursor{}
		return nil
	}
	if err != nil {
		return err
	}
	defer l.close()
	*c = cursor{id: l.id}
	return c.lines(l, func(line events.Line) bool {
		if at, ok := clock.Parse(events.Text(line.Raw, "ts_wallclock")); ok && !at.Before(moment) {
			return false
		}
		c.pass(line)
		return true
	})
}

// pass moves the cursor after a line.
func (c *cursor) pass(line events.Line) {
	if line.Seq == 1 {
		c.first = events.Text(line.Raw, "event_id")
	}
	c.offset, c.seq = line.Next, line.Seq
	if line.Long {
		c.tail = []byte{'\n'} // the scanner does not keep the end of a long line
		return
	}
	end := line.Raw[max(0, len(line.Raw)-tailBytes+1):]
	c.tail = append(append(c.tail[:0], end...), '\n')
}

// align moves the cursor back to the beginning of the line that contains its offset.
func (c *cursor) align(l *runLog) error {
	if c.tail != nil {
		return nil
	}
	for c.offset > 0 {
		from := max(0, c.offset-alignBlock)
		block, err := l.block(from, c.offset-from)
		if err != nil {
			return err
		}
		if i := bytes.LastIndexByte(block, '\n'); i >= 0 {
			c.offset = from + int64(i) + 1
			c.tail = bytes.Clone(block[max(0, i+1-tailBytes) : i+1])
			return nil
		}
		c.offset = from
	}
	return nil
}

// count counts the lines before an aligned position.
func (c *cursor) count(l *runLog) (err error) {
	if c.seq >= 0 {
		return nil
	}
	seq, _, err := events.CountLines(l.part(0, c.offset))
	if err == nil {
		c.first, err = l.first()
	}
	if err == nil {
		c.seq = seq
	}
	return err
}

// lines visits the whole lines after the cursor until visit returns false.
func (c *cursor) lines(l *runLog, visit func(events.Line) bool) error {
	if c.offset >= l.size {
		return nil
	}
	scanner := events.NewScanner(l.part(c.offset, l.size), c.offset, c.seq)
	for {
		line, err := scanner.Next()
		if errors.Is(err, io.EOF) || (err == nil && line.Torn) {
			return nil
		}
		if err != nil {
			return err
		}
		if !visit(line) {
			return nil
		}
	}
}

// first returns the event_id of a log's first line, "" if it has none.
func (l *runLog) first() (string, error) {
	head, err := l.block(0, headBytes)
	line, _, whole := bytes.Cut(head, []byte{'\n'})
	if err != nil || !whole {
		return "", err
	}
	return events.Text(line, "event_id"), nil
}
