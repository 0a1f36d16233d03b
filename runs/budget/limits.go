package budget

// The budgets that apply to a run.

import (
	"path"

	"ac/workspace"
	"ac/workspace/doc"
)

// Limits are the budgets that apply to a run. A nil one has no limits.
type Limits struct{ Run, Project, Task *doc.Budget }

// LimitsOf reads the budgets of a project and of a task; task may be "". A
// document that cannot be read has no budget.
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

// NeedSums reports whether a decision depends on the spending of other runs.
func (l Limits) NeedSums() bool { return l.Project != nil || l.Task != nil }

// Decide compares the limits with the spending of a run plus that of the
// others.
func (l Limits) Decide(run Spend, others Totals) []Decision {
	return Decide(
		Scope{ScopeRun, l.Run, run},
		Scope{ScopeProject, l.Project, others.Project.Plus(run)},
		Scope{ScopeTask, l.Task, others.Task.Plus(run)},
	)
}
