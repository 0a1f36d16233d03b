package budget

// Where budgets stand.

import (
	"path"

	"ac/workspace"
	"ac/workspace/doc"
)

// Limits are the budgets that hold for a run. A nil one sets nothing.
type Limits struct{ Run, Project, Task *doc.Budget }

// LimitsOf reads the budgets of a project and of a task; task may be "". A
// document that cannot be read has none.
func LimitsOf(w *workspace.Workspace, run *doc.Budget, project, task string) Limits {
	limits := Limits{Run: run}
	if p, err := w.Project(project); err == nil {
		limits.Project = p.Budget
	}
	if !workspace.SafeID(task) {
		return limits
	}
	file := path.Join(workspace.TasksDir(project), task+".md")
	if t, err := workspace.LoadHead(w, doc.TaskCodec, file); err == nil && t.ID == task {
		limits.Task = t.Budget
	}
	return limits
}

// NeedSums reports whether a decision needs to know what other runs have spent.
func (l Limits) NeedSums() bool { return l.Project != nil || l.Task != nil }

// Decide compares the limits with what the run has spent, on top of what the
// others had.
func (l Limits) Decide(run Spend, others Totals) []Decision {
	return Decide(
		Scope{ScopeRun, l.Run, run},
		Scope{ScopeProject, l.Project, others.Project.Plus(run)},
		Scope{ScopeTask, l.Task, others.Task.Plus(run)},
	)
}
