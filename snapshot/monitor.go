package snapshot

// The monitor: runs with their sessions and latest events.

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"ac/fleet"
	"ac/index"
	"ac/index/source"
	"ac/internal/canonjson"
	"ac/internal/clock"
	"ac/internal/collation"
	"ac/workspace/doc"
)

// Monitor holds the runs of a workspace and the counts of its jobs.
type Monitor struct {
	Header
	IndexState
	Jobs JobCounts    `json:"jobs"`
	Rows []MonitorRow `json:"rows"`
}

// MonitorRow is a run, or a session with an unknown run.
type MonitorRow struct {
	ProjectID     string `json:"project_id"`
	RunID         string `json:"run_id"`
	CreatedAt     string `json:"created_at,omitempty"`
	RunStatus     string `json:"run_status"`
	Provider      string `json:"provider,omitempty"`
	AgentID       string `json:"agent_id,omitempty"`
	ContextPackID string `json:"context_pack_id,omitempty"`
	*RowSession
	LastEvent            *source.LastEvent `json:"last_event,omitempty"`
	ParseErrors          int64             `json:"parse_error_count"`
	PolicyDecisions      int64             `json:"policy_decision_count"`
	PolicyDenied         int64             `json:"policy_denied_count"`
	BudgetDecisions      int64             `json:"budget_decision_count"`
	BudgetAlerts         int64             `json:"budget_alert_count"`
	BudgetExceeded       int64             `json:"budget_exceeded_count"`
	LatestPolicyDecision *PolicyDecision   `json:"latest_policy_decision,omitempty"`
	LatestPolicyDenied   *PolicyDenial     `json:"latest_policy_denied,omitempty"`
	LatestBudgetDecision *BudgetDecision   `json:"latest_budget_decision,omitempty"`
	TokenUsage           *TokenUsage       `json:"token_usage,omitempty"`

	RetryOf string `json:"-"` // the run that this one retries; only lists fill it

	at int64 // creation time
}

// RowSession is the session of a row: a running one, else the newest.
type RowSession struct {
	SessionRef  string  `json:"session_ref"`
	LiveStatus  string  `json:"live_status"`
	ExitCode    *int    `json:"live_exit_code"`
	Signal      *string `json:"live_signal"`
	Error       string  `json:"live_error,omitempty"`
	ErrorKind   string  `json:"live_error_kind,omitempty"`
	StartedAtMS int64   `json:"session_started_at_ms"`
	EndedAtMS   *int64  `json:"session_ended_at_ms,omitempty"`
	doc.LiveSession
	fleet.Whereabouts
}

// TokenUsage is the usage of a run.
type TokenUsage struct {
	Source       string   `json:"source"`
	Confidence   string   `json:"confidence"`
	TotalTokens  int64    `json:"total_tokens"`
	InputTokens  *int64   `json:"input_tokens,omitempty"`
	OutputTokens *int64   `json:"output_tokens,omitempty"`
	CostUSD      *float64 `json:"cost_usd,omitempty"`
	// The other parts of the total, and the source of the cost.
	CachedTokens    *int64  `json:"cached_input_tokens,omitempty"`
	ReasoningTokens *int64  `json:"reasoning_output_tokens,omitempty"`
	CostSource      *string `json:"cost_source,omitempty"`
}

// PolicyDecision is the content of a policy decision.
type PolicyDecision struct {
	Allowed *bool   `json:"allowed,omitempty"`
	RuleID  *string `json:"rule_id,omitempty"`
	Reason  *string `json:"reason,omitempty"`
	Action  *string `json:"action,omitempty"`
}

// PolicyDenial is the content of a policy denial.
type PolicyDenial struct {
	RuleID *string `json:"rule_id,omitempty"`
	Reason *string `json:"reason,omitempty"`
	Action *string `json:"action,omitempty"`
}

// BudgetDecision is the content of a budget decision.
type BudgetDecision struct {
	Scope     *string  `json:"scope,omitempty"`
	Metric    *string  `json:"metric,omitempty"`
	Severity  *string  `json:"severity,omitempty"`
	Result    *string  `json:"result,omitempty"`
	Actual    *float64 `json:"actual,omitempty"`
	Threshold *float64 `json:"threshold,omitempty"`
}

// Monitor returns the newest runs of a project, or of all projects if it is "". Rows with a running
// session come first. They include every run with a running session, however old.
func (m *View) Monitor(project string, limit int) (Monitor, error) {
	result := Monitor{Header: m.taken, IndexState: m.indexed, Rows: []MonitorRow{}, Jobs: countJobs(m.w, project)}
	runs, err := m.runs(project, limit)
	if err != nil {
		return result, err
	}
	sessions, err := m.observed()
	if err != nil {
		return result, err
	}
	of := byRun(sessions)
	shown := make(map[index.RunKey]bool, len(runs))
	for i := range runs {
		key := index.RunKey{ProjectID: runs[i].ProjectID, RunID: runs[i].RunID}
		shown[key] = true
		result.Rows = append(result.Rows, m.rowOf(&runs[i], of[key]))
	}
	// Look up the runs of the other running sessions. Sessions that have ended are added only if
	// every run is listed, because only then their runs are certainly unknown.
	all := len(runs) < limit
	var others []*doc.Session
	var asked []index.RunKey
	for i := range sessions {
		s := &sessions[i]
		key := index.RunKey{ProjectID: s.ProjectID, RunID: s.RunID}
		if !shown[key] && (project == "" || project == s.ProjectID) && (all || s.Status == doc.StatusRunning) {
			others, asked = append(others, s), append(asked, index.RunKey{ProjectID: s.ProjectID, RunID: s.RunID})
		}
	}
	found, err := m.view.MonitoredRuns(asked...)
	if err != nil {
		return result, err
	}
	for i := range found {
		key := index.RunKey{ProjectID: found[i].ProjectID, RunID: found[i].RunID}
		shown[key] = true
		result.Rows = append(result.Rows, m.rowOf(&found[i], of[key]))
	}
	for _, s := range others {
		if !shown[index.RunKey{ProjectID: s.ProjectID, RunID: s.RunID}] {
			result.Rows = append(result.Rows, MonitorRow{ProjectID: s.ProjectID, RunID: s.RunID, RunStatus: s.Status, RowSession: m.rowSession(s)})
		}
	}
	sortRows(result.Rows)
	result.Rows = result.Rows[:min(limit, len(result.Rows))]
	return result, nil
}

// byRun returns the session of each run: a running one, else the one started
// last. sessions are sorted newest first.
func byRun(sessions []doc.Session) map[index.RunKey]*doc.Session {
	of := make(map[index.RunKey]*doc.Session, len(sessions))
	for i := range sessions {
		s := &sessions[i]
		key := index.RunKey{ProjectID: s.ProjectID, RunID: s.RunID}
		if best := of[key]; best == nil || (best.Status != doc.StatusRunning && s.Status == doc.StatusRunning) {
			of[key] = s
		}
	}
	return of
}

func (m *View) rowOf(r *index.MonitoredRun, s *doc.Session) MonitorRow {
	at, _ := clock.Parse(r.CreatedAt)
	return MonitorRow{
		ProjectID: r.ProjectID, RunID: r.RunID, CreatedAt: r.CreatedAt, RunStatus: r.Status, Provider: r.Provider, AgentID: r.AgentID,
		ContextPackID: r.ContextPackID, RowSession: m.rowSession(s), LastEvent: r.LastEvent, ParseErrors: r.ParseErrors,
		PolicyDecisions: r.PolicyDecisions, PolicyDenied: r.PolicyDenied,
		BudgetDecisions: r.BudgetDecisions, BudgetAlerts: r.BudgetAlerts, BudgetExceeded: r.BudgetExceeded,
		LatestPolicyDecision: policyDecision(r.LatestPolicyDecision), LatestPolicyDenied: policyDenial(r.LatestPolicyDenied),
		LatestBudgetDecision: budgetDecision(r.LatestBudgetDecision), TokenUsage: usageOf(r), at: clock.Nanos(at),
	}
}

func usageOf(r *index.MonitoredRun) *TokenUsage {
	if r.UsageSource == nil || r.UsageConfidence == nil || r.UsageTotalTokens == nil {
		return nil
	}
	return &TokenUsage{
		Source: *r.UsageSource, Confidence: *r.UsageConfidence, TotalTokens: *r.UsageTotalTokens,
		InputTokens: r.UsageInputTokens, OutputTokens: r.UsageOutputTokens, CostUSD: r.UsageCostUSD,
		CachedTokens: r.UsageCachedTokens, ReasoningTokens: r.UsageReasoningTokens, CostSource: r.UsageCostSource,
	}
}

func (m *View) rowSession(s *doc.Session) *RowSession {
	if s == nil {
		return nil
	}
	return &RowSession{
		SessionRef: s.Ref, LiveStatus: s.Status, ExitCode: s.ExitCode, Signal: s.Signal, Error: s.Error, ErrorKind: s.ErrorKind,
		StartedAtMS: s.StartedAtMS, EndedAtMS: s.EndedAtMS, LiveSession: s.Live(), Whereabouts: fleet.WhereaboutsOf(m.w, *s),
	}
}

// sortRows sorts running sessions first, then the newest runs, then by id.
func sortRows(rows []MonitorRow) {
	byText := collation.Lazy()
	slices.SortFunc(rows, func(a, b MonitorRow) int {
		if c := cmp.Or(cmp.Compare(rowRank(a), rowRank(b)), cmp.Compare(b.at, a.at)); c != 0 {
			return c
		}
		return cmp.Or(byText(a.RunID, b.RunID), cmp.Compare(a.ProjectID, b.ProjectID), cmp.Compare(refOf(a), refOf(b)))
	})
}

// rowRank returns 0 for rows with a running session, 1 for other runs, 2 for sessions without a
// known run.
func rowRank(r MonitorRow) int {
	switch {
	case r.RowSession != nil && r.LiveStatus == doc.StatusRunning:
		return 0
	case r.CreatedAt != "":
		return 1
	}
	return 2
}

func refOf(r MonitorRow) string {
	if r.RowSession == nil {
		return ""
	}
	return r.SessionRef
}

// policyDecision reads the fields of a payload. It skips fields of the wrong type.
func policyDecision(payload json.RawMessage) *PolicyDecision {
	if payload == nil {
		return nil
	}
	var d PolicyDecision
	members(payload, map[string]any{"allowed": &d.Allowed, "rule_id": &d.RuleID, "reason": &d.Reason, "action": &d.Action})
	return &d
}

func policyDenial(payload json.RawMessage) *PolicyDenial {
	if payload == nil {
		return nil
	}
	var d PolicyDenial
	var policy json.RawMessage
	members(payload, map[string]any{"policy": &policy, "action": &d.Action})
	if len(policy) > 0 && policy[0] == '{' {
		members(policy, map[string]any{"rule_id": &d.RuleID, "reason": &d.Reason})
	}
	return &d
}

func budgetDecision(payload json.RawMessage) *BudgetDecision {
	if payload == nil {
		return nil
	}
	var d BudgetDecision
	members(payload, map[string]any{
		"scope": &d.Scope, "metric": &d.Metric, "severity": &d.Severity, "result": &d.Result, "actual": &d.Actual, "threshold": &d.Threshold,
	})
	return &d
}

// members assigns each member of an object to its target. A member of another type sets the target
// to nil.
func members(object json.RawMessage, into map[string]any) {
	_ = canonjson.Members(object, func(m canonjson.Member) { // valid JSON, or unknown
		switch field := into[string(m.Key)].(type) {
		case **bool:
			*field = nil
			if text := string(m.Value); text == "true" || text == "false" {
				*field = new(text == "true")
			}
		case **string:
			*field = nil
			if m.Value[0] == '"' {
				*field = new(canonjson.Unquote(m.Value))
			}
		case **float64:
			*field = nil
			if n, err := strconv.ParseFloat(string(m.Value), 64); err == nil {
				*field = &n
			}
		case *json.RawMessage:
			*field = m.Value
		}
	})
}
