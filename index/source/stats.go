package source

// The sums of a run's log.

import (
	"bytes"
	"encoding/json"

	"ac/events"
)

// Stats has the counts and latest values that a run's log contributes.
type Stats struct {
	Events         int64           `json:"n,omitempty"`
	ParseErrors    int64           `json:"e,omitempty"`
	PolicyDecided  int64           `json:"pd,omitempty"`
	PolicyDenied   int64           `json:"px,omitempty"`
	BudgetDecided  int64           `json:"bd,omitempty"`
	BudgetAlerts   int64           `json:"ba,omitempty"`
	BudgetExceeded int64           `json:"bx,omitempty"`
	Last           *LastEvent      `json:"last,omitempty"`
	PolicyDecision json.RawMessage `json:"lpd,omitempty"`
	PolicyDenial   json.RawMessage `json:"lpx,omitempty"`
	BudgetDecision json.RawMessage `json:"lbd,omitempty"`
	RetryOf        string          `json:"r,omitempty"` // the run that it retries
	SessionRef     string          `json:"s,omitempty"` // of its newest session
	Usage          *UsageFold      `json:"u,omitempty"`
}

// LastEvent is the event of a run with the highest seq.
type LastEvent struct {
	Seq         int64   `json:"seq"`
	Type        string  `json:"type"`
	TSWallclock *string `json:"ts_wallclock"`
	Actor       *string `json:"actor"`
	Visibility  *string `json:"visibility"`
}

func (s *Stats) count(e *Event) {
	s.Events++
	s.foldUsage(e)
	switch string(e.Kind.Text) {
	case events.RunStarted:
		s.RetryOf, s.SessionRef = events.Text(e.Payload, "retry_of"), string(e.Session.Text)
	case events.RunExecuting, events.RunContinued:
		s.SessionRef = string(e.Session.Text)
	case "policy.decision":
		s.PolicyDecided++
		latest(&s.PolicyDecision, e.Payload)
	case "policy.denied":
		s.PolicyDenied++
		latest(&s.PolicyDenial, e.Payload)
	case "budget.decision":
		s.BudgetDecided++
		latest(&s.BudgetDecision, e.Payload)
	case "budget.alert":
		s.BudgetAlerts++
	case "budget.exceeded":
		s.BudgetExceeded++
	}
}

// latest stores a payload that is an object. For an excessively large one it stores only an
// empty object.
func latest(into *json.RawMessage, payload []byte) {
	if len(payload) == 0 || payload[0] != '{' {
		return
	}
	if len(payload) > maxPayload {
		payload = []byte("{}")
	}
	*into = bytes.Clone(payload)
}

// newest is the last event read. It is added to the stats once per read, not per event.
type newest struct {
	seq        int64
	kind       *Word
	actor      *Word
	visibility *Word
	TS         []byte
	hasTS      bool
	hasEvent   bool
}

func (n *newest) set(row EventRow, visibility *Word, ts Member) {
	n.seq, n.kind, n.actor, n.visibility = row.Seq, row.Kind, row.Actor, visibility
	n.TS, n.hasTS, n.hasEvent = append(n.TS[:0], ts.Text...), !ts.absent, true
}

func (n *newest) saveTo(s *Stats) {
	if !n.hasEvent {
		return
	}
	s.Last = &LastEvent{Seq: n.seq, Type: n.kind.Text, Actor: n.actor.pointer(), Visibility: n.visibility.pointer()}
	if n.hasTS {
		text := string(n.TS)
		s.Last.TSWallclock = &text
	}
}
