package budget

// The spending of a project's runs, cached between queries.

import (
	"context"
	"path"
	"slices"
	"sync"

	"ac/index"
	"ac/internal/durable"
	"ac/workspace"
	"ac/workspace/doc"
)

// recheck is the number of runs per query whose cached entries are compared with their files, in
// rotation. The record of a finished run should never change. The rotation eventually detects
// one that somebody edited by hand.
const recheck = 32

// Sums sums the spending of runs in one workspace. It caches finished runs and checks unfinished
// ones on each query. It is safe for concurrent use.
type Sums struct {
	w *workspace.Workspace

	mu       sync.Mutex
	projects map[string]*ledger
}

// NewSums returns the Sums of a workspace. It reads nothing yet.
func NewSums(w *workspace.Workspace) *Sums {
	return &Sums{w: w, projects: map[string]*ledger{}}
}

// ledger caches the runs of one project.
type ledger struct {
	listed  durable.Version // version of the directory; zero if names may be stale
	names   []string
	entries map[string]entry
	open    []string // runs that may still change
	next    int      // index into names of the last run rechecked
	indexed bool     // the index was queried
}

// entry is the cached spending of one run.
type entry struct {
	spend   Spend
	task    string
	final   bool
	version durable.Version // zero if the file may change without a new version
}

// Totals holds the spending of a project's runs, of one task's runs, and of one workflow run's
// attempts.
type Totals struct{ Project, Task, Workflow Spend }

// fewRuns is the number of runs up to which files are read without querying the index.
const fewRuns = 64

// indexed returns the finished runs of a project whose spending the index guarantees. The index
// may be missing, stale or foreign. Runs that it does not return are read from files.
func indexed(w *workspace.Workspace, project string) (known map[string]index.RunUsage) {
	ix := index.For(w)
	_ = ix.View(context.Background(), func(v *index.View) (err error) {
		known, err = v.Spending(project)
		return err
	})
	_ = ix.Close() // opened for reading only
	return known
}

// Of sums all valid runs of a project except the subject itself, and those of its task and of
// its workflow. A run that cannot be read counts as nothing until it becomes readable.
func (s *Sums) Of(of Subject) (Totals, error) {
	attempts, err := attemptsOf(s.w, of)
	if err != nil {
		return Totals{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.projects[of.Project]
	if l == nil {
		l = &ledger{entries: map[string]entry{}}
		s.projects[of.Project] = l
	}
	if err := l.refresh(s.w, of.Project); err != nil {
		return Totals{}, err
	}
	var sum Totals
	for name, e := range l.entries {
		if name == of.Run {
			continue
		}
		sum.Project = sum.Project.Plus(e.spend)
		if of.Task != "" && e.task == of.Task {
			sum.Task = sum.Task.Plus(e.spend)
		}
		if attempts[name] {
			sum.Workflow = sum.Workflow.Plus(e.spend)
		}
	}
	return sum, nil
}

// attemptsOf returns the ids of the runs that are attempts in a workflow run, from the jobs of
// its steps. It ignores jobs that it cannot read.
func attemptsOf(w *workspace.Workspace, of Subject) (map[string]bool, error) {
	if !workspace.SafeID(of.Workflow) {
		return nil, nil
	}
	flow, err := workspace.Load(w, doc.WorkflowRunCodec, workspace.WorkflowRunFile(of.Project, of.Workflow))
	if err != nil {
		return nil, err
	}
	attempts := map[string]bool{}
	for _, step := range flow.Steps {
		if !workspace.SafeID(step.JobID) {
			continue
		}
		job, err := workspace.Load(w, doc.JobCodec, path.Join(workspace.JobDir(of.Project, step.JobID), "job.yaml"))
		if err != nil {
			continue
		}
		for _, a := range job.Attempts {
			attempts[a.RunID] = true
		}
	}
	return attempts, nil
}

// refresh updates a ledger from the files.
func (l *ledger) refresh(w *workspace.Workspace, project string) error {
	if err := l.list(w, project); err != nil {
		return err
	}
	var known map[string]index.RunUsage
	if !l.indexed && len(l.open) > fewRuns {
		l.indexed, known = true, indexed(w, project)
	}
	open := l.open[:0:0]
	for _, name := range l.open {
		if spent, ok := known[name]; ok {
			l.entries[name] = entry{spend: Of(spent.Usage), task: spent.TaskID, final: true}
			continue
		}
		e := read(w, project, name, l.entries[name])
		l.entries[name] = e
		if !e.final {
			open = append(open, name)
		}
	}
	l.open = open
	if known != nil {
		return nil // everything has just been read
	}
	for range min(recheck, len(l.names)) {
		l.next = (l.next + 1) % len(l.names)
		name := l.names[l.next]
		known := l.entries[name]
		if !known.final {
			continue
		}
		st, err := w.FS.Stat(workspace.RunFile(project, name))
		if err != nil || durable.VersionOf(st) != known.version {
			l.open = append(l.open, name)
			l.entries[name] = read(w, project, name, known)
		}
	}
	return nil
}

// list updates the names of the project's runs.
func (l *ledger) list(w *workspace.Workspace, project string) error {
	dir := workspace.RunsDir(project)
	st, err := w.FS.Stat(dir)
	if err == nil && l.listed == durable.VersionOf(st) {
		return nil
	}
	names, err := workspace.Dirs(w.FS, dir)
	if err != nil {
		return err
	}
	l.listed = durable.Version{}
	if st != nil && durable.VersionOf(st).Cacheable(w.FS, w.Env.Clock.Now()) {
		l.listed = durable.VersionOf(st)
	}
	if slices.Equal(names, l.names) {
		return nil
	}
	entries, open := make(map[string]entry, len(names)), make([]string, 0, len(l.open))
	for _, name := range names {
		e, known := l.entries[name]
		entries[name] = e
		if !known || !e.final {
			open = append(open, name)
		}
	}
	l.names, l.entries, l.open, l.next = names, entries, open, 0
	return nil
}

// read reads one run, unless its file is unchanged. A run is final if it has ended and its
// file's version is reliable (Cacheable). Live runs are never final, because they may continue
// at any time.
func read(w *workspace.Workspace, project, name string, known entry) entry {
	file := workspace.RunFile(project, name)
	st, err := w.FS.Stat(file)
	if err != nil {
		return entry{}
	}
	version := durable.VersionOf(st)
	cacheable := version.Cacheable(w.FS, w.Env.Clock.Now())
	if cacheable && version == known.version {
		return known
	}
	e := entry{}
	if cacheable {
		e.version = version
	}
	text, err := w.Read(file)
	if err != nil {
		return entry{}
	}
	run, err := workspace.Decode(doc.RunCodec, file, text)
	if err != nil {
		return e
	}
	e.spend, e.final = Of(run.Usage), cacheable && doc.Terminal(run.Status) && run.Live == nil
	if run.Spec != nil {
		e.task = run.Spec.TaskID
	}
	return e
}
