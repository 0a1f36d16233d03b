package web

// The last line of each run's output, for lists of runs.

import (
	"ac/events"
	"ac/feed"
	"ac/runs/transcript"
)

// maxLines bounds the runs whose output one stream decodes.
const maxLines = 256

// lastLines extracts the last output line of runs from their events. For a run that began earlier,
// it decodes only the events of this stream. A nil lastLines returns no lines. It is not safe for
// concurrent use.
type lastLines struct {
	folds map[string]*transcript.Fold
}

// after returns the new last line of a run's transcript after an event, or "" if the event adds
// none.
func (l *lastLines) after(e feed.Event) (line string) {
	if l == nil {
		return ""
	}
	f := l.folds[e.Run]
	if f == nil {
		if len(l.folds) >= maxLines {
			clear(l.folds)
		}
		f = transcript.NewBrief(e.Project)
		l.folds[e.Run] = f
	}
	for _, change := range f.Line(e.Seq, e.Raw) {
		if change.Item == nil {
			continue
		}
		if last := transcript.LastLine(change.Item); last != "" {
			line = last
		}
	}
	if events.Terminal(events.Text(e.Raw, "type")) {
		delete(l.folds, e.Run)
	}
	return line
}
