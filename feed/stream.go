package feed

// What is new in a log, read once for all who listen to it: the first subscription that
// comes reads, the others find the lines there. Who is behind what is kept, or knows
// the log as another file, reads for itself.

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"time"

	"ac/events"
	"ac/internal/durable"
	"ac/workspace"
)

const (
	// keptBytes bounds the lines that are kept of a log; those of the last reading
	// are kept in any case.
	keptBytes = 256 << 10
	// keptStreams bounds the logs of a workspace of which lines are kept.
	keptStreams = 64
)

// sharedLine is a line of a log that several subscriptions send. Nothing of it changes.
type sharedLine struct {
	events.Line
	kind  string
	sound bool // it is an object
	clean []byte
}

// stream is the newest lines of a log. It is safe for concurrent use.
type stream struct {
	mu    sync.Mutex
	at    *cursor // behind the last line; nil before the first reading
	lines []sharedLine
	bytes int
	fresh bool // nothing is known to have come since

	ended  int64 // the seq of an end that was asked about
	asked  time.Time
	awaits bool
}

// markStale says that the log grew.
func (s *stream) markStale() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fresh = false
}

// linesAfter reads the lines after a cursor, which is made a counted place for that, and
// whether there are more. shared is false where the cursor has to read for itself.
func (s *stream) linesAfter(ctx context.Context, ws *workspace.Workspace, key logKey, c *cursor) (lines []sharedLine, more, shared bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.fresh {
		if err := s.read(ctx, ws, key, c); err != nil {
			return nil, false, false, err
		}
	}
	if s.at != nil && c.id == (durable.Identity{}) && c.offset == 0 && c.seq == 0 {
		c.id = s.at.id // the start of a log that was not there
	}
	if s.at == nil || c.id != s.at.id || c.offset > s.at.offset {
		return nil, false, false, nil
	}
	from, there := slices.BinarySearchFunc(s.lines, c.offset, func(l sharedLine, offset int64) int {
		switch {
		case l.Next <= offset:
			return -1
		case l.Offset > offset:
			return 1
		}
		return 0
	})
	switch {
	case there:
		first := &s.lines[from]
		if c.seq >= 0 && (c.seq != first.Seq-1 || c.offset != first.Offset) {
			return nil, false, false, nil
		}
	case c.offset != s.at.offset || c.seq >= 0 && c.seq != s.at.seq:
		return nil, false, false, nil
	case c.seq < 0:
		c.seq, c.first, c.tail = s.at.seq, s.at.first, slices.Clone(s.at.tail)
	}
	return s.lines[from:], !s.fresh, true, nil
}

// read goes on to the end of the log, one turn of it at most. The first reading begins
// where the one who asks stands.
func (s *stream) read(ctx context.Context, ws *workspace.Workspace, key logKey, c *cursor) error {
	l, err := openWritten(ctx, ws, key)
	if err != nil {
		return err
	}
	defer l.close()
	if s.at != nil {
		if stands, err := s.at.stands(l); err != nil || !stands || s.at.id != l.id {
			s.at, s.lines, s.bytes = nil, nil, 0 // readers of the other file look for themselves
		}
	}
	if s.at == nil {
		at := *c
		at.tail = slices.Clone(c.tail)
		if err := at.enter(l); err != nil {
			return err
		}
		if err := at.count(l); err != nil {
			return err
		}
		*c = at
		c.tail = slices.Clone(at.tail)
		s.at = &at
	}
	s.drop()
	end := s.at.offset + readQuota
	err = s.at.lines(l, func(line events.Line) bool {
		s.keep(line)
		s.at.pass(line)
		return s.at.offset < end
	})
	s.fresh = err == nil && s.at.offset < end
	return err
}

func (s *stream) keep(line events.Line) {
	line.Raw = bytes.Clone(line.Raw)
	s.lines = append(s.lines, share(line))
	s.bytes += len(line.Raw)
}

func share(line events.Line) sharedLine {
	kind, sound := kindOf(line.Raw)
	return sharedLine{Line: line, kind: kind, sound: sound, clean: clean(line.Raw)}
}

// drop forgets the oldest lines beyond the bound. Others may still send those that they
// were given.
func (s *stream) drop() {
	from := 0
	for from < len(s.lines) && s.bytes > keptBytes {
		s.bytes -= len(s.lines[from].Raw)
		from++
	}
	s.lines = slices.Clone(s.lines[from:])
}

// awaitsRecord is the function of that name, asked once in a while for all.
func (s *stream) awaitsRecord(now time.Time, ws *workspace.Workspace, key logKey, line sharedLine) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended != line.Seq || now.Sub(s.asked) >= minReadGap {
		s.ended, s.asked, s.awaits = line.Seq, now, awaitsRecord(ws, key, line.Raw)
	}
	return s.awaits
}
