package doc

// The record of a workflow's run, beside the record of the run itself.

import (
	"ac/internal/shape"
	"ac/internal/yamldoc"
)

// Statuses of a workflow's run.
const (
	FlowRunning      = "running"
	FlowWaitingInput = "waiting_input"
	FlowSucceeded    = "succeeded"
	FlowFailed       = "failed"
	FlowCanceled     = "canceled"
)

// Statuses of a step.
const (
	StepQueued    = "queued"
	StepRunning   = "running"
	StepWaiting   = "waiting"
	StepSucceeded = "succeeded"
	StepFailed    = "failed"
	StepCanceled  = "canceled"
)

// WorkflowRun is runs/<run_id>/workflow.yaml.
type WorkflowRun struct {
	_             struct{} `is:"strict"`
	SchemaVersion int      `json:"schema_version" is:"min=1,max=1"`
	Type          string   `json:"type" is:"enum=workflow_run"`
	RunID         string   `json:"run_id" is:"id"`
	ProjectID     string   `json:"project_id" is:"id"`
	WorkflowID    string   `json:"workflow_id,omitempty" is:"optional"`
	// Templates are complete copies, as each was when a round began.
	Templates  []shape.Value     `json:"templates" is:"minitems=1"`
	SourcePath string            `json:"source_path,omitempty" is:"optional,maxbytes=4096"`
	Rules      []PolicyRule      `json:"rules,omitempty" is:"optional"`
	Mode       Mode              `json:"mode,omitempty" is:"optional,enum=default|accept_edits|plan|full_auto"`
	Input      string            `json:"input" is:"empty"`
	Inputs     map[string]string `json:"inputs" is:"empty"`
	Priority   string            `json:"priority" is:"enum=low|normal|high"`
	// Place is the caller's replacement for the template's place.
	Place                 *JobPlace   `json:"place,omitempty" is:"optional"`
	Origin                *JobOrigin  `json:"origin,omitempty" is:"optional"`
	StartedBy             FlowActor   `json:"started_by"`
	Status                string      `json:"status" is:"enum=running|waiting_input|succeeded|failed|canceled"`
	Rounds                []FlowRound `json:"rounds"`
	Steps                 []FlowStep  `json:"steps"`
	Steer                 []FlowSteer `json:"steer,omitempty" is:"optional"`
	Text                  string      `json:"text,omitempty" is:"optional,empty"`
	Error                 *FlowError  `json:"error,omitempty" is:"optional"`
	EndedAt               string      `json:"ended_at,omitempty" is:"optional,time"`
	CancellationRequested bool        `json:"cancellation_requested"`
}

// FlowActor identifies who started a run.
type FlowActor struct {
	_         struct{} `is:"strict"`
	ActorID   string   `json:"actor_id"`
	ActorRole string   `json:"actor_role"`
}

// FlowRound is one pass over a flow. Template is an index into Templates.
type FlowRound struct {
	_         struct{} `is:"strict"`
	Round     int      `json:"round" is:"min=1"`
	Template  int      `json:"template" is:"min=0"`
	Input     string   `json:"input" is:"empty"`
	StartedAt string   `json:"started_at" is:"time"`
	EndedAt   string   `json:"ended_at,omitempty" is:"optional,time"`
}

// FlowStep is one execution of a task, or one question.
type FlowStep struct {
	_    struct{} `is:"strict"`
	Step string   `json:"step"`
	Node string   `json:"node"`
	Path string   `json:"path"`
	// Iteration counts the executions of the node within its round, from 1.
	Iteration     int    `json:"iteration" is:"min=1"`
	Round         int    `json:"round" is:"default=1,min=1"`
	JobID         string `json:"job_id,omitempty" is:"optional"`
	InteractionID string `json:"interaction_id,omitempty" is:"optional"`
	AgentID       string `json:"agent_id,omitempty" is:"optional"`
	Status        string `json:"status" is:"enum=queued|running|waiting|succeeded|failed|canceled"`
	InputChars    int    `json:"input_chars" is:"min=0"`
	Text          string `json:"text,omitempty" is:"optional,empty"`
	// Approved is the result of a verdict. Done and Tasks are the result of a plan.
	Approved  *bool      `json:"approved,omitempty" is:"optional"`
	Done      *bool      `json:"done,omitempty" is:"optional"`
	Tasks     []PlanTask `json:"tasks,omitempty" is:"optional"`
	StartedAt string     `json:"started_at" is:"time"`
	EndedAt   string     `json:"ended_at,omitempty" is:"optional,time"`
	Error     *FlowError `json:"error,omitempty" is:"optional"`
}

// Over reports whether a step has ended.
func (s *FlowStep) Over() bool {
	return s.Status == StepSucceeded || s.Status == StepFailed || s.Status == StepCanceled
}

// FlowError is the reason why a step or a run failed.
type FlowError struct {
	_       struct{} `is:"strict"`
	Code    string   `json:"code"`
	Message string   `json:"message" is:"empty"`
	Step    string   `json:"step,omitempty" is:"optional"`
}

// FlowSteer is a text for the next task. UsedBy is the step that received it.
type FlowSteer struct {
	_       struct{} `is:"strict"`
	SteerID string   `json:"steer_id"`
	Text    string   `json:"text"`
	At      string   `json:"at" is:"time"`
	UsedBy  string   `json:"used_by,omitempty" is:"optional"`
}

// Over reports whether a workflow's run has ended.
func (r *WorkflowRun) Over() bool {
	return r.Status == FlowSucceeded || r.Status == FlowFailed || r.Status == FlowCanceled
}

// Round returns the current round, or the last one.
func (r *WorkflowRun) Round() *FlowRound { return &r.Rounds[len(r.Rounds)-1] }

// WorkflowRunCodec reads and writes the records of workflows' runs.
var WorkflowRunCodec = yamldoc.For[WorkflowRun]()
