package web

// The last line of each run: what lists show of an agent's output.

import (
	"ac/events"
	"ac/feed"
	"ac/runs/transcript"
)

// maxLines bounds the runs whose output is decoded for one stream.
const maxLines = 256

// lastLines finds the last line of runs in their events, as these pass. The output of a
// run that began before the stream is decoded from where the stream begins. A nil one
// finds nothing. It is for one goroutine.
type lastLines struct {
	folds map[string]*transcript.Fold
}

// after returns the last line that a run's transcript has with an event, or "" where the
// event adds none.
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
