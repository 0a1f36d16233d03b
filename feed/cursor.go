package feed

// A cursor: how far a subscription has come in one log, and how that place is
// found again when the file at the log's name is another one.

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
	// tailBytes is how much before a place tells it from the same offset in
	// other text; the hash at the end of a line fits in.
	tailBytes = 80
	// headBytes is how long a first line may be to tell logs apart.
	headBytes  = 64 << 10
	alignBlock = 16 << 10
)

// cursor is a place in a log: at offset, behind seq counted lines. It is fixed
// from the size of the file alone; where the line begins there, and its number,
// are found out when they are needed.
type cursor struct {
	id     durable.Identity // of the file that was there; zero when there was none
	offset int64
	seq    int64     // -1 while it was not counted
	tail   []byte    // what stands right before offset, once that begins a line
	first  string    // the event_id of the log's first line, once it was read
	held   time.Time // since when an event waits for its record
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

// openWritten is openLog for a log that has text. An empty file is taken for none: a log that
// is put back is empty before it is whole, and says nothing yet of what it holds.
func openWritten(ctx context.Context, ws *workspace.Workspace, key logKey) (*runLog, error) {
	l, err := openLog(ctx, ws, key)
	if err == nil && l.size == 0 {
		l.close()
		return nil, fs.ErrNotExist
	}
	return l, err
}

func (l *runLog) close() { _ = l.file.Close() } // it was only read

// ReadAt makes a log an io.ReaderAt that ends with its context.
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

// enter makes the cursor a place in the file that is there now, at the beginning
// of a line.
func (c *cursor) enter(l *runLog) error {
	if c.id == (durable.Identity{}) && c.seq < 0 {
		*c = cursor{id: l.id, offset: l.size, seq: -1}
	}
	stands, err := c.stands(l)
	if err == nil && !stands {
		err = c.find(l)
	}
	if err != nil {
		return err
	}
	c.id = l.id
	return c.align(l)
}

// stands reports whether the cursor's offset is its place in this file too.
func (c *cursor) stands(l *runLog) (bool, error) {
	if l.size < c.offset {
		return false, nil
	}
	want := c.tail
	if want == nil {
		if c.id == l.id || c.offset == 0 {
			return true, nil
		}
		want = []byte{'\n'} // a copy of the file has the end of a line there
	}
	got, err := l.block(c.offset-int64(len(want)), int64(len(want)))
	return bytes.Equal(got, want), err
}

// find goes to the place of the cursor in a file that took the place of another:
// behind as many lines, or to the start when it is the log of other events.
// Where it was never counted, what is there counts as seen.
func (c *cursor) find(l *runLog) error {
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

// seek goes behind the given number of whole lines, or as far as there are any.
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

// resume goes behind the line that a client had last. In a log that is shorter
// it goes to the end.
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

// slack is how much older a log's time may be than that of an event in it: the
// system's clock for files goes in steps.
const slack = time.Second

// resumeAfter goes to the first event that is not older than a time, those of a
// run taken as never older than the one before. A log that was not written since
// is left at its end.
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

// pass moves the cursor behind a line.
func (c *cursor) pass(line events.Line) {
	if line.Seq == 1 {
		c.first = events.Text(line.Raw, "event_id")
	}
	c.offset, c.seq = line.Next, line.Seq
	if line.Long {
		c.tail = []byte{'\n'} // its end was not kept
		return
	}
	end := line.Raw[max(0, len(line.Raw)-tailBytes+1):]
	c.tail = append(append(c.tail[:0], end...), '\n')
}

// align goes back to where the line begins that the offset lies in.
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

// count finds out the number of an aligned place.
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

// lines visits the whole lines behind the cursor until visit says false.
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

// first reads the event_id of a log's first line, "" where it has none.
func (l *runLog) first() (string, error) {
	head, err := l.block(0, headBytes)
	line, _, whole := bytes.Cut(head, []byte{'\n'})
	if err != nil || !whole {
		return "", err
	}
	return events.Text(line, "event_id"), nil
}
