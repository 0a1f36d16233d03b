package index

// Queries for snapshots.

import (
	"database/sql"
	"encoding/json"

	"ac/index/source"
)

// MonitoredRun is a run with the stats of its log.
type MonitoredRun struct {
	Run
	LastEvent            *source.LastEvent
	Events               int64
	ParseErrors          int64
	PolicyDecisions      int64
	PolicyDenied         int64
	BudgetDecisions      int64
	BudgetAlerts         int64
	BudgetExceeded       int64
	LatestPolicyDecision json.RawMessage // raw payloads; nil if there is none
	LatestPolicyDenied   json.RawMessage
	LatestBudgetDecision json.RawMessage
}

// size estimates the memory of a run, in bytes.
func (m *MonitoredRun) size() int {
	return 1024 + len(m.LatestPolicyDecision) + len(m.LatestPolicyDenied) + len(m.LatestBudgetDecision)
}

// RunKey identifies a run.
type RunKey struct{ ProjectID, RunID string }

func scanMonitored(rows *sql.Rows, m *MonitoredRun) error {
	var s statsRow
	if err := rows.Scan(append(m.targets(), s.targets()...)...); err != nil {
		return err
	}
	m.setStats(s.stats())
	return nil
}

// setStats copies the stats of a log into the run.
func (m *MonitoredRun) setStats(st source.Stats) {
	m.LastEvent, m.Events, m.ParseErrors = st.Last, st.Events, st.ParseErrors
	m.PolicyDecisions, m.PolicyDenied, m.BudgetDecisions = st.PolicyDecided, st.PolicyDenied, st.BudgetDecided
	m.BudgetAlerts, m.BudgetExceeded = st.BudgetAlerts, st.BudgetExceeded
	m.LatestPolicyDecision, m.LatestPolicyDenied, m.LatestBudgetDecision = st.PolicyDecision, st.PolicyDenial, st.BudgetDecision
}

const monitoredRunQuery = "SELECT " + runColumns + ", " + statsColumns + " FROM ac_runs r LEFT JOIN ac_run_stats s ON s.id=r.id"

// Monitored lists runs with their stats, newest first. It appends the runs named in also,
// whatever their age, without duplicates. The list is shared and must not be changed.
func (v *View) Monitored(f RunFilter, also ...RunKey) ([]MonitoredRun, error) {
	list, err := cachedQuery(v, queryKey{"monitored runs", f}, (*MonitoredRun).size, func() ([]MonitoredRun, error) {
		c := f.conditions()
		return query(v, monitoredRunQuery+c.text+newestRuns, append(c.args, limit(f.Limit)), scanMonitored)
	})
	if err != nil {
		return nil, err
	}
	there := make(map[RunKey]bool, len(list))
	for i := range list {
		there[RunKey{list[i].ProjectID, list[i].RunID}] = true
	}
	for _, key := range also {
		if there[key] {
			continue
		}
		there[key] = true
		one, err := query(v, monitoredRunQuery+" WHERE r.run_id=? AND r.project_id=?", []any{key.RunID, key.ProjectID}, scanMonitored)
		if err != nil {
			return nil, err
		}
		list = append(list, one...)
	}
	return list, nil
}

// Totals has the sums over all runs of a scope. Costs are not rounded.
type Totals struct {
	Runs              int
	Running           int
	TotalTokens       int64
	TotalCostUSD      float64
	PricedRuns        int
	ProviderReported  int
	Estimated         int
	RunsWithErrors    int // runs with lines that are not events
	CyclesTotal       int64
	CyclesKnownRuns   int
	CyclesUnknownRuns int
	PricedTokens      int64 // of runs with a known cost
}

const totalsColumns = `count(*), COALESCE(sum(r.status='running'),0), COALESCE(sum(r.usage_total_tokens),0),
 COALESCE(sum(CASE WHEN r.usage_cost_usd>=0 THEN r.usage_cost_usd END),0.0), COALESCE(sum(r.usage_cost_usd>=0),0),
 COALESCE(sum(r.usage_source='provider_reported'),0), COALESCE(sum(r.usage_source='estimated_chars'),0), COALESCE(sum(s.parse_errors>0),0),
 COALESCE(sum(CASE WHEN r.context_cycles_source='provider_signal' THEN r.context_cycles_count END),0),
 COALESCE(sum(r.context_cycles_source='provider_signal'),0), COALESCE(sum(r.context_cycles_source<>'provider_signal'),0),
 COALESCE(sum(CASE WHEN r.usage_cost_usd>=0 THEN r.usage_total_tokens END),0)
 FROM ac_runs r LEFT JOIN ac_run_stats s ON s.id=r.id`

func (t *Totals) targets() []any {
	return []any{
		&t.Runs, &t.Running, &t.TotalTokens, &t.TotalCostUSD, &t.PricedRuns, &t.ProviderReported, &t.Estimated, &t.RunsWithErrors,
		&t.CyclesTotal, &t.CyclesKnownRuns, &t.CyclesUnknownRuns, &t.PricedTokens,
	}
}

// Totals sums up all runs that a filter selects, ignoring its limit.
func (v *View) Totals(f RunFilter) (t Totals, err error) {
	c := f.conditions()
	err = v.conn.queryRow(v.ctx, "SELECT "+totalsColumns+c.text, c.args, t.targets()...)
	return t, err
}

// ProviderTotals has the sums of one provider.
type ProviderTotals struct {
	Provider string
	Totals
}

// ByProvider is Totals per provider, sorted by name. The list is shared and must not be
// changed.
func (v *View) ByProvider(f RunFilter) ([]ProviderTotals, error) {
	return cachedQuery(v, queryKey{"providers", f}, func(p *ProviderTotals) int { return 256 + len(p.Provider) }, func() ([]ProviderTotals, error) {
		c := f.conditions()
		return query(v, "SELECT r.provider, "+totalsColumns+c.text+" GROUP BY r.provider ORDER BY r.provider", c.args,
			func(rows *sql.Rows, p *ProviderTotals) error {
				return rows.Scan(append([]any{&p.Provider}, p.targets()...)...)
			})
	})
}

// RunUse is the usage of a run.
type RunUse struct {
	RunKey

	Provider string
	Tokens   int64
}

// RecentUse lists the token usage of the newest runs that have one. The list is shared and must
// not be changed.
func (v *View) RecentUse(newest int) ([]RunUse, error) {
	return cachedQuery(v, queryKey{"use", newest}, func(u *RunUse) int { return 96 + len(u.Provider) }, func() ([]RunUse, error) {
		return query(v, "SELECT r.project_id, r.run_id, r.provider, r.usage_total_tokens FROM ac_runs r WHERE r.usage_total_tokens IS NOT NULL"+newestRuns,
			[]any{limit(newest)}, func(rows *sql.Rows, u *RunUse) error {
				return rows.Scan(&u.ProjectID, &u.RunID, &u.Provider, &u.Tokens)
			})
	})
}

// AgentCounter has the counters of an agent and its runs.
type AgentCounter struct {
	AgentID                  string
	OnFile                   bool // it has a document; other agents occur only in runs
	Name                     string
	Role                     string
	Provider                 string
	ModelHint                *string
	TeamID                   *string
	TotalRuns                int
	RunningRuns              int
	EndedRuns                int
	FailedRuns               int
	StoppedRuns              int
	TotalTokens              int64
	TotalCostUSD             float64 // rounded to six decimals
	ContextCyclesCount       int64
	ContextCyclesKnownRuns   int
	ContextCyclesUnknownRuns int
}

// AgentCounters lists the counters of all agents, sorted by ID. The list is shared and must not
// be changed.
func (v *View) AgentCounters() ([]AgentCounter, error) {
	return cachedQuery(v, queryKey{"agents", nil}, func(a *AgentCounter) int { return 512 + len(a.Name) }, func() ([]AgentCounter, error) {
		return query(v, "SELECT * FROM ac_agent_counters ORDER BY agent_id", nil, scanAgentCounter)
	})
}

func scanAgentCounter(rows *sql.Rows, a *AgentCounter) error {
	return rows.Scan(&a.AgentID, &a.OnFile, &a.Name, &a.Role, &a.Provider, &a.ModelHint, &a.TeamID, &a.TotalRuns, &a.RunningRuns, &a.EndedRuns,
		&a.FailedRuns, &a.StoppedRuns, &a.TotalTokens, &a.TotalCostUSD, &a.ContextCyclesCount, &a.ContextCyclesKnownRuns, &a.ContextCyclesUnknownRuns)
}

// ActiveAgents lists the agents that have a run with status running.
func (v *View) ActiveAgents(project string) ([]string, error) {
	var c conditions
	c.equal("status", "running")
	c.equal("project_id", project)
	return query(v, "SELECT DISTINCT agent_id FROM ac_runs"+c.text+" ORDER BY agent_id", c.args, func(rows *sql.Rows, id *string) error { return rows.Scan(id) })
}

// Artifact is the front matter of an artifact.
type Artifact struct {
	ProjectID     string
	ArtifactID    string
	Type          string
	Title         *string
	Visibility    *string
	ProducedBy    *string
	RunID         *string
	ContextPackID *string
	CreatedAt     *string
	Relpath       string
	ParseErrors   int64 // of its run; 0 if it has none
}

const artifactColumns = `a.project_id, a.artifact_id, a.type, a.title, a.visibility, a.produced_by, a.run_id, a.context_pack_id, a.created_at, a.relpath,
 COALESCE((SELECT s.parse_errors FROM ac_runs r JOIN ac_run_stats s ON s.id=r.id WHERE r.run_id=a.run_id AND r.project_id=a.project_id),0)`

const newestArtifacts = " ORDER BY a.at DESC, CASE WHEN a.at IS NULL THEN a.created_at END DESC, a.artifact_id DESC, a.project_id" + limitClause

// size estimates the memory of an artifact, in bytes.
func (a *Artifact) size() int {
	if a.Title == nil {
		return 512
	}
	return 512 + len(*a.Title)
}

func scanArtifact(rows *sql.Rows, a *Artifact) error {
	return rows.Scan(&a.ProjectID, &a.ArtifactID, &a.Type, &a.Title, &a.Visibility, &a.ProducedBy, &a.RunID, &a.ContextPackID, &a.CreatedAt, &a.Relpath, &a.ParseErrors)
}

const undecidedCondition = `a.subject_kind IS NOT NULL AND NOT EXISTS (SELECT 1 FROM ac_reviews r
 WHERE r.project_id=a.project_id AND r.subject_artifact_id=a.artifact_id AND r.subject_kind=a.subject_kind)`

// PendingArtifacts lists the artifacts that await a decision, newest first, of all projects if project
// is "". The list is shared and must not be changed.
func (v *View) PendingArtifacts(project string, most int) ([]Artifact, error) {
	return cachedQuery(v, queryKey{"pending", ReviewFilter{ProjectID: project, Limit: most}}, (*Artifact).size, func() ([]Artifact, error) {
		var c conditions
		c.equal("a.project_id", project)
		c.add(undecidedCondition)
		return query(v, "SELECT "+artifactColumns+" FROM ac_artifacts a"+c.text+newestArtifacts, append(c.args, limit(most)), scanArtifact)
	})
}

// PendingCounts counts the pending artifacts of each project that has any.
func (v *View) PendingCounts() (map[string]int, error) {
	type count struct {
		project string
		n       int
	}
	list, err := query(v, "SELECT a.project_id, count(*) FROM ac_artifacts a WHERE "+undecidedCondition+" GROUP BY a.project_id", nil,
		func(rows *sql.Rows, c *count) error { return rows.Scan(&c.project, &c.n) })
	counts := make(map[string]int, len(list))
	for _, c := range list {
		counts[c.project] = c.n
	}
	return counts, err
}

// Artifacts lists the artifacts of a project, or of all projects if it is "", newest first.
func (v *View) Artifacts(project string, most int) ([]Artifact, error) {
	var c conditions
	c.equal("a.project_id", project)
	return query(v, "SELECT "+artifactColumns+" FROM ac_artifacts a"+c.text+newestArtifacts, append(c.args, limit(most)), scanArtifact)
}

// Decision is a review with the artifact that it reviews, if known.
type Decision struct {
	Review
	ArtifactType *string
	RunID        *string
	ParseErrors  int64 // of the artifact's run; 0 if it has none
}

// size estimates the memory of a decision, in bytes.
func (d *Decision) size() int {
	if d.Notes == nil {
		return 512
	}
	return 512 + len(*d.Notes)
}

// Decisions lists reviews with their artifacts, newest first. The list is
// shared and must not be changed.
func (v *View) Decisions(f ReviewFilter) ([]Decision, error) {
	return cachedQuery(v, queryKey{"decisions", f}, (*Decision).size, func() ([]Decision, error) { return v.decisions(f) })
}

func (v *View) decisions(f ReviewFilter) ([]Decision, error) {
	var c conditions
	c.equal("r.project_id", f.ProjectID)
	c.equal("r.decision", f.Decision)
	return query(v, "SELECT "+reviewColumns+`, a.type, a.run_id, COALESCE((SELECT s.parse_errors FROM ac_runs n JOIN ac_run_stats s ON s.id=n.id WHERE n.run_id=a.run_id AND n.project_id=a.project_id),0)
 FROM ac_reviews r LEFT JOIN ac_artifacts a ON a.project_id=r.project_id AND a.artifact_id=r.subject_artifact_id`+c.text+newestReviews, append(c.args, limit(f.Limit)),
		func(rows *sql.Rows, d *Decision) error {
			return rows.Scan(append(d.targets(), &d.ArtifactType, &d.RunID, &d.ParseErrors)...)
		})
}
