package doc

// Jobs: their spec, record and result.

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"ac/internal/fault"
	"ac/internal/shape"
	"ac/internal/yamldoc"
)

// Statuses of a job.
const (
	JobQueued    = "queued"
	JobRunning   = "running"
	JobCompleted = "completed"
	JobCanceled  = "canceled"
)

// Kinds of jobs.
const (
	JobExecution = "execution"
	JobHeartbeat = "heartbeat"
)

// JobSpec is a job as submitted.
type JobSpec struct {
	_               struct{}     `is:"strict"`
	SchemaVersion   int          `json:"schema_version" is:"default=1,gt=0"`
	Type            string       `json:"type" is:"default=job,enum=job"`
	JobID           string       `json:"job_id"`
	JobKind         string       `json:"job_kind" is:"default=execution,enum=execution|heartbeat"`
	WorkerKind      string       `json:"worker_kind" is:"enum=codex|claude|gemini|acp|cmd"`
	WorkspaceDir    string       `json:"workspace_dir" is:"path"`
	ProjectID       string       `json:"project_id" is:"id"`
	Goal            string       `json:"goal"`
	Constraints     []string     `json:"constraints"`
	Deliverables    []string     `json:"deliverables"`
	PermissionLevel string       `json:"permission_level" is:"enum=read-only|patch|run-commands"`
	ContextRefs     []ContextRef `json:"context_refs"`
	WorkerAgentID   string       `json:"worker_agent_id,omitempty" is:"optional,id"`
	Model           string       `json:"model,omitempty" is:"optional"`
	ManagerActorID  string       `json:"manager_actor_id,omitempty" is:"optional"`
	ManagerRole     string       `json:"manager_role,omitempty" is:"optional,role"`
	ManagerTeamID   string       `json:"manager_team_id,omitempty" is:"optional"`
	// ContextMode auto plans the job's context. Absent means manual.
	ContextMode    string `json:"context_mode,omitempty" is:"optional,enum=auto|manual"`
	MaxContextRefs int    `json:"max_context_refs,omitempty" is:"optional,min=1,cut=200"`
}

// ContextAuto is the context_mode of jobs with a planned context.
const ContextAuto = "auto"

// CheckFields checks that the job's id is usable as a path segment, and that texts for a
// command line contain no NUL. A blank id passes, since submission replaces it with a new
// one.
func (s *JobSpec) CheckFields() (issues []fault.Issue) {
	refuse := func(why string, path ...any) {
		issues = append(issues, fault.Issue{Path: path, Code: "custom", Message: why})
	}
	if strings.TrimSpace(s.JobID) != "" {
		if why := shape.CheckID(s.JobID); why != "" {
			refuse(why, "job_id")
		}
	}
	if strings.ContainsRune(s.Model, 0) {
		refuse("must not contain NUL", "model")
	}
	if s.ContextMode == ContextAuto {
		for _, due := range [][2]string{{"manager_actor_id", s.ManagerActorID}, {"manager_role", s.ManagerRole}} {
			if strings.TrimSpace(due[1]) == "" {
				refuse("is required with context_mode auto", due[0])
			}
		}
	}
	return issues
}

// ContextRef points a worker to material to read.
type ContextRef struct {
	_           struct{} `is:"strict"`
	Kind        string   `json:"kind" is:"enum=file|command|artifact|note"`
	Value       string   `json:"value"`
	Description string   `json:"description,omitempty" is:"optional"`
}

// Job is jobs/<job_id>/job.yaml, the record of a job.
type Job struct {
	_                     struct{}     `is:"strict"`
	SchemaVersion         int          `json:"schema_version" is:"gt=0"`
	Type                  string       `json:"type" is:"enum=job_record"`
	Job                   JobSpec      `json:"job"`
	CreatedAt             string       `json:"created_at" is:"time"`
	UpdatedAt             string       `json:"updated_at" is:"time"`
	Status                string       `json:"status" is:"enum=queued|running|completed|canceled"`
	CancellationRequested bool         `json:"cancellation_requested"`
	CurrentAttempt        int          `json:"current_attempt" is:"min=0"`
	Attempts              []JobAttempt `json:"attempts"`
	FinalResultRelpath    string       `json:"final_result_relpath" is:"optional"`
	// Order is the content of order.json beside the record, nil if there is none.
	Order *JobOrder `json:"-"`
}

// Over reports whether a job is over.
func (j *Job) Over() bool { return j.Status == JobCompleted || j.Status == JobCanceled }

// Last returns the last attempt, nil if there is none.
func (j *Job) Last() *JobAttempt {
	if len(j.Attempts) == 0 {
		return nil
	}
	return &j.Attempts[len(j.Attempts)-1]
}

// Statuses of an attempt, the same as those of a run.
const (
	AttemptRunning = "running"
	AttemptEnded   = "ended"
	AttemptFailed  = "failed"
	AttemptStopped = "stopped"
)

// JobAttempt is one attempt of a job: one run of its worker.
type JobAttempt struct {
	_                struct{} `is:"strict"`
	Attempt          int      `json:"attempt" is:"gt=0"`
	RunID            string   `json:"run_id"`
	ContextPackID    string   `json:"context_pack_id"`
	SessionRef       string   `json:"session_ref"`
	WorkerKind       string   `json:"worker_kind" is:"enum=codex|claude|gemini"`
	WorkerAgentID    string   `json:"worker_agent_id"`
	Provider         string   `json:"provider"`
	ProviderBin      string   `json:"provider_bin,omitempty" is:"optional"`
	ProviderVersion  string   `json:"provider_version,omitempty" is:"optional"`
	ProviderHelpHash string   `json:"provider_help_hash,omitempty" is:"optional"`
	OutputFormat     string   `json:"output_format,omitempty" is:"optional"`
	StartedAt        string   `json:"started_at" is:"time"`
	EndedAt          string   `json:"ended_at,omitempty" is:"optional,time"`
	Status           string   `json:"status" is:"enum=running|ended|failed|stopped"`
	Error            string   `json:"error,omitempty" is:"optional"`
	// For a planned context: the plan of the attempt, and its hash.
	ContextPlanRelpath string `json:"context_plan_relpath,omitempty" is:"optional"`
	ContextPlanHash    string `json:"context_plan_hash,omitempty" is:"optional"`
}

// Statuses of a result.
const (
	ResultSucceeded  = "succeeded"
	ResultNeedsInput = "needs_input"
	ResultBlocked    = "blocked"
	ResultFailed     = "failed"
	ResultCanceled   = "canceled"
)

// JobResult is jobs/<job_id>/result.json.
type JobResult struct {
	_             struct{}      `is:"strict"`
	SchemaVersion int           `json:"schema_version" is:"min=1,max=1"`
	Type          string        `json:"type" is:"enum=result"`
	JobID         string        `json:"job_id"`
	AttemptRunID  string        `json:"attempt_run_id"`
	Status        string        `json:"status" is:"enum=succeeded|needs_input|blocked|failed|canceled"`
	Summary       string        `json:"summary"`
	FilesChanged  []FileChanged `json:"files_changed"`
	CommandsRun   []CommandRun  `json:"commands_run"`
	Artifacts     []JobArtifact `json:"artifacts"`
	NextActions   []NextAction  `json:"next_actions"`
	Errors        []JobError    `json:"errors"`
}

// FileChanged is a file that a worker changed.
type FileChanged struct {
	_          struct{} `is:"strict"`
	Path       string   `json:"path"`
	ChangeType string   `json:"change_type,omitempty" is:"optional,enum=added|modified|deleted|renamed"`
	Summary    string   `json:"summary,omitempty" is:"optional,empty"`
}

// CommandRun is a command that a worker ran. Its exit code is absent, null or an integer.
type CommandRun struct {
	_        struct{}    `is:"strict"`
	Command  string      `json:"command"`
	ExitCode shape.Value `json:"exit_code" is:"optional"`
	Summary  string      `json:"summary,omitempty" is:"optional,empty"`
}

// Check requires exit codes to be absent, null or integers.
func (c *CommandRun) Check() []fault.Issue {
	v := c.ExitCode
	if v.Kind == shape.Absent || v.Kind == shape.Null || (v.Kind == shape.Number && v.Num == math.Trunc(v.Num) && math.Abs(v.Num) <= math.MaxInt32) {
		return nil
	}
	return []fault.Issue{{Path: []any{"exit_code"}, Code: "invalid_type", Expected: "integer", Message: "must be an integer or null"}}
}

// MarshalJSON keeps absent and null exit codes apart.
func (c CommandRun) MarshalJSON() ([]byte, error) {
	out := struct {
		Command  string          `json:"command"`
		ExitCode json.RawMessage `json:"exit_code,omitempty"`
		Summary  string          `json:"summary,omitempty"`
	}{Command: c.Command, Summary: c.Summary}
	switch c.ExitCode.Kind {
	case shape.Null:
		out.ExitCode = json.RawMessage("null")
	case shape.Number:
		out.ExitCode = strconv.AppendInt(nil, int64(c.ExitCode.Num), 10)
	default: // Absent: Check rejects all others
	}
	return marshal(out)
}

// marshal is json.Marshal without HTML escaping.
func marshal(v any) ([]byte, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return text.Bytes(), err
}

// JobArtifact points to a file or artifact that a worker produced.
type JobArtifact struct {
	_          struct{} `is:"strict"`
	Relpath    string   `json:"relpath"`
	ArtifactID string   `json:"artifact_id,omitempty" is:"optional"`
	Kind       string   `json:"kind,omitempty" is:"optional"`
	SHA256     string   `json:"sha256,omitempty" is:"optional"`
}

// NextAction is a recommended next step.
type NextAction struct {
	_         struct{} `is:"strict"`
	Action    string   `json:"action"`
	Rationale string   `json:"rationale,omitempty" is:"optional,empty"`
}

// JobError is an error in a result.
type JobError struct {
	_       struct{} `is:"strict"`
	Code    string   `json:"code"`
	Message string   `json:"message"`
	Details string   `json:"details,omitempty" is:"optional,empty"`
}

// The codecs of the documents above.
var (
	JobSpecCodec   = yamldoc.For[JobSpec]()
	JobCodec       = yamldoc.For[Job]()
	JobResultCodec = yamldoc.For[JobResult]()
)
