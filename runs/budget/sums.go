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

// recheck is how many finished runs each query compares with their files. The
// record of a finished run should never change; one that was edited by hand is
// noticed after a while.
const recheck = 32

// Sums sums the spending of runs, for one workspace. It caches finished runs
// and checks unfinished ones at each query. It is safe for concurrent use.
type Sums struct {
	w *workspace.Workspace

	mu       sync.Mutex
	projects map[string]*ledger
}

// NewSums makes the sums of a workspace. It reads nothing yet.
func NewSums(w *workspace.Workspace) *Sums {
	return &Sums{w: w, projects: map[string]*ledger{}}
}

// ledger is what is known about the runs of one project.
type ledger struct {
	listed  durable.Version // of the directory; zero when it may have changed
	names   []string
	entries map[string]entry
	open    []string // runs that may still change
	next    int      // index into names of the next one to recheck
	indexed bool     // the index was queried
}

// entry is the spending of one run.
type entry struct {
	spend   Spend
	task    string
	final   bool
	version durable.Version // zero when the file may change unnoticed
}

// Totals is the spending of a project's runs, of those of one task, and of the attempts of
// one run of a workflow.
type Totals struct{ Project, Task, Workflow Spend }

// fewRuns is how many runs are read without querying the index.
const fewRuns = 64

// indexed is what the index knows for sure about the finished runs of a
// project. The index may be missing, stale or foreign: runs that it does not
// have are read from files.
func indexed(w *workspace.Workspace, project string) (known map[string]index.RunUsage) {
	ix := index.For(w)
	_ = ix.View(context.Background(), func(v *index.View) (err error) {
		known, err = v.Spending(project)
		return err
	})
	_ = ix.Close() // opened for reading only
	return known
}

// Of sums all valid runs of a project except the one that it is about, those that worked
// on its task, and those of its workflow. A run that cannot be read counts as nothing
// until it can.
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

// attemptsOf are the runs that are attempts for a run of a workflow: those of the jobs of
// its steps. A job that cannot be read had none.
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

// refresh brings a ledger up to date with the files.
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
		return nil // everything has just been compared
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

// list updates the list of runs.
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

// read reads one run, unless its file is the one that is known. A run that is
// over, in a file that cannot be mistaken for a later one, is final, unless it was
// spoken with: it may go on at any time.
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
