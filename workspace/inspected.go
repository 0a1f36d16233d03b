package workspace

// Documents that validation only warns of: jobs, messages, the files of the
// heartbeat. The shapes here are what their readers refuse.

import (
	"bytes"
	"errors"
	"fmt"
	"path"

	"ac/internal/fault"
	"ac/internal/yamldoc"
	"ac/workspace/doc"
)

// jobRecord is jobs/<id>/job.yaml.
type jobRecord struct {
	_              struct{}     `is:"strict"`
	SchemaVersion  int          `json:"schema_version" is:"min=1"`
	Type           string       `json:"type" is:"enum=job_record"`
	Job            jobSpec      `json:"job"`
	CreatedAt      string       `json:"created_at" is:"time"`
	UpdatedAt      string       `json:"updated_at" is:"time"`
	Status         string       `json:"status" is:"enum=queued|running|completed|canceled"`
	Cancellation   bool         `json:"cancellation_requested"`
	CurrentAttempt int          `json:"current_attempt" is:"min=0"`
	Attempts       []jobAttempt `json:"attempts"`
	FinalResult    string       `json:"final_result_relpath" is:"optional"`
}

type jobSpec struct {
	_               struct{}     `is:"strict"`
	SchemaVersion   int          `json:"schema_version" is:"default=1,min=1"`
	Type            string       `json:"type" is:"default=job,enum=job"`
	JobID           string       `json:"job_id"`
	JobKind         string       `json:"job_kind" is:"default=execution,enum=execution|heartbeat"`
	WorkerKind      string       `json:"worker_kind" is:"enum=codex|claude|gemini"`
	WorkspaceDir    string       `json:"workspace_dir"`
	ProjectID       string       `json:"project_id"`
	Goal            string       `json:"goal"`
	Constraints     []string     `json:"constraints"`
	Deliverables    []string     `json:"deliverables"`
	PermissionLevel string       `json:"permission_level" is:"enum=read-only|patch|run-commands"`
	ContextRefs     []contextRef `json:"context_refs"`
	WorkerAgentID   string       `json:"worker_agent_id" is:"optional"`
	Model           string       `json:"model" is:"optional"`
	ManagerActorID  string       `json:"manager_actor_id" is:"optional"`
	ManagerRole     string       `json:"manager_role" is:"optional,enum=human|ceo|director|manager|worker"`
}

type contextRef struct {
	_           struct{} `is:"strict"`
	Kind        string   `json:"kind" is:"enum=file|command|artifact|note"`
	Value       string   `json:"value"`
	Description string   `json:"description" is:"optional"`
}

type jobAttempt struct {
	_                struct{} `is:"strict"`
	Attempt          int      `json:"attempt" is:"min=1"`
	RunID            string   `json:"run_id"`
	ContextPackID    string   `json:"context_pack_id"`
	SessionRef       string   `json:"session_ref"`
	WorkerKind       string   `json:"worker_kind" is:"enum=codex|claude|gemini"`
	WorkerAgentID    string   `json:"worker_agent_id"`
	Provider         string   `json:"provider"`
	ProviderBin      string   `json:"provider_bin" is:"optional"`
	ProviderVersion  string   `json:"provider_version" is:"optional"`
	ProviderHelpHash string   `json:"provider_help_hash" is:"optional"`
	OutputFormat     string   `json:"output_format" is:"optional"`
	StartedAt        string   `json:"started_at" is:"time"`
	EndedAt          string   `json:"ended_at" is:"optional,time"`
	Status           string   `json:"status" is:"enum=running|ended|failed|stopped"`
	Error            string   `json:"error" is:"optional,empty"`
}

// heartbeatConfig is .local/heartbeat/config.yaml.
type heartbeatConfig struct {
	_                   struct{} `is:"strict"`
	SchemaVersion       int      `json:"schema_version" is:"default=1,min=1"`
	Type                string   `json:"type" is:"default=heartbeat_config,enum=heartbeat_config"`
	Enabled             bool     `json:"enabled" is:"default=true"`
	TickInterval        int      `json:"tick_interval_minutes" is:"default=20,min=1,max=1440"`
	TopWorkers          int      `json:"top_k_workers" is:"default=2,min=1,max=100"`
	MinWakeScore        int      `json:"min_wake_score" is:"default=3,min=0,max=100"`
	OKSuppression       int      `json:"ok_suppression_minutes" is:"default=60,min=0,max=1440"`
	DueHorizon          int      `json:"due_horizon_minutes" is:"default=120,min=1,max=1440"`
	MaxActionsPerTick   int      `json:"max_auto_actions_per_tick" is:"default=10,min=1,max=10000"`
	MaxActionsPerHour   int      `json:"max_auto_actions_per_hour" is:"default=60,min=1,max=100000"`
	QuietFrom           int      `json:"quiet_hours_start_hour" is:"default=22,min=0,max=23"`
	QuietUntil          int      `json:"quiet_hours_end_hour" is:"default=7,min=0,max=23"`
	StuckJob            int      `json:"stuck_job_running_minutes" is:"default=30,min=1,max=1440"`
	IdempotencyTTL      int      `json:"idempotency_ttl_days" is:"default=14,min=1,max=365"`
	JitterMaximumSecond int      `json:"jitter_max_seconds" is:"default=90,min=0,max=3600"`
}

// heartbeatState is .local/heartbeat/state.yaml.
type heartbeatState struct {
	_              struct{}                   `is:"strict"`
	SchemaVersion  int                        `json:"schema_version" is:"min=1"`
	Type           string                     `json:"type" is:"enum=heartbeat_state"`
	Running        bool                       `json:"running" is:"default=false"`
	LastTickID     string                     `json:"last_tick_id" is:"optional"`
	LastTickAt     string                     `json:"last_tick_at" is:"optional,time"`
	LastTickReason string                     `json:"last_tick_reason" is:"optional"`
	NextTickAt     string                     `json:"next_tick_at" is:"optional,time"`
	Cursors        map[string]int64           `json:"run_event_cursors" is:"optional,min=0"`
	Workers        map[string]heartbeatWorker `json:"worker_state" is:"optional"`
	Idempotency    map[string]heartbeatKey    `json:"idempotency" is:"optional"`
	Hourly         map[string]int64           `json:"hourly_action_counters" is:"optional,min=0"`
	Stats          heartbeatStats             `json:"stats" is:"optional"`
}

type heartbeatWorker struct {
	_               struct{} `is:"strict"`
	LastOKAt        string   `json:"last_ok_at" is:"optional,time"`
	LastContextHash string   `json:"last_context_hash" is:"optional"`
	SuppressedUntil string   `json:"suppressed_until" is:"optional,time"`
	LastWakeAt      string   `json:"last_wake_at" is:"optional,time"`
	LastStatus      string   `json:"last_report_status" is:"optional,enum=ok|actions"`
}

type heartbeatKey struct {
	_           struct{} `is:"strict"`
	Key         string   `json:"idempotency_key"`
	ActionKind  string   `json:"action_kind"`
	FirstSeenAt string   `json:"first_seen_at" is:"time"`
	LastSeenAt  string   `json:"last_seen_at" is:"time"`
	ExpiresAt   string   `json:"expires_at" is:"time"`
	Status      string   `json:"status" is:"enum=queued|executed"`
	Count       int      `json:"execution_count" is:"default=0,min=0"`
}

type heartbeatStats struct {
	_                struct{} `is:"strict"`
	Ticks            int64    `json:"ticks_total" is:"default=0,min=0"`
	WorkersWoken     int64    `json:"workers_woken_total" is:"default=0,min=0"`
	ReportsOK        int64    `json:"reports_ok_total" is:"default=0,min=0"`
	ReportsActions   int64    `json:"reports_actions_total" is:"default=0,min=0"`
	ActionsExecuted  int64    `json:"actions_executed_total" is:"default=0,min=0"`
	ApprovalsQueued  int64    `json:"approvals_queued_total" is:"default=0,min=0"`
	DuplicateActions int64    `json:"deduped_actions_total" is:"default=0,min=0"`
}

// mapping is a document of which nothing is asked but that it can be read.
type mapping struct{}

// proposal is the front matter of a heartbeat_action_proposal.
type proposal struct {
	_ struct{} `is:"strict"`
	doc.Artifact
	ProjectID string         `json:"project_id"`
	Action    proposedAction `json:"proposed_action"`
	Rationale string         `json:"rationale" is:"optional"`
}

type proposedAction struct {
	Kind          string `json:"kind" is:"enum=launch_job|add_comment|noop"`
	Key           string `json:"idempotency_key"`
	Risk          string `json:"risk" is:"enum=low|medium|high"`
	NeedsApproval bool   `json:"needs_approval"`
	Visibility    string `json:"visibility" is:"optional,enum=private_agent|team|managers|org"`
	Summary       string `json:"summary" is:"optional"`
	ProjectID     string `json:"project_id" is:"optional"`
	Goal          string `json:"goal" is:"optional"`
	Body          string `json:"body" is:"optional"`
	Reason        string `json:"reason" is:"optional"`
}

// Check asks for what the kind of the action cannot do without.
func (a *proposedAction) Check() (issues []fault.Issue) {
	need := func(field, value string) {
		if value == "" {
			issues = append(issues, customIssue(field, "is required of "+a.Kind))
		}
	}
	switch a.Kind {
	case "launch_job":
		need("project_id", a.ProjectID)
		need("goal", a.Goal)
	case "add_comment":
		need("project_id", a.ProjectID)
		need("body", a.Body)
	case "noop":
		need("reason", a.Reason)
	}
	return issues
}

var (
	jobCodec             = yamldoc.For[jobRecord]()
	heartbeatConfigCodec = yamldoc.For[heartbeatConfig]()
	heartbeatStateCodec  = yamldoc.For[heartbeatState]()
	proposalCodec        = yamldoc.For[proposal]()
	mappingCodec         = yamldoc.For[mapping]()
)

func commentKind() kind {
	return lenient(yamlKind(doc.CommentCodec, func(d *verdict, file string, c doc.Comment) { d.carries(file, stem(file), c.ID) }))
}

func jobKind() kind {
	return lenient(yamlKind(jobCodec, func(d *verdict, file string, j jobRecord) {
		d.carries(file, path.Base(path.Dir(file)), j.Job.JobID)
		d.within(file, projectOf(file), j.Job.ProjectID)
	}))
}

const (
	// maxMessages bounds the message files that are looked into.
	maxMessages = 64 << 20
	// maxBadLines is how many bad lines of a file are told one by one.
	maxBadLines = 5
)

// messagesKind looks at every line of a messages.jsonl. Lines that do not fit
// are passed over by readers and stay in the file.
func messagesKind(conversation string) kind {
	return kind{unreadable: "read_error", lenient: true, limit: maxMessages, judge: func(file string, text []byte) (d verdict) {
		number, bad := 0, 0
		for line := range bytes.SplitSeq(text, []byte("\n")) {
			number++
			code, why := messageFault(line, conversation)
			if code == "" {
				continue
			}
			if bad++; bad <= maxBadLines {
				d.issue(code, file, fmt.Sprintf("line %d: %s", number, why))
			}
		}
		if bad > maxBadLines {
			d.issue("schema_invalid", file, fmt.Sprintf("%d more lines are no messages", bad-maxBadLines))
		}
		return d
	}}
}

func messageFault(line []byte, conversation string) (code, why string) {
	if len(bytes.TrimSpace(line)) == 0 {
		return "", ""
	}
	m, err := doc.DecodeMessage(line)
	misfit, ok := errors.AsType[*yamldoc.SchemaError](err)
	switch {
	case ok:
		return "schema_invalid", misfit.Error()
	case err != nil:
		return "parse_error", "not JSON"
	case m.ConversationID != conversation:
		return "id_mismatch", "carries the conversation_id " + m.ConversationID + " instead of " + conversation
	}
	return "", ""
}
