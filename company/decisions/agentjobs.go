package decisions

// The jobs of a project as an agent sees them, and jobs that it launches itself.

import (
	"cmp"
	"context"
	"slices"

	"ac/company"
	"ac/events"
	"ac/governance"
	"ac/governance/policy"
	"ac/heartbeat/job"
	"ac/internal/fault"
	runpolicy "ac/runs/policy"
	"ac/workspace/doc"
)

// AgentJobsParams select jobs of the project that an agent works in.
type AgentJobsParams struct {
	company.AsAgent
	Status string `json:"status" is:"optional,enum=queued|running|completed|canceled"`
	Limit  int    `json:"limit" is:"default=20,min=1,max=100"`
}

// AgentJob is a job in a list.
type AgentJob struct {
	JobID    string `json:"job_id"`
	Goal     string `json:"goal"`
	Status   string `json:"status"`
	Worker   string `json:"worker"`
	Attempts int    `json:"attempts"`
}

// AgentJobs lists the jobs that an agent may see, newest first: those of its team, and those that
// it launched or works on. It starts no runner and reconciles no job.
func (c Operations) AgentJobs(_ context.Context, p AgentJobsParams) ([]AgentJob, error) {
	list := []AgentJob{}
	_, actor, err := c.ActingAgent(p.AsAgent)
	if err != nil {
		return list, err
	}
	records, err := job.All(c.Workspace(), p.ProjectID)
	slices.SortStableFunc(records, func(a, b doc.Job) int { return cmp.Compare(b.CreatedAt, a.CreatedAt) })
	for _, r := range records {
		own := r.Job.WorkerAgentID == p.AgentID || r.Job.ManagerActorID == p.AgentID
		if p.Status != "" && r.Status != p.Status || !own && c.MayRead(actor, c.TeamResource("job", r.Job.JobID, r.Job.WorkerAgentID)) != nil {
			continue
		}
		if list = append(list, AgentJob{r.Job.JobID, r.Job.Goal, r.Status, cmp.Or(r.Job.WorkerAgentID, r.Job.WorkerKind), len(r.Attempts)}); len(list) == p.Limit {
			break
		}
	}
	return list, err
}

// AgentLaunchParams describe a job that an agent launches.
type AgentLaunchParams struct {
	company.AsAgent
	Goal            string    `json:"goal" is:"maxbytes=65536"`
	WorkerAgentID   string    `json:"worker_agent_id" is:"optional,id"` // the launching agent if empty
	Deliverables    []string  `json:"deliverables" is:"optional"`
	Constraints     []string  `json:"constraints" is:"optional"`
	PermissionLevel doc.Level `json:"permission_level" is:"default=read-only,enum=read-only|patch|run-commands"`
	// Level is the permission level of the launching run.
	Level doc.Level `json:"-"`
}

// maxOpenJobs bounds how many open jobs one run may have launched.
const maxOpenJobs = 5

// AgentLaunch records a job that an agent launches. The job is durable on return but has no
// runner yet: a runner started by the agent's own process would end with the agent (job.Start).
// The error is fault.Denied with the rule that denies it, or fault.BudgetExceeded.
func (c Operations) AgentLaunch(ctx context.Context, p AgentLaunchParams) (id string, err error) {
	brief, actor, err := c.ActingAgent(p.AsAgent)
	if err != nil {
		return "", err
	}
	worker, err := c.Workspace().Agent(cmp.Or(p.WorkerAgentID, p.AgentID))
	if err != nil {
		return "", err
	}
	spec := doc.JobSpec{
		SchemaVersion: doc.Version, Type: "job", JobKind: doc.JobExecution, WorkerKind: doc.AnyWorkerKindOf(worker.Provider), WorkspaceDir: c.Path(),
		ProjectID: p.ProjectID, Goal: p.Goal, Constraints: append([]string{}, p.Constraints...), Deliverables: append([]string{}, p.Deliverables...),
		PermissionLevel: string(p.PermissionLevel), WorkerAgentID: worker.ID,
		ContextRefs:    []doc.ContextRef{{Kind: "note", Value: p.RunID, Description: company.OriginNote}},
		ManagerActorID: p.AgentID, ManagerRole: brief.Role, ManagerTeamID: brief.TeamID,
	}
	if !job.CanRunJobs(worker) {
		return "", fault.New(fault.Conflict, "agent %s has the provider %s and no command line: it can do no jobs", worker.ID, worker.Provider)
	}
	if err := c.Admission().Afford(c.Workspace(), p.ProjectID); err != nil {
		return "", err
	}
	err = governance.Govern(ctx, c.Workspace(), func(g *governance.PolicyUnit) error {
		resource := c.TeamResource("job", p.ProjectID, worker.ID)
		if _, err := g.Enforce(p.ProjectID, policy.Question{Action: policy.Launch, Resource: resource, Actor: actor, RunID: p.RunID}); err != nil {
			return err
		}
		if err := c.launchable(p); err != nil {
			return err
		}
		if id, _, err = job.Enqueue(g.Unit, nil, spec, nil); err != nil { // its runner starts elsewhere
			return err
		}
		return g.Emit(p.ProjectID, p.RunID, events.Draft{Actor: p.AgentID, Visibility: events.VisibilityTeam, Type: events.JobLaunched}, company.LaunchedPayload{JobID: id, Goal: p.Goal})
	})
	return id, err
}

// launchable rejects a job above the permission level of its run, a job launched from within such
// a job, and a job beyond maxOpenJobs.
func (c Operations) launchable(p AgentLaunchParams) error {
	if !runpolicy.AtLeast(p.Level, p.PermissionLevel) {
		return fault.New(fault.Denied, "launch.level: permission level %s is above %s, the level of the run", p.PermissionLevel, p.Level)
	}
	records, err := job.All(c.Workspace(), p.ProjectID)
	if err != nil {
		return err
	}
	open := 0
	for _, r := range records {
		origin := company.OriginOf(r.Job)
		if origin == "" {
			continue
		}
		if slices.ContainsFunc(r.Attempts, func(a doc.JobAttempt) bool { return a.RunID == p.RunID }) {
			return fault.New(fault.Denied, "launch.depth: the run belongs to a job that an agent launched")
		}
		if origin == p.RunID && !r.Over() {
			open++
		}
	}
	if open >= maxOpenJobs {
		return fault.New(fault.Denied, "launch.open: %d jobs of this run are open already", open)
	}
	return nil
}
