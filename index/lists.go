package index

// The lists of the index.list_* methods, with exactly the fields of their contract.

import (
	"database/sql"
	"strings"
)

// Run is a row of index.list_runs.
type Run struct {
	ProjectID           string   `json:"project_id"`
	RunID               string   `json:"run_id"`
	CreatedAt           string   `json:"created_at"`
	Status              string   `json:"status"`
	Provider            string   `json:"provider"`
	AgentID             string   `json:"agent_id"`
	ContextPackID       string   `json:"context_pack_id"`
	UsageTotalTokens    *int64   `json:"usage_total_tokens"`
	UsageCostUSD        *float64 `json:"usage_cost_usd"`
	UsageSource         *string  `json:"usage_source"`
	UsageConfidence     *string  `json:"usage_confidence"`
	ContextCyclesCount  *int64   `json:"context_cycles_count"`
	ContextCyclesSource *string  `json:"context_cycles_source"`
	SpecModel           *string  `json:"spec_model"`
	SpecTaskID          *string  `json:"spec_task_id"`
	SpecMilestoneID     *string  `json:"spec_milestone_id"`
	// For snapshots only, not in index.list_runs: the disjoint parts of the total, the source
	// of the cost, and the kind of a failure.
	UsageInputTokens     *int64  `json:"-"`
	UsageCachedTokens    *int64  `json:"-"`
	UsageOutputTokens    *int64  `json:"-"`
	UsageReasoningTokens *int64  `json:"-"`
	UsageCostSource      *string `json:"-"`
	ErrorKind            *string `json:"-"`
}

const runColumns = `r.project_id, r.run_id, r.created_at, r.status, r.provider, r.agent_id, r.context_pack_id, r.usage_total_tokens, r.usage_cost_usd,
 r.usage_source, r.usage_confidence, r.context_cycles_count, r.context_cycles_source, r.spec_model, r.spec_task_id, r.spec_milestone_id,
 r.usage_input_tokens, r.usage_cached_tokens, r.usage_output_tokens, r.usage_reasoning_tokens, r.usage_cost_source, r.error_kind`

func (r *Run) targets() []any {
	return []any{
		&r.ProjectID, &r.RunID, &r.CreatedAt, &r.Status, &r.Provider, &r.AgentID, &r.ContextPackID, &r.UsageTotalTokens, &r.UsageCostUSD,
		&r.UsageSource, &r.UsageConfidence, &r.ContextCyclesCount, &r.ContextCyclesSource, &r.SpecModel, &r.SpecTaskID, &r.SpecMilestoneID,
		&r.UsageInputTokens, &r.UsageCachedTokens, &r.UsageOutputTokens, &r.UsageReasoningTokens, &r.UsageCostSource, &r.ErrorKind,
	}
}

// RunFilter selects runs; empty fields match all.
type RunFilter struct {
	ProjectID string
	Status    string
	AgentID   string
	TaskID    string
	Limit     int    // 0 for all
	Ending    string // suffix of the run id, case-insensitive
	// From and To bound the time of the runs, inclusive, as clock.Nanos; 0 means unbounded.
	From, To int64
}

func (f RunFilter) conditions() (c conditions) {
	if f.Status == "" {
		c.equal("r.project_id", f.ProjectID)
	} else {
		c.equal("+r.project_id", f.ProjectID) // the unary + keeps SQLite off this column's index: the one on status is more selective
		c.equal("r.status", f.Status)
	}
	c.equal("r.agent_id", f.AgentID)
	c.equal("r.spec_task_id", f.TaskID)
	if f.Ending != "" {
		c.add("upper(substr(r.run_id,?))=?", -len(f.Ending), strings.ToUpper(f.Ending))
	}
	if f.From != 0 {
		c.add("r.at>=?", f.From)
	}
	if f.To != 0 {
		c.add("r.at<=?", f.To)
	}
	return c
}

const newestRuns = " ORDER BY r.at DESC, r.project_id, r.run_id" + limitClause

// limitClause ends a query with a limit. With a bare parameter SQLite would adapt the plan to its
// value, and so recompile the statement at each run.
const limitClause = " LIMIT ?+0"

func limit(n int) int {
	if n <= 0 {
		return -1
	}
	return n
}

// Runs lists runs, newest first.
func (v *View) Runs(f RunFilter) ([]Run, error) {
	c := f.conditions()
	return query(v, "SELECT "+runColumns+" FROM ac_runs r"+c.text+newestRuns, append(c.args, limit(f.Limit)),
		func(rows *sql.Rows, r *Run) error { return rows.Scan(r.targets()...) })
}

// Review is a row of index.list_reviews.
type Review struct {
	ReviewID          string  `json:"review_id"`
	CreatedAt         string  `json:"created_at"`
	Decision          string  `json:"decision"`
	ActorID           string  `json:"actor_id"`
	ActorRole         string  `json:"actor_role"`
	SubjectKind       string  `json:"subject_kind"`
	SubjectArtifactID string  `json:"subject_artifact_id"`
	ProjectID         string  `json:"project_id"`
	Notes             *string `json:"notes"`
}

const reviewColumns = "r.review_id, r.created_at, r.decision, r.actor_id, r.actor_role, r.subject_kind, r.subject_artifact_id, r.project_id, r.notes"

func (r *Review) targets() []any {
	return []any{&r.ReviewID, &r.CreatedAt, &r.Decision, &r.ActorID, &r.ActorRole, &r.SubjectKind, &r.SubjectArtifactID, &r.ProjectID, &r.Notes}
}

// ReviewFilter selects reviews; empty fields match all.
type ReviewFilter struct {
	ProjectID string
	Decision  string
	Limit     int
}

const newestReviews = " ORDER BY r.at DESC, r.review_id DESC" + limitClause

// Reviews lists reviews, newest first.
func (v *View) Reviews(f ReviewFilter) ([]Review, error) {
	var c conditions
	c.equal("r.project_id", f.ProjectID)
	c.equal("r.decision", f.Decision)
	return query(v, "SELECT "+reviewColumns+" FROM ac_reviews r"+c.text+newestReviews, append(c.args, limit(f.Limit)),
		func(rows *sql.Rows, r *Review) error { return rows.Scan(r.targets()...) })
}

// HelpRequest is a row of index.list_help_requests.
type HelpRequest struct {
	HelpRequestID string  `json:"help_request_id"`
	CreatedAt     string  `json:"created_at"`
	Title         string  `json:"title"`
	Visibility    string  `json:"visibility"`
	Requester     string  `json:"requester"`
	TargetManager string  `json:"target_manager"`
	ProjectID     *string `json:"project_id"`
	SharePackID   *string `json:"share_pack_id"`
}

// HelpRequestFilter selects help requests; empty fields match all.
type HelpRequestFilter struct {
	TargetManager string
	ProjectID     string
	Limit         int
}

// HelpRequests lists help requests, newest first.
func (v *View) HelpRequests(f HelpRequestFilter) ([]HelpRequest, error) {
	var c conditions
	c.equal("target_manager", f.TargetManager)
	c.equal("project_id", f.ProjectID)
	return query(v, "SELECT "+helpColumns+" FROM ac_help_requests"+c.text+
		" ORDER BY at DESC, CASE WHEN at IS NULL THEN created_at END DESC, help_request_id DESC"+limitClause, append(c.args, limit(f.Limit)), scanHelp)
}

const helpColumns = "help_request_id, created_at, title, visibility, requester, target_manager, project_id, share_pack_id"

func scanHelp(rows *sql.Rows, h *HelpRequest) error {
	return rows.Scan(&h.HelpRequestID, &h.CreatedAt, &h.Title, &h.Visibility, &h.Requester, &h.TargetManager, &h.ProjectID, &h.SharePackID)
}

// Problem is a source file that is not listed, or not under the key that it claims.
type Problem struct {
	Path string `json:"path"`
	Kind string `json:"kind"` // malformed, stray_copy, duplicate, unreadable
	What string `json:"what"`
}

// Problems lists the problems of source files, sorted by path.
func (v *View) Problems() ([]Problem, error) {
	return query(v, "SELECT path, problem, what FROM ac_files WHERE problem IS NOT NULL ORDER BY path", nil,
		func(rows *sql.Rows, p *Problem) error { return rows.Scan(&p.Path, &p.Kind, &p.What) })
}
