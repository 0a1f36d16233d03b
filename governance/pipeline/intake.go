package pipeline

// Intake: a project with the documents to be written about it, and their authors.

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"ac/governance"
	"ac/internal/fault"
	"ac/pm"
	"ac/workspace"
	"ac/workspace/doc"
)

// IntakeSpec is what a project begins with.
type IntakeSpec struct {
	Name       string
	CEOID      string
	DirectorID string
	ManagerIDs []string // at least one; duplicates count once
}

// Intake is a project that was set up.
type Intake struct {
	ProjectID string          `json:"project_id"`
	Artifacts IntakeArtifacts `json:"artifacts"`
	Tasks     IntakeTasks     `json:"tasks"`
}

// IntakeArtifacts are the artifacts to be written.
type IntakeArtifacts struct {
	IntakeBrief       string            `json:"intake_brief_artifact_id"`
	ClarificationsQA  string            `json:"clarifications_qa_artifact_id"`
	Workplan          string            `json:"workplan_artifact_id"`
	ManagersProposals map[string]string `json:"manager_proposal_artifact_ids"`
}

// IntakeTasks are the tasks of the director and the managers, each with one milestone.
type IntakeTasks struct {
	DirectorTask      string            `json:"director_task_id"`
	DirectorMilestone string            `json:"director_milestone_id"`
	ManagerTasks      map[string]string `json:"manager_task_ids"`
	ManagerMilestones map[string]string `json:"manager_milestone_ids"`
}

// crew are the agents of an intake.
type crew struct {
	ceo, director doc.Agent
	managers      []doc.Agent // in the given order
}

// people looks up all agents of an intake.
func (s IntakeSpec) people(w *workspace.Workspace) (c crew, err error) {
	agent := func(id string) doc.Agent {
		if err != nil {
			return doc.Agent{}
		}
		var found doc.Agent
		if !workspace.SafeID(id) {
			err = fault.New(fault.NotFound, "agent %q does not exist", id)
		} else if found, err = w.Agent(id); fault.Is(err, fault.NotFound) {
			err = fault.New(fault.NotFound, "agent %s does not exist", id)
		}
		return found
	}
	c.ceo, c.director = agent(s.CEOID), agent(s.DirectorID)
	for i, id := range s.ManagerIDs {
		if !slices.Contains(s.ManagerIDs[:i], id) {
			c.managers = append(c.managers, agent(id))
		}
	}
	return c, err
}

// check rejects an intake without a valid name or managers.
func (s IntakeSpec) check() error {
	switch {
	case strings.TrimSpace(s.Name) == "":
		return fault.InvalidField("name", "must not be blank")
	case strings.ContainsAny(s.Name, "\r\n"):
		return fault.InvalidField("name", "must not contain a line break")
	case len(s.ManagerIDs) == 0:
		return fault.InvalidField("managers", "must have at least one item")
	}
	return nil
}

// TakeIn creates a project with its initial artifacts and tasks, all or nothing. It is durable on
// return.
func TakeIn(ctx context.Context, w *workspace.Workspace, spec IntakeSpec) (made Intake, err error) {
	if err := spec.check(); err != nil {
		return made, err
	}
	err = w.Update(ctx, func(u *workspace.Unit) error {
		people, err := spec.people(w)
		if err != nil {
			return err
		}
		b := intakeBuilder{w: w, name: spec.Name}
		b.made = Intake{
			ProjectID: w.Env.IDs.New("proj"), Artifacts: IntakeArtifacts{ManagersProposals: map[string]string{}},
			Tasks: IntakeTasks{ManagerTasks: map[string]string{}, ManagerMilestones: map[string]string{}},
		}
		if err := b.build(people); err != nil {
			return err
		}
		made = b.made
		return u.Create(workspace.ProjectDir(made.ProjectID), b.tree)
	})
	return made, err
}

// intakeBuilder assembles the directory of a project.
type intakeBuilder struct {
	w    *workspace.Workspace
	name string
	made Intake
	tree workspace.Tree
}

func (b *intakeBuilder) build(people crew) (err error) {
	if b.tree, err = b.w.ProjectTree(b.made.ProjectID, b.name); err != nil {
		return err
	}
	artifacts := &b.made.Artifacts
	if artifacts.IntakeBrief, err = b.artifact("intake_brief", "Intake brief of "+b.name, "org", people.ceo); err != nil {
		return err
	}
	if artifacts.ClarificationsQA, err = b.artifact("clarifications_qa", "Clarifications of "+b.name, "org", people.director); err != nil {
		return err
	}
	for _, manager := range people.managers {
		if err := b.manager(manager); err != nil {
			return err
		}
	}
	if artifacts.Workplan, err = b.artifact("workplan", "Workplan of "+b.name, "org", people.director); err != nil {
		return err
	}
	tasks := &b.made.Tasks
	tasks.DirectorTask, tasks.DirectorMilestone, err = b.task(
		pm.TaskSpec{Title: "Clarify and plan " + b.name, Visibility: "org", AssigneeID: people.director.ID},
		"Clarifications and workplan", "The clarifications and the workplan are written.",
		required{"clarifications_qa", artifacts.ClarificationsQA}, required{"workplan", artifacts.Workplan})
	return err
}

// manager adds the task and the proposal of a manager.
func (b *intakeBuilder) manager(manager doc.Agent) error {
	who := strings.Join(strings.Fields(manager.Name), " ")
	proposal, err := b.artifact("proposal", fmt.Sprintf("Proposal of %s for %s", who, b.name), "managers", manager)
	if err != nil {
		return err
	}
	task, milestone, err := b.task(
		pm.TaskSpec{
			Title: fmt.Sprintf("Propose the part of %s in %s", who, b.name), Visibility: "managers",
			TeamID: manager.TeamID, AssigneeID: manager.ID,
		},
		"Proposal", "The proposal is written, with its plan and its risks.", required{"proposal", proposal})
	b.made.Artifacts.ManagersProposals[manager.ID] = proposal
	b.made.Tasks.ManagerTasks[manager.ID], b.made.Tasks.ManagerMilestones[manager.ID] = task, milestone
	return err
}

// artifact adds an artifact to be written by an agent.
func (b *intakeBuilder) artifact(kind, title, visibility string, by doc.Agent) (id string, err error) {
	head := governance.ArtifactSpec{Type: kind, Title: title, Visibility: visibility, ProducedBy: by.ID}.Head(b.w.Env)
	text, err := governance.Template(head)
	b.add(governance.ArtifactFile(b.made.ProjectID, head.ID), text)
	return head.ID, err
}

// required is an artifact that a milestone needs.
type required struct{ kind, id string }

// task adds a task with one planning milestone.
func (b *intakeBuilder) task(spec pm.TaskSpec, title, criterion string, due ...required) (id, milestone string, err error) {
	milestone = b.w.Env.IDs.New("ms")
	var notes strings.Builder
	notes.WriteString("- milestone_id: `" + milestone + "`\n")
	for _, r := range due {
		fmt.Fprintf(&notes, "- required_artifact: %s `%s` (%s)\n", r.kind, r.id, governance.ArtifactFile(b.made.ProjectID, r.id))
	}
	task, text, err := pm.DraftTask(b.w.Env, b.made.ProjectID, spec, []doc.Milestone{{
		ID: milestone, Title: title, Kind: "planning", Status: "ready", AcceptanceCriteria: []string{criterion},
	}}, notes.String())
	b.add(workspace.TaskFile(b.made.ProjectID, task.ID), text)
	return task.ID, milestone, err
}

// add adds a file to the project's directory.
func (b *intakeBuilder) add(name string, text []byte) {
	b.tree.Files = append(b.tree.Files, workspace.TreeFile{
		Name: path.Join(path.Base(path.Dir(name)), path.Base(name)), Content: text,
	})
}
