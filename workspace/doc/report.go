package doc

// A worker's answer to a heartbeat: that all is well, or the actions that it proposes.

import (
	"errors"

	"ac/internal/fault"
	"ac/internal/shape"
	"ac/internal/yamldoc"
)

// Fixed strings of a heartbeat report.
const (
	HeartbeatReportType = "heartbeat_worker_report"
	HeartbeatOK         = "HEARTBEAT_OK"
	ReportOK            = "ok"
	ReportActions       = "actions"
)

// maxReportActions bounds the actions of one report.
const maxReportActions = 200

// HeartbeatReport is jobs/<job_id>/heartbeat_report.json. A report is either ok, with the
// token, or proposes at least one action.
type HeartbeatReport struct {
	SchemaVersion int               `json:"schema_version"`
	Type          string            `json:"type"`
	Status        string            `json:"status"`
	Token         string            `json:"token,omitempty"`
	Summary       string            `json:"summary"`
	Actions       []HeartbeatAction `json:"actions,omitempty"`
}

// HeartbeatAction is one proposed action: exactly one of its fields is set.
type HeartbeatAction struct {
	LaunchJob *LaunchJobAction
	Comment   *AddCommentAction
	Approval  *ApprovalItemAction
	Noop      *NoopAction
}

// ActionHead holds the fields common to all actions.
type ActionHead struct {
	Kind           string `json:"kind" is:"enum=launch_job|add_comment|create_approval_item|noop"`
	IdempotencyKey string `json:"idempotency_key"`
	Risk           string `json:"risk" is:"enum=low|medium|high"`
	NeedsApproval  bool   `json:"needs_approval"`
	Visibility     string `json:"visibility,omitempty" is:"optional,visibility"`
	Summary        string `json:"summary,omitempty" is:"optional"`
}

// LaunchJobAction proposes a job.
type LaunchJobAction struct {
	_ struct{} `is:"strict"`
	ActionHead
	ProjectID       string   `json:"project_id"`
	Goal            string   `json:"goal"`
	WorkerKind      string   `json:"worker_kind" is:"default=codex,enum=codex|claude|gemini"`
	WorkerAgentID   string   `json:"worker_agent_id,omitempty" is:"optional"`
	Constraints     []string `json:"constraints" is:"default="`
	Deliverables    []string `json:"deliverables" is:"default="`
	PermissionLevel string   `json:"permission_level" is:"default=read-only,enum=read-only|patch|run-commands"`
	ContextNote     string   `json:"context_note,omitempty" is:"optional"`
	TaskID          string   `json:"task_id,omitempty" is:"optional"`
	MilestoneID     string   `json:"milestone_id,omitempty" is:"optional"`
	JobKind         string   `json:"job_kind,omitempty" is:"optional,enum=execution|heartbeat"`
	TargetRole      string   `json:"target_role,omitempty" is:"optional,enum=director|worker"`
}

// AddCommentAction proposes a comment.
type AddCommentAction struct {
	_ struct{} `is:"strict"`
	ActionHead
	ProjectID        string `json:"project_id"`
	Body             string `json:"body"`
	TargetAgentID    string `json:"target_agent_id,omitempty" is:"optional"`
	TargetArtifactID string `json:"target_artifact_id,omitempty" is:"optional"`
	TargetRunID      string `json:"target_run_id,omitempty" is:"optional"`
}

// Check requires a target.
func (a *AddCommentAction) Check() []fault.Issue {
	if a.TargetAgentID == "" && a.TargetArtifactID == "" && a.TargetRunID == "" {
		return []fault.Issue{{Path: []any{}, Code: "custom", Message: "must have target_agent_id, target_artifact_id or target_run_id"}}
	}
	return nil
}

// ApprovalItemAction proposes an item for people to approve.
type ApprovalItemAction struct {
	_ struct{} `is:"strict"`
	ActionHead
	ProjectID string           `json:"project_id"`
	Title     string           `json:"title"`
	Rationale string           `json:"rationale,omitempty" is:"optional"`
	Raw       shape.Value      `json:"proposed_action" is:"optional"`
	Proposed  *HeartbeatAction `json:"-"`
}

// MarshalJSON writes the proposed action under its key.
func (a ApprovalItemAction) MarshalJSON() ([]byte, error) {
	return marshal(struct {
		ActionHead
		ProjectID string           `json:"project_id"`
		Title     string           `json:"title"`
		Rationale string           `json:"rationale,omitempty"`
		Proposed  *HeartbeatAction `json:"proposed_action,omitempty"`
	}{a.ActionHead, a.ProjectID, a.Title, a.Rationale, a.Proposed})
}

// NoopAction proposes to do nothing, and gives the reason.
type NoopAction struct {
	_ struct{} `is:"strict"`
	ActionHead
	Reason string `json:"reason"`
}

// Head returns the fields common to all actions.
func (a HeartbeatAction) Head() ActionHead {
	switch {
	case a.LaunchJob != nil:
		return a.LaunchJob.ActionHead
	case a.Comment != nil:
		return a.Comment.ActionHead
	case a.Approval != nil:
		return a.Approval.ActionHead
	case a.Noop != nil:
		return a.Noop.ActionHead
	}
	return ActionHead{}
}

// MarshalJSON writes the action that is set.
func (a HeartbeatAction) MarshalJSON() ([]byte, error) {
	switch {
	case a.LaunchJob != nil:
		return marshal(a.LaunchJob)
	case a.Comment != nil:
		return marshal(a.Comment)
	case a.Approval != nil:
		return marshal(a.Approval)
	}
	return marshal(a.Noop)
}

// reportShape is a report whose actions are still unchecked.
type reportShape struct {
	_             struct{}      `is:"strict"`
	SchemaVersion int           `json:"schema_version" is:"default=1,gt=0"`
	Type          string        `json:"type" is:"default=heartbeat_worker_report,enum=heartbeat_worker_report"`
	Status        string        `json:"status" is:"enum=ok|actions"`
	Token         string        `json:"token" is:"optional"`
	Summary       string        `json:"summary"`
	Actions       []shape.Value `json:"actions" is:"optional"`
}

// Check checks the token and the actions against the status.
func (r *reportShape) Check() (issues []fault.Issue) {
	refuse := func(field, why string) {
		issues = append(issues, fault.Issue{Path: []any{field}, Code: "custom", Message: why})
	}
	switch {
	case r.Status == ReportOK && r.Token != HeartbeatOK:
		refuse("token", "must be "+HeartbeatOK)
	case r.Status == ReportActions && r.Token != "":
		refuse("token", "belongs to status ok")
	}
	switch {
	case r.Status == ReportOK && len(r.Actions) > 0:
		refuse("actions", "must be empty with status ok")
	case r.Status == ReportActions && len(r.Actions) == 0:
		refuse("actions", "must have at least one action")
	case len(r.Actions) > maxReportActions:
		refuse("actions", "must have at most 200 actions")
	}
	return issues
}

var (
	reportCodec    = yamldoc.For[reportShape]()
	headCodec      = yamldoc.For[ActionHead]()
	launchJobCodec = yamldoc.For[LaunchJobAction]()
	commentCodec   = yamldoc.For[AddCommentAction]()
	approvalCodec  = yamldoc.For[ApprovalItemAction]()
	noopCodec      = yamldoc.For[NoopAction]()
)

// BindHeartbeatReport converts a value into a report, with defaults filled in. It returns a
// *yamldoc.SchemaError with every issue.
func BindHeartbeatReport(v *shape.Value) (HeartbeatReport, error) {
	raw, err := reportCodec.Bind(v)
	if err != nil {
		return HeartbeatReport{}, err
	}
	report := HeartbeatReport{
		SchemaVersion: raw.SchemaVersion, Type: raw.Type, Status: raw.Status, Token: raw.Token, Summary: raw.Summary,
	}
	var issues []fault.Issue
	for i := range raw.Actions {
		action, err := BindHeartbeatAction(&raw.Actions[i])
		issues = append(issues, prefixIssues(err, "actions", i)...)
		report.Actions = append(report.Actions, action)
	}
	if len(issues) > 0 {
		return HeartbeatReport{}, &yamldoc.SchemaError{Issues: issues}
	}
	return report, nil
}

// BindHeartbeatAction converts a value into one action.
func BindHeartbeatAction(v *shape.Value) (action HeartbeatAction, err error) {
	head, err := headCodec.Bind(v)
	if err != nil {
		return action, err
	}
	switch head.Kind {
	case "launch_job":
		action.LaunchJob, err = bindInto(launchJobCodec, v)
		if err == nil && action.LaunchJob.Constraints == nil {
			action.LaunchJob.Constraints = []string{}
		}
		if err == nil && action.LaunchJob.Deliverables == nil {
			action.LaunchJob.Deliverables = []string{}
		}
	case "add_comment":
		action.Comment, err = bindInto(commentCodec, v)
	case "noop":
		action.Noop, err = bindInto(noopCodec, v)
	default:
		action.Approval, err = bindApproval(v)
	}
	return action, err
}

func bindInto[T any](codec yamldoc.Codec[T], v *shape.Value) (*T, error) {
	bound, err := codec.Bind(v)
	return &bound, err
}

func bindApproval(v *shape.Value) (*ApprovalItemAction, error) {
	item, err := bindInto(approvalCodec, v)
	if err != nil || item.Raw.Kind == shape.Absent {
		return item, err
	}
	if inner := item.Raw.Get("kind"); inner.Text == "create_approval_item" {
		return nil, &yamldoc.SchemaError{Issues: []fault.Issue{{
			Path: []any{"proposed_action", "kind"}, Code: "custom", Message: "must not be create_approval_item itself",
		}}}
	}
	proposed, err := BindHeartbeatAction(&item.Raw)
	if issues := prefixIssues(err, "proposed_action"); len(issues) > 0 {
		return nil, &yamldoc.SchemaError{Issues: issues}
	}
	item.Proposed = &proposed
	return item, nil
}

// prefixIssues returns the issues of err with a path prefix.
func prefixIssues(err error, at ...any) (issues []fault.Issue) {
	if err == nil {
		return nil
	}
	schema, ok := errors.AsType[*yamldoc.SchemaError](err)
	if !ok {
		return []fault.Issue{{Path: at, Code: "custom", Message: err.Error()}}
	}
	for _, issue := range schema.Issues {
		issue.Path = append(append([]any{}, at...), issue.Path...)
		issues = append(issues, issue)
	}
	return issues
}

// Action returns the action in the form that proposals use.
func (a HeartbeatAction) Action() Action {
	head := a.Head()
	action := Action{ActionBody: ActionBody{
		Kind: head.Kind, IdempotencyKey: head.IdempotencyKey, Risk: head.Risk, NeedsApproval: head.NeedsApproval, Visibility: head.Visibility, Summary: head.Summary,
	}}
	switch {
	case a.LaunchJob != nil:
		j := a.LaunchJob
		action.ProjectID, action.Goal, action.WorkerKind, action.WorkerAgentID = j.ProjectID, j.Goal, j.WorkerKind, j.WorkerAgentID
		action.Constraints, action.Deliverables, action.PermissionLevel = j.Constraints, j.Deliverables, j.PermissionLevel
		action.ContextNote, action.TaskID, action.MilestoneID = j.ContextNote, j.TaskID, j.MilestoneID
		action.JobKind, action.TargetRole = j.JobKind, j.TargetRole
	case a.Comment != nil:
		c := a.Comment
		action.ProjectID, action.Body = c.ProjectID, c.Body
		action.TargetAgentID, action.TargetArtifactID, action.TargetRunID = c.TargetAgentID, c.TargetArtifactID, c.TargetRunID
	case a.Approval != nil:
		action.ProjectID, action.Title, action.Rationale = a.Approval.ProjectID, a.Approval.Title, a.Approval.Rationale
		if a.Approval.Proposed != nil {
			inner := a.Approval.Proposed.Action().ActionBody
			action.ProposedAction = &inner
		}
	case a.Noop != nil:
		action.Reason = a.Noop.Reason
	}
	return action
}
