// Package checkpoint writes a set of files into a directory outside the workspace, all or
// nothing across crashes, and keeps their earlier content.
//
// A checkpoint is a folder of the workspace. It holds the plan, the bytes before (old/<n>)
// and after (new/<n>), and finally the outcome. Invariants:
//   - Bytes that the plan does not know are never lost, whoever wrote them and whenever.
//   - Nothing is written through a symlink.
//   - Once a checkpoint is in place, each file ends as planned or is listed as a conflict,
//     however often its writer dies.
package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"

	"ac/internal/durable"
)

// Actions on a file.
const (
	Create = "create"
	Modify = "modify"
	Delete = "delete"
)

// States of an outcome.
const (
	Applied    = "applied"
	Conflicted = "conflicted"
	RolledBack = "rolled_back"
)

// Names in the folder of a checkpoint.
const (
	planFile    = "plan.json"
	outcomeFile = "done"
	revertFile  = "reverted"
	stagedFile  = "staged" // exists while files are put in place
)

// maxFile bounds each file of a checkpoint, in bytes.
const maxFile = 64 << 20

// Target identifies the files' destination: the root of a repository on this machine, or the
// worktree of a run.
type Target struct {
	RepoID string `json:"repo_id,omitempty"`
	RunID  string `json:"run_id,omitempty"`
}

// Source identifies the files' origin: the answer of a job, the worktree of a run, or the
// caller.
type Source struct {
	JobID  string `json:"job_id,omitempty"`
	RunID  string `json:"run_id,omitempty"`
	Caller bool   `json:"caller,omitempty"`
}

// ID returns the id of the job or the run, "caller" if there is neither.
func (s Source) ID() string {
	switch {
	case s.JobID != "":
		return s.JobID
	case s.RunID != "":
		return s.RunID
	}
	return "caller"
}

// Plan holds everything a checkpoint will do, decided before it starts.
type Plan struct {
	SchemaVersion int    `json:"schema_version"`
	Type          string `json:"type"` // file_checkpoint
	ID            string `json:"checkpoint_id"`
	ProjectID     string `json:"project_id"`
	At            string `json:"at"`
	ActorID       string `json:"actor_id"`
	Target        Target `json:"target"`
	// Root is the path of the target directory, Identity its device and inode.
	Root     string           `json:"root"`
	Identity durable.Identity `json:"root_identity"`
	Source   Source           `json:"source"`
	// Refuse makes a changed file fail the whole checkpoint. Otherwise such a file is left
	// out.
	Refuse bool   `json:"refuse,omitempty"`
	Files  []File `json:"files"`
	// Reverts is the id of the checkpoint that this one reverts.
	Reverts string `json:"reverts,omitempty"`
	// Proposal is the artifact whose approval triggered the checkpoint.
	Proposal string `json:"proposal_id,omitempty"`
	// ClientRef and ContentHash identify the request. Answer is the response to it.
	ClientRef   string          `json:"client_ref,omitempty"`
	ContentHash string          `json:"content_hash,omitempty"`
	Answer      json.RawMessage `json:"answer,omitempty"`
}

// File is one file of a plan. A hash is "" if the file is absent. Modes are permission bits,
// 0 to leave the mode to the umask.
type File struct {
	Path    string      `json:"path"`
	Action  string      `json:"action"`
	Base    string      `json:"base_sha256"`
	New     string      `json:"new_sha256"`
	OldMode fs.FileMode `json:"old_mode,omitempty"`
	NewMode fs.FileMode `json:"new_mode,omitempty"`
	// Place is Path with its symlinks resolved. Parent identifies the directory of Place,
	// zero if it does not exist yet.
	Place  string           `json:"place"`
	Parent durable.Identity `json:"parent_identity,omitzero"`
	// Temp is the temporary name beside the file under which its new bytes are written first.
	Temp string `json:"temp"`
}

// Problem is a file that did not end as planned, and why.
type Problem struct {
	Path    string `json:"path"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Outcome records how a checkpoint ended.
type Outcome struct {
	State string `json:"state"`
	// Recovered is set if the writer died and another one finished the checkpoint.
	Recovered bool      `json:"recovered,omitempty"`
	Conflicts []Problem `json:"conflicts,omitempty"`
}

// Conflicting reports whether a file was left alone as a conflict.
func (o Outcome) Conflicting(name string) bool {
	for _, c := range o.Conflicts {
		if c.Path == name {
			return true
		}
	}
	return false
}

// Hash returns the SHA-256 of content in hex.
func Hash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// Blob is a file in the folder of a checkpoint.
type Blob struct {
	Name    string
	Content []byte
}

// Blobs returns the files of a new checkpoint. before and after are in the order of the
// plan's files, nil for absent files.
func (p Plan) Blobs(before, after [][]byte) ([]Blob, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("write the plan: %w", err)
	}
	blobs := []Blob{{planFile, append(text, '\n')}}
	for n := range p.Files {
		if p.Files[n].Base != "" {
			blobs = append(blobs, Blob{oldName(n), before[n]})
		}
		if p.Files[n].New != "" {
			blobs = append(blobs, Blob{newName(n), after[n]})
		}
	}
	return blobs, nil
}

func oldName(n int) string { return path.Join("old", strconv.Itoa(n)) }
func newName(n int) string { return path.Join("new", strconv.Itoa(n)) }

// Load reads the plan of a checkpoint. It returns fs.ErrNotExist if the checkpoint is missing
// or was never complete.
func Load(fsys durable.FS, dir string) (Plan, error) {
	var p Plan
	text, err := durable.ReadFile(fsys, path.Join(dir, planFile), maxFile)
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal(text, &p); err != nil {
		return p, fmt.Errorf("%s: %w", path.Join(dir, planFile), err)
	}
	return p, nil
}

// LoadOutcome reads the outcome of a checkpoint. ok is false while there is none.
func LoadOutcome(fsys durable.FS, dir string) (o Outcome, ok bool, err error) {
	text, err := durable.ReadFile(fsys, path.Join(dir, outcomeFile), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return o, false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	return o, err == nil, err
}

// RevertFile returns the file of a checkpoint that names the one which reverted it.
func RevertFile(dir string) string { return path.Join(dir, revertFile) }

// Old reads the earlier content of the plan's n-th file, nil if it was absent.
func (p Plan) Old(fsys durable.FS, dir string, n int) ([]byte, error) {
	if p.Files[n].Base == "" {
		return nil, nil
	}
	return blob(fsys, path.Join(dir, oldName(n)), p.Files[n].Base)
}

func (p Plan) content(fsys durable.FS, dir string, n int) ([]byte, error) {
	if p.Files[n].New == "" {
		return nil, nil
	}
	return blob(fsys, path.Join(dir, newName(n)), p.Files[n].New)
}

// blob reads stored bytes and verifies their hash.
func blob(fsys durable.FS, name, hash string) ([]byte, error) {
	content, err := durable.ReadFile(fsys, name, maxFile)
	if err == nil && Hash(content) != hash {
		err = fmt.Errorf("%s does not have the bytes it was written with", name)
	}
	return content, err
}
