package feed

// Reading a log line by line, for one who decodes the lines itself.

import (
	"context"

	"ac/events"
	"ac/internal/fault"
	"ac/workspace"
)

// Place is how far somebody has read the log of a run. It is for one goroutine.
type Place struct {
	project, run string
	since        int64 // what is behind it is wanted
	at           cursor
}

// PlaceAfter is the place behind a line of a log, 0 for its beginning.
func PlaceAfter(project, run string, seq int64) *Place {
	return &Place{project: project, run: run, since: seq}
}

// Lines visits the lines that the log has behind the place, and moves it behind them. A line
// is valid until visit returns; an error of visit ends the reading, and the line counts as
// read. A run without a log is fault.NotFound, one that ends before the place
// fault.CursorAhead.
func (p *Place) Lines(ctx context.Context, ws *workspace.Workspace, visit func(seq int64, line []byte) error) error {
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
