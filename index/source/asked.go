package source

// What a log says of requests of agents to people.

import (
	"bytes"

	"ac/events"
	"ac/internal/canonjson"
	"ac/internal/shape"
)

// InteractionRow is an event about an interaction on its way to the table.
type InteractionRow struct {
	Seq, At  int64
	ID, Kind string
	Workflow string // the run whose step asks, "" for none
	Session  bool   // a session asks
	Resolves bool
}

// interactionOf is the interaction in an event, if it is about one.
func interactionOf(e *Event) (row InteractionRow, ok bool) {
	if !bytes.HasPrefix(e.Kind.Text, []byte("interaction.")) || len(e.Payload) == 0 || e.Payload[0] != '{' {
		return row, false
	}
	switch string(e.Kind.Text) {
	case events.InteractionRequested:
	case events.InteractionResolved:
		row.Resolves = true
	default:
		return row, false
	}
	row.Session = len(e.Session.Text) > 0
	_ = canonjson.Members(e.Payload, func(m canonjson.Member) { // valid, as its line was
		switch string(m.Key) {
		case "interaction_id":
			row.ID = string(textOf(m.Value).Text)
		case "kind":
			row.Kind = string(textOf(m.Value).Text)
		case "workflow":
			row.Workflow = events.Text(m.Value, "run_id")
		}
	})
	return row, shape.CheckID(row.ID) == ""
}
