package fleet

// The order: what a worker needs to execute a session.

import (
	"encoding/json"
	"slices"

	"ac/runs/budget"
	"ac/runs/grant"
	"ac/runs/session"
	"ac/workspace/doc"
)

// Order is version 1 of the order. A worker refuses an order whose version it did not offer or
// that has unknown critical features.
type Order struct {
	Version  int      `json:"version"`
	Critical []string `json:"critical,omitempty"`
	HubID    string   `json:"hub_id"`
	Attempt  string   `json:"attempt"`
	Epoch    int      `json:"epoch"`

	ProjectID   string             `json:"project_id"`
	RunID       string             `json:"run_id"`
	SessionRef  string             `json:"session_ref"`
	AgentID     string             `json:"agent_id"`
	Provider    string             `json:"provider"`
	Mode        string             `json:"mode"` // of the session's record: command or codex_app_server
	Argv        []string           `json:"argv,omitempty"`
	Made        bool               `json:"made,omitempty"` // ac built Argv, with placeholders for folders
	Stdin       *string            `json:"stdin,omitempty"`
	Turn        int                `json:"turn,omitempty"` // turns of the run before this session
	Driver      string             `json:"driver,omitempty"`
	Live        *session.LiveOrder `json:"live,omitempty"`
	Env         map[string]string  `json:"env,omitempty"`
	SecretRefs  map[string]string  `json:"secret_refs,omitempty"` // variable to secret name
	Repo        *Repo              `json:"repo,omitempty"`
	TaskID      string             `json:"task_id,omitempty"`
	MilestoneID string             `json:"milestone_id,omitempty"`
	Files       []File             `json:"files,omitempty"` // for the folder context/
	// Self is the agent's identity for the ac tools that it has on the worker. Servers are the
	// workspace's MCP servers that contain no stored secret. Profile is the model profile named
	// ModelProfile, also without stored secrets.
	Self         *grant.Self              `json:"self,omitempty"`
	Servers      map[string]doc.MCPServer `json:"mcp_servers,omitempty"`
	ModelProfile string                   `json:"model_profile,omitempty"`
	Profile      *doc.ModelProfile        `json:"profile,omitempty"`
	Texts        []File                   `json:"texts,omitempty"`   // texts too long for an order, named as in TextsByName
	Outputs      []string                 `json:"outputs,omitempty"` // globs of files to bring back from the working directory

	Budget    *doc.Budget             `json:"budget,omitempty"`
	Allowance *Allowance              `json:"allowance,omitempty"`
	Pricing   map[string]doc.RateCard `json:"pricing,omitempty"`
	LimitMS   int64                   `json:"limit_ms,omitempty"`

	LeaseS      int64  `json:"lease_s"`
	OnCutOff    string `json:"on_cut_off"`
	MonotonicMS int64  `json:"monotonic_ms"` // the hub's monotonic count when it issued the order
	ClockMS     int64  `json:"clock_ms"`     // the hub's wall clock at that time, Unix milliseconds
	ExpiresInMS int64  `json:"expires_in_ms"`
}

// Critical features. A worker that does not know one must refuse the order.
const (
	CriticalMade    = "made"          // otherwise it would execute the placeholders
	CriticalProfile = "model_profile" // otherwise it would use another model, at another cost
	CriticalTexts   = "texts"         // otherwise it would send the provider no text
)

// Known reports whether a program that offered these versions supports the order's version and
// knows all its critical features.
func (o Order) Known(offered [2]int) bool {
	return o.Version >= offered[0] && o.Version <= offered[1] &&
		!slices.ContainsFunc(o.Critical, func(name string) bool {
			return name != CriticalMade && name != CriticalProfile && name != CriticalTexts
		})
}

// CopyTexts copies the texts of an order, so that changing them leaves the original intact.
func (o *Order) CopyTexts() {
	if o.Stdin != nil {
		o.Stdin = new(*o.Stdin)
	}
	if o.Live != nil {
		live := *o.Live
		o.Live = &live
	}
}

// TextsByName returns pointers to the texts of an order.
func (o *Order) TextsByName() map[string]*string {
	texts := map[string]*string{}
	if o.Stdin != nil {
		texts["stdin"] = o.Stdin
	}
	if o.Live != nil {
		texts["prompt"], texts["lead"] = &o.Live.Prompt, &o.Live.Preamble
	}
	return texts
}

// Repo is the repository that a session works in.
type Repo struct {
	ID         string `json:"repo_id"`
	Commit     string `json:"commit"`
	Branch     string `json:"branch"` // the run's branch, checked out in the worktree
	Via        string `json:"via"`
	Remote     string `json:"remote,omitempty"` // URL of the hub's remote origin
	Bundle     string `json:"bundle,omitempty"` // the name of an object
	Worktree   bool   `json:"worktree"`
	WorkdirRel string `json:"workdir_rel,omitempty"`
}

// Ways to transfer a source to a worker.
const (
	ViaAuto   = doc.ViaAuto
	ViaRemote = doc.ViaRemote
	ViaBundle = doc.ViaBundle
)

// File is a file for the provider. It is transferred as an object.
type File struct {
	Path   string `json:"path"`
	Object string `json:"object"`
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
}

// Allowance is what a session may still spend while the hub answers no beat.
type Allowance = budget.Allowance

// Policies for a session whose worker is cut off until its lease expires.
const (
	CutOffStop     = doc.CutOffStop
	CutOffContinue = doc.CutOffContinue
)

// Draft is an event that is not in the hash chain yet.
type Draft struct {
	ID      string          `json:"id"`
	At      string          `json:"at"`   // by the worker's clock
	Mono    int64           `json:"mono"` // milliseconds since the worker accepted the order
	Actor   string          `json:"actor"`
	Vis     string          `json:"vis"`
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload,omitempty"`
	Object  string          `json:"object,omitempty"` // name of the object that contains the payload
	Cause   string          `json:"cause,omitempty"`
}

// Batch is a sequence of drafts. First is the number of the first draft. Numbers count the
// session's lines in the worker's log from 1, without gaps. A batch without drafts only updates
// the record; its First is the number of the next draft.
type Batch struct {
	Attempt    string    `json:"attempt"`
	First      int64     `json:"first"`
	Generation int64     `json:"generation"`
	Drafts     []Draft   `json:"drafts"`
	Spec       *doc.Spec `json:"spec,omitempty"`
	Record     *Record   `json:"record,omitempty"`
}

// Record updates the session's record. Absent members leave it unchanged.
type Record struct {
	PID      *int   `json:"pid,omitempty"` // on the worker's machine
	ThreadID string `json:"protocol_thread_id,omitempty"`
	TurnID   string `json:"protocol_turn_id,omitempty"`
	Activity string `json:"activity,omitempty"`
	Turn     int    `json:"turn,omitempty"`
}

// End closes an attempt. It is published on the subject of its batches, after all of them.
type End struct {
	Attempt  string  `json:"attempt"`
	End      bool    `json:"end"` // always true
	N        int64   `json:"n"`   // number of the last draft
	Status   string  `json:"status"`
	ExitCode *int    `json:"exit_code"`
	Signal   *string `json:"signal"`
	Stopped  bool    `json:"stopped"`
	Error    string  `json:"error,omitempty"`
	// ErrorKind and RetryAfterMS are what the agent reported, as in a session's record.
	ErrorKind     string             `json:"error_kind,omitempty"`
	RetryAfterMS  *int64             `json:"retry_after_ms,omitempty"`
	Reason        string             `json:"reason,omitempty"`
	Orphaned      bool               `json:"orphaned,omitempty"`
	Usage         *doc.Usage         `json:"usage,omitempty"`
	ContextCycles *doc.ContextCycles `json:"context_cycles,omitempty"`
	Live          *doc.Live          `json:"live,omitempty"`
	Conversation  string             `json:"provider_session_id,omitempty"`
	Closing       []Draft            `json:"closing,omitempty"`
	Last          json.RawMessage    `json:"last,omitempty"` // payload of the terminal event in the spool
	Results       *Results           `json:"results"`
	Log           Log                `json:"log"`
	Generation    int64              `json:"generation"`
}

// Results are the objects with what a provider left behind; nil if it left nothing.
type Results struct {
	Outputs  *Object   `json:"outputs,omitempty"`
	Worktree *Worktree `json:"worktree,omitempty"`
	Error    string    `json:"error,omitempty"` // why there are none
}

// Object is a stored object.
type Object struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
}

// Worktree is the Git bundle of a run's branch, and its commits.
type Worktree struct {
	Object
	Branch  string `json:"branch"`
	BaseSHA string `json:"base_sha"`
	HeadSHA string `json:"head_sha"`
	WipSHA  string `json:"wip_sha,omitempty"` // a commit of the uncommitted changes
}

// Log is the session's part of the worker's log.
type Log struct {
	Count int64  `json:"count"`
	Head  string `json:"head"`
}
