// Package checkpoint writes a set of files into a directory that is no part of the
// workspace, all or nothing across crashes, and keeps what was there before.
//
// A checkpoint is a folder of the workspace: the plan, the bytes before (old/<n>) and
// after (new/<n>), and once it is over its outcome. Invariants: bytes that the plan does
// not know are never lost, whatever put them there, and when; nothing is written through
// a symlink; of a checkpoint that is in place each file ends as planned or is named as a
// conflict, however often its writer dies.
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

// What is done to a file.
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
	stagedFile  = "staged" // is there while files are put in place
)

// maxFile bounds a file of a checkpoint.
const maxFile = 64 << 20

// Target is where files go: the root of a repository on this machine, or the worktree
// of a run.
type Target struct {
	RepoID string `json:"repo_id,omitempty"`
	RunID  string `json:"run_id,omitempty"`
}

// Source is where files come from: the answer of a job, the worktree of a run, or who
// asked.
type Source struct {
	JobID  string `json:"job_id,omitempty"`
	RunID  string `json:"run_id,omitempty"`
	Caller bool   `json:"caller,omitempty"`
}

// ID is the id of the job or the run, "caller" where there is none.
func (s Source) ID() string {
	switch {
	case s.JobID != "":
		return s.JobID
	case s.RunID != "":
		return s.RunID
	}
	return "caller"
}

// Plan is what a checkpoint does, decided before anything of it is done.
type Plan struct {
	SchemaVersion int    `json:"schema_version"`
	Type          string `json:"type"` // file_checkpoint
	ID            string `json:"checkpoint_id"`
	ProjectID     string `json:"project_id"`
	At            string `json:"at"`
	ActorID       string `json:"actor_id"`
	Target        Target `json:"target"`
	// Root is the directory of the target, and which one that was.
	Root     string           `json:"root"`
	Identity durable.Identity `json:"root_identity"`
	Source   Source           `json:"source"`
	// Refuse says that a file which is found changed fails the whole; otherwise it
	// is left out.
	Refuse bool   `json:"refuse,omitempty"`
	Files  []File `json:"files"`
	// Reverts is the checkpoint that this one takes back.
	Reverts string `json:"reverts,omitempty"`
	// Proposal is the artifact whose approval applied it.
	Proposal string `json:"proposal_id,omitempty"`
	// ClientRef and ContentHash say which request this was, Answer what was answered.
	ClientRef   string          `json:"client_ref,omitempty"`
	ContentHash string          `json:"content_hash,omitempty"`
	Answer      json.RawMessage `json:"answer,omitempty"`
}

// File is one file of a plan. Hashes are "" for a file that is absent; modes are
// permission bits, 0 where they are left as they come.
type File struct {
	Path    string      `json:"path"`
	Action  string      `json:"action"`
	Base    string      `json:"base_sha256"`
	New     string      `json:"new_sha256"`
	OldMode fs.FileMode `json:"old_mode,omitempty"`
	NewMode fs.FileMode `json:"new_mode,omitempty"`
	// Place is the path without the symlinks that Path leads through; Parent is the
	// directory that it lies in, zero while that is still to be made.
	Place  string           `json:"place"`
	Parent durable.Identity `json:"parent_identity,omitzero"`
	// Temp is the name beside the file that its new bytes have first.
	Temp string `json:"temp"`
}

// Problem is a file that is not as planned, and why.
type Problem struct {
	Path    string `json:"path"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Outcome is how a checkpoint ended.
type Outcome struct {
	State string `json:"state"`
	// Recovered says that its writer died and another one finished it.
	Recovered bool      `json:"recovered,omitempty"`
	Conflicts []Problem `json:"conflicts,omitempty"`
}

// Conflicting reports whether a file was left as it was found.
func (o Outcome) Conflicting(name string) bool {
	for _, c := range o.Conflicts {
		if c.Path == name {
			return true
		}
	}
	return false
}

// Hash is the SHA-256 of a content in hex.
func Hash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// Blob is a file in the folder of a checkpoint.
type Blob struct {
	Name    string
	Content []byte
}

// Blobs are the files of a new checkpoint. The contents are in the order of the plan's
// files, nil where a file is absent.
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

// Load reads the plan of a checkpoint. One that is not there, or never was whole, is
// fs.ErrNotExist.
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

// Ended reads the outcome of a checkpoint; ok is false while there is none.
func Ended(fsys durable.FS, dir string) (o Outcome, ok bool, err error) {
	text, err := durable.ReadFile(fsys, path.Join(dir, outcomeFile), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return o, false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	return o, err == nil, err
}

// RevertFile is the file of a checkpoint that names the one which took it back.
func RevertFile(dir string) string { return path.Join(dir, revertFile) }

// Old reads what the n-th file of a plan was before, nil where it was absent.
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

// blob reads bytes that were kept, and only those.
func blob(fsys durable.FS, name, hash string) ([]byte, error) {
	content, err := durable.ReadFile(fsys, name, maxFile)
	if err == nil && Hash(content) != hash {
		err = fmt.Errorf("%s does not have the bytes it was written with", name)
	}
	return content, err
}
