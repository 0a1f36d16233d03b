package doc

// Where sessions run: the placement of a launch, of an agent's launches, or of a job.

import (
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"ac/internal/fault"
	"ac/internal/lazyregexp"
	"ac/internal/yamldoc"
)

// Values of Placement.Where.
const (
	WhereLocal  = "local"
	WhereRemote = "remote"
	WhereAny    = "any" // remote if a slot is free now, else local
)

// What happens to a session whose worker is unreachable for longer than its lease.
const (
	CutOffStop     = "stop"
	CutOffContinue = "continue"
)

// How a worker gets a repository.
const (
	ViaAuto   = "auto"
	ViaRemote = "remote"
	ViaBundle = "bundle"
)

// DefaultWaitS is the default time that a launch waits for a worker, in seconds.
const DefaultWaitS = 600

// Placement is where a session runs. nil means this machine, or the hub's default placement.
type Placement struct {
	_          struct{}          `is:"strict"`
	Where      string            `json:"where,omitempty" is:"default=local,enum=local|remote|any"`
	WorkerID   string            `json:"worker_id,omitempty" is:"optional"` // id or name
	Labels     []string          `json:"labels,omitempty" is:"optional"`
	WaitS      *int64            `json:"wait_s,omitempty" is:"optional,min=0,max=86400"`
	OnCutOff   string            `json:"on_cut_off,omitempty" is:"optional,enum=continue|stop"`
	LeaseS     int64             `json:"lease_s,omitempty" is:"optional,min=1,max=604800"`
	SecretRefs map[string]string `json:"secret_refs,omitempty" is:"optional,empty"` // variable to the name of a worker's secret
	Source     *Source           `json:"source,omitempty" is:"optional"`
	Outputs    []string          `json:"outputs,omitempty" is:"optional"` // globs in the working directory
}

// Source is the commit that a worker starts from, and how the worker gets it.
type Source struct {
	_   struct{} `is:"strict"`
	Ref string   `json:"ref,omitempty" is:"optional"` // "" is HEAD
	Via string   `json:"via,omitempty" is:"default=auto,enum=auto|remote|bundle"`
}

// PlacementCodec reads a placement on its own.
var PlacementCodec = yamldoc.For[Placement]()

// Local reports whether the session must run on this machine. It is true for nil.
func (p *Placement) Local() bool { return p == nil || p.Where == "" || p.Where == WhereLocal }

// Wait returns how long the launch waits for a worker, in seconds.
func (p Placement) Wait() int64 {
	if p.WaitS == nil {
		return DefaultWaitS
	}
	return *p.WaitS
}

// Bounds of a placement.
const (
	maxOutputGlobs = 100
	maxSecretRefs  = 100
)

// CheckFields checks what no tag expresses, and rejects fields that mean nothing on this
// machine.
func (p *Placement) CheckFields() (issues []fault.Issue) {
	refuse := func(why string, path ...any) {
		issues = append(issues, fault.Issue{Path: path, Code: "custom", Message: why})
	}
	if p.WorkerID != "" && !IsWorker(p.WorkerID) && !IsWorkerName(p.WorkerID) {
		refuse("is neither an id nor a name of a worker", "worker_id")
	}
	for i, label := range p.Labels {
		if !IsLabel(label) {
			refuse("is no label", "labels", i)
		}
	}
	if len(p.Labels) > MaxLabels {
		refuse(fmt.Sprintf("must have at most %d items", MaxLabels), "labels")
	}
	for _, variable := range slices.Sorted(maps.Keys(p.SecretRefs)) {
		if variable == "" || strings.ContainsAny(variable, "=\x00") || !IsWorkerName(p.SecretRefs[variable]) {
			refuse("must be the name of a variable and that of a secret", "secret_refs", variable)
		}
	}
	if len(p.SecretRefs) > maxSecretRefs {
		refuse(fmt.Sprintf("must have at most %d members", maxSecretRefs), "secret_refs")
	}
	for i, glob := range p.Outputs {
		if _, err := path.Match(glob, ""); err != nil || !filepath.IsLocal(glob) || strings.ContainsRune(glob, 0) {
			refuse("must be a pattern that stays inside the working directory", "outputs", i)
		}
	}
	if len(p.Outputs) > maxOutputGlobs {
		refuse(fmt.Sprintf("must have at most %d items", maxOutputGlobs), "outputs")
	}
	if p.Source != nil && strings.HasPrefix(p.Source.Ref, "-") {
		refuse("must be a name or a commit", "source", "ref")
	}
	if p.LeaseS > 0 && p.OnCutOff == CutOffContinue {
		refuse("is for sessions that are stopped when their worker is cut off", "lease_s")
	}
	return append(issues, p.checkLocal()...)
}

// checkLocal rejects fields for other machines in a placement on this one.
func (p *Placement) checkLocal() (issues []fault.Issue) {
	if !p.Local() {
		return nil
	}
	for name, set := range map[string]bool{"worker_id": p.WorkerID != "", "labels": len(p.Labels) > 0, "secret_refs": len(p.SecretRefs) > 0} {
		if set {
			issues = append(issues, fault.Issue{Path: []any{name}, Code: "custom", Message: "needs where: remote or any"})
		}
	}
	slices.SortFunc(issues, func(a, b fault.Issue) int { return strings.Compare(a.Field(), b.Field()) })
	return issues
}

// Placement returns the placement of an agent's launches, nil if there is none. It returns
// fault.InvalidFile for an invalid one.
func (a Agent) Placement() (*Placement, error) {
	value := a.Launcher.Get("placement")
	if value.Kind == 0 {
		return nil, nil //nolint:nilnil // neither set nor wrong
	}
	p, err := PlacementCodec.Bind(value)
	if err != nil {
		return nil, fault.New(fault.InvalidFile, "launcher.placement of agent %s: %w", a.ID, err)
	}
	return &p, nil
}

// MaxLabels bounds the labels of a worker.
const MaxLabels = 32

var (
	workerForm     = lazyregexp.New(`^wkr_[0-9A-HJKMNP-TV-Z]{26}$`)
	workerNameForm = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)
	labelForm      = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._/-]{0,62}(=[A-Za-z0-9][A-Za-z0-9._/-]{0,62})?$`)
)

// IsWorker reports whether a text is a worker's id, which is safe as a file name.
func IsWorker(text string) bool { return workerForm().MatchString(text) }

// IsWorkerName reports whether a text can name a worker or a worker's secret. A worker's id
// cannot.
func IsWorkerName(text string) bool { return workerNameForm().MatchString(text) && !IsWorker(text) }

// IsLabel reports whether a text is a label of a worker.
func IsLabel(text string) bool { return labelForm().MatchString(text) }
