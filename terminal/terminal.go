package terminal

// One terminal: its shell, its output, and its viewers.

import (
	"context"
	"errors"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"

	"ac/internal/fault"
	"ac/internal/pipe"
	"ac/internal/proc"
	"ac/internal/signame"
	"ac/runs/session"
)

const (
	idLetters    = 10
	rate         = 32 << 20 // maximum output in bytes a second
	hangupGrace  = 300 * time.Millisecond
	stalledAfter = 5 * time.Second
	heldAfter    = 100 * time.Millisecond // how long a text may wait before it counts as held
	// pace is the minimum interval between two pieces for a viewer while output keeps coming.
	pace = 8 * time.Millisecond
	// readBytes is the size of a read. Linux returns at most 4 KiB.
	readBytes = 8 << 10
)

// Terminal is a shell in a pseudo-terminal. It is safe for concurrent use.
type Terminal struct {
	id      string
	spec    Spec
	master  *os.File
	console *session.Console

	drained chan struct{} // closed when there is no more output
	ended   chan struct{} // closed when status and exit are known and recorded
	ending  sync.Once

	mu         sync.Mutex
	ring       ring
	title      string
	cols, rows int
	exit       *session.ConsoleExit // nil while it runs
	viewers    int
	gone       bool          // the terminal was closed
	changed    chan struct{} // closed at the next change; nil while nobody waits for one
	typing     chan struct{} // closed when the newest text has been typed; nil before the first
}

// start opens a terminal and starts its shell.
func (h *Hub) start(spec Spec) (*Terminal, error) {
	master, tty, err := pipe.OpenPTY(spec.Cols, spec.Rows)
	if err != nil {
		return nil, err
	}
	memory, release, err := proc.Pages(BufferBytes)
	if err != nil {
		return nil, errors.Join(err, tty.Close(), master.Close())
	}
	t := &Terminal{
		id: "pty-" + h.opts.RandomText(idLetters), spec: spec, master: master, title: spec.Title, cols: spec.Cols, rows: spec.Rows,
		ring: newRing(memory), drained: make(chan struct{}), ended: make(chan struct{}),
	}
	runtime.AddCleanup(t, func(release func()) { release() }, release) // nobody can read it any more
	t.console, err = session.StartConsole(h.opts.Executable, &h.guards, tty, spec.Shell, spec.Env, spec.CWD, h.opts.RandomText(4*idLetters))
	if err = errors.Join(err, tty.Close()); err != nil {
		if t.console != nil {
			t.console.Sweep()
		}
		return nil, errors.Join(err, master.Close())
	}
	go t.pump()   // returns when the last process that holds the terminal has ended
	go t.await(h) // returns after the shell has ended, which Close ensures
	return t, nil
}

// pump reads the output, at most rate bytes a second.
func (t *Terminal) pump() {
	defer close(t.drained)
	buffer := make([]byte, readBytes)
	began, read := time.Now(), 0
	for {
		n, err := t.master.Read(buffer)
		if n > 0 {
			t.mu.Lock()
			t.ring.write(buffer[:n])
			t.wake()
			t.mu.Unlock()
		}
		if err != nil {
			return // EIO: no process holds the terminal any more
		}
		read += n
		if due := time.Duration(read) * time.Second / rate; due > time.Since(began)+pace {
			time.Sleep(due - time.Since(began))
		} else if time.Since(began) > time.Second {
			began, read = time.Now(), 0
		}
	}
}

// wake notifies everyone who waits for a change. The caller holds t.mu.
func (t *Terminal) wake() {
	if t.changed != nil {
		close(t.changed)
		t.changed = nil
	}
}

// change returns a channel that is closed at the next change. The caller holds t.mu.
func (t *Terminal) change() <-chan struct{} {
	if t.changed == nil {
		t.changed = make(chan struct{})
	}
	return t.changed
}

// await waits for the shell's exit, kills its remaining processes, and records the exit once
// the output has been read.
func (t *Terminal) await(h *Hub) {
	exit, ok := <-t.console.Exited()
	if !ok { // its guard was killed, and so was the shell
		exit = session.ConsoleExit{Signal: syscall.SIGKILL}
	}
	t.console.Hangup()
	select {
	case <-t.drained:
	case <-time.After(hangupGrace):
	}
	t.console.Sweep()
	select {
	case <-t.drained:
	case <-time.After(hangupGrace):
		_ = t.master.Close() // a process outside holds a copy of the terminal
		<-t.drained
	}
	t.mu.Lock()
	t.exit = &exit
	t.wake()
	t.mu.Unlock()
	_ = t.master.Close() // all output has been read
	if h.opts.OnEnd != nil {
		h.opts.OnEnd(t.spec.Dir, t.Info())
	}
	close(t.ended)
}

// end ends the shell and everything that it started. It sends a hangup, and kills after a
// grace period. It returns once no process is left.
func (t *Terminal) end() {
	t.ending.Do(func() {
		t.console.Hangup()
		select {
		case <-t.ended:
		case <-time.After(hangupGrace):
			t.console.Sweep()
		}
	})
	<-t.ended
}

// forget ends the viewers of a closed terminal.
func (t *Terminal) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.gone {
		t.gone = true
		t.wake()
	}
}

// idle reports whether the shell has exited and there are no viewers.
func (t *Terminal) idle() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.exit != nil && t.viewers == 0
}

// Info returns the current state of the terminal.
func (t *Terminal) Info() Info {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.info()
}

func (t *Terminal) info() Info {
	i := Info{
		ID: t.id, Title: t.title, Shell: t.spec.Shell, CWD: t.spec.CWD, Status: Running, PID: t.console.PID, Cols: t.cols, Rows: t.rows,
		CreatedAt: t.spec.CreatedAt, CreatedBy: t.spec.CreatedBy, Cursor: t.ring.end, BufferStart: t.ring.start(),
	}
	if t.exit != nil {
		code := t.exit.Code
		if i.Status = Exited; t.exit.Signal != 0 {
			code, i.Signal = 128+int(t.exit.Signal), signame.Of(t.exit.Signal)
		}
		i.ExitCode = &code
	}
	return i
}

// Rename changes the title. A blank title changes nothing.
func (t *Terminal) Rename(title string) Info {
	t.mu.Lock()
	defer t.mu.Unlock()
	if title = Title(title); title != "" {
		t.title = title
	}
	return t.info()
}

// Resize changes the size and notifies the shell.
func (t *Terminal) Resize(cols, rows int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.exit != nil {
		return t.over()
	}
	if err := pipe.ResizePTY(t.master, cols, rows); err != nil {
		return fault.New(fault.IO, "the terminal was not resized: %w", err)
	}
	t.cols, t.rows = cols, rows
	return nil
}

func (t *Terminal) over() error {
	return fault.New(fault.TerminalExited, "the shell of terminal %s has ended", t.id)
}

// Piece is a part of the output, or the state of the terminal after all of it.
type Piece struct {
	Cursor int64 // the position of the first byte
	Bytes  []byte
	Next   int64
	Info   Info
	// Over is set if there is no more output and never will be. Closed is set if the terminal
	// was closed.
	Over, Closed bool
}

// Read returns up to most bytes of output, starting at from. If there are none, it waits up to
// wait for some. A position beyond the end is an error. truncated is set if the oldest of the
// requested bytes are no longer kept.
func (t *Terminal) Read(ctx context.Context, from int64, most int, wait time.Duration) (p Piece, truncated bool, err error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		t.mu.Lock()
		p, changed := t.piece(from, most, nil), t.change()
		t.mu.Unlock()
		if from > p.Info.Cursor {
			return p, false, fault.InvalidField("cursor", "is above the end of the output, %d", p.Info.Cursor)
		}
		if len(p.Bytes) > 0 || p.Over || p.Closed || wait <= 0 {
			return p, from < p.Cursor, nil
		}
		select {
		case <-changed:
		case <-timer.C:
			return p, from < p.Cursor, nil
		case <-ctx.Done():
			return p, false, context.Cause(ctx)
		}
	}
}

// piece returns the output from a position on, in buf if it fits. The caller holds t.mu.
func (t *Terminal) piece(from int64, most int, buf []byte) Piece {
	at, bytes := t.ring.read(from, most, buf)
	next := at + int64(len(bytes))
	return Piece{Cursor: at, Bytes: bytes, Next: next, Info: t.info(), Over: t.exit != nil && next == t.ring.end, Closed: t.gone}
}

// Viewer is a cursor in the output. Only Write may be called concurrently with its other
// methods.
type Viewer struct {
	t    *Terminal
	at   int64
	over bool      // the end was returned
	last time.Time // time of the newest piece
	buf  []byte    // memory of the newest piece
	done sync.Once
}

// Attach adds a viewer at a position. A negative one means the end. One that is no longer
// kept means the oldest byte kept. start is the viewer's position.
func (t *Terminal) Attach(from int64) (v *Viewer, info Info, start int64, truncated bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	info = t.info()
	switch {
	case from > info.Cursor:
		return nil, info, 0, false, fault.InvalidField("cursor", "is above the end of the output, %d", info.Cursor)
	case t.viewers >= MaxViewers:
		return nil, info, 0, false, fault.New(fault.TerminalViewers, "%d look at terminal %s already", MaxViewers, t.id)
	case from < 0:
		from = info.Cursor
	}
	start = max(from, info.BufferStart)
	t.viewers++
	return &Viewer{t: t, at: start}, info, start, start > from, nil
}

// Next waits for output, for its end (returned once), or for the close of the terminal. If
// the last piece is recent, it lets more output accumulate. The bytes of a piece are valid
// until the next call.
func (v *Viewer) Next(ctx context.Context) (Piece, error) {
	for {
		v.t.mu.Lock()
		p, changed := v.t.piece(v.at, ChunkBytes, v.buf), v.t.change()
		v.t.mu.Unlock()
		if len(p.Bytes) > 0 {
			v.buf = p.Bytes
		}
		if rest := pace - time.Since(v.last); len(p.Bytes) > 0 && len(p.Bytes) < ChunkBytes && !p.Over && !p.Closed && rest > 0 {
			select {
			case <-time.After(rest):
				continue
			case <-ctx.Done():
				return p, context.Cause(ctx)
			}
		}
		if len(p.Bytes) > 0 || p.Over && !v.over || p.Closed {
			v.at, v.last, v.over = p.Next, time.Now(), p.Over
			return p, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return p, context.Cause(ctx)
		}
	}
}

// Write types bytes like Terminal.Write. It may be called from any goroutine.
func (v *Viewer) Write(ctx context.Context, p []byte) (n int, err error) {
	return v.t.Write(ctx, p, nil)
}

// Detach removes the viewer. It is idempotent.
func (v *Viewer) Detach() {
	v.done.Do(func() {
		v.t.mu.Lock()
		defer v.t.mu.Unlock()
		v.t.viewers--
	})
}
