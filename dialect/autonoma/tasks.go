package autonoma

// Tasks: jobs that clients submit, list and cancel.

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"ac/company"
	"ac/company/decisions"
	"ac/company/orchestration"
	"ac/dialect"
	"ac/internal/canonjson"
	"ac/internal/fault"
	"ac/workspace/doc"
)

// maxContext bounds the context of a task as JSON, in bytes.
const maxContext = 64 << 10

type executionStarted struct {
	ExecutionID string `json:"executionId"`
}

func invoke(ctx context.Context, c *call, p invokeParams) (any, error) {
	note, err := c.note("context")
	if err != nil {
		return nil, err
	}
	id, err := c.server.submit(ctx, task{agent: p.AgentType, goal: p.Task, note: note, ref: "invoke"})
	if err != nil {
		return nil, err
	}
	c.after = func() { c.follow(id, [phaseCount]phase{}) }
	return executionStarted{id}, nil
}

type taskStarted struct {
	TaskID string `json:"taskId"`
}

func launch(ctx context.Context, c *call, p launchParams) (any, error) {
	id, err := c.server.submit(ctx, task{agent: p.AgentType, goal: p.Task, ref: "launch"})
	return taskStarted{id}, err
}

// note returns a member of the params as JSON text for the agent, "" if it has no content.
func (c *call) note(name string) (text string, err error) {
	err = canonjson.Members(c.params, func(m canonjson.Member) {
		if string(m.Key) == name {
			text = string(bytes.TrimSpace(m.Value))
		}
	})
	if len(text) > maxContext {
		return "", fault.Invalid(fault.Issue{Path: []any{name}, Code: "too_big", Message: fmt.Sprintf("must not be longer than %d bytes", maxContext)})
	}
	if slices.Contains([]string{"null", "{}", "[]", `""`}, strings.Join(strings.Fields(text), "")) {
		text = ""
	}
	return text, err
}

// task is an order for an agent.
type task struct {
	agent, goal, note, ref string
}

// submit creates the job of a task. The job is durable on return.
func (s *server) submit(ctx context.Context, t task) (id string, err error) {
	who, err := s.findUsableAgent(ctx, t.agent)
	if err != nil {
		return "", err
	}
	_, err = dialect.Do(ctx, s.Company, decisions.Operations.MayLaunch, decisions.MayLaunchParams{
		Dir: s.In(), ProjectID: s.ProjectID, AgentID: who.AgentID, ActorParams: s.Actor,
	})
	if err != nil {
		return "", err
	}
	if err := s.roomForOne(ctx); err != nil {
		return "", err
	}
	level, place, err := s.place(ctx)
	if err != nil {
		return "", err
	}
	spec := doc.JobSpec{
		SchemaVersion: doc.Version, Type: "job", JobKind: doc.JobExecution, WorkerKind: doc.AnyWorkerKindOf(who.Provider), WorkerAgentID: who.AgentID,
		WorkspaceDir: s.Dir, ProjectID: s.ProjectID, Goal: t.goal, Constraints: []string{}, Deliverables: []string{}, ContextRefs: []doc.ContextRef{},
		PermissionLevel: level, ManagerActorID: s.Actor.ActorID, ManagerRole: s.Actor.ActorRole, ManagerTeamID: s.Actor.ActorTeamID,
	}
	spec.JobID = s.Host.NewID("job")
	if t.note != "" {
		spec.ContextRefs = append(spec.ContextRefs, doc.ContextRef{Kind: "note", Value: t.note, Description: "context from the editor"})
	}
	made, err := dialect.Do(ctx, s.Company, (*company.Company).SubmitJob, company.SubmitJobParams{Job: spec, Order: &doc.JobOrder{
		Answer: doc.AnswerText, Place: place, Origin: &doc.JobOrigin{Kind: origin, Ref: t.ref},
	}})
	return made.JobID, err
}

// roomForOne refuses another job if too many are active.
func (s *server) roomForOne(ctx context.Context) error {
	active, err := s.activeRecords(ctx)
	if err != nil {
		return err
	}
	return roomBeside(active)
}

// roomBeside is roomForOne for a given list of active jobs.
func roomBeside(active []doc.Job) error {
	n := 0
	for _, r := range active {
		if r.Order != nil && r.Order.Origin != nil && r.Order.Origin.Kind == origin {
			n++
		}
	}
	if n >= maxActive {
		return protocolError(fmt.Sprintf("too many tasks are active (%d)", maxActive))
	}
	return nil
}

// activeRecords returns the unfinished jobs. It does not read jobs that the watch has seen end.
func (s *server) activeRecords(ctx context.Context) (active []doc.Job, err error) {
	found, err := s.records(ctx, company.ListJobsParams{Newest: true, Limit: 5000, Skip: s.watch.over})
	for _, r := range found {
		if !r.Over() {
			active = append(active, r)
		}
	}
	return active, err
}

// records returns the project's execution jobs.
func (s *server) records(ctx context.Context, p company.ListJobsParams) ([]doc.Job, error) {
	p.Dir, p.ProjectID, p.Kind = s.In(), s.ProjectID, doc.JobExecution
	return dialect.Do(ctx, s.Company, (*company.Company).JobRecords, p)
}

// place returns the permission level of tasks and where they work. Tasks that write get a worktree
// with a snapshot of the person's files. Tasks that only read work in the repository itself.
func (s *server) place(ctx context.Context) (level string, place *doc.JobPlace, err error) {
	repo, err := s.repository(ctx)
	if noRepository(err) {
		level = s.opts.Level
		if level == "" {
			level = "read-only"
		}
		return level, nil, nil
	}
	if err != nil {
		return "", nil, err
	}
	if level = s.opts.Level; level == "" {
		if level = "read-only"; repo.Git {
			level = "patch"
		}
	}
	place = &doc.JobPlace{RepoID: repo.RepoID, Isolation: doc.IsolationNone}
	if level != "read-only" {
		place.Isolation, place.Base = doc.IsolationWorktree, doc.BaseSnapshot
	}
	return level, place, nil
}

// backgroundTask is a job in a list.
type backgroundTask struct {
	ID          string `json:"id"`
	Task        string `json:"task"`
	AgentType   string `json:"agentType"`
	Status      string `json:"status"`
	Progress    int    `json:"progress"`
	StartedAt   string `json:"startedAt"`
	CompletedAt string `json:"completedAt,omitempty"`
	ErrorMsg    string `json:"errorMsg,omitempty"`
}

// maxOver limits the finished tasks in a list. maxTaskText limits the text of a goal, in
// characters.
const (
	maxOver     = 100
	maxTaskText = 2000
)

func listTasks(ctx context.Context, c *call, _ noParams) (any, error) {
	s := c.server
	records, err := s.records(ctx, company.ListJobsParams{Newest: true, Limit: 5000})
	if err != nil {
		return nil, err
	}
	rows, over := []backgroundTask{}, 0
	for _, r := range records {
		if r.Over() {
			if over++; over > maxOver {
				continue
			}
		}
		e, err := s.execution(ctx, r)
		if err != nil {
			return nil, err
		}
		goal := []rune(r.Job.Goal)
		rows = append(rows, backgroundTask{
			ID: r.Job.JobID, Task: string(goal[:min(len(goal), maxTaskText)]), AgentType: e.agent, Status: e.taskStatus(), Progress: progressOf(e.phases),
			StartedAt: e.startedAt, CompletedAt: e.completedAt, ErrorMsg: e.failure,
		})
	}
	return rows, nil
}

func cancelTask(ctx context.Context, c *call, p taskParams) (any, error) {
	s := c.server
	found, err := s.find(ctx, p.TaskID)
	switch {
	case fault.Is(err, fault.NotFound):
		return nil, protocolError("unknown task: " + p.TaskID)
	case err != nil || found.over:
		return nil, err
	case found.flow != nil:
		_, err = dialect.Do(ctx, s.Company, orchestration.Operations.CancelWorkflow, s.flow(p.TaskID))
	default:
		_, err = dialect.Do(ctx, s.Company, (*company.Company).CancelJob, s.named(p.TaskID))
	}
	return nil, err
}
