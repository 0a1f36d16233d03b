package index

// Runs that need attention: those that failed, exceeded a budget, or have a damaged log.

import (
	"database/sql"

	"ac/events"
)

// TroubledRun is a run that needs attention, with the reasons.
type TroubledRun struct {
	MonitoredRun

	EndedAt  int64   // in Unix nanoseconds; 0 if unknown
	Error    *string // why it failed, in the agent's words
	Sessions int     // how often it was launched or continued
	Retried  bool    // another run retries it
	Tampered bool    // its log was found altered
}

// TroubledRuns lists the runs of a project, or of all projects if it is "", that failed, exceeded a
// budget, or have a damaged log. Failures and budgets count only from since on, in Unix
// nanoseconds; damaged logs always count. The order is unspecified.
func (v *View) TroubledRuns(project string, since int64) ([]TroubledRun, error) {
	var c conditions
	c.add(`(r.id IN (SELECT id FROM ac_runs WHERE status='failed' AND COALESCE(ended_at,at)>=?)
 OR r.id IN (SELECT b.id FROM ac_run_stats b JOIN ac_runs o ON o.id=b.id WHERE b.budget_exceeded>0 AND COALESCE(o.ended_at,o.at)>=?)
 OR r.id IN (SELECT id FROM ac_run_stats WHERE parse_errors>0)
 OR r.id IN (SELECT e.id>>36 FROM ac_events e WHERE e.type=(SELECT id FROM ac_words WHERE word=?)))`, since, since, events.RunLogTampered)
	c.equal("r.project_id", project)
	return query(v, `SELECT `+runColumns+`, `+statsColumns+`, COALESCE(r.ended_at,0), r.error, r.sessions,
 EXISTS (SELECT 1 FROM ac_run_stats n JOIN ac_runs m ON m.id=n.id WHERE n.retry_of=r.run_id AND m.project_id=r.project_id),
 EXISTS (SELECT 1 FROM ac_events e WHERE e.type=(SELECT id FROM ac_words WHERE word='`+events.RunLogTampered+`') AND e.id>(r.id<<36) AND e.id<((r.id+1)<<36))
 FROM ac_runs r LEFT JOIN ac_run_stats s ON s.id=r.id`+c.text, c.args, func(rows *sql.Rows, t *TroubledRun) error {
		var s statsRow
		targets := append(t.targets(), s.targets()...)
		if err := rows.Scan(append(targets, &t.EndedAt, &t.Error, &t.Sessions, &t.Retried, &t.Tampered)...); err != nil {
			return err
		}
		t.setStats(s.stats())
		return nil
	})
}

// UnansweredHelpRequests lists the help requests without a response in a project, or in all projects if it
// is "".
func (v *View) UnansweredHelpRequests(project string) ([]HelpRequest, error) {
	var c conditions
	c.add("answered=0")
	c.equal("project_id", project)
	return query(v, "SELECT "+helpColumns+" FROM ac_help_requests"+c.text+" ORDER BY at, help_request_id", c.args, scanHelp)
}

// RunsNamed lists the runs with an ID, in all projects.
func (v *View) RunsNamed(id string) ([]RunKey, error) {
	return query(v, "SELECT project_id, run_id FROM ac_runs WHERE run_id=? ORDER BY project_id", []any{id}, func(rows *sql.Rows, k *RunKey) error {
		return rows.Scan(&k.ProjectID, &k.RunID)
	})
}

// DecisionOn returns the newest review of an artifact, nil if there is none.
func (v *View) DecisionOn(artifact string) (*Review, error) {
	list, err := query(v, "SELECT "+reviewColumns+" FROM ac_reviews r WHERE r.subject_artifact_id=?"+newestReviews, []any{artifact, 1},
		func(rows *sql.Rows, r *Review) error { return rows.Scan(r.targets()...) })
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}
