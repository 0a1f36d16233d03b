// Package source finds the files that the index of a workspace is built from, and reads them
// into rows. It reads documents whole, and logs from where the last read ended. It does not
// access the database.
package source

// Listing the source files of a workspace. A walk reads directories and only stats files, each
// with one system call.

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

// Kinds is a set of source kinds, to which a sync may be limited.
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

// Scope is the part of a workspace that a sync reads. The zero value is all of it. Project
// limits those kinds that belong to projects to one project.
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

// Holds reports whether the scope includes a file of a kind in a project; project is "" for a
// file outside of projects.
func (s Scope) Holds(k Kind, project string) bool {
	of := map[Kind]Kinds{
		KindRun: Runs, KindLog: Runs, KindArtifact: Artifacts, KindReview: Reviews, KindHelpRequest: HelpRequests,
		KindConversation: Conversations, KindMessages: Conversations, KindTask: Tasks, KindAgent: Agents, KindComment: Comments,
	}[k]
	return s.has(of) && (s.Project == "" || project == "" || project == s.Project)
}

// Kind is the kind of a source file.
type Kind uint8

// The kinds of source files.
const (
	KindRun Kind = iota + 1
	KindLog
	KindArtifact
	KindReview
	KindHelpRequest
	KindConversation
	KindMessages
	KindTask
	KindAgent
	KindComment
)

// File is a source file that the walk found.
type File struct {
	Kind    Kind
	Project string
	Path    string
	Version durable.Version
}

// Walk lists the sources of a scope in a fixed order: by directory, then by
// name.
type Walk struct {
	FS    durable.FS
	Scope Scope
	Cache *Cache // nil if nothing is cached
	Found func(File)

	RecordsOnly bool // the records of runs, without their logs
}

// Run walks the scope and calls Found for each source.
func (w *Walk) Run() error {
	if err := w.workspaceWide(); err != nil {
		return err
	}
	if !w.Scope.has(Runs | Artifacts | Tasks | Conversations) {
		return nil
	}
	projects := &folder{walk: w, name: workspace.ProjectsDir}
	defer projects.close()
	names, err := projects.subfolders()
	if err != nil {
		return err
	}
	for _, name := range names {
		if w.Scope.Project == "" || w.Scope.Project == name {
			if err := w.project(projects, name); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *Walk) workspaceWide() error {
	for _, part := range []struct {
		kinds Kinds
		dir   string
		visit func(*folder) error
	}{
		{Agents, workspace.AgentsDir, func(f *folder) error {
			return f.each("", fileKind{"agent.yaml", KindAgent})
		}},
		{Conversations, workspace.HomeDir, func(f *folder) error { return f.own("", conversationFiles()...) }},
		{Conversations, workspace.ConversationsDir, func(f *folder) error { return f.each("", conversationFiles()...) }},
		{Reviews, workspace.ReviewsDir, func(f *folder) error { return f.files("", KindReview, ".yaml") }},
		{HelpRequests, workspace.HelpRequestsDir, func(f *folder) error { return f.files("", KindHelpRequest, ".md") }},
		{Comments, workspace.CommentsDir, func(f *folder) error { return f.files("", KindComment, ".yaml") }},
	} {
		if !w.Scope.has(part.kinds) {
			continue
		}
		if err := visit(&folder{walk: w, name: part.dir}, part.visit); err != nil {
			return err
		}
	}
	return nil
}

func (w *Walk) project(projects *folder, id string) error {
	for _, part := range []struct {
		kinds Kinds
		name  string
		visit func(*folder) error
	}{
		{Runs, "runs", func(f *folder) error {
			if w.RecordsOnly {
				return f.each(id, fileKind{"run.yaml", KindRun})
			}
			return f.each(id, fileKind{"run.yaml", KindRun}, fileKind{"events.jsonl", KindLog})
		}},
		{Artifacts, "artifacts", func(f *folder) error { return f.files(id, KindArtifact, ".md") }},
		{Tasks, "tasks", func(f *folder) error { return f.files(id, KindTask, ".md") }},
		{Conversations, "conversations", func(f *folder) error { return f.each(id, conversationFiles()...) }},
	} {
		if !w.Scope.has(part.kinds) {
			continue
		}
		f := &folder{walk: w, name: projects.name + "/" + id + "/" + part.name, parent: projects, pathInParent: id + "/" + part.name}
		if err := visit(f, part.visit); err != nil {
			return err
		}
	}
	return nil
}

func visit(f *folder, fn func(*folder) error) error {
	defer f.close()
	return fn(f)
}

// fileKind is a file with a fixed name in a directory of its own, such as run.yaml.
type fileKind struct {
	name string
	kind Kind
}

func conversationFiles() []fileKind {
	return []fileKind{{"conversation.yaml", KindConversation}, {"messages.jsonl", KindMessages}}
}

// folder is a directory on a walk. It is opened only when something in it must be stat'ed. A
// missing directory and a symlink count as empty.
type folder struct {
	walk         *Walk
	name         string
	parent       *folder // the folder that it is opened relative to; nil for the workspace
	pathInParent string

	dir    *durable.Dir
	opened bool
}

// open opens the directory. It returns nil without an error if the directory does not exist.
func (f *folder) open() (d *durable.Dir, err error) {
	if f.opened {
		return f.dir, nil
	}
	f.opened = true
	if f.parent == nil {
		d, err = durable.OpenDir(f.walk.FS, f.name)
	} else if above, failed := f.parent.open(); above == nil {
		return nil, failed
	} else {
		d, err = above.Sub(f.pathInParent)
	}
	if err != nil {
		return nil, absentDirectory(err)
	}
	f.dir = d
	return d, nil
}

func (f *folder) close() {
	if f.dir != nil {
		_ = f.dir.Close() // opened for reading only
	}
}

// absentDirectory returns nil for errors that mean that the directory does not exist.
func absentDirectory(err error) error {
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP) {
		return nil
	}
	return err
}

// subfolders lists the directories, without symlinks, whose names can be IDs.
func (f *folder) subfolders() ([]string, error) {
	if names, ok := f.walk.Cache.subfolders(f.name); ok {
		return names, nil
	}
	watched := f.walk.Cache.startWatch(f.name)
	d, err := f.open()
	if d == nil {
		return nil, err
	}
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
	if watched {
		f.walk.Cache.names[f.name] = names
	}
	return names, nil
}

// own reports the files with fixed names directly in the folder.
func (f *folder) own(project string, kinds ...fileKind) error {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.name
	}
	return f.report(project, func(*durable.Dir) ([]string, error) { return names, nil }, func(i int) Kind { return kinds[i].kind })
}

// files reports the files with an extension.
func (f *folder) files(project string, of Kind, extension string) error {
	return f.report(project, func(d *durable.Dir) (names []string, err error) {
		list, err := d.Entries()
		for _, e := range list {
			if !hidden(e.Name) && path.Ext(e.Name) == extension {
				names = append(names, e.Name)
			}
		}
		slices.Sort(names)
		return names, err
	}, func(int) Kind { return of })
}

// report reports the files directly in the folder that list returns, each with its kind.
func (f *folder) report(project string, list func(*durable.Dir) ([]string, error), of func(i int) Kind) error {
	sources, known := f.walk.Cache.sources(f.name)
	if !known {
		watched := f.walk.Cache.startWatch(f.name)
		d, err := f.open()
		if d == nil {
			return err
		}
		names, err := list(d)
		if err != nil {
			return err
		}
		for i, s := range statEach(d, names) {
			if s.Path != "" {
				s.Kind, s.Project = of(i), project
				sources = append(sources, s)
			}
		}
		if watched {
			f.walk.Cache.files[f.name] = sources
		}
	}
	for _, s := range sources {
		f.walk.Found(s)
	}
	return nil
}

// each reports the files with fixed names in every subdirectory.
func (f *folder) each(project string, kinds ...fileKind) error {
	names, err := f.subfolders()
	if err != nil {
		return err
	}
	sources := make([][]File, len(names))
	var missing []int // subdirectories to read
	for i, name := range names {
		var known bool
		if sources[i], known = f.walk.Cache.sources(f.name + "/" + name); !known {
			missing = append(missing, i)
		}
	}
	if len(missing) > 0 {
		if err := f.statMissing(names, missing, kinds, sources, project); err != nil {
			return err
		}
	}
	for _, list := range sources {
		for _, s := range list {
			f.walk.Found(s)
		}
	}
	return nil
}

// statMissing stats the sources of the subdirectories that are not cached.
func (f *folder) statMissing(names []string, missing []int, kinds []fileKind, sources [][]File, project string) error {
	watched := make([]bool, len(missing))
	files := make([]string, 0, len(kinds)*len(missing))
	for at, i := range missing {
		watched[at] = f.walk.Cache.startWatch(f.name + "/" + names[i])
		for _, k := range kinds {
			files = append(files, names[i]+"/"+k.name)
		}
	}
	d, err := f.open()
	if d == nil {
		return err
	}
	seen := statEach(d, files)
	for at, i := range missing {
		for k, s := range seen[at*len(kinds) : (at+1)*len(kinds)] {
			if s.Path != "" {
				s.Kind, s.Project = kinds[k].kind, project
				sources[i] = append(sources[i], s)
			}
		}
		if watched[at] {
			f.walk.Cache.files[f.name+"/"+names[i]] = sources[i]
		}
	}
	return nil
}

// statsPerWorker is the number of files that justifies one more goroutine for stats.
const statsPerWorker = 256

// statEach stats many files of a directory, concurrently if there are enough of them. A result
// for what is not a regular file has no path.
func statEach(d *durable.Dir, names []string) []File {
	found := make([]File, len(names))
	part := func(from, to int) {
		d.LstatEach(names[from:to], func(i int, v durable.Version, kind fs.FileMode) {
			if kind.IsRegular() {
				found[from+i] = File{Path: d.Name() + "/" + names[from+i], Version: v}
			}
		})
	}
	workers := min(runtime.GOMAXPROCS(0), len(names)/statsPerWorker)
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

func byName(a, b durable.Entry) int { return cmp.Compare(a.Name, b.Name) }

func hidden(name string) bool { return strings.HasPrefix(name, ".") }
