package budget

// The budgets that apply to a run.

import (
	"path"

	"ac/workspace"
	"ac/workspace/doc"
)

// Subject is the run that a decision concerns, and the entities to which it belongs. Task,
// Workflow and Run may be "".
type Subject struct {
	Project string
	Task    string
	// Workflow is the workflow run to which the run belongs as an attempt.
	Workflow string
	Run      string
}

// Limits holds the budgets that apply to a run. A nil budget has no limits.
type Limits struct{ Run, Project, Task, Workflow *doc.Budget }

// LimitsOf reads the budgets that apply to a run. own is the budget of its launch. A document
// that cannot be read counts as having no budget.
func LimitsOf(w *workspace.Workspace, own *doc.Budget, of Subject) Limits {
	limits := Limits{Run: own}
	if p, err := w.Project(of.Project); err == nil {
		limits.Project = p.Budget
	}
	if workspace.SafeID(of.Workflow) {
		if r, err := workspace.Load(w, doc.RunCodec, workspace.RunFile(of.Project, of.Workflow)); err == nil && r.ID == of.Workflow {
			limits.Workflow = r.Budget
		}
	}
	if workspace.SafeID(of.Task) {
		file := path.Join(workspace.TasksDir(of.Project), of.Task+".md")
		if t, err := workspace.LoadHead(w, doc.TaskCodec, file); err == nil && t.ID == of.Task {
			limits.Task = t.Budget
		}
	}
	return limits
}

// NeedSums reports whether decisions depend on the spending of other runs.
func (l Limits) NeedSums() bool { return l.Project != nil || l.Task != nil || l.Workflow != nil }

// Decide compares the limits with the spending of a run plus that of other runs.
func (l Limits) Decide(run Spend, others Totals) []Decision {
	return Decide(
		Scope{ScopeRun, l.Run, run},
		Scope{ScopeProject, l.Project, others.Project.Plus(run)},
		Scope{ScopeTask, l.Task, others.Task.Plus(run)},
		Scope{ScopeWorkflow, l.Workflow, others.Workflow.Plus(run)},
	)
}
