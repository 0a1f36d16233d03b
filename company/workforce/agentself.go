package workforce

// What the agent of a run may learn about itself and its work: the operations behind its tools.
// They act as the agent, with its recorded role and team.

import (
	"context"

	"ac/company"
	"ac/governance/policy"
	"ac/runs/grant"
	"ac/workspace"
	"ac/workspace/doc"
)

// Self is what an agent may learn about itself.
type Self = grant.Self

// AgentSelf returns who an agent is and with whom it works.
func (c Operations) AgentSelf(_ context.Context, p company.AsAgent) (Self, error) {
	return grant.SelfOf(c.Workspace(), p.ProjectID, p.RunID, p.AgentID)
}

// AgentTaskParams identify the task of a run, "" for none.
type AgentTaskParams struct {
	company.AsAgent
	TaskID string `json:"task_id" is:"optional,id"`
}

// AgentTask is the task of a run, or the tasks assigned to its agent if the run has none.
type AgentTask struct {
	Task     *TaskView    `json:"task,omitempty"`
	Assigned *[]TaskBrief `json:"assigned,omitempty"`
}

// TaskView is a task as its worker reads it.
type TaskView struct {
	TaskBrief
	Body       string          `json:"body"`
	Milestones []doc.Milestone `json:"milestones"`
	Schedule   *doc.Schedule   `json:"schedule,omitempty"`
}

// TaskBrief is a task in a list.
type TaskBrief struct {
	ID     string `json:"id"`
	Title  string `json:"title"`
	Status string `json:"status"`
}

// maxAssigned bounds how many assigned tasks are returned to an agent.
const maxAssigned = 50

// AgentTask returns the task of a run, or lists the open tasks assigned to its agent. A task that
// the agent may not read is fault.Denied.
func (c Operations) AgentTask(_ context.Context, p AgentTaskParams) (result AgentTask, err error) {
	_, actor, err := c.ActingAgent(p.AsAgent)
	if err != nil {
		return result, err
	}
	if p.TaskID != "" {
		result.Task, err = c.taskFor(p, actor)
		return result, err
	}
	tasks, err := c.Workspace().Tasks(p.ProjectID)
	assigned := []TaskBrief{}
	for _, t := range tasks {
		open := t.Status != "done" && t.Status != "canceled"
		if t.AssigneeAgentID == p.AgentID && open && c.MayRead(actor, taskResource(t)) == nil && len(assigned) < maxAssigned {
			assigned = append(assigned, TaskBrief{t.ID, t.Title, t.Status})
		}
	}
	result.Assigned = &assigned
	return result, err
}

func (c Operations) taskFor(p AgentTaskParams, actor policy.Actor) (*TaskView, error) {
	t, err := c.Workspace().Task(p.ProjectID, p.TaskID)
	if err == nil {
		err = c.MayRead(actor, taskResource(t))
	}
	if err != nil {
		return nil, err
	}
	name := workspace.TaskFile(p.ProjectID, p.TaskID)
	text, err := c.Workspace().Read(name)
	if err != nil {
		return nil, err
	}
	_, body, err := workspace.DecodeHead(doc.TaskCodec, name, text)
	return &TaskView{TaskBrief{t.ID, t.Title, t.Status}, string(body), append([]doc.Milestone{}, t.Milestones...), t.Schedule}, err
}

// taskResource returns a task as a resource of the policy. Its producer is the assigned agent.
func taskResource(t doc.Task) policy.Resource {
	return policy.Resource{ID: t.ID, Kind: "task", Visibility: t.Visibility, Team: t.TeamID, Producer: t.AssigneeAgentID}
}
