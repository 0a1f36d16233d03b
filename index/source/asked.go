package source

// Events about requests of agents to people.

import (
	"bytes"

	"ac/events"
	"ac/internal/canonjson"
	"ac/internal/shape"
)

// InteractionRow is an interaction event to be inserted.
type InteractionRow struct {
	Seq, At  int64
	ID, Kind string
	Workflow string // the run whose step asked, "" for none
	Session  bool   // a session asked
	Resolves bool
}

// interactionOf returns the interaction row of an event, if the event is about one.
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
	_ = canonjson.Members(e.Payload, func(m canonjson.Member) { // cannot fail: its line was valid
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
