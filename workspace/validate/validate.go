// Package validate checks a whole workspace: what is missing, what cannot be read, what
// does not fit its schema or its place. It writes nothing, and a folder in any state
// has findings, not an error.
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

// Findings are the issues of a workspace, which make it invalid, and the
// warnings, which don't.
type Findings struct {
	Issues   []Issue
	Warnings []Issue
}

// Folder checks the folder at a path. It may be missing or no workspace at
// all: then the findings say so. Documents are looked at side by side; the
// findings come in one order all the same.
func Folder(env workspace.Env, dir string) Findings {
	fsys, err := env.FS(dir)
	if err != nil {
		return nothingThere()
	}
	defer fsys.Close()
	return validate(fsys, nil, thorough)
}

// Validator checks one open workspace again and again. What it found in a document is
// kept and reported again while the file is the same one. It is safe for concurrent use.
type Validator struct {
	w        *workspace.Workspace
	findings *filecache.Cache[finding]
}

// New makes the validator of an open workspace, which has seen nothing yet.
func New(w *workspace.Workspace) *Validator {
	return &Validator{w: w, findings: filecache.New[finding](nil)}
}

// Validate is Folder of the open workspace.
func (v *Validator) Validate() Findings {
	return validate(v.w.FS, v.memory(), thorough)
}

// Glance is Validate without the warnings that need the contents of logs and message
// files: what opening a workspace reports.
func (v *Validator) Glance() Findings {
	return validate(v.w.FS, v.memory(), glance)
}

func (v *Validator) memory() *memory {
	return &memory{v.w.FS, v.findings, v.w.Listings, v.w.Env.Clock.Now}
}

// depth is how much is read.
type depth int

const (
	glance   depth = iota
	thorough       // the contents of messages and the beginnings of logs as well
)

func validate(fsys durable.FS, known *memory, how depth) Findings {
	v := &inspection{fs: fsys, see: filecache.StatAt(fsys), memory: known, depth: how}
	v.workspace()
	return v.findings
}

// nothingThere are the findings of a directory that cannot be opened.
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

// inspection collects the findings of one part of a workspace, in order. It is
// for one goroutine.
type inspection struct {
	fs       durable.FS
	see      filecache.StatFunc
	memory   *memory
	depth    depth
	known    *membership
	findings Findings
}

// membership is who there is to be named.
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

// each calls look for every entry, side by side, each with a validator of its
// own, and takes their findings over in the order of the names.
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
