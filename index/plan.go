package index

// Queries for plans and portfolios.

import (
	"database/sql"
	"encoding/json"
	"errors"
)

// TaskTotals has the sums over a project's tasks.
type TaskTotals struct {
	Tasks    int
	Blocked  int     // with status blocked
	Progress float64 // sum of their progress ratios
	// Waits maps each task that has dependencies to them.
	Waits map[string][]string
}

// TaskTotals sums up the tasks of each project that has any.
func (v *View) TaskTotals() (map[string]*TaskTotals, error) {
	totals := map[string]*TaskTotals{}
	_, err := query(v, "SELECT project_id, count(*), sum(status='blocked'), sum(progress_ratio) FROM ac_tasks GROUP BY project_id", nil,
		func(rows *sql.Rows, _ *struct{}) error {
			var project string
			t := TaskTotals{Waits: map[string][]string{}}
			err := rows.Scan(&project, &t.Tasks, &t.Blocked, &t.Progress)
			totals[project] = &t
			return err
		})
	if err != nil {
		return nil, err
	}
	_, err = query(v, "SELECT project_id, task_id, schedule_depends_on_json FROM ac_tasks WHERE schedule_depends_on_json<>'[]'", nil,
		func(rows *sql.Rows, _ *struct{}) error {
			var project, task string
			var text []byte
			if err := rows.Scan(&project, &task, &text); err != nil {
				return err
			}
			var waits []string
			err := json.Unmarshal(text, &waits)
			totals[project].Waits[task] = waits
			return err
		})
	return totals, err
}

// RunningRun is a run whose record has status running.
type RunningRun struct {
	RunKey
	AgentID string
}

// RunningRuns lists the runs whose records have status running.
func (v *View) RunningRuns() ([]RunningRun, error) {
	return query(v, "SELECT project_id, run_id, agent_id FROM ac_runs WHERE status='running'", nil, func(rows *sql.Rows, r *RunningRun) error {
		return rows.Scan(&r.ProjectID, &r.RunID, &r.AgentID)
	})
}

// AgentOf returns the agent of a run, "" for an unknown run.
func (v *View) AgentOf(run RunKey) (agent string, err error) {
	err = v.conn.queryRow(v.ctx, "SELECT agent_id FROM ac_runs WHERE project_id=? AND run_id=?", []any{run.ProjectID, run.RunID}, &agent)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return agent, err
}
