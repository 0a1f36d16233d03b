package acecode

// The snapshot of a session, and its events after a number.

import (
	"context"
	"net/http"
	"strconv"

	"ac/dialect/acecode/frames"
	"ac/internal/fault"
)

// snapshotAnswer is a consistent snapshot of a session at the end of its log.
type snapshotAnswer struct {
	Messages    []*frames.Message  `json:"messages"`
	Events      []frames.Envelope  `json:"events"`
	Busy        bool               `json:"busy"`
	ActiveTurn  string             `json:"active_turn_id"`
	Turns       int                `json:"turn_count"`
	Mode        string             `json:"permission_mode"`
	Usage       *frames.TurnTokens `json:"token_usage"`
	Todos       []frames.Todo      `json:"todos"`
	TodoSummary frames.TodoSummary `json:"todo_summary"`
	Goal        *struct{}          `json:"goal"`
	Head        int64              `json:"head_seq"`
	SessionID   string             `json:"session_id"`
	Title       string             `json:"title"`
	Truncated   bool               `json:"truncated,omitempty"`
}

// eventList is a list of events in ShapeDocument.
type eventList struct {
	Events []frames.Envelope `json:"events"`
}

func readMessages(s *server, r *request) (any, error) {
	row, err := s.anySession(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	since := int64(0)
	if text := r.URL.Query().Get("since"); text != "" {
		if since, err = strconv.ParseInt(text, 10, 64); err != nil || since < 0 {
			return nil, bad("since must be an integer that is not negative")
		}
	}
	at := s.placeOf(row.ID)
	if since > 0 {
		list, err := s.eventsSince(r.Context(), row.ID, since)
		if err != nil {
			return nil, err
		}
		events := envelopes(list, at, r.shape)
		if r.shape == frames.ShapeWire {
			return events, nil
		}
		return eventList{events}, nil
	}
	answer := snapshotAnswer{Mode: modeOf(modeOfRun(&row)).Mode, SessionID: row.ID}
	err = s.withHistory(r.Context(), row.ID, func(h *history) error {
		answer.from(h, at, r.shape)
		return nil
	})
	if fault.Is(err, fault.NotFound) { // it has no log yet
		return nil, unknownSession()
	}
	return answer, err
}

// from fills the snapshot from a history.
func (a *snapshotAnswer) from(h *history, at frames.Place, naming frames.Shape) {
	v := h.mapper.View.Clone()
	a.Messages, a.Busy, a.ActiveTurn, a.Turns = append([]*frames.Message{}, v.Messages...), v.Busy != nil, frames.TurnID(h.mapper.Turn), v.Turns
	a.Usage, a.Todos, a.TodoSummary, a.Head, a.Title, a.Truncated = v.Used, append([]frames.Todo{}, v.Todos...), v.Summary, h.head(), v.Title, v.Truncated
	a.Events = append(envelopes(v.Events(), at, naming), frames.Titled(v.Title, a.Head, v.Last, at).Envelope(at, naming))
}

func envelopes(list []frames.Frame, at frames.Place, naming frames.Shape) []frames.Envelope {
	made := make([]frames.Envelope, len(list))
	for i, f := range list {
		made[i] = f.Envelope(at, naming)
	}
	return made
}

// eventsSince returns the events after a number, none if there are too many.
func (s *server) eventsSince(ctx context.Context, id string, since int64) (list []frames.Frame, err error) {
	err = s.withHistory(ctx, id, func(h *history) error {
		list, _ = h.since(since)
		return nil
	})
	if fault.Is(err, fault.NotFound) {
		err = refuse(http.StatusNotFound, "unknown session")
	}
	return list, err
}
