package files

// Proposed files, and their rows in lists.

import (
	"io/fs"

	"ac/workspace/checkpoint"
)

// Limits of one call.
const (
	MaxFiles = 200
	// MaxFile bounds a file before and after the change. MaxTotal bounds all new contents. Both
	// are in bytes.
	MaxFile  = 1 << 20
	MaxTotal = 16 << 20
)

// Skip is the action for a file that is already as proposed.
const Skip = "skip"

// Problems of a proposed file, in the order in which they are checked.
const (
	PathInvalid  = "path_invalid"
	OutsideRoot  = "path_outside_root"
	Protected    = "path_protected"
	NotAFile     = "not_a_file"
	IsLink       = "link"
	Binary       = "binary"
	TooLarge     = "too_large"
	TooMany      = "too_many"
	Conflict     = "conflict"
	Duplicate    = "duplicate"
	NoSelection  = "selection_not_found" // an answer's selection was not found in the file
	ChangedSince = "changed_since_preview"
	ChangedApply = "changed_since_apply"
)

// Artifact is a proposed state of one file.
type Artifact struct {
	ID      string
	Path    string
	Content []byte
	Delete  bool
	Mode    fs.FileMode // 0 keeps the mode
	// From is the version that it was made from, nil if unknown.
	From   *Version
	Source checkpoint.Source
	// Kind is the kind of file according to the agent, "" if it gave none.
	Kind string
	// Run is the run whose log records it, "" for none.
	Run string
	// Problem and Message are why it cannot be applied to any target, "" if it can.
	Problem, Message string
}

// Version is a state of a file.
type Version struct {
	Exists bool
	Hash   string
	// Content is nil if only the hash is known.
	Content []byte
}

// VersionOf returns the version with a content, or that of an absent file for nil.
func VersionOf(content []byte) *Version {
	if content == nil {
		return &Version{}
	}
	return &Version{true, checkpoint.Hash(content), content}
}

// Row is a proposed file in a list.
type Row struct {
	ID         string            `json:"id"`
	Path       string            `json:"path"`
	Action     string            `json:"action"`
	BaseSHA256 *string           `json:"base_sha256"`
	NewSHA256  *string           `json:"new_sha256"`
	Added      int               `json:"added"`
	Removed    int               `json:"removed"`
	Language   string            `json:"language"`
	Kind       string            `json:"kind,omitempty"` // as the agent calls it
	Merged     bool              `json:"merged,omitempty"`
	Problem    string            `json:"problem,omitempty"`
	Message    string            `json:"message,omitempty"`
	Source     checkpoint.Source `json:"source"`
	// Diff is set in previews, for files that would change.
	Diff string `json:"diff,omitempty"`
}

// ID returns the id of an artifact. It is always the same for the same source and path.
func ID(source, path string) string {
	return "fa_" + checkpoint.Hash([]byte(source + "\x00" + path))[:16]
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
