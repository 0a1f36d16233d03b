package session

// What a dead supervisor left open in the log. Whoever reconciles its session writes the closing
// events before the end of the session.

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"

	"ac/events"
	"ac/runs/interaction"
	"ac/workspace"
	"ac/workspace/doc"
)

// OpenEnds collects what a log begins and does not end, in order.
type OpenEnds struct {
	interactions []openInteraction
	steers       []string
	turn         *TurnStartedPayload
}

type openInteraction struct {
	ID   string `json:"interaction_id"`
	Kind string `json:"kind"`
}

// read applies an event.
func (o *OpenEnds) read(kind string, line []byte) {
	var e struct {
		Payload json.RawMessage `json:"payload"`
	}
	if json.Unmarshal(line, &e) != nil {
		return
	}
	switch kind {
	case events.InteractionRequested:
		var p openInteraction
		if json.Unmarshal(e.Payload, &p) == nil {
			o.interactions = append(o.interactions, p)
		}
	case events.InteractionResolved:
		var p openInteraction
		if json.Unmarshal(e.Payload, &p) == nil {
			o.interactions = slices.DeleteFunc(o.interactions, func(other openInteraction) bool { return other.ID == p.ID })
		}
	case events.SteerQueued:
		var p SteerEvent
		if json.Unmarshal(e.Payload, &p) == nil && p.Delivery != DeliveryNextLaunch {
			o.steers = append(o.steers, p.ID)
		}
	case events.SteerApplied, events.SteerDiscarded:
		var p SteerAppliedPayload
		if json.Unmarshal(e.Payload, &p) == nil {
			o.steers = slices.DeleteFunc(o.steers, func(id string) bool { return id == p.SteerID })
		}
	case events.TurnStarted:
		p := &TurnStartedPayload{}
		if json.Unmarshal(e.Payload, p) == nil {
			o.turn = p
		}
	case events.TurnEnded:
		o.turn = nil
	}
}

// Closings returns the events that close everything open.
func (o *OpenEnds) Closings(source events.Source, base events.Draft) (drafts []events.Draft, err error) {
	tell := func(kind, visibility string, payload any) {
		d := base
		d.Type, d.Visibility = kind, visibility
		d, draftErr := source.Draft(d, payload)
		drafts, err = append(drafts, d), errors.Join(err, draftErr)
	}
	for _, i := range o.interactions {
		tell(events.InteractionResolved, events.VisibilityTeam, interaction.Resolution{
			InteractionID: i.ID, Kind: i.Kind, State: interaction.Cancelled,
			Outcome: interaction.Outcome{By: events.ActorSystem, Reason: interaction.SessionLost},
		})
	}
	for _, id := range o.steers {
		tell(events.SteerDiscarded, events.VisibilityOrg, SteerDiscardedPayload{SteerID: id, Reason: interaction.SessionLost})
	}
	if o.turn != nil {
		tell(events.TurnEnded, events.VisibilityOrg, TurnEndedPayload{Turn: o.turn.Turn, Status: "lost"})
	}
	return drafts, err
}

// ReadOpenEnds reads what a session's log left open.
func ReadOpenEnds(w *workspace.Workspace, record doc.Session) (o OpenEnds, err error) {
	err = EachEvent(w, workspace.LogFile(record.ProjectID, record.RunID), func(kind string, line []byte) {
		switch kind {
		case events.InteractionRequested, events.InteractionResolved, events.SteerQueued, events.SteerApplied, events.SteerDiscarded,
			events.TurnStarted, events.TurnEnded:
			o.read(kind, line)
		}
	})
	return o, err
}

// EachEvent calls visit for each line of a log, with its event type. A missing log has no lines.
// visit must not keep the line.
func EachEvent(w *workspace.Workspace, log string, visit func(kind string, line []byte)) error {
	f, err := w.FS.OpenFile(log, os.O_RDONLY, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	scanner := events.NewScanner(f, 0, 0)
	for {
		line, err := scanner.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		visit(events.Type(line.Raw), line.Raw)
	}
}
