package index

// Listing the source files of a workspace: directories are read, files only
// looked at, each with one system call.

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"

	"ac/internal/durable"
	"ac/internal/shape"
	"ac/workspace"
)

// Kinds are sources that a sync may be held to.
type Kinds uint8

// The kinds of sources.
const (
	Runs Kinds = 1 << iota // records and logs
	Artifacts
	Reviews
	HelpRequests
	Conversations // with their messages
	Tasks
	Agents
	Comments

	Everything = Runs | Artifacts | Reviews | HelpRequests | Conversations | Tasks | Agents | Comments
)

// Scope is what of a workspace a sync looks at; the zero value is all of it.
// Project holds the kinds that lie in projects to one of them.
type Scope struct {
	Project string
	Kinds   Kinds
}

func (s Scope) kinds() Kinds {
	if s.Kinds == 0 {
		return Everything
	}
	return s.Kinds
}

func (s Scope) has(k Kinds) bool { return s.kinds()&k != 0 }

// holds reports whether a known file is in the scope.
func (s Scope) holds(f *file) bool {
	of := map[kind]Kinds{
		kindRun: Runs, kindLog: Runs, kindArtifact: Artifacts, kindReview: Reviews, kindHelpRequest: HelpRequests,
		kindConversation: Conversations, kindMessages: Conversations, kindTask: Tasks, kindAgent: Agents, kindComment: Comments,
	}[f.kind]
	return s.has(of) && (s.Project == "" || f.project == "" || f.project == s.Project)
}

// source is a file that is there now.
type source struct {
	kind    kind
	project string
	path    string
	version durable.Version
}

// walk lists the sources of a scope in a fixed order: by place, then by name.
type walk struct {
	fsys  durable.FS
	scope Scope
	found func(source)
}

func (w *walk) run() error {
	if err := w.workspaceWide(); err != nil {
		return err
	}
	if !w.scope.has(Runs | Artifacts | Tasks | Conversations) {
		return nil
	}
	projects, err := w.open(workspace.ProjectsDir)
	if projects == nil {
		return err
	}
	defer projects.Close()
	names, err := subdirectories(projects)
	if err != nil {
		return err
	}
	for _, name := range names {
		if w.scope.Project == "" || w.scope.Project == name {
			if err := w.project(projects, name); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *walk) workspaceWide() error {
	if w.scope.has(Agents) {
		if err := w.each(workspace.AgentsDir, func(d *durable.Dir, name string) {
			w.look(d, name+"/agent.yaml", kindAgent, "")
		}); err != nil {
			return err
		}
	}
	if w.scope.has(Conversations) {
		if d, err := w.open(workspace.HomeDir); d != nil {
			w.conversation(d, "", "")
			_ = d.Close() // only looked at
		} else if err != nil {
			return err
		}
		if err := w.each("inbox/conversations", func(d *durable.Dir, name string) { w.conversation(d, name+"/", "") }); err != nil {
			return err
		}
	}
	for _, flat := range []struct {
		kinds     Kinds
		kind      kind
		dir       string
		extension string
	}{
		{Reviews, kindReview, workspace.ReviewsDir, ".yaml"},
		{HelpRequests, kindHelpRequest, workspace.HelpRequestsDir, ".md"},
		{Comments, kindComment, workspace.CommentsDir, ".yaml"},
	} {
		if !w.scope.has(flat.kinds) {
			continue
		}
		d, err := w.open(flat.dir)
		if d == nil {
			if err != nil {
				return err
			}
			continue
		}
		err = w.files(d, flat.kind, "", flat.extension)
		_ = d.Close() // only looked at
		if err != nil {
			return err
		}
	}
	return nil
}

// open opens a directory by its fixed name; one that is missing, or a symlink,
// is nil without an error.
func (w *walk) open(name string) (*durable.Dir, error) {
	d, err := durable.OpenDir(w.fsys, name)
	return d, absentDirectory(err)
}

// absentDirectory makes nothing of the errors that say that there is no such
// directory.
func absentDirectory(err error) error {
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP) {
		return nil
	}
	return err
}

// each visits the subdirectories of a directory.
func (w *walk) each(dir string, visit func(d *durable.Dir, name string)) error {
	d, err := w.open(dir)
	if d == nil {
		return err
	}
	defer d.Close()
	names, err := subdirectories(d)
	for _, name := range names {
		visit(d, name)
	}
	return err
}

func (w *walk) project(projects *durable.Dir, id string) error {
	for _, part := range []struct {
		kinds Kinds
		name  string
		visit func(*durable.Dir) error
	}{
		{Runs, "runs", func(d *durable.Dir) error { return w.runs(d, id) }},
		{Artifacts, "artifacts", func(d *durable.Dir) error { return w.files(d, kindArtifact, id, ".md") }},
		{Tasks, "tasks", func(d *durable.Dir) error { return w.files(d, kindTask, id, ".md") }},
		{Conversations, "conversations", func(d *durable.Dir) error { return w.conversations(d, id) }},
	} {
		if !w.scope.has(part.kinds) {
			continue
		}
		d, err := projects.Sub(id + "/" + part.name)
		if err != nil {
			if absentDirectory(err) == nil {
				continue
			}
			return err
		}
		err = part.visit(d)
		_ = d.Close() // only looked at
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) runs(d *durable.Dir, project string) error {
	names, err := subdirectories(d)
	files := make([]string, 0, 2*len(names))
	for _, name := range names {
		files = append(files, name+"/run.yaml", name+"/events.jsonl")
	}
	for i, s := range lookEach(d, files) {
		if s.kind = kindRun; i%2 == 1 {
			s.kind = kindLog
		}
		w.report(s, project)
	}
	return err
}

// together is how many files are looked at by one goroutine.
const together = 256

// lookEach looks at many files of a directory, side by side where there are
// enough of them. Those that are no regular files have no path.
func lookEach(d *durable.Dir, names []string) []source {
	found := make([]source, len(names))
	part := func(from, to int) {
		for i := from; i < to; i++ {
			if v, mode, err := d.Look(names[i]); err == nil && mode.IsRegular() {
				found[i] = source{path: d.Name() + "/" + names[i], version: v}
			}
		}
	}
	workers := min(runtime.GOMAXPROCS(0), len(names)/together)
	if workers < 2 {
		part(0, len(names))
		return found
	}
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() { part(len(names)*i/workers, len(names)*(i+1)/workers) })
	}
	wg.Wait()
	return found
}

func (w *walk) report(s source, project string) {
	if s.path != "" {
		s.project = project
		w.found(s)
	}
}

func (w *walk) conversations(d *durable.Dir, project string) error {
	names, err := subdirectories(d)
	for _, name := range names {
		w.conversation(d, name+"/", project)
	}
	return err
}

func (w *walk) conversation(d *durable.Dir, prefix, project string) {
	w.look(d, prefix+"conversation.yaml", kindConversation, project)
	w.look(d, prefix+"messages.jsonl", kindMessages, project)
}

func (w *walk) files(d *durable.Dir, of kind, project, extension string) error {
	list, err := d.Entries()
	if err != nil {
		return err
	}
	names := make([]string, 0, len(list))
	for _, e := range list {
		if !hidden(e.Name) && path.Ext(e.Name) == extension {
			names = append(names, e.Name)
		}
	}
	slices.Sort(names)
	for _, s := range lookEach(d, names) {
		s.kind = of
		w.report(s, project)
	}
	return nil
}

// look reports a file if it is a regular one.
func (w *walk) look(d *durable.Dir, name string, of kind, project string) {
	for _, s := range lookEach(d, []string{name}) {
		s.kind = of
		w.report(s, project)
	}
}

// subdirectories lists the real directories whose names can be ids.
func subdirectories(d *durable.Dir) ([]string, error) {
	list, err := d.Entries()
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, byName)
	names := make([]string, 0, len(list))
	for _, e := range list {
		if e.Type.IsDir() && !hidden(e.Name) && shape.CheckID(e.Name) == "" {
			names = append(names, e.Name)
		}
	}
	return names, nil
}

func byName(a, b durable.Entry) int { return cmp.Compare(a.Name, b.Name) }

func hidden(name string) bool { return strings.HasPrefix(name, ".") }
