package index

// Events after given cursors in the logs of runs, queried for all runs at once.

import (
	"database/sql"
	"encoding/json"
)

// LogEnd is a run and the end of its log.
type LogEnd struct {
	RunKey
	AgentID string
	Events  int64
	Last    int64 // the seq of the last event, 0 if there is none
	id      int64
}

// LogEnds lists all runs with the ends of their logs.
func (v *View) LogEnds() ([]LogEnd, error) {
	return query(v, "SELECT r.id, r.project_id, r.run_id, r.agent_id, COALESCE(s.events,0), COALESCE(s.last_seq,0) FROM ac_runs r LEFT JOIN ac_run_stats s ON s.id=r.id", nil,
		func(rows *sql.Rows, e *LogEnd) error {
			return rows.Scan(&e.id, &e.ProjectID, &e.RunID, &e.AgentID, &e.Events, &e.Last)
		})
}

// LogCursor is a run and a reader's cursor in its log.
type LogCursor struct {
	LogEnd
	Since int64
}

// ActorEvents counts the events of one actor, nil for events without one.
type ActorEvents struct {
	Actor  *string
	Events int64
}

// SignalsAfter counts the events after the cursors, by actor, in one query.
func (v *View) SignalsAfter(places []LogCursor) ([]ActorEvents, error) {
	ranges := make([][2]int64, len(places))
	for i, p := range places {
		ranges[i] = [2]int64{eventKey(p.id, p.Since), eventKey(p.id+1, 0)}
	}
	text, err := json.Marshal(ranges)
	if err != nil {
		return nil, err
	}
	return query(v, `SELECT (SELECT word FROM ac_words WHERE id=n.actor), n.events FROM (SELECT e.actor, count(*) AS events
 FROM json_each(?) p CROSS JOIN ac_events e ON e.id>json_extract(p.value,'$[0]') AND e.id<json_extract(p.value,'$[1]') GROUP BY e.actor) n`, []any{string(text)}, scanActor)
}

// EventsByActor counts all events by actor, except those of the given runs.
func (v *View) EventsByActor(except []LogEnd) ([]ActorEvents, error) {
	ids := make([]int64, len(except))
	for i, e := range except {
		ids[i] = e.id
	}
	text, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	return query(v, `SELECT (SELECT word FROM ac_words WHERE id=n.actor), n.events FROM (SELECT actor, count(*) AS events
 FROM ac_events WHERE (id>>36) NOT IN (SELECT value FROM json_each(?)) GROUP BY actor) n`, []any{string(text)}, scanActor)
}

func scanActor(rows *sql.Rows, e *ActorEvents) error { return rows.Scan(&e.Actor, &e.Events) }
