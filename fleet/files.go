package fleet

// The hub's documents in a workspace, under .local/hub: parsed strictly, written durably.

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"ac/internal/durable"
	"ac/internal/fault"
	"ac/internal/yamldoc"
	"ac/workspace"
)

// Paths of the hub's files in a workspace.
const (
	HubDir      = workspace.HubDir
	ConfigFile  = HubDir + "/hub.yaml"
	WorkersDir  = HubDir + "/workers"
	AttemptsDir = HubDir + "/attempts"
	KeyFile     = HubDir + "/key"
	CertFile    = HubDir + "/tls/cert.pem"
	CertKeyFile = HubDir + "/tls/key.pem"
	CarrierDir  = HubDir + "/carrier"
	OwnerFile   = HubDir + "/owner.json"
)

// HubLock returns the kernel lock that a hub holds while it runs.
func HubLock() string { return workspace.LockFile("hub") }

// Kinds of carriers.
const (
	CarrierEmbedded = "embedded"
	CarrierNATS     = "nats"
)

// Config is hub.yaml.
type Config struct {
	_             struct{}    `is:"strict"`
	SchemaVersion int         `json:"schema_version" is:"min=1"`
	Type          string      `json:"type" is:"enum=hub"`
	HubID         string      `json:"hub_id"`
	Carrier       string      `json:"carrier" is:"enum=embedded|nats"`
	Listen        []string    `json:"listen" is:"optional"`
	Advertise     []string    `json:"advertise" is:"optional"`
	NATS          *NATSConfig `json:"nats" is:"optional"`
	Settings      *Settings   `json:"settings" is:"optional"`
}

// NATSConfig describes a NATS cluster that the user runs.
type NATSConfig struct {
	_           struct{} `is:"strict"`
	Servers     []string `json:"servers"`
	Credentials string   `json:"credentials" is:"path"`
	CA          string   `json:"ca" is:"optional,path"`
	Replicas    int      `json:"replicas" is:"default=1,min=1,max=5"`
}

// Check refuses a hub_id that cannot be part of a subject.
func (c *Config) Check() (issues []fault.Issue) {
	if !IsHub(c.HubID) {
		issues = append(issues, fault.Issue{Path: []any{"hub_id"}, Code: "invalid_string", Message: "must be 10 of a-z and 2-7"})
	}
	return issues
}

// States of a worker.
const (
	WorkerInvited  = "invited"
	WorkerActive   = "active"
	WorkerDraining = "draining"
	WorkerRevoked  = "revoked"
)

// RoleWorker is the role of a worker that executes sessions.
const RoleWorker = "worker"

// WorkerRecord is workers/<worker_id>.yaml.
type WorkerRecord struct {
	_             struct{}    `is:"strict"`
	SchemaVersion int         `json:"schema_version" is:"default=1,min=1"`
	Type          string      `json:"type" is:"enum=worker_record"`
	ID            string      `json:"id" is:"id"`
	Name          string      `json:"name"`
	Role          string      `json:"role" is:"enum=worker"`
	Labels        []string    `json:"labels" is:"optional"`
	TrustLabels   bool        `json:"trust_labels" is:"optional"`
	Slots         int         `json:"slots" is:"min=1"`
	State         string      `json:"state" is:"enum=invited|active|draining|revoked"`
	PublicKey     string      `json:"public_key" is:"optional"`
	Instance      string      `json:"instance" is:"optional"`
	Invite        *Invitation `json:"invite" is:"optional"`
	InvitedAt     string      `json:"invited_at" is:"time"`
	JoinedAt      string      `json:"joined_at" is:"optional,time"`
	RevokedAt     string      `json:"revoked_at" is:"optional,time"`
	Last          *LastSeen   `json:"last" is:"optional"`
}

// Check refuses a record whose id is not that of a worker.
func (r *WorkerRecord) Check() (issues []fault.Issue) {
	if !IsWorker(r.ID) {
		issues = append(issues, fault.Issue{Path: []any{"id"}, Code: "invalid_string", Message: "must be the id of a worker"})
	}
	return issues
}

// Invitation is the key of an unused invitation.
type Invitation struct {
	_         struct{} `is:"strict"`
	PublicKey string   `json:"public_key"`
	ExpiresAt string   `json:"expires_at" is:"time"`
}

// LastSeen is what a worker last reported about itself.
type LastSeen struct {
	_             struct{} `is:"strict"`
	SeenAt        string   `json:"seen_at" is:"time"`
	Version       string   `json:"version" is:"optional"`
	Protocol      int      `json:"protocol" is:"optional"`
	Orders        []int    `json:"orders" is:"optional"`
	OS            string   `json:"os" is:"optional"`
	Arch          string   `json:"arch" is:"optional"`
	CPUs          int      `json:"cpus" is:"optional"`
	Providers     []string `json:"providers" is:"optional"`
	Secrets       []string `json:"secrets" is:"optional"`
	Repos         []string `json:"repos" is:"optional"`
	ClockOffsetMS int64    `json:"clock_offset_ms" is:"optional"`
}

// Codecs of the documents above.
var (
	ConfigCodec = yamldoc.For[Config]()
	WorkerCodec = yamldoc.For[WorkerRecord]()
)

// WorkerFile returns the path of a worker's record.
func WorkerFile(id string) string { return path.Join(WorkersDir, id+".yaml") }

// AttemptFile returns the path of an attempt's record.
func AttemptFile(attempt string) string { return path.Join(AttemptsDir, attempt+".json") }

// States of an attempt at the hub.
const (
	AttemptPlaced  = "placed"  // ordered, not claimed
	AttemptClaimed = "claimed" // a worker has the right to start it
	AttemptStarted = "started" // its provider runs or ran
	AttemptOver    = "over"    // its end arrived but is not recorded yet
	AttemptDone    = "done"    // its end is recorded
	AttemptFenced  = "fenced"  // the hub accepts nothing more from it
)

// FencedAbandoned is the reason for fencing an attempt that was abandoned.
const FencedAbandoned = "abandoned"

// FencedPayload is the payload of worker.fenced.
type FencedPayload struct {
	WorkerID string `json:"worker_id"`
	Epoch    int    `json:"epoch"`
	Reason   string `json:"reason"`
	By       string `json:"by,omitempty"` // id of the actor who abandoned the session or revoked the worker
	Sealed   int64  `json:"sealed"`
	Note     string `json:"note,omitempty"` // reason that the actor gave
}

// ReasonLost is the reason of a run that failed because its worker was lost.
const ReasonLost = "worker_lost"

// AttemptRecord is attempts/<attempt>.json.
type AttemptRecord struct {
	Attempt     string        `json:"attempt"`
	ProjectID   string        `json:"project_id"`
	RunID       string        `json:"run_id"`
	SessionRef  string        `json:"session_ref"`
	Epoch       int           `json:"epoch"`
	WorkerID    string        `json:"worker_id"`
	State       string        `json:"state"`
	LeaseS      int64         `json:"lease_s"`
	OnCutOff    string        `json:"on_cut_off"`
	PlacedAtMS  int64         `json:"placed_at_ms"`
	ClaimedAtMS int64         `json:"claimed_at_ms,omitempty"`
	DoneAtMS    int64         `json:"done_at_ms,omitempty"`
	Instance    string        `json:"instance,omitempty"` // the worker instance that claimed it
	Checkpoint  LogCheckpoint `json:"checkpoint"`
	Stop        bool          `json:"stop,omitempty"`
	FencedFor   string        `json:"fenced_for,omitempty"`
	Taken       []string      `json:"taken,omitempty"` // late objects that arrived or were refused
	// Order is the hub's own state of the launch, from which the next hub resumes it. It is kept
	// until the attempt is done or fenced.
	Order json.RawMessage `json:"order,omitempty"`
	// End is the end of the attempt, kept from its arrival until it is recorded.
	End json.RawMessage `json:"end,omitempty"`
	// Awaited are results that did not arrive in time.
	Awaited *AwaitedResults `json:"awaited,omitempty"`
}

// AwaitedResults are results that are unpacked even if they arrive after the end of the run. Order
// is the hub's own state of the launch, as in AttemptRecord.
type AwaitedResults struct {
	Results Results         `json:"results"`
	Order   json.RawMessage `json:"order"`
}

// LogCheckpoint records a position in the run's log. Drafts of the attempt up to number N are
// certainly in the first Offset bytes. LastMS is the time of the newest of them in Unix
// milliseconds, 0 for none.
type LogCheckpoint struct {
	N      int64 `json:"n"`
	Offset int64 `json:"offset"`
	LastMS int64 `json:"last_ms,omitempty"`
}

// Owner is owner.json, the process of the running hub. Whether that process is alive shows only
// in HubLock.
type Owner struct {
	PID         int      `json:"pid"`
	Start       string   `json:"start"`
	Boot        string   `json:"boot"`
	Socket      string   `json:"socket"`     // its name, without .sock
	SocketDir   string   `json:"socket_dir"` // its directory
	Listen      []string `json:"listen"`
	Advertise   []string `json:"advertise"`
	Fingerprint string   `json:"fingerprint,omitempty"`
	Version     string   `json:"version"`
	StartedAt   string   `json:"started_at"`
}

// maxRecord is the maximum size of an attempt's record in bytes. The record contains an order, or
// an end with its closing drafts.
const maxRecord = 8 << 20

// ReadOwner reads the owner record of the hub that runs or ran last.
func ReadOwner(fsys durable.FS) (o Owner, err error) {
	text, err := durable.ReadFile(fsys, OwnerFile, 1<<16)
	if err != nil {
		return o, err
	}
	if err := json.Unmarshal(text, &o); err != nil {
		return o, fault.New(fault.InvalidFile, "%s: %w", OwnerFile, err)
	}
	return o, nil
}

// ReadAttempt reads the record of an attempt.
func ReadAttempt(fsys durable.FS, attempt string) (r AttemptRecord, err error) {
	name := AttemptFile(attempt)
	text, err := durable.ReadFile(fsys, name, maxRecord)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fault.New(fault.InvalidFile, "%s: %w", name, err)
	}
	if r.Attempt != attempt || Attempt(r.ProjectID, r.RunID, r.SessionRef, r.Epoch) != attempt || !IsWorker(r.WorkerID) {
		return r, fault.New(fault.InvalidFile, "%s is of another attempt", name)
	}
	return r, nil
}

// ReadAttempts reads the records of all attempts. broken names unreadable ones.
func ReadAttempts(fsys durable.FS) (list []AttemptRecord, broken []string, err error) {
	names, err := workspace.Files(fsys, AttemptsDir, ".json")
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		attempt := strings.TrimSuffix(name, ".json")
		if !IsAttempt(attempt) {
			continue
		}
		r, err := ReadAttempt(fsys, attempt)
		if err != nil {
			broken = append(broken, name)
			continue
		}
		list = append(list, r)
	}
	return list, broken, nil
}

// WriteAttempt writes the record of an attempt. It is durable on return.
func WriteAttempt(w *workspace.Workspace, r AttemptRecord) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return w.Replace(AttemptFile(r.Attempt), text, 0o600)
}

// HintAttempt is WriteAttempt without waiting for the disk. It suits checkpoints, which may be
// lost.
func HintAttempt(w *workspace.Workspace, r AttemptRecord) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return w.ReplaceUnsynced(AttemptFile(r.Attempt), text, 0o600)
}

// ReadWorkers reads the records of all workers, ordered by name. broken names unreadable ones.
func ReadWorkers(fsys durable.FS) (list []WorkerRecord, broken []string, err error) {
	names, err := workspace.Files(fsys, WorkersDir, ".yaml")
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		text, err := durable.ReadFile(fsys, path.Join(WorkersDir, name), 1<<20)
		if err != nil {
			broken = append(broken, name)
			continue
		}
		r, err := WorkerCodec.Decode(text)
		if err != nil || r.ID+".yaml" != name {
			broken = append(broken, name)
			continue
		}
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b WorkerRecord) int {
		return strings.Compare(a.Name+"\x00"+a.ID, b.Name+"\x00"+b.ID)
	})
	return list, broken, nil
}

// WriteWorker writes the record of a worker. It is durable on return.
func WriteWorker(w *workspace.Workspace, r WorkerRecord) error {
	text, err := WorkerCodec.Encode(r)
	if err != nil {
		return err
	}
	return w.Replace(WorkerFile(r.ID), text, 0o600)
}
