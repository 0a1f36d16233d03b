package autonoma

// Executions: jobs and workflow runs in the terms of the protocol.

import (
	"cmp"
	"context"
	"encoding/json"

	"ac/company"
	"ac/company/decisions"
	"ac/company/orchestration"
	"ac/dialect"
	"ac/events"
	"ac/internal/fault"
	"ac/runs/transcript"
	"ac/workspace/doc"
)

// execution is a job, or a run of a workflow, as clients see it.
type execution struct {
	id, agent, task        string
	startedAt, completedAt string
	phases                 [phaseCount]phase
	run                    string // of the newest attempt, "" if there is none yet
	queued, over, canceled bool
	succeeded              bool
	failure, text          string
	answer                 *doc.JobAnswer
	record                 *doc.Job
	flow                   *orchestration.WorkflowStatus // only for a run of a workflow
}

// status returns the status of an execution: success or failure, as the protocol defines, else
// queued or running.
func (e execution) status() string {
	switch {
	case e.queued:
		return "queued"
	case !e.over:
		return "running"
	case e.succeeded:
		return "success"
	}
	return "failure"
}

// taskStatus returns the status of a background task.
func (e execution) taskStatus() string {
	switch {
	case !e.over:
		return e.status()
	case e.canceled:
		return "cancelled"
	case e.succeeded:
		return "completed"
	}
	return "failed"
}

// find returns the execution with an id, fault.NotFound if there is none.
func (s *server) find(ctx context.Context, id string) (execution, error) {
	record, err := s.record(ctx, id)
	if err == nil && record.Job.JobKind == doc.JobExecution {
		return s.execution(ctx, record)
	}
	if err != nil && !unknown(err) {
		return execution{}, err
	}
	flow, err := dialect.Do(ctx, s.Company, orchestration.Operations.StatusOfWorkflow, orchestration.WorkflowStatusParams{Dir: s.In(), ProjectID: s.ProjectID, RunID: id, WithText: true})
	if unknown(err) {
		return execution{}, fault.New(fault.NotFound, "there is no execution %s", id)
	}
	if err != nil {
		return execution{}, err
	}
	return s.flowExecution(ctx, flow)
}

// unknown reports whether an error means that an id names nothing or is invalid.
func unknown(err error) bool {
	return fault.Is(err, fault.NotFound) || fault.Is(err, fault.InvalidParams)
}

// execution returns the current state of a job.
func (s *server) execution(ctx context.Context, record doc.Job) (e execution, err error) {
	e = execution{id: record.Job.JobID, task: record.Job.Goal, agent: record.Job.WorkerAgentID, startedAt: record.CreatedAt, record: &record}
	e.queued, e.over, e.canceled = record.Status == doc.JobQueued, record.Over(), record.Status == doc.JobCanceled
	if last := record.Last(); last != nil {
		e.agent, e.run, e.startedAt = cmp.Or(last.WorkerAgentID, e.agent), last.RunID, record.Attempts[0].StartedAt
	}
	h := history{created: record.CreatedAt, over: e.over}
	if e.over {
		e.completedAt = record.UpdatedAt
		h.resultAt, h.endedAt = record.UpdatedAt, record.UpdatedAt
		if err := s.conclude(ctx, &e); err != nil {
			return e, err
		}
	}
	h.succeeded = e.succeeded
	for i, a := range record.Attempts {
		past, err := s.attemptHistory(ctx, a)
		if err != nil {
			return e, err
		}
		past.again = i > 0 && record.Attempts[i-1].Status == doc.AttemptFailed
		h.attempts = append(h.attempts, past)
	}
	e.phases = phasesOf(h)
	return e, nil
}

// conclude adds the outcome of a finished job.
func (s *server) conclude(ctx context.Context, e *execution) error {
	found, err := dialect.Do(ctx, s.Company, (*company.Company).CollectJob, s.named(e.id))
	if err != nil {
		return err
	}
	if e.canceled {
		e.failure = "cancelled"
		return nil
	}
	if found.Result == nil {
		e.failure = "the job has no result"
		return nil
	}
	e.answer = found.Answer
	if e.answer != nil {
		e.text = e.answer.Answer.PlainText()
	}
	if e.succeeded = found.Result.Status == doc.ResultSucceeded; e.succeeded {
		return nil
	}
	e.failure = found.Result.Summary
	if len(found.Result.Errors) > 0 {
		e.failure = cmp.Or(found.Result.Errors[0].Message, e.failure)
	}
	if found.Result.Status == doc.ResultNeedsInput {
		e.failure = "the agent gave no usable answer: " + e.failure
	}
	return nil
}

// subscriptionPassed is the event of a worker whose program passed the subscription guard.
const subscriptionPassed = "worker.subscription_check.passed"

// firstEvents is how many events are read to find out how an attempt began. Output follows soon
// after the start.
const firstEvents = 12

// attemptHistory reads the history of an attempt from its log. The history is empty if the log does
// not exist yet or cannot be read.
func (s *server) attemptHistory(ctx context.Context, a doc.JobAttempt) (past attemptHistory, err error) {
	past.ended = a.EndedAt
	page, err := dialect.Do(ctx, s.Company, orchestration.Operations.ReplayEvents, orchestration.ReplayEventsParams{
		Dir: s.In(), ProjectID: s.ProjectID, RunID: a.RunID, Limit: firstEvents,
		EventTypes: []string{events.RunStarted, subscriptionPassed, events.PolicyDecision, events.RunExecuting, events.ProviderRaw},
	})
	if err != nil {
		return past, ctx.Err()
	}
	for _, e := range page.Events {
		past.note(e.Event)
	}
	past.items, err = s.items(ctx, a.RunID, transcript.KindMessage, transcript.KindReasoning, transcript.KindPlan, transcript.KindTool, transcript.KindFileChange)
	return past, err
}

// items returns the transcript items of a run, in order. There are none if the run's log does not
// exist yet or cannot be read.
func (s *server) items(ctx context.Context, run string, kinds ...string) ([]*transcript.Item, error) {
	shown, err := dialect.Do(ctx, s.Company, orchestration.Operations.Transcript, orchestration.TranscriptParams{
		Dir: s.In(), ProjectID: s.ProjectID, RunID: run, Limit: 5000, Kinds: kinds,
	})
	if err != nil {
		return nil, ctx.Err()
	}
	return transcript.Ordered(shown.Items), nil
}

// noted holds the fields of an event that a history needs.
type noted struct {
	Type    string `json:"type"`
	At      string `json:"ts_wallclock"`
	Payload struct {
		Allowed bool `json:"allowed"`
	} `json:"payload"`
}

func (a *attemptHistory) note(line []byte) {
	var e noted
	if json.Unmarshal(line, &e) != nil {
		return // events of these types always parse
	}
	first := func(at *string) {
		if *at == "" {
			*at = e.At
		}
	}
	switch e.Type {
	case events.RunStarted:
		first(&a.started)
	case subscriptionPassed:
		first(&a.checked)
	case events.PolicyDecision:
		if e.Payload.Allowed {
			first(&a.allowed)
		}
	case events.RunExecuting:
		first(&a.executing)
	case events.ProviderRaw:
		first(&a.output)
	}
}

// executionResult is the result of execution.status.
type executionResult struct {
	ExecutionID      string            `json:"executionId"`
	Status           string            `json:"status"`
	Phase            string            `json:"phase"`
	Progress         int               `json:"progress"`
	Phases           [phaseCount]phase `json:"phases"`
	Artifacts        []artifact        `json:"artifacts"`
	ArtifactsOmitted int               `json:"artifactsOmitted,omitempty"`
	Error            string            `json:"error,omitempty"`
	Text             string            `json:"text,omitempty"`
	AgentType        string            `json:"agentType"`
	Task             string            `json:"task"`
	StartedAt        string            `json:"startedAt"`
	CompletedAt      string            `json:"completedAt,omitempty"`
}

func executionStatus(ctx context.Context, c *call, p executionParams) (any, error) {
	e, err := c.server.find(ctx, p.ExecutionID)
	if fault.Is(err, fault.NotFound) {
		return nil, protocolError("unknown execution: " + p.ExecutionID)
	}
	if err != nil {
		return nil, err
	}
	c.logID = logID(e.run)
	if !e.over {
		c.after = func() { c.follow(e.id, e.phases) }
	}
	return c.server.result(ctx, e)
}

// result returns an execution with the files that it proposes.
func (s *server) result(ctx context.Context, e execution) (executionResult, error) {
	r := executionResult{
		ExecutionID: e.id, Status: e.status(), Phase: phaseOf(e.phases), Progress: progressOf(e.phases), Phases: e.phases, Artifacts: []artifact{},
		Error: e.failure, Text: e.text, AgentType: e.agent, Task: e.task, StartedAt: e.startedAt, CompletedAt: e.completedAt,
	}
	if !e.over {
		return r, nil
	}
	source := decisions.ListFilesParams{Dir: s.In(), ProjectID: s.ProjectID, JobID: e.id}
	if e.flow != nil {
		source.JobID, source.RunID = "", e.id
	}
	var err error
	r.Artifacts, r.ArtifactsOmitted, err = s.artifacts(ctx, source)
	return r, err
}
