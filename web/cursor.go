package web

// The cursor of a client in the events of all runs. The client resumes from it and gets every event
// once.

import (
	"encoding/base64"
	"encoding/json"
	"slices"
)

// maxCursorRuns bounds the runs in a cursor: those with the latest events.
const maxCursorRuns = 64

// eventCursor is the cursor of a client. For the runs in it, the client has the events up to a seq.
// For other runs it has those older than From. A stream begins with the newest events of all runs,
// if there are any. So From is the time of its first event: newer events in a run without an entry
// were appended later.
type eventCursor struct {
	From int64       `json:"t"` // Unix milliseconds
	Runs []runCursor `json:"r"` // ordered by latest event
}

type runCursor struct {
	Run string `json:"r"`
	Seq int64  `json:"s"`
	At  int64  `json:"t"` // of its latest event, Unix milliseconds
}

// pass records an event that the client gets. Beyond maxCursorRuns it drops the run that was silent
// for longest, which From then covers.
func (p *eventCursor) pass(run string, seq, at int64) {
	if len(p.Runs) == 0 && at > 0 {
		p.From = min(p.From, at)
	}
	next := runCursor{run, seq, at}
	if i := slices.IndexFunc(p.Runs, func(r runCursor) bool { return r.Run == run }); i >= 0 {
		next.At = max(next.At, p.Runs[i].At)
		p.Runs = slices.Delete(p.Runs, i, i+1)
	} else if len(p.Runs) == maxCursorRuns {
		oldest := 0
		for i, r := range p.Runs {
			if r.At < p.Runs[oldest].At {
				oldest = i
			}
		}
		p.From = max(p.From, p.Runs[oldest].At+1)
		p.Runs = slices.Delete(p.Runs, oldest, oldest+1)
	}
	p.Runs = append(p.Runs, next)
}

// since returns the seqs by run.
func (p *eventCursor) since() map[string]int64 {
	since := map[string]int64{}
	for _, r := range p.Runs {
		since[r.Run] = r.Seq
	}
	return since
}

// String returns the cursor as an event id.
func (p *eventCursor) String() string {
	text, _ := json.Marshal(p) // strings and numbers always encode
	return base64.RawURLEncoding.EncodeToString(text)
}

// parseCursor parses a result of String. ok is false for anything else.
func parseCursor(text string) (p eventCursor, ok bool) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || text == "" || json.Unmarshal(raw, &p) != nil || p.From <= 0 || len(p.Runs) > maxCursorRuns {
		return eventCursor{}, false
	}
	for _, r := range p.Runs {
		if r.Run == "" || r.Seq < 0 {
			return eventCursor{}, false
		}
	}
	return p, true
}
