package feed

// New lines of a log, read once for all subscriptions (fan-out). The first subscription that needs
// them reads, and the others find them in memory. A subscription that is behind the buffered lines,
// or that knows the log as another file, reads for itself.

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
	// keptBytes bounds the buffered lines of a log. The lines of the last read are always kept.
	keptBytes = 256 << 10
	// keptStreams bounds the number of logs of a workspace with buffered lines.
	keptStreams = 64
)

// sharedLine is a line of a log that several subscriptions send. It is immutable.
type sharedLine struct {
	events.Line
	kind  string
	sound bool // it is a JSON object
	clean []byte
}

// stream holds the newest lines of a log. It is safe for concurrent use.
type stream struct {
	mu    sync.Mutex
	at    *cursor // after the last line; nil before the first read
	lines []sharedLine
	bytes int
	fresh bool // no growth was reported since the last read

	ended  int64 // the seq of the terminal event of the last awaitsRecord check
	asked  time.Time
	awaits bool
}

// markStale records that the log grew.
func (s *stream) markStale() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fresh = false
}

// linesAfter returns the lines after a cursor and whether there are more. It sets the cursor's seq
// if that was not counted. shared is false if the cursor's subscription has to read for itself.
func (s *stream) linesAfter(ctx context.Context, ws *workspace.Workspace, key logKey, c *cursor) (lines []sharedLine, more, shared bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.fresh {
		if err := s.read(ctx, ws, key, c); err != nil {
			return nil, false, false, err
		}
	}
	if s.at != nil && c.id == (durable.Identity{}) && c.offset == 0 && c.seq == 0 {
		c.id = s.at.id // the cursor was at the start of a log that did not exist
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

// read continues to the end of the log, up to the read quota. The first read begins at the caller's
// cursor.
func (s *stream) read(ctx context.Context, ws *workspace.Workspace, key logKey, c *cursor) error {
	l, err := openWritten(ctx, ws, key)
	if err != nil {
		return err
	}
	defer l.close()
	if s.at != nil {
		if stands, err := s.at.matches(l); err != nil || !stands || s.at.id != l.id {
			s.at, s.lines, s.bytes = nil, nil, 0 // readers of the old file read for themselves
		}
	}
	if s.at == nil {
		at := *c
		at.tail = slices.Clone(c.tail)
		if err := at.attach(l); err != nil {
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

// drop removes the oldest lines beyond the bound. Subscriptions may still be sending lines that
// they received before.
func (s *stream) drop() {
	from := 0
	for from < len(s.lines) && s.bytes > keptBytes {
		s.bytes -= len(s.lines[from].Raw)
		from++
	}
	s.lines = slices.Clone(s.lines[from:])
}

// awaitsRecord calls the function of that name, at most once per minReadGap for all subscriptions.
func (s *stream) awaitsRecord(now time.Time, ws *workspace.Workspace, key logKey, line sharedLine) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended != line.Seq || now.Sub(s.asked) >= minReadGap {
		s.ended, s.asked, s.awaits = line.Seq, now, awaitsRecord(ws, key, line.Raw)
	}
	return s.awaits
}
