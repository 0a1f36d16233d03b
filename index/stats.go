package index

// Precomputed sums for each run and each agent.

import (
	"database/sql"
	"encoding/json"
	"errors"

	"ac/index/source"
)

func (w *writer) saveStats(run int64, s *source.Stats) error {
	values := []any{
		run, s.Events, s.ParseErrors, s.PolicyDecided, s.PolicyDenied, s.BudgetDecided, s.BudgetAlerts, s.BudgetExceeded,
	}
	if l := s.Last; l != nil {
		values = append(values, l.Seq, l.Type, l.TSWallclock, l.Actor, l.Visibility)
	} else {
		values = append(values, nil, nil, nil, nil, nil)
	}
	values = append(values, source.Nullable(string(s.PolicyDecision)), source.Nullable(string(s.PolicyDenial)), source.Nullable(string(s.BudgetDecision)), source.Nullable(s.RetryOf), source.Nullable(s.SessionRef), s.UsageJSON())
	if err := w.exec("INSERT OR REPLACE INTO ac_run_stats VALUES "+placeholders(len(values)), values...); err != nil {
		return err
	}
	return w.saveUsage(run, s.Usage)
}

const statsColumns = `events, parse_errors, policy_decisions, policy_denied, budget_decisions, budget_alerts, budget_exceeded,
 last_seq, last_type, last_ts, last_actor, last_visibility, latest_policy_decision, latest_policy_denied, latest_budget_decision`

// statsRow receives the columns of stats.
type statsRow struct {
	numbers    [7]sql.NullInt64
	seq        sql.NullInt64
	kind       sql.NullString
	ts         *string
	actor      *string
	visibility *string
	latest     [3]sql.NullString
}

func (s *statsRow) targets() []any {
	list := make([]any, 0, 15)
	for i := range s.numbers {
		list = append(list, &s.numbers[i])
	}
	list = append(list, &s.seq, &s.kind, &s.ts, &s.actor, &s.visibility)
	for i := range s.latest {
		list = append(list, &s.latest[i])
	}
	return list
}

func (s *statsRow) stats() source.Stats {
	st := source.Stats{
		Events: s.numbers[0].Int64, ParseErrors: s.numbers[1].Int64, PolicyDecided: s.numbers[2].Int64, PolicyDenied: s.numbers[3].Int64,
		BudgetDecided: s.numbers[4].Int64, BudgetAlerts: s.numbers[5].Int64, BudgetExceeded: s.numbers[6].Int64,
	}
	if s.seq.Valid {
		st.Last = &source.LastEvent{Seq: s.seq.Int64, Type: s.kind.String, TSWallclock: s.ts, Actor: s.actor, Visibility: s.visibility}
	}
	for i, into := range []*json.RawMessage{&st.PolicyDecision, &st.PolicyDenial, &st.BudgetDecision} {
		if s.latest[i].Valid {
			*into = json.RawMessage(s.latest[i].String)
		}
	}
	return st
}

// stats reads the stats of a run, zero if it has none.
func (w *writer) stats(run int64) (source.Stats, error) {
	st, err := w.statement("SELECT " + statsColumns + ", retry_of, session_ref, usage FROM ac_run_stats WHERE id=?")
	if err != nil {
		return source.Stats{}, err
	}
	var s statsRow
	var retry, ref, usage sql.NullString
	err = st.QueryRowContext(w.ctx, run).Scan(append(s.targets(), &retry, &ref, &usage)...)
	if errors.Is(err, sql.ErrNoRows) {
		return source.Stats{}, nil
	}
	known := s.stats()
	known.RetryOf, known.SessionRef = retry.String, ref.String
	known.SetUsage(usage)
	return known, err
}

// countAgent sums up the runs of one agent. Its name comes from its document;
// an agent without one is a worker with the provider of its first run.
const countAgent = `
INSERT INTO ac_agent_counters
SELECT ?1, a.id IS NOT NULL, COALESCE(a.name, ?1), COALESCE(a.role, 'worker'),
  COALESCE(a.provider, (SELECT provider FROM ac_runs WHERE agent_id=?1 ORDER BY project_id, dir LIMIT 1)), a.model_hint, a.team_id,
  r.total, r.running, r.ended, r.failed, r.stopped, r.tokens, r.cost, r.cycles, r.cycled, r.uncycled
FROM (SELECT count(*) AS total,
    count(*) FILTER (WHERE status='running') AS running, count(*) FILTER (WHERE status='ended') AS ended,
    count(*) FILTER (WHERE status='failed') AS failed, count(*) FILTER (WHERE status='stopped') AS stopped,
    COALESCE(sum(usage_total_tokens),0) AS tokens, COALESCE(round(sum(usage_cost_usd),6),0.0) AS cost,
    COALESCE(sum(context_cycles_count) FILTER (WHERE context_cycles_source='provider_signal'),0) AS cycles,
    count(*) FILTER (WHERE context_cycles_source='provider_signal') AS cycled,
    count(*) FILTER (WHERE context_cycles_source<>'provider_signal') AS uncycled
  FROM ac_runs WHERE agent_id=?1) AS r
LEFT JOIN (SELECT * FROM ac_agents WHERE agent_id=?1 ORDER BY id LIMIT 1) AS a
WHERE r.total>0 OR a.id IS NOT NULL`

func (w *writer) count(agent string) error {
	if err := w.exec("DELETE FROM ac_agent_counters WHERE agent_id=?", agent); err != nil {
		return err
	}
	return w.exec(countAgent, agent)
}
