package workspace

// Validation of a whole folder: what is missing, what cannot be read, what does
// not fit. Nothing is written, and a folder of any state gives a report.

import (
	"errors"
	"io/fs"
	"runtime"
	"sync"
	"syscall"

	"ac/internal/durable"
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

// Validate checks the folder at a path. It may be missing or no workspace at
// all: then the findings say so. Documents are looked at side by side; the
// findings come in one order all the same.
func Validate(env Env, dir string) Findings {
	fsys, err := openFS(env, dir)
	if err != nil {
		return nothingThere()
	}
	defer fsys.Close()
	return validate(fsys, nil, thorough)
}

// Validate is Validate of an open workspace. What it found in a document is
// kept and told again while the file is the same one.
func (w *Workspace) Validate() Findings {
	return validate(w.FS, w.memory(), thorough)
}

// Glance is Validate without the warnings that logs and message files give:
// what opening a workspace tells.
func (w *Workspace) Glance() Findings {
	return validate(w.FS, w.memory(), glance)
}

// depth is how much is read.
type depth int

const (
	glance   depth = iota
	thorough       // the contents of messages and the beginnings of logs as well
)

func validate(fsys durable.FS, known *memory, how depth) Findings {
	v := &validator{fs: fsys, see: statAt(fsys), memory: known, depth: how}
	v.workspace()
	return v.findings
}

// nothingThere are the findings of a directory that cannot be opened.
func nothingThere() Findings {
	v := &validator{}
	for _, name := range RequiredDirs() {
		v.missing("missing_dir", name)
	}
	for _, name := range requiredFiles() {
		v.missing("missing_file", name)
	}
	return v.findings
}

// validator collects the findings of one part of a workspace, in order. It is
// for one goroutine.
type validator struct {
	fs       durable.FS
	see      statFunc
	memory   *memory
	depth    depth
	known    *membership
	findings Findings
}

// membership is who there is to be named.
type membership struct{ teams, agents map[string]bool }

func (v *validator) issue(code, file, message string) {
	v.findings.Issues = append(v.findings.Issues, Issue{Code: code, Message: message, Path: file})
}

func (v *validator) warn(code, file, message string) {
	v.findings.Warnings = append(v.findings.Warnings, Issue{Code: code, Message: message, Path: file})
}

func (v *validator) missing(code, name string) {
	what := "Missing file: "
	if code == "missing_dir" {
		what = "Missing directory: "
	}
	v.issue(code, name, what+name)
}

// each calls look for every entry, side by side, each with a validator of its
// own, and takes their findings over in the order of the names.
func (v *validator) each(of partOf, look func(part *validator, name string)) {
	if len(of.entries) == 0 {
		return
	}
	from, done := statEntries(v.fs, of.dir)
	defer done()
	parts := make([]validator, len(of.entries))
	workers := min(runtime.GOMAXPROCS(0), len(parts))
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			for i := worker; i < len(parts); i += workers {
				parts[i] = validator{fs: v.fs, see: from(of.entries[i]), memory: v.memory, depth: v.depth, known: v.known}
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

// absent reports whether an error says that there is nothing at a name.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// because is why a file could not be read, without the name, which the message
// begins with.
func because(err error) string {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err.Error()
	}
	return err.Error()
}
