package doc

// Records of work and of decisions: tasks, artifacts, help requests, reviews, share packs.

import (
	"strings"

	"ac/internal/clock"
	"ac/internal/fault"
	"ac/internal/shape"
	"ac/internal/yamldoc"
)

// Task is the front matter of tasks/<id>.md.
type Task struct {
	_                  struct{}       `is:"strict"`
	SchemaVersion      int            `json:"schema_version" is:"min=1"`
	Type               string         `json:"type" is:"enum=task"`
	ID                 string         `json:"id"`
	ProjectID          string         `json:"project_id"`
	Title              string         `json:"title"`
	CreatedAt          string         `json:"created_at"`
	Status             string         `json:"status" is:"enum=draft|ready|in_progress|blocked|done|canceled"`
	Visibility         string         `json:"visibility" is:"visibility"`
	TeamID             string         `json:"team_id,omitzero" is:"optional"`
	AssigneeAgentID    string         `json:"assignee_agent_id,omitzero" is:"optional"`
	Scope              *TaskScope     `json:"scope,omitzero" is:"optional"`
	Schedule           *Schedule      `json:"schedule,omitzero" is:"optional"`
	ExecutionPlan      *ExecutionPlan `json:"execution_plan,omitzero" is:"optional"`
	Budget             *Budget        `json:"budget,omitzero" is:"optional"`
	Deliverables       []string       `json:"deliverables,omitzero" is:"optional"`
	AcceptanceCriteria []string       `json:"acceptance_criteria,omitzero" is:"optional"`
	Milestones         []Milestone    `json:"milestones"`
}

// TaskScope is the part of a repository that a task works on.
type TaskScope struct {
	_                         struct{} `is:"strict"`
	RepoID                    string   `json:"repo_id,omitzero" is:"optional"`
	WorkdirRel                string   `json:"workdir_rel,omitzero" is:"optional"`
	Paths                     []string `json:"paths,omitzero" is:"optional"`
	RequiresWorktreeIsolation *bool    `json:"requires_worktree_isolation,omitzero" is:"optional"`
}

// Schedule is the planned time of a task.
type Schedule struct {
	_                struct{} `is:"strict"`
	PlannedStart     string   `json:"planned_start,omitzero" is:"optional"`
	PlannedEnd       string   `json:"planned_end,omitzero" is:"optional"`
	DurationDays     *int     `json:"duration_days,omitzero" is:"optional,gt=0"`
	DependsOnTaskIDs []string `json:"depends_on_task_ids" is:"default="`
}

// Check rejects an end before the start, if both are dates.
func (s *Schedule) Check() []fault.Issue {
	start, okStart := clock.ParseDate(s.PlannedStart)
	end, okEnd := clock.ParseDate(s.PlannedEnd)
	if okStart && okEnd && end.Before(start) {
		return []fault.Issue{{Path: []any{"planned_end"}, Code: "custom", Message: "must not be before planned_start"}}
	}
	return nil
}

// ExecutionPlan records who should do a task, and with which provider and model.
type ExecutionPlan struct {
	_                 struct{} `is:"strict"`
	PreferredProvider string   `json:"preferred_provider,omitzero" is:"optional"`
	PreferredModel    string   `json:"preferred_model,omitzero" is:"optional"`
	PreferredAgentID  string   `json:"preferred_agent_id,omitzero" is:"optional"`
	TokenBudgetHint   *int64   `json:"token_budget_hint,omitzero" is:"optional,min=0"`
	AppliedBy         string   `json:"applied_by,omitzero" is:"optional"`
	AppliedAt         string   `json:"applied_at,omitzero" is:"optional"`
}

// Milestone is a separately approved step of a task.
type Milestone struct {
	_                  struct{}          `is:"strict"`
	ID                 string            `json:"id"`
	Title              string            `json:"title"`
	Kind               string            `json:"kind" is:"enum=coding|research|planning"`
	Status             string            `json:"status" is:"enum=draft|ready|in_progress|blocked|done"`
	AcceptanceCriteria []string          `json:"acceptance_criteria"`
	Evidence           *EvidenceRequired `json:"evidence,omitzero" is:"optional"`
}

// EvidenceRequired is the evidence needed to approve a milestone.
type EvidenceRequired struct {
	_             struct{} `is:"strict"`
	RequiresPatch bool     `json:"requires_patch"`
	RequiresTests bool     `json:"requires_tests"`
}

// Incomplete returns the required fields that a task lacks. Drafts and finished tasks lack
// none.
func (t *Task) Incomplete() (fields []string) {
	if t.Status == "draft" || t.Status == "done" || t.Status == "canceled" {
		return nil
	}
	for _, list := range []struct {
		name string
		size int
	}{{"deliverables", len(t.Deliverables)}, {"acceptance_criteria", len(t.AcceptanceCriteria)}, {"milestones", len(t.Milestones)}} {
		if list.size == 0 {
			fields = append(fields, list.name)
		}
	}
	return fields
}

// Progress returns the completed fraction of a task, from 0 to 1.
func (t *Task) Progress() float64 {
	if len(t.Milestones) == 0 {
		if t.Status == "done" {
			return 1
		}
		return 0
	}
	done := 0
	for _, m := range t.Milestones {
		if m.Status == "done" {
			done++
		}
	}
	return float64(done) / float64(len(t.Milestones))
}

// Artifact is the front matter common to all artifacts.
type Artifact struct {
	SchemaVersion int    `json:"schema_version" is:"min=1"`
	Type          string `json:"type" is:"enum=intake_brief|clarifications_qa|proposal|workplan|milestone_report|manager_digest|memory_delta|failure_report|heartbeat_action_proposal|meeting_transcript|department_plan|executive_plan"`
	ID            string `json:"id"`
	CreatedAt     string `json:"created_at"`
	Title         string `json:"title"`
	Visibility    string `json:"visibility" is:"visibility"`
	ProducedBy    string `json:"produced_by"`
	RunID         string `json:"run_id"`
	ContextPackID string `json:"context_pack_id"`
}

// FilesProposal is the front matter of a proposal to apply files. The files are in the JSON
// file beside it.
type FilesProposal struct {
	Artifact
	ProjectID string `json:"project_id"`
	Proposes  string `json:"proposes" is:"enum=files"`
}

// ProposesFiles is the value of proposes in a proposal of files.
const ProposesFiles = "files"

// Check requires the type proposal.
func (p *FilesProposal) Check() []fault.Issue { return checkType(p.Type, "proposal") }

// FilesProposalCodec reads and writes proposals to apply files.
var FilesProposalCodec = yamldoc.For[FilesProposal]()

// MilestoneReport is the front matter of a milestone_report.
type MilestoneReport struct {
	_ struct{} `is:"strict"`
	Artifact
	ProjectID         string   `json:"project_id"`
	TaskID            string   `json:"task_id"`
	MilestoneID       string   `json:"milestone_id"`
	EvidenceArtifacts []string `json:"evidence_artifacts"`
	TestsArtifacts    []string `json:"tests_artifacts,omitzero" is:"optional"`
}

// Check requires the type milestone_report.
func (r *MilestoneReport) Check() []fault.Issue { return checkType(r.Type, "milestone_report") }

func checkType(is, want string) []fault.Issue {
	if is == want {
		return nil
	}
	return []fault.Issue{{Path: []any{"type"}, Code: "invalid_value", Values: []string{want}, Message: "must be " + want}}
}

// ArtifactTypes lists the types of artifacts.
func ArtifactTypes() []string {
	return []string{
		"intake_brief", "clarifications_qa", "proposal", "workplan", "milestone_report", "manager_digest", "memory_delta", "failure_report",
		"heartbeat_action_proposal", "meeting_transcript", "department_plan", "executive_plan",
	}
}

// Visibilities lists the visibilities, fewest readers first.
func Visibilities() []string { return shape.Words("visibility") }

// Roles lists the roles of actors.
func Roles() []string { return shape.Words("role") }

// Headings returns the required headings of an artifact type, nil for an unknown type.
func Headings(artifactType string) []string {
	switch artifactType {
	case "intake_brief":
		return []string{"## Summary", "## Success Criteria", "## Constraints"}
	case "clarifications_qa":
		return []string{"## Questions", "## Answers"}
	case "proposal":
		return []string{"## Summary", "## Plan", "## Risks"}
	case "workplan":
		return []string{"## Summary", "## Breakdown", "## Dependencies", "## Estimates"}
	case "milestone_report":
		return []string{"## Summary", "## Evidence", "## Next"}
	case "manager_digest":
		return []string{"## Summary", "## Decisions", "## Risks"}
	case "memory_delta":
		return []string{"## Summary", "## Changes", "## Evidence"}
	case "failure_report":
		return []string{"## Summary", "## Cause", "## Next Steps"}
	case "heartbeat_action_proposal":
		return []string{"## Summary", "## Proposed Action", "## Policy"}
	case "meeting_transcript":
		return []string{"## Attendees", "## Discussion", "## Decisions", "## Open Questions"}
	case "department_plan":
		return []string{"## Scope", "## Deliverables", "## Risks", "## Dependencies"}
	case "executive_plan":
		return []string{"## Executive Summary", "## Department Plans", "## Dependencies", "## Approval"}
	}
	return nil
}

// HelpRequest is the front matter of inbox/help_requests/<id>.md.
type HelpRequest struct {
	_             struct{} `is:"strict"`
	SchemaVersion int      `json:"schema_version" is:"min=1"`
	Type          string   `json:"type" is:"enum=help_request"`
	ID            string   `json:"id"`
	CreatedAt     string   `json:"created_at"`
	Title         string   `json:"title"`
	Visibility    string   `json:"visibility" is:"visibility"`
	Requester     string   `json:"requester"`
	TargetManager string   `json:"target_manager"`
	ProjectID     string   `json:"project_id,omitzero" is:"optional"`
	SharePackID   string   `json:"share_pack_id,omitzero" is:"optional"`
}

// Review is inbox/reviews/<id>.yaml: a decision and who made it. Reading it is lenient, so
// that unknown keys of other programs do not hide a decision.
type Review struct {
	SchemaVersion int           `json:"schema_version" is:"min=1"`
	Type          string        `json:"type" is:"enum=review"`
	ID            string        `json:"id"`
	CreatedAt     string        `json:"created_at" is:"time"`
	ActorID       string        `json:"actor_id"`
	ActorRole     string        `json:"actor_role" is:"role"`
	Decision      string        `json:"decision" is:"enum=approved|denied"`
	Subject       ReviewSubject `json:"subject"`
	Policy        ReviewPolicy  `json:"policy"`
	Notes         *string       `json:"notes,omitempty" is:"optional,empty"` // ac always writes it, "" for none
}

// ReviewSubject is the subject of a decision.
type ReviewSubject struct {
	Kind       string `json:"kind"`
	ArtifactID string `json:"artifact_id"`
	ProjectID  string `json:"project_id"`
	TargetFile string `json:"target_file,omitempty" is:"optional"`
	PatchFile  string `json:"patch_file,omitempty" is:"optional"`
	// For memory deltas of version 2 only.
	DeltaScope
}

// ReviewPolicy is the rule that allowed a decision.
type ReviewPolicy struct {
	Allowed bool   `json:"allowed"`
	RuleID  string `json:"rule_id"`
	Reason  string `json:"reason"`
}

// SharePack is share_packs/<id>/manifest.yaml.
type SharePack struct {
	_                 struct{}           `is:"strict"`
	SchemaVersion     int                `json:"schema_version" is:"min=1"`
	Type              string             `json:"type" is:"enum=share_pack"`
	ID                string             `json:"id"`
	CreatedAt         string             `json:"created_at" is:"time"`
	ProjectID         string             `json:"project_id"`
	CreatedBy         string             `json:"created_by"`
	Visibility        string             `json:"visibility" is:"visibility"`
	IncludedArtifacts []IncludedArtifact `json:"included_artifacts"`
	IncludedFiles     []IncludedFile     `json:"included_files" is:"optional"`
	IncludedRuns      []IncludedRun      `json:"included_runs" is:"optional"`
}

// IncludedArtifact is an artifact in a share pack.
type IncludedArtifact struct {
	_             struct{} `is:"strict"`
	ArtifactID    string   `json:"artifact_id"`
	Type          string   `json:"type"`
	Visibility    string   `json:"visibility" is:"visibility"`
	SourceRelpath string   `json:"source_relpath"`
	BundleRelpath string   `json:"bundle_relpath"`
}

// IncludedFile is another file in a share pack.
type IncludedFile struct {
	_             struct{} `is:"strict"`
	SourceRelpath string   `json:"source_relpath"`
	BundleRelpath string   `json:"bundle_relpath"`
}

// IncludedRun is the log of a run in a share pack.
type IncludedRun struct {
	_                  struct{} `is:"strict"`
	RunID              string   `json:"run_id"`
	SourceRelpath      string   `json:"source_relpath"`
	BundleRelpath      string   `json:"bundle_relpath"`
	IncludedEventCount int      `json:"included_event_count" is:"min=0"`
}

// The codecs of the records above.
var (
	TaskCodec            = yamldoc.For[Task]()
	ArtifactCodec        = yamldoc.For[Artifact]()
	MilestoneReportCodec = yamldoc.For[MilestoneReport]()
	HelpRequestCodec     = yamldoc.For[HelpRequest]()
	ReviewCodec          = yamldoc.For[Review]()
	SharePackCodec       = yamldoc.For[SharePack]()
)

// CheckTitle rejects titles with line breaks.
func CheckTitle(title string) error {
	if strings.ContainsAny(title, "\n\r\u0085\u2028\u2029") {
		return fault.InvalidField("title", "must not contain a line break")
	}
	return nil
}
