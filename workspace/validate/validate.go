// Package validate checks a whole workspace for documents that are missing, unreadable,
// invalid or in the wrong place. It writes nothing. A folder in any state yields findings,
// never an error.
package validate

import (
	"runtime"
	"sync"

	"ac/internal/durable"
	"ac/internal/filecache"
	"ac/workspace"
)

// Issue is one finding. Path is relative to the workspace.
type Issue struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Path    string `json:"path"`
}

// Findings holds the issues of a workspace, which make it invalid, and the warnings, which do
// not.
type Findings struct {
	Issues   []Issue
	Warnings []Issue
}

// Folder checks the folder at a path. If it is missing or not a workspace, the findings
// report that. Documents are checked concurrently, and the findings are in a deterministic
// order.
func Folder(env workspace.Env, dir string) Findings {
	fsys, err := env.FS(dir)
	if err != nil {
		return nothingThere()
	}
	defer fsys.Close()
	return validate(fsys, nil, thorough)
}

// Validator checks one open workspace repeatedly. It caches the findings of each document
// while the file is unchanged. It is safe for concurrent use.
type Validator struct {
	w        *workspace.Workspace
	findings *filecache.Cache[finding]
}

// New returns the validator of an open workspace, with an empty cache.
func New(w *workspace.Workspace) *Validator {
	return &Validator{w: w, findings: filecache.New[finding](nil)}
}

// Validate is Folder for the open workspace.
func (v *Validator) Validate() Findings {
	return validate(v.w.FS, v.memory(), thorough)
}

// ValidateQuickly is Validate without the warnings that need the contents of logs and message files.
// Opening a workspace reports its result.
func (v *Validator) ValidateQuickly() Findings {
	return validate(v.w.FS, v.memory(), glance)
}

func (v *Validator) memory() *memory {
	return &memory{v.w.FS, v.findings, v.w.Listings, v.w.Env.Clock.Now}
}

// depth determines how much is read.
type depth int

const (
	glance   depth = iota
	thorough       // also the contents of messages and the beginnings of logs
)

func validate(fsys durable.FS, known *memory, how depth) Findings {
	v := &inspection{fs: fsys, see: filecache.StatAt(fsys), memory: known, depth: how}
	v.workspace()
	return v.findings
}

// nothingThere returns the findings of a directory that cannot be opened.
func nothingThere() Findings {
	v := &inspection{}
	for _, name := range workspace.RequiredDirs() {
		v.missing("missing_dir", name)
	}
	for _, name := range workspace.RequiredFiles() {
		v.missing("missing_file", name)
	}
	return v.findings
}

// inspection collects the findings of one part of a workspace, in order. It is for one
// goroutine only.
type inspection struct {
	fs       durable.FS
	see      filecache.StatFunc
	memory   *memory
	depth    depth
	known    *membership
	findings Findings
}

// membership holds the ids that documents may refer to.
type membership struct{ teams, agents map[string]bool }

func (v *inspection) issue(code, file, message string) {
	v.findings.Issues = append(v.findings.Issues, Issue{Code: code, Message: message, Path: file})
}

func (v *inspection) warn(code, file, message string) {
	v.findings.Warnings = append(v.findings.Warnings, Issue{Code: code, Message: message, Path: file})
}

func (v *inspection) missing(code, name string) {
	what := "Missing file: "
	if code == "missing_dir" {
		what = "Missing directory: "
	}
	v.issue(code, name, what+name)
}

// each calls look concurrently for every entry, each with an inspection of its own. It
// appends their findings in name order.
func (v *inspection) each(of partOf, look func(part *inspection, name string)) {
	if len(of.entries) == 0 {
		return
	}
	from, done := filecache.StatEntries(v.fs, of.dir)
	defer done()
	parts := make([]inspection, len(of.entries))
	workers := min(runtime.GOMAXPROCS(0), len(parts))
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			for i := worker; i < len(parts); i += workers {
				parts[i] = inspection{fs: v.fs, see: from(of.entries[i]), memory: v.memory, depth: v.depth, known: v.known}
				look(&parts[i], of.entries[i].Name)
			}
		})
	}
	group.Wait()
	for i := range parts {
		v.findings.Issues = append(v.findings.Issues, parts[i].findings.Issues...)
		v.findings.Warnings = append(v.findings.Warnings, parts[i].findings.Warnings...)
	}
}
