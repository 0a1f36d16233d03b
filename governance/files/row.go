package files

// Proposed files, and the rows in which they are shown.

import (
	"io/fs"

	"ac/workspace/checkpoint"
)

// Limits of one call.
const (
	MaxFiles = 200
	// MaxFile bounds a file on either side, MaxTotal all new contents, in bytes.
	MaxFile  = 1 << 20
	MaxTotal = 16 << 20
)

// Skip is the action of a file that is already as proposed.
const Skip = "skip"

// Problems of a proposed file, in the order in which they are looked for.
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
	NoSelection  = "selection_not_found" // of an answer whose selection has no place
	ChangedSince = "changed_since_preview"
	ChangedApply = "changed_since_apply"
)

// Artifact is a proposed state of one file.
type Artifact struct {
	ID      string
	Path    string
	Content []byte
	Delete  bool
	Mode    fs.FileMode // 0 where it stays as it is
	// From is what it was made from, nil where nobody knows.
	From   *Version
	Source checkpoint.Source
	// Kind is what the agent says that the file is, "" where it says nothing.
	Kind string
	// Run is the run whose log records it, "" where there is none.
	Run string
	// Problem and Message say that it cannot be applied, whatever the target is.
	Problem, Message string
}

// Version is a state of a file.
type Version struct {
	Exists bool
	Hash   string
	// Content is nil where only the hash is known.
	Content []byte
}

// VersionOf is the version with a content, that of an absent file for nil.
func VersionOf(content []byte) *Version {
	if content == nil {
		return &Version{}
	}
	return &Version{true, checkpoint.Hash(content), content}
}

// Row is a proposed file as it is shown.
type Row struct {
	ID         string            `json:"id"`
	Path       string            `json:"path"`
	Action     string            `json:"action"`
	BaseSHA256 *string           `json:"base_sha256"`
	NewSHA256  *string           `json:"new_sha256"`
	Added      int               `json:"added"`
	Removed    int               `json:"removed"`
	Language   string            `json:"language"`
	Kind       string            `json:"kind,omitempty"` // as its agent calls it
	Merged     bool              `json:"merged,omitempty"`
	Problem    string            `json:"problem,omitempty"`
	Message    string            `json:"message,omitempty"`
	Source     checkpoint.Source `json:"source"`
	// Diff is there in previews, of files that would change.
	Diff string `json:"diff,omitempty"`
}

// ID is the id of an artifact: the same for the same source and path, for ever.
func ID(source, path string) string {
	return "fa_" + checkpoint.Hash([]byte(source + "\x00" + path))[:16]
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
