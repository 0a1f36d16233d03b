package pm

// Tasks and milestones: creating, planning and listing them. The statuses of its milestones
// determine the status of a task.

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"ac/internal/clock"
	"ac/internal/fault"
	"ac/internal/frontmatter"
	"ac/workspace"
	"ac/workspace/doc"
)

// Statuses of tasks and milestones used here.
const (
	statusDraft      = "draft"
	statusInProgress = "in_progress"
	StatusDone       = "done"
	statusCanceled   = "canceled"
)

// TaskSpec describes a new task.
type TaskSpec struct {
	Title      string
	Visibility string
	TeamID     string // optional
	AssigneeID string // optional
	Contract   string // optional Markdown under the heading of the contract
}

// NewTask creates a draft task in a project and returns its id. The task is durable on
// return. For a missing project it returns fault.NotFound.
func NewTask(ctx context.Context, w *workspace.Workspace, project string, spec TaskSpec) (id string, err error) {
	return id, w.Update(ctx, func(u *workspace.Unit) error {
		if _, err := w.Project(project); err != nil {
			return err
		}
		task, text, err := DraftTask(w.Env, project, spec, nil, "")
		if err != nil {
			return err
		}
		id = task.ID
		return u.Write(workspace.TaskFile(project, task.ID), text, 0o644)
	})
}

// DraftTask returns a draft task and its text, and writes nothing. Milestones without ids get
// new ones. notes follow the heading of the milestones in the body.
func DraftTask(env workspace.Env, project string, spec TaskSpec, milestones []doc.Milestone, notes string) (task doc.Task, text []byte, err error) {
	if err := doc.CheckTitle(spec.Title); err != nil {
		return task, nil, err
	}
	task = doc.Task{
		SchemaVersion: doc.Version, Type: "task", ID: env.IDs.New("task"), ProjectID: project, Title: spec.Title,
		CreatedAt: clock.Stamp(env.Clock.Now()), Status: statusDraft, Visibility: spec.Visibility,
		TeamID: spec.TeamID, AssigneeAgentID: spec.AssigneeID, Milestones: []doc.Milestone{},
	}
	for _, m := range milestones {
		task.Milestones = append(task.Milestones, newMilestone(env, m))
	}
	head, err := doc.TaskCodec.Encode(task)
	if err != nil {
		return task, nil, err
	}
	if _, err := workspace.Decode(doc.TaskCodec, "task", head); err != nil {
		return task, nil, err
	}
	body := "\n# " + spec.Title + "\n\n## Contract\n"
	if contract := strings.TrimSpace(spec.Contract); contract != "" {
		body += "\n" + frontmatter.LowerHeadings(contract) + "\n"
	}
	body += "\n## Milestones\n"
	if notes != "" {
		body += "\n" + strings.TrimRight(notes, "\n") + "\n"
	}
	return task, frontmatter.Join(head, []byte(body)), nil
}

// ReadTask returns a task and the text after its front matter. It returns fault.NotFound if
// there is none.
func ReadTask(w *workspace.Workspace, project, id string) (task doc.Task, body []byte, err error) {
	if task, err = w.Task(project, id); err != nil {
		return task, nil, err
	}
	text, err := w.Read(workspace.TaskFile(project, id))
	if err == nil {
		_, body, err = frontmatter.Split(text)
	}
	return task, body, err
}

// newMilestone fills in a milestone's missing fields: the id, the status, and the evidence
// that its kind requires.
func newMilestone(env workspace.Env, m doc.Milestone) doc.Milestone {
	if m.ID == "" {
		m.ID = env.IDs.New("ms")
	}
	m.Status = cmp.Or(m.Status, statusDraft)
	if m.AcceptanceCriteria == nil {
		m.AcceptanceCriteria = []string{}
	}
	if m.Evidence == nil {
		m.Evidence = EvidenceOf(m.Kind)
	}
	return m
}

// EvidenceOf returns the evidence required to approve a milestone of a kind.
func EvidenceOf(kind string) *doc.EvidenceRequired {
	coding := kind == "coding"
	return &doc.EvidenceRequired{RequiresPatch: coding, RequiresTests: coding}
}

// AddMilestone appends a milestone to a task and returns its id. The task's status does not
// change.
func AddMilestone(ctx context.Context, w *workspace.Workspace, project, task string, milestone doc.Milestone) (id string, err error) {
	_, err = ChangeTask(ctx, w, project, task, func(t *doc.Task) error {
		m := newMilestone(w.Env, milestone)
		id = m.ID
		t.Milestones = append(t.Milestones, m)
		return nil
	})
	return id, err
}

// ChangeTask reads a task, changes it, writes it as one unit and returns it. It writes
// nothing if nothing changed. Besides the errors of change, it returns fault.NotFound for a
// missing project or task, and fault.InvalidFile for a task that is invalid before or after
// the change.
func ChangeTask(ctx context.Context, w *workspace.Workspace, project, id string, change func(*doc.Task) error) (task doc.Task, err error) {
	err = w.Update(ctx, func(u *workspace.Unit) error {
		if _, err := w.Project(project); err != nil {
			return err
		}
		if task, err = u.Task(project, id); err != nil {
			return err
		}
		if err := change(&task); err != nil {
			return err
		}
		return u.PutTask(project, task)
	})
	return task, err
}

// MilestoneOf returns a milestone of a task, or fault.NotFound.
func MilestoneOf(task *doc.Task, id string) (*doc.Milestone, error) {
	for i := range task.Milestones {
		if task.Milestones[i].ID == id {
			return &task.Milestones[i], nil
		}
	}
	return nil, fault.New(fault.NotFound, "task %s has no milestone %s", task.ID, id)
}

// SetMilestoneStatus sets the status of a milestone and adjusts the task's. The task becomes
// done once all milestones are done, unless it is canceled. A done task becomes in progress
// again once a milestone is not done.
func SetMilestoneStatus(task *doc.Task, id, status string) error {
	milestone, err := MilestoneOf(task, id)
	if err != nil {
		return err
	}
	milestone.Status = status
	open := slices.ContainsFunc(task.Milestones, func(m doc.Milestone) bool { return m.Status != StatusDone })
	switch {
	case !open && task.Status != statusCanceled:
		task.Status = StatusDone
	case open && task.Status == StatusDone:
		task.Status = statusInProgress
	}
	return nil
}

// PlanChange is a change of a task's plan. Nil parts stay unchanged.
type PlanChange struct {
	Schedule       *doc.Schedule      // replaces the old one
	ExecutionPlan  *doc.ExecutionPlan // its non-empty fields replace the old ones
	ClearSchedule  bool               // overrides Schedule
	ClearExecution bool               // overrides ExecutionPlan
}

// UpdatePlan changes the plan of a task and returns the task. It returns fault.Conflict if
// the task would depend on itself. Other errors are those of ChangeTask.
func UpdatePlan(ctx context.Context, w *workspace.Workspace, project, id string, change PlanChange) (doc.Task, error) {
	return ChangeTask(ctx, w, project, id, func(t *doc.Task) error { return ApplyPlan(t, change, clock.Stamp(w.Env.Clock.Now())) })
}

// ApplyPlan changes the plan of a loaded task. now is the time recorded for a new AppliedBy.
func ApplyPlan(task *doc.Task, change PlanChange, now string) error {
	switch {
	case change.ClearSchedule:
		task.Schedule = nil
	case change.Schedule != nil:
		schedule := *change.Schedule
		schedule.DependsOnTaskIDs = once(schedule.DependsOnTaskIDs)
		if slices.Contains(schedule.DependsOnTaskIDs, task.ID) {
			return fault.New(fault.Conflict, "task %s cannot depend on itself", task.ID)
		}
		task.Schedule = &schedule
	}
	switch {
	case change.ClearExecution:
		task.ExecutionPlan = nil
	case change.ExecutionPlan != nil:
		task.ExecutionPlan = mergePlan(task.ExecutionPlan, *change.ExecutionPlan, now)
	}
	return nil
}

// once removes duplicates and preserves the order.
func once(ids []string) []string {
	kept, seen := []string{}, map[string]bool{}
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			kept = append(kept, id)
		}
	}
	return kept
}

func mergePlan(old *doc.ExecutionPlan, change doc.ExecutionPlan, now string) *doc.ExecutionPlan {
	var plan doc.ExecutionPlan
	if old != nil {
		plan = *old
	}
	plan.PreferredProvider = cmp.Or(change.PreferredProvider, plan.PreferredProvider)
	plan.PreferredModel = cmp.Or(change.PreferredModel, plan.PreferredModel)
	plan.PreferredAgentID = cmp.Or(change.PreferredAgentID, plan.PreferredAgentID)
	plan.TokenBudgetHint = cmp.Or(change.TokenBudgetHint, plan.TokenBudgetHint)
	plan.AppliedAt = cmp.Or(change.AppliedAt, plan.AppliedAt)
	if change.AppliedBy != "" {
		plan.AppliedBy, plan.AppliedAt = change.AppliedBy, now
	}
	return &plan
}

// Tasks lists the tasks of a project, newest first. It skips unreadable ones. A missing
// project yields none.
func Tasks(w *workspace.Workspace, project string) ([]doc.Task, error) {
	if known, err := w.HasProject(project); !known {
		return nil, err
	}
	tasks, err := w.Tasks(project)
	slices.SortFunc(tasks, func(a, b doc.Task) int {
		return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return tasks, err
}

// MilestoneCounts counts the milestones of a task by status.
type MilestoneCounts struct {
	Total      int `json:"total"`
	Done       int `json:"done"`
	InProgress int `json:"in_progress"`
	Blocked    int `json:"blocked"`
	Ready      int `json:"ready"`
	Draft      int `json:"draft"`
}

// CountMilestones counts the milestones of a task.
func CountMilestones(task doc.Task) MilestoneCounts {
	counts := MilestoneCounts{Total: len(task.Milestones)}
	for _, m := range task.Milestones {
		switch m.Status {
		case StatusDone:
			counts.Done++
		case statusInProgress:
			counts.InProgress++
		case "blocked":
			counts.Blocked++
		case "ready":
			counts.Ready++
		default:
			counts.Draft++
		}
	}
	return counts
}

// Allocate replaces the execution plans of these tasks as one unit: all or none.
func Allocate(ctx context.Context, w *workspace.Workspace, project string, ids []string, plans map[string]doc.ExecutionPlan) error {
	return w.Update(ctx, func(u *workspace.Unit) error {
		if _, err := w.Project(project); err != nil {
			return err
		}
		for _, id := range ids {
			task, err := u.Task(project, id)
			if err != nil {
				return err
			}
			plan := plans[id]
			task.ExecutionPlan = &plan
			if err := u.PutTask(project, task); err != nil {
				return err
			}
		}
		return nil
	})
}

// ValidateTask checks the front matter and the headings of a task. It also checks that the
// task is complete, if its status requires that.
func ValidateTask(text []byte) []frontmatter.Issue {
	var task doc.Task
	fits := false
	issues := frontmatter.Check(text, doc.TaskCodec, func(t doc.Task) []string {
		task, fits = t, true
		return []string{"## Contract", "## Milestones"}
	})
	if fits {
		for _, field := range task.Incomplete() {
			issues = append(issues, frontmatter.Issue{Code: "contract_incomplete", Message: "contract_incomplete: " + field + " is empty although the task is " + task.Status})
		}
	}
	return issues
}
