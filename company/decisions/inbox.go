package decisions

// inbox.resolve, inbox.resolve_many, ui.resolve and milestone.approve, and new items that wait
// for a decision or an answer.

import (
	"context"

	"ac/company"
	"ac/governance"
	"ac/inbox"
	"ac/internal/fault"
	"ac/snapshot"
)

// Decider identifies the actor who decides, with notes.
type Decider struct {
	company.ActorParams
	Notes string `json:"notes,omitempty" is:"optional,empty"`
}

// ResolveParams are the params of inbox.resolve.
type ResolveParams struct {
	company.Dir
	ProjectID  string `json:"project_id" is:"id"`
	ArtifactID string `json:"artifact_id" is:"id"`
	Decision   string `json:"decision" is:"enum=approved|denied"`
	Decider
	// ExpectHash is the hash that the preview of a memory delta must have for its approval.
	ExpectHash string `json:"expect_hash,omitzero" is:"optional"`
}

// Resolve decides on an item of the inbox.
func (c Operations) Resolve(ctx context.Context, p ResolveParams) (governance.Resolution, error) {
	if err := company.CheckIDs(company.NamedText{Name: "project_id", Value: p.ProjectID}, company.NamedText{Name: "artifact_id", Value: p.ArtifactID}); err != nil {
		return governance.Resolution{}, err
	}
	defer c.Host().ForgetChanges() // an approval may apply files or land work
	return inbox.Resolve(ctx, c.Workspace(), governance.Ruling{
		Item: governance.Item{ProjectID: p.ProjectID, ArtifactID: p.ArtifactID}, Decision: p.Decision, Actor: p.Actor(), Notes: p.Notes, ExpectHash: p.ExpectHash,
	}, c.Host().Jobs())
}

// ResolveManyParams are the params of inbox.resolve_many.
type ResolveManyParams struct {
	company.Dir
	Items []ResolveItem `json:"items" is:"minitems=1"`
	Decider
}

// ResolveItem is one of several decisions.
type ResolveItem struct {
	ProjectID  string `json:"project_id" is:"id"`
	ArtifactID string `json:"artifact_id" is:"id"`
	Decision   string `json:"decision" is:"enum=approved|denied"`
	ExpectHash string `json:"expect_hash,omitzero" is:"optional"`
}

// mostDecisions bounds how many items one call decides.
const mostDecisions = 100

// CheckFields rejects too many items.
func (p *ResolveManyParams) CheckFields() []fault.Issue {
	if len(p.Items) <= mostDecisions {
		return nil
	}
	return []fault.Issue{{Path: []any{"items"}, Code: "custom", Message: "must have at most 100 items"}}
}

// ResolveManyResult is the result of inbox.resolve_many: an outcome for each item, in order.
type ResolveManyResult struct {
	Results  []ResolveOutcome `json:"results"`
	Resolved int              `json:"resolved"`
}

// ResolveOutcome is the outcome of one of several decisions.
type ResolveOutcome struct {
	ArtifactID string        `json:"artifact_id"`
	OK         bool          `json:"ok"`
	ReviewID   string        `json:"review_id,omitempty"`
	Error      *ResolveError `json:"error,omitempty"`
}

// ResolveError is why an item was not decided.
type ResolveError struct {
	Reason  fault.Reason `json:"reason"`
	Message string       `json:"message"`
}

// ResolveMany decides on items of the inbox in order, each in its own unit. The call is not
// atomic as a whole.
func (c Operations) ResolveMany(ctx context.Context, p ResolveManyParams) (ResolveManyResult, error) {
	rulings := make([]governance.Ruling, len(p.Items))
	for i, one := range p.Items {
		rulings[i] = governance.Ruling{
			Item: governance.Item{ProjectID: one.ProjectID, ArtifactID: one.ArtifactID}, Decision: one.Decision, Actor: p.Actor(), Notes: p.Notes, ExpectHash: one.ExpectHash,
		}
	}
	defer c.Host().ForgetChanges()
	result := ResolveManyResult{Results: make([]ResolveOutcome, len(rulings))}
	for i, done := range inbox.ResolveMany(ctx, c.Workspace(), rulings, c.Host().Jobs()) {
		outcome := ResolveOutcome{ArtifactID: rulings[i].ArtifactID, OK: done.Err == nil, ReviewID: done.Resolution.ReviewID}
		if done.Err != nil {
			outcome.ReviewID = ""
			outcome.Error = &ResolveError{fault.ReasonOf(done.Err), done.Err.Error()}
		} else {
			result.Resolved++
		}
		result.Results[i] = outcome
	}
	return result, nil
}

// ApproveMilestoneParams are the params of milestone.approve.
type ApproveMilestoneParams struct {
	company.Dir
	ProjectID        string `json:"project_id" is:"id"`
	TaskID           string `json:"task_id" is:"id"`
	MilestoneID      string `json:"milestone_id" is:"id"`
	ReportArtifactID string `json:"report_artifact_id" is:"id"`
	Decider
}

// ApproveMilestoneResult is the result of milestone.approve.
type ApproveMilestoneResult struct {
	ReviewID        string `json:"review_id"`
	Decision        string `json:"decision"`
	TaskStatus      string `json:"task_status"`
	MilestoneStatus string `json:"milestone_status"`
}

// ApproveMilestone approves a milestone by its report.
func (c Operations) ApproveMilestone(ctx context.Context, p ApproveMilestoneParams) (ApproveMilestoneResult, error) {
	done, err := governance.ApproveMilestone(ctx, c.Workspace(), governance.MilestoneRuling{
		Ruling: governance.Ruling{Item: governance.Item{ProjectID: p.ProjectID, ArtifactID: p.ReportArtifactID}, Actor: p.Actor(), Notes: p.Notes},
		TaskID: p.TaskID, MilestoneID: p.MilestoneID,
	})
	return ApproveMilestoneResult{done.ReviewID, done.Decision, done.TaskStatus, done.MilestoneStatus}, err
}

// NewMilestoneReportResult is a new milestone report.
type NewMilestoneReportResult struct {
	ArtifactID   string `json:"artifact_id"`
	ArtifactPath string `json:"artifact_path"`
}

// NewMilestoneReportParams are the params of the command milestone:report:new.
type NewMilestoneReportParams struct {
	company.ProjectParams
	TaskID      string                `json:"task_id" is:"id"`
	MilestoneID string                `json:"milestone_id" is:"id"`
	Spec        governance.ReportSpec `json:"-"` // without the ids
}

// NewMilestoneReport creates a milestone report.
func (c Operations) NewMilestoneReport(ctx context.Context, p NewMilestoneReportParams) (NewMilestoneReportResult, error) {
	p.Spec.TaskID, p.Spec.MilestoneID = p.TaskID, p.MilestoneID
	id, err := governance.NewMilestoneReport(ctx, c.Workspace(), p.ProjectID, p.Spec)
	return NewMilestoneReportResult{id, c.AbsoluteName(governance.ArtifactFile(p.ProjectID, id))}, err
}

// NewHelpRequestResult is a new help request.
type NewHelpRequestResult struct {
	HelpRequestID string `json:"help_request_id"`
	FilePath      string `json:"file_path"`
}

// NewHelpRequestParams are the params of the command help:new.
type NewHelpRequestParams struct {
	company.Dir
	Spec governance.HelpSpec `json:"-"`
}

// NewHelpRequest creates a help request.
func (c Operations) NewHelpRequest(ctx context.Context, p NewHelpRequestParams) (NewHelpRequestResult, error) {
	id, err := governance.NewHelpRequest(ctx, c.Workspace(), p.Spec)
	return NewHelpRequestResult{id, c.AbsoluteName(governance.HelpRequestFile(id))}, err
}

// ResolveUIParams are the params of ui.resolve.
type ResolveUIParams struct {
	ResolveParams
	company.IndexStep
	company.ScreenLimits
}

// ResolveUIResult is the result of ui.resolve.
type ResolveUIResult struct {
	Resolved governance.Resolution `json:"resolved"`
	Snapshot snapshot.UI           `json:"snapshot"`
}

// ResolveUI decides on an item of the inbox and returns the screen afterwards, which always shows
// the decision. Once the decision is recorded, the call succeeds. If the snapshot fails, the
// screen contains what is known without the index.
func (c Operations) ResolveUI(ctx context.Context, p ResolveUIParams) (result ResolveUIResult, err error) {
	if result.Resolved, err = c.Resolve(ctx, p.ResolveParams); err != nil {
		return result, err
	}
	p.SyncIndex = true
	request := company.UIParams{Dir: p.Dir, IndexStep: p.IndexStep, ScreenLimits: p.ScreenLimits, ProjectID: p.ProjectID}
	if result.Snapshot, err = c.UI(ctx, request); err == nil {
		return result, nil
	}
	result.Snapshot = snapshot.KnownUI(c.Workspace(), snapshot.UIRequest{
		Request: c.SnapshotRequest(p.Freshness()), Project: p.ProjectID, Decisions: p.DecisionsLimit, SyncWorker: c.Host().WorkerStatus(),
	})
	return result, nil
}
