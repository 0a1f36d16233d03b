package index

// Interactions: requests of agents to people. A row has the positions of the event that
// requested the interaction and of the one that resolved it. Their texts come from the log.

import (
	"database/sql"
	"strings"

	"ac/index/source"
)

// interaction writes the row of an interaction event. Only the first request of an open ID
// counts, and only its first resolution.
func (w *writer) interaction(run int64, i source.InteractionRow) error {
	from, to := eventKey(run, 0), eventKey(run+1, 0)
	if i.Resolves {
		return w.exec("UPDATE ac_interactions SET resolved=?, resolved_at=? WHERE interaction_id=? AND resolved IS NULL AND id>? AND id<?",
			i.Seq, i.At, i.ID, from, to)
	}
	return w.exec(`INSERT INTO ac_interactions SELECT ?,?,?,?,?,?,NULL,NULL WHERE NOT EXISTS
 (SELECT 1 FROM ac_interactions WHERE interaction_id=? AND resolved IS NULL AND id>? AND id<?)`,
		eventKey(run, i.Seq), i.ID, i.Kind, i.Session, source.Nullable(i.Workflow), i.At, i.ID, from, to)
}

// removeInteractions undoes the effect of the lines of a run after a seq.
func (w *writer) removeInteractions(run, seq int64) error {
	from, to := eventKey(run, seq), eventKey(run+1, 0)
	if err := w.exec("DELETE FROM ac_interactions WHERE id>? AND id<?", from, to); err != nil || seq == 0 {
		return err
	}
	return w.exec("UPDATE ac_interactions SET resolved=NULL, resolved_at=NULL WHERE id>? AND id<? AND resolved>?", eventKey(run, 0), to, seq)
}

// Interaction is an interaction of a run, with the positions of its events.
type Interaction struct {
	RunKey
	AgentID       string // of the run
	RunStatus     string
	InteractionID string
	Kind          string
	OfSession     bool           // a session asked; otherwise a workflow did
	At            int64          // when it was requested, in Unix nanoseconds
	ResolvedAt    int64          // 0 while it is open in the log
	Requested     EventLocation  // location of the requesting event
	Resolved      *EventLocation // location of the resolving event; nil while it is open in the log
}

// InteractionFilter selects interactions; empty fields match all. RunID may name a workflow,
// which selects the interactions of its steps too.
type InteractionFilter struct {
	ProjectID string
	RunID     string
	AgentID   string
	Kind      string
	Resolved  bool // select those resolved in the log, otherwise the open ones
	Limit     int  // 0: all
}

const interactionColumns = `r.project_id, r.run_id, r.dir, r.agent_id, r.status, i.interaction_id, i.kind, i.session, i.at, COALESCE(i.resolved_at,0),
 e.seq, e.offset, e.length, e.sum, d.seq, d.offset, d.length, d.sum`

// Interactions lists interactions: resolved ones newest first, others oldest first.
func (v *View) Interactions(f InteractionFilter) ([]Interaction, error) {
	var c conditions
	order := " ORDER BY i.at, i.id"
	if c.add("i.resolved IS NULL"); f.Resolved {
		c.text = ""
		c.add("i.resolved IS NOT NULL")
		order = " ORDER BY i.resolved_at DESC, i.id DESC"
	}
	c.equal("r.project_id", f.ProjectID)
	c.equal("r.agent_id", f.AgentID)
	c.equal("i.kind", f.Kind)
	if f.RunID != "" {
		if err := v.ofRun(&c, f.RunID); err != nil {
			return nil, err
		}
	}
	return query(v, "SELECT "+interactionColumns+` FROM ac_interactions i CROSS JOIN ac_runs r ON r.id=i.id>>36 CROSS JOIN ac_events e ON e.id=i.id
 LEFT JOIN ac_events d ON d.id=((i.id>>36)<<36)|i.resolved`+c.text+order+limitClause, append(c.args, limit(f.Limit)), scanInteraction)
}

// ofRun restricts a query to the interactions of a run, or of the steps of the workflow with
// that ID.
func (v *View) ofRun(c *conditions, name string) error {
	runs, err := query(v, "SELECT id FROM ac_runs WHERE run_id=?", []any{name}, func(rows *sql.Rows, id *int64) error { return rows.Scan(id) })
	if err != nil {
		return err
	}
	args := []any{name}
	for _, run := range runs {
		args = append(args, eventKey(run, 0), eventKey(run+1, 0))
	}
	c.add("(i.workflow=?"+strings.Repeat(" OR i.id>? AND i.id<?", len(runs))+")", args...)
	return nil
}

func scanInteraction(rows *sql.Rows, i *Interaction) error {
	var sum int32
	var seq, offset, length, ended sql.NullInt64
	p := &i.Requested
	err := rows.Scan(&p.ProjectID, &p.RunID, &p.Dir, &i.AgentID, &i.RunStatus, &i.InteractionID, &i.Kind, &i.OfSession, &i.At, &i.ResolvedAt,
		&p.Seq, &p.Offset, &p.Length, &sum, &seq, &offset, &length, &ended)
	p.sum, p.at = uint32(sum), i.At
	i.RunKey = RunKey{ProjectID: p.ProjectID, RunID: p.RunID}
	if ended.Valid {
		i.Resolved = &EventLocation{
			ProjectID: p.ProjectID, RunID: p.RunID, Dir: p.Dir, Seq: seq.Int64, Offset: offset.Int64, Length: length.Int64,
			at: i.ResolvedAt, sum: uint32(int32(ended.Int64)),
		}
	}
	return err
}

// InteractionLines reads the lines of interactions from their logs and calls visit in order.
// resolved is nil for an open one. It skips interactions whose request or resolution is no
// longer in the log.
func (v *View) InteractionLines(list []Interaction, visit func(i Interaction, requested, resolved []byte)) {
	logs := newLogTexts(v.w)
	defer logs.close()
	for _, i := range list {
		requested, ok := logs.text(i.Requested, i.Requested.Length)
		if !ok {
			continue
		}
		var resolved []byte
		if i.Resolved != nil {
			if resolved, ok = logs.text(*i.Resolved, i.Resolved.Length); !ok {
				continue
			}
		}
		visit(i, requested, resolved)
	}
}
