package events

// Types of events: the member "type".
const (
	RunStarted     = "run.started"
	RunExecuting   = "run.executing"
	RunEnded       = "run.ended"
	RunFailed      = "run.failed"
	RunStopped     = "run.stopped"
	RunLogTampered = "run.log_tampered"
	PolicyDecision = "policy.decision"
	PolicyDenied   = "policy.denied"
	ProviderRaw    = "provider.raw"
	UsageReported  = "usage.reported"
	// Events of remote sessions, written by their hub.
	WorkerPlaced        = "worker.placed"
	WorkerClaimed       = "worker.claimed"
	WorkerWithdrawn     = "worker.withdrawn"
	WorkerUnreachable   = "worker.unreachable"
	WorkerReached       = "worker.reached"
	WorkerFenced        = "worker.fenced" // the hub accepts nothing more from the attempt
	WorkerDraftRefused  = "worker.draft_refused"
	WorkerResults       = "worker.results"
	WorkerResultsFailed = "worker.results_failed"
	WorkerLateEvidence  = "worker.late_evidence"

	// Events of live sessions.
	AgentStarted           = "agent.started"
	TurnStarted            = "run.turn_started"
	TurnAccepted           = "run.turn_accepted"
	TurnEnded              = "run.turn_ended"
	InterruptRequested     = "run.interrupt_requested"
	SteerQueued            = "run.steer_queued"
	SteerApplied           = "run.steer_applied"
	SteerDiscarded         = "run.steer_discarded"
	PermissionJudged       = "permission.judged"
	InteractionRequested   = "interaction.requested"
	InteractionResolved    = "interaction.resolved"
	InteractionUndelivered = "interaction.undelivered"
	RunPolicyChanged       = "run.policy_changed"
	MachineConfigured      = "machine.configured"
	RunContinued           = "run.continued"
	CompactRequested       = "run.compact_requested"
	Compacted              = "run.compacted"
	RunAttached            = "run.attached"
	RunNotice              = "run.notice"
	PlanCleared            = "run.plan_cleared"
	FeedbackRecorded       = "feedback.recorded"

	UsageEstimated   = "usage.estimated"
	UsageCost        = "usage.cost_computed"
	BudgetDecision   = "budget.decision"
	BudgetAlert      = "budget.alert"
	BudgetExceeded   = "budget.exceeded"
	ContextCycle     = "context.cycle.detected"
	SnapshotFailed   = "context_pack.snapshot_failed"
	SnapshotWritten  = "context_pack.snapshot_written"
	ArtifactProduced = "artifact.produced"
	ArtifactApplied  = "artifact.applied"
	RunLanded        = "run.landed"
	ApprovalDecided  = "approval.decided"
	WorktreePrepared = "worktree.prepared"
	MistakeRecorded  = "evaluation.mistake_recorded"
	RulePromoted     = "evaluation.rule_promoted"
	ImproveCycle     = "evaluation.self_improve_cycle"
	CommentAdded     = "comment.added"
	RunReviewed      = "run.reviewed"
	ContextPlanned   = "context.plan.generated"
	JobNotice        = "job.notice"
	CandidatesFound  = "memory.candidates.generated"
	JobLaunched      = "job.launched"

	// Events of workflow runs.
	WorkflowStarted     = "workflow.started"
	WorkflowStepStarted = "workflow.step.started"
	WorkflowStepAttempt = "workflow.step.attempt"
	WorkflowStepEnded   = "workflow.step.ended"
	WorkflowRound       = "workflow.round"
	WorkflowNotice      = "workflow.notice"
	WorkflowEnded       = "workflow.ended"
)

// Terminal reports whether an event of this type closes a run's log.
func Terminal(eventType string) bool {
	return eventType == RunEnded || eventType == RunFailed || eventType == RunStopped
}
