package web

// How far a client is in the events of all runs: what it says when it comes
// back, so that it gets every event once.

import (
	"encoding/base64"
	"encoding/json"
	"slices"
)

// maxCursorRuns is how many runs a cursor names: the last that had events.
const maxCursorRuns = 64

// eventCursor is how far a client is. Of the runs in it it has the events up to a seq,
// of others those that are older than From. A stream begins with the newest
// events of all runs, or with none where there is none, so From is the time of
// its first event: what is newer in a run that it had no event of came later.
type eventCursor struct {
	From int64       `json:"t"` // Unix milliseconds
	Runs []runCursor `json:"r"` // the last one to have had an event last
}

type runCursor struct {
	Run string `json:"r"`
	Seq int64  `json:"s"`
	At  int64  `json:"t"` // of its latest event, Unix milliseconds
}

// pass notes an event that the client gets. Beyond maxPlaceRuns the run that was
// silent for longest goes: it is known by its time from then on.
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

// since are the positions by run.
func (p *eventCursor) since() map[string]int64 {
	since := map[string]int64{}
	for _, r := range p.Runs {
		since[r.Run] = r.Seq
	}
	return since
}

// String is the cursor as the id of an event.
func (p *eventCursor) String() string {
	text, _ := json.Marshal(p) // texts and numbers always are JSON
	return base64.RawURLEncoding.EncodeToString(text)
}

// parseCursor reads what String wrote; anything else is no cursor.
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
