package feed

// Reading a log line by line, for a client that decodes the lines itself.

import (
	"context"

	"ac/events"
	"ac/internal/fault"
	"ac/workspace"
)

// Position is a position in the log of a run. It is not safe for concurrent use.
type Position struct {
	project, run string
	since        int64 // the seq after which lines are wanted
	at           cursor
}

// PositionAfter returns the position after a line of a log, 0 for its beginning.
func PositionAfter(project, run string, seq int64) *Position {
	return &Position{project: project, run: run, since: seq}
}

// Lines visits the lines of the log after the position, and moves the position after them. A line is
// valid until visit returns. An error of visit stops the reading, and that line counts as read. For
// a run without a log the error is fault.NotFound. For a log that ends before the position it is
// fault.CursorAhead.
func (p *Position) Lines(ctx context.Context, ws *workspace.Workspace, visit func(seq int64, line []byte) error) error {
	key := logKey{p.project, p.run}
	l, err := openNamed(ctx, ws, key)
	if err != nil {
		return err
	}
	defer l.close()
	var visited error
	if err = p.at.begin(l); err == nil {
		err = p.at.lines(l, func(line events.Line) bool {
			if line.Seq > p.since {
				p.since = line.Seq
				visited = visit(line.Seq, line.Raw)
			}
			p.at.pass(line)
			return visited == nil
		})
	}
	switch {
	case err != nil:
		return fault.New(fault.IO, "%s cannot be read: %w", key.file(), err)
	case visited == nil && p.at.seq < p.since:
		return ahead(p.run, p.at.seq, p.since)
	}
	return visited
}
