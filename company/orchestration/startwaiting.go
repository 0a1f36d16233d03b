package orchestration

// run.steer with start: starting a session for a text if the run has none.

import (
	"context"
	"slices"
	"time"

	"ac/company"
	"ac/internal/fault"
	"ac/runs"
)

// StartParams describe the session to start for a text. Launch options have no effect if the run
// is continued.
type StartParams struct {
	RepoID      string `json:"repo_id" is:"optional"`
	Isolation   string `json:"isolation" is:"optional,enum=worktree|none"`
	WorkdirRel  string `json:"workdir_rel" is:"optional,path"`
	TaskID      string `json:"task_id" is:"optional,id"`
	MilestoneID string `json:"milestone_id" is:"optional,id"`
	resumeParams
	liveParams
}

// check rejects what could not be started.
func (p *StartParams) check() (issues []fault.Issue) {
	if p == nil {
		return nil
	}
	launch := LaunchParams{SessionRef: p.SessionRef, workParams: workParams{
		RepoID: p.RepoID, Isolation: p.Isolation, WorkdirRel: p.WorkdirRel, TaskID: p.TaskID, MilestoneID: p.MilestoneID, Env: p.Env, liveParams: p.liveParams,
	}}
	issues = launch.CheckFields()
	for i := range issues {
		issues[i].Path = slices.Concat([]any{"start"}, issues[i].Path)
	}
	return issues
}

// startGrace is how long the start of a session may continue after this process begins to shut
// down.
const startGrace = 1500 * time.Millisecond

// start starts a session in the background for the texts that wait for one. The log of the run
// records the texts and their delivery.
func (c Operations) start(p SteerParams) error {
	spec := p.Start.resumeParams.spec(c.Company, p.actParams)
	spec.RepoID, spec.WorkdirRel, spec.TaskID, spec.MilestoneID = p.Start.RepoID, p.Start.WorkdirRel, p.Start.TaskID, p.Start.MilestoneID
	spec.Live = p.Start.liveParams.spec(displayParams{})
	isolate(&spec.LaunchSpec, p.Start.Isolation)
	starter, err := c.starterForRun(&spec.LaunchSpec)
	if err != nil {
		return err
	}
	c.Host().Background(func(ending context.Context) {
		ctx, cancel := context.WithCancel(context.WithoutCancel(ending))
		defer cancel()
		stop := context.AfterFunc(ending, func() { time.AfterFunc(startGrace, cancel) })
		defer stop()
		_ = runs.StartWaiting(ctx, c.Workspace(), c.Admission(), starter, spec) // the log has it
	})
	return nil
}

// StartWaitingParams describe the session to start for texts that a process, now gone, sent to a
// run.
type StartWaitingParams struct {
	actParams
	Start *StartParams `json:"-"`
}

// StartWaiting starts a session, in the background, for the texts that wait for one in the log
// of a run. It is a no-op if there are none.
func (c Operations) StartWaiting(_ context.Context, p StartWaitingParams) (company.OK, error) {
	return company.OK{OK: true}, c.start(SteerParams{actParams: p.actParams, Start: p.Start})
}
