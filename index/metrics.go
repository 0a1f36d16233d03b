package index

// Queries for runs by agent and by ID.

import "database/sql"

// AgentMetrics has the sums over the runs of an agent. Costs are not rounded.
type AgentMetrics struct {
	Runs         int64
	Running      int64
	Ended        int64
	Failed       int64
	Stopped      int64
	TotalTokens  int64
	TotalCostUSD float64
	Cycles       *int64 // of the context; nil if no run reports any
}

// AgentMetrics sums up the runs of an agent in a project, or in all projects if project is "".
func (v *View) AgentMetrics(agent, project string) (m AgentMetrics, err error) {
	var c conditions
	c.equal("agent_id", agent)
	c.equal("project_id", project)
	err = v.conn.queryRow(v.ctx, `SELECT count(*), COALESCE(sum(status='running'),0), COALESCE(sum(status='ended'),0),
 COALESCE(sum(status='failed'),0), COALESCE(sum(status='stopped'),0), COALESCE(sum(usage_total_tokens),0),
 COALESCE(sum(CASE WHEN usage_cost_usd>=0 THEN usage_cost_usd END),0.0),
 sum(CASE WHEN context_cycles_source='provider_signal' THEN context_cycles_count END) FROM ac_runs`+c.text, c.args,
		&m.Runs, &m.Running, &m.Ended, &m.Failed, &m.Stopped, &m.TotalTokens, &m.TotalCostUSD, &m.Cycles)
	return m, err
}

// AgentsOf lists the agents of the given runs. It skips unknown runs.
func (v *View) AgentsOf(runs ...RunKey) (agents []string, err error) {
	for _, key := range runs {
		one, err := query(v, "SELECT agent_id FROM ac_runs WHERE run_id=? AND project_id=?", []any{key.RunID, key.ProjectID},
			func(rows *sql.Rows, agent *string) error { return rows.Scan(agent) })
		if err != nil {
			return nil, err
		}
		agents = append(agents, one...)
	}
	return agents, nil
}

// MonitoredRuns returns those of the given runs that the index knows, with their stats.
func (v *View) MonitoredRuns(runs ...RunKey) (list []MonitoredRun, err error) {
	asked := make(map[RunKey]bool, len(runs))
	for _, key := range runs {
		if asked[key] {
			continue
		}
		asked[key] = true
		one, err := query(v, monitoredRunQuery+" WHERE r.run_id=? AND r.project_id=?", []any{key.RunID, key.ProjectID}, scanMonitored)
		if err != nil {
			return nil, err
		}
		list = append(list, one...)
	}
	return list, nil
}

// Logs lists the project and directory of each indexed run, of all projects if project is "".
func (v *View) Logs(project string) ([]RunKey, error) {
	var c conditions
	c.equal("project_id", project)
	return query(v, "SELECT project_id, dir FROM ac_runs"+c.text, c.args, func(rows *sql.Rows, k *RunKey) error { return rows.Scan(&k.ProjectID, &k.RunID) })
}
