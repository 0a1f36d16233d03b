package pipeline

// Assigning the work of a department, once its plan is approved.

import (
	"context"
	"slices"
	"strings"

	"ac/governance"
	"ac/internal/fault"
	"ac/pm"
	"ac/workspace"
	"ac/workspace/doc"
)

// AssignSpec names the workers who receive work of an approved executive plan.
type AssignSpec struct {
	ProjectID     string
	DepartmentKey string
	DirectorID    string
	WorkerIDs     []string // duplicates count once
	PlanID        string
}

// Assignment is the result of an assignment.
type Assignment struct {
	ProjectID     string             `json:"project_id"`
	DepartmentKey string             `json:"department_key"`
	DirectorID    string             `json:"director_agent_id"`
	PlanID        string             `json:"executive_plan_artifact_id"`
	TaskIDs       []string           `json:"created_task_ids"`
	MilestoneIDs  []string           `json:"created_milestone_ids"`
	Map           map[string]string  `json:"assignment_map"`
	Denied        []DeniedAssignment `json:"denied_assignments"`
	AuditLog      string             `json:"audit_log_relpath"`
}

// DeniedAssignment is a worker who receives no task.
type DeniedAssignment struct {
	WorkerID       string `json:"worker_agent_id"`
	Reason         string `json:"reason"`
	ExpectedTeamID string `json:"expected_team_id"`
	ActualTeamID   string `json:"actual_team_id,omitempty"`
}

// planReference begins the acceptance criterion that names the plan of a task.
const planReference = "Executive plan reference: "

// Assign creates a task of an approved executive plan for each worker of the director's team,
// unless the worker has one already. Tasks and log are written in one unit, which is durable on
// return.
func Assign(ctx context.Context, w *workspace.Workspace, spec AssignSpec) (made Assignment, err error) {
	err = w.Update(ctx, func(u *workspace.Unit) error {
		a := assigning{AssignSpec: spec, u: u, env: w.Env}
		a.env.Clock = w.Env.Clock.Stopped()
		if err := a.prepare(); err != nil {
			return err
		}
		for _, worker := range a.workers {
			if err := a.assign(worker); err != nil {
				return err
			}
		}
		a.made.AuditLog = freeLog(w, spec.ProjectID, "department_assignment")
		text, err := logText(w, a.log)
		if err != nil {
			return err
		}
		made = a.made
		return u.Write(a.made.AuditLog, text, 0o644)
	})
	return made, err
}

// assigning is an assignment in progress.
type assigning struct {
	AssignSpec
	u       *workspace.Unit
	env     workspace.Env // its clock is stopped, so that all tasks have the same time
	team    doc.Team
	label   string
	workers []doc.Agent
	known   []doc.Task
	log     []assignmentLine
	made    Assignment
}

// prepare checks all preconditions before anything is written.
func (a *assigning) prepare() error {
	w := a.u.Workspace()
	if _, err := w.Project(a.ProjectID); err != nil {
		return err
	}
	if err := governance.ApprovedPlan(w, a.ProjectID, a.PlanID); err != nil {
		return err
	}
	director, err := w.Agent(a.DirectorID)
	switch {
	case err != nil:
		return err
	case director.Role != "director":
		return fault.New(fault.Conflict, "%s is a %s, not a director", director.ID, director.Role)
	case director.TeamID == "" || !workspace.SafeID(director.TeamID):
		return fault.New(fault.Conflict, "director %s has no team", director.ID)
	}
	if a.team, err = w.Team(director.TeamID); err != nil {
		return fault.New(fault.NotFound, "team %s of director %s cannot be read: %w", director.TeamID, director.ID, err)
	}
	if !strings.EqualFold(a.team.DepartmentKey, a.DepartmentKey) {
		return fault.New(fault.Conflict, "director %s leads the department %q, not %q", director.ID, a.team.DepartmentKey, a.DepartmentKey)
	}
	if a.label = plain(a.team.Name); a.team.DepartmentLabel != "" {
		a.label = plain(a.team.DepartmentLabel)
	}
	for i, id := range a.WorkerIDs {
		if slices.Contains(a.WorkerIDs[:i], id) {
			continue
		}
		worker, err := w.Agent(id)
		if err != nil {
			return err
		}
		a.workers = append(a.workers, worker)
	}
	a.made = Assignment{
		ProjectID: a.ProjectID, DepartmentKey: a.DepartmentKey, DirectorID: a.DirectorID, PlanID: a.PlanID,
		TaskIDs: []string{}, MilestoneIDs: []string{}, Map: map[string]string{}, Denied: []DeniedAssignment{},
	}
	a.known, err = w.Tasks(a.ProjectID)
	return err
}

// assign creates the task of a worker, keeps an existing one, or denies the worker.
func (a *assigning) assign(worker doc.Agent) error {
	line := assignmentLine{Event: "assignment_denied", DirectorID: a.DirectorID, WorkerID: worker.ID}
	switch {
	case worker.Role != "worker":
		line.Reason = "not_worker_role"
	case worker.TeamID != a.team.ID:
		line.Reason = "cross_team_assignment_denied"
	}
	if line.Reason != "" {
		line.ExpectedTeamID, line.ActualTeamID = a.team.ID, worker.TeamID
		a.made.Denied = append(a.made.Denied, DeniedAssignment{worker.ID, line.Reason, a.team.ID, worker.TeamID})
		a.log = append(a.log, line)
		return nil
	}
	line.TeamID = a.team.ID
	if task, ok := a.taskOf(worker.ID); ok {
		line.Event, line.TaskID = "assignment_kept", task.ID
		a.made.Map[worker.ID] = task.ID
		a.log = append(a.log, line)
		return nil
	}
	milestone := doc.Milestone{
		ID: a.env.IDs.New("ms"), Title: "Execution", Kind: "coding", Status: "ready",
		AcceptanceCriteria: []string{
			planReference + a.PlanID, "The change fulfils the department plan.", "Tests or other evidence show that it works.",
		},
	}
	task, text, err := pm.DraftTask(a.env, a.ProjectID, pm.TaskSpec{
		Title: a.label + ": Execution Task for " + plain(worker.Name), Visibility: "team", TeamID: a.team.ID, AssigneeID: worker.ID,
	}, []doc.Milestone{milestone}, "- executive_plan: `"+a.PlanID+"`\n")
	if err != nil {
		return err
	}
	if err := a.u.Write(workspace.TaskFile(a.ProjectID, task.ID), text, 0o644); err != nil {
		return err
	}
	line.Event, line.TaskID, line.MilestoneID = "assignment_created", task.ID, milestone.ID
	a.made.TaskIDs, a.made.MilestoneIDs = append(a.made.TaskIDs, task.ID), append(a.made.MilestoneIDs, milestone.ID)
	a.made.Map[worker.ID] = task.ID
	a.log = append(a.log, line)
	return nil
}

// taskOf returns the task of the plan that a worker already has.
func (a *assigning) taskOf(worker string) (doc.Task, bool) {
	for _, t := range a.known {
		if t.AssigneeAgentID != worker || t.Status == "canceled" {
			continue
		}
		for _, m := range t.Milestones {
			if slices.Contains(m.AcceptanceCriteria, planReference+a.PlanID) {
				return t, true
			}
		}
	}
	return doc.Task{}, false
}
