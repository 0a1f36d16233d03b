package index

// The table of usage records, and its query.

import "ac/index/source"

// saveUsage writes the usage records of a run that the table lacks. A nil u deletes all of the
// run's records.
func (w *writer) saveUsage(run int64, u *source.UsageFold) error {
	from, more := u.Unsaved()
	if err := w.exec("DELETE FROM ac_usage_records WHERE id>=? AND id<?", eventKey(run, int64(from)), eventKey(run+1, 0)); err != nil || u == nil {
		return err
	}
	for n := range more {
		if err := w.exec("INSERT INTO ac_usage_records VALUES (?,?,?,?,?,?,?,?,?,?,?,?)", append([]any{eventKey(run, int64(from+n))}, more[n].Values()...)...); err != nil {
			return err
		}
	}
	u.MarkSaved()
	return nil
}

// UsageRecord is the usage of one turn, or of a session that reports no turns.
type UsageRecord struct {
	RunKey

	AgentID   string
	Provider  string
	Model     string // as reported by the agent, else the run's; "" if neither is known
	Profile   string // of the run's newest session; "" if there is none
	TaskID    string // "" if the run has no task
	At        int64  // in Unix nanoseconds
	Estimated bool
	Input     int64
	Cached    int64
	Written   int64 // cache writes, not included in Input
	Output    int64
	Reasoning int64
	Total     int64
	CostUSD   *float64
	CostBy    string // source.CostReported, source.CostRate, or "" without a cost
}

// UsageFilter selects usage records; empty fields match all. From and To bound their times,
// inclusive.
type UsageFilter struct {
	ProjectID string
	AgentID   string
	From, To  int64
}

// UsageRecords calls visit for each record, in no particular order.
func (v *View) UsageRecords(f UsageFilter, visit func(*UsageRecord)) error {
	var c conditions
	c.add("u.at>=? AND u.at<=?", f.From, f.To)
	c.equal("r.project_id", f.ProjectID)
	c.equal("r.agent_id", f.AgentID)
	rows, err := v.conn.query(v.ctx, `SELECT r.project_id, r.run_id, r.agent_id, r.provider, COALESCE(u.model,r.spec_model,''), COALESCE(r.model_profile,''), COALESCE(r.spec_task_id,''), u.at, u.estimated,
 u.input, u.cached, u.cache_write, u.output, u.reasoning, u.total, u.cost_usd, COALESCE(u.cost_by,'') FROM ac_usage_records u JOIN ac_runs r ON r.id=u.id>>36`+c.text, c.args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var u UsageRecord
		if err := rows.Scan(&u.ProjectID, &u.RunID, &u.AgentID, &u.Provider, &u.Model, &u.Profile, &u.TaskID, &u.At, &u.Estimated,
			&u.Input, &u.Cached, &u.Written, &u.Output, &u.Reasoning, &u.Total, &u.CostUSD, &u.CostBy); err != nil {
			return err
		}
		visit(&u)
	}
	return rows.Err()
}
