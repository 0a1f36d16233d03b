package workflow

// Advancing a run: one unit records the results of its jobs, what comes next and all effects. Every
// process that polls a run with Advance may do this.

import (
	"context"
	"errors"
	"slices"
	"strings"

	"ac/events"
	"ac/heartbeat/job"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/runs"
	"ac/runs/interaction"
	"ac/workspace"
	"ac/workspace/doc"
)

// afterCommit is what to do once a unit is durable.
type afterCommit struct {
	starts []func(context.Context) error
	jobs   []string // ids of the jobs to start, parallel to starts
	cancel []string
}

// errUnchanged means that there is nothing to write.
var errUnchanged = errors.New("nothing changes")

// change makes one change to a record, decides what follows from it, and writes both in one unit.
// fn returns the events of its change.
func (f Flows) change(ctx context.Context, project, run string, fn func(*workspace.Unit, *doc.WorkflowRun) ([]Event, error)) (record doc.WorkflowRun, err error) {
	var after afterCommit
	err = f.Workspace.Update(ctx, func(u *workspace.Unit) error {
		if record, err = loadIn(u, project, run); err != nil {
			return err
		}
		changed := record
		first, err := fn(u, &changed)
		if err != nil {
			return err
		}
		templates, err := Templates(changed)
		if err != nil {
			return err
		}
		d, err := f.decide(u, changed, templates)
		if err != nil {
			return err
		}
		d.Events = append(first, d.Events...)
		after, err = f.commit(u, record, d)
		record = d.Record
		return err
	})
	switch refusal, denied := errors.AsType[*refused](err); {
	case errors.Is(err, errUnchanged):
		return record, nil
	case denied:
		return record, errors.Join(f.keepRefusal(ctx, refusal), refusal.error)
	case err != nil:
		return record, err
	}
	return record, f.carryOut(ctx, record, after)
}

// decide records the results of a run's jobs and decides what comes next.
func (f Flows) decide(u *workspace.Unit, record doc.WorkflowRun, templates []*doc.WorkflowTemplate) (Decision, error) {
	agents, err := f.Workspace.Agents()
	if err != nil {
		return Decision{}, err
	}
	w := f.Workspace
	now := clock.Stamp(w.Env.Clock.Now())
	peek := func(project, id string) (doc.Job, error) { return job.LoadIn(u, project, id) }
	record, ended := recordJobResults(w, record, now, peek)
	d := Next(templates, record, World{Now: now, Agents: agents})
	d.Events = append(ended, d.Events...)
	for _, q := range d.Questions {
		d.Record.Steps[q.Step].InteractionID = w.Env.IDs.New("int")
	}
	d.Events = f.withQuestions(d)
	return d, nil
}

// withQuestions inserts the request of each new question after the event that starts its step. It
// inserts the cancellation of each question that is no longer needed before the event that ends its
// step.
func (f Flows) withQuestions(d Decision) (list []Event) {
	asked := map[string]Question{}
	for _, q := range d.Questions {
		asked[d.Record.Steps[q.Step].Step] = q
	}
	for _, e := range d.Events {
		if ended, ok := e.Payload.(stepEndedPayload); ok && ended.Status == doc.StepCanceled {
			if s := stepNamed(d.Record, ended.Step); s.InteractionID != "" {
				list = append(list, Event{events.InteractionResolved, interaction.Resolution{
					InteractionID: s.InteractionID, Kind: interaction.Input, State: interaction.Cancelled,
					Outcome: interaction.Outcome{By: events.ActorSystem, Reason: interaction.Stopped},
				}})
			}
		}
		list = append(list, e)
		if started, ok := e.Payload.(stepStartedPayload); ok {
			if q, ok := asked[started.Step]; ok {
				list = append(list, Event{events.InteractionRequested, f.request(d.Record.Steps[q.Step], q)})
			}
		}
	}
	return list
}

func (f Flows) request(s doc.FlowStep, q Question) interaction.Request {
	title := q.Node.Label()
	if line, _, _ := strings.Cut(strings.TrimSpace(q.Prompt), "\n"); line != "" {
		title = line
	}
	return interaction.Request{
		InteractionID: s.InteractionID, Kind: interaction.Input, Workflow: &interaction.Workflow{Name: q.Node.Label()},
		Title: title, Prompt: q.Prompt, RequestedAt: s.StartedAt, OnTimeout: interaction.CancelOnTimeout,
	}.Bounded()
}

func stepNamed(record doc.WorkflowRun, step string) doc.FlowStep {
	for _, s := range record.Steps {
		if s.Step == step {
			return s
		}
	}
	return doc.FlowStep{}
}

// recordJobResults records the results of the live steps' jobs in a copy of the record.
func recordJobResults(w *workspace.Workspace, record doc.WorkflowRun, now string, read func(project, id string) (doc.Job, error)) (doc.WorkflowRun, []Event) {
	e := &engine{world: World{Now: now}, d: Decision{Record: record}}
	e.d.Record.Steps = append([]doc.FlowStep{}, record.Steps...)
	for i := range e.d.Record.Steps {
		s := &e.d.Record.Steps[i]
		if s.Over() || s.JobID == "" {
			continue
		}
		found, err := read(record.ProjectID, s.JobID)
		switch {
		case fault.Is(err, fault.NotFound):
			e.endStep(i, doc.StepFailed, "", &doc.FlowError{Code: "job_missing", Message: "job " + s.JobID + " is gone", Step: s.Step})
		case err != nil:
			e.endStep(i, doc.StepFailed, "", &doc.FlowError{Code: string(fault.InvalidFile), Message: err.Error(), Step: s.Step})
		case found.Over():
			e.settleSteers(w, s.Step, found)
			e.take(w, i, found)
		case found.Status == doc.JobRunning:
			s.Status = doc.StepRunning
		}
	}
	return e.d.Record, e.d.Events
}

// take ends a step with the result of its finished job.
func (e *engine) take(w *workspace.Workspace, i int, found doc.Job) {
	s := &e.d.Record.Steps[i]
	left, err := job.Collect(w, e.d.Record.ProjectID, s.JobID)
	if err == nil && left.Result == nil {
		err = fault.New(fault.InvalidFile, "job %s is over and has no result", s.JobID)
	}
	if err != nil {
		e.endStep(i, doc.StepFailed, "", &doc.FlowError{Code: string(fault.InvalidFile), Message: err.Error(), Step: s.Step})
		return
	}
	if left.Result.Status == doc.ResultSucceeded && left.Answer != nil {
		switch a := left.Answer.Answer; {
		case a.Verdict != nil:
			s.Approved = &a.Verdict.Approved
		case a.Plan != nil:
			s.Done, s.Tasks = &a.Plan.Done, a.Plan.Tasks
		}
		e.endStep(i, doc.StepSucceeded, left.Answer.Answer.PlainText(), nil)
		return
	}
	if found.Status == doc.JobCanceled && (e.d.Record.CancellationRequested || e.d.Record.Error != nil) {
		e.endStep(i, doc.StepCanceled, "", nil)
		return
	}
	why := &doc.FlowError{Code: left.Result.Status, Message: left.Result.Summary, Step: s.Step}
	if len(left.Result.Errors) > 0 {
		why.Code, why.Message = left.Result.Errors[0].Code, left.Result.Errors[0].Message
	}
	e.endStep(i, doc.StepFailed, "", why)
}

// commit queues everything that a decision changes.
func (f Flows) commit(u *workspace.Unit, before doc.WorkflowRun, d Decision) (afterCommit, error) {
	r := d.Record
	text, err := doc.WorkflowRunCodec.Encode(r)
	if err != nil {
		return afterCommit{}, err
	}
	file := workspace.WorkflowRunFile(r.ProjectID, r.RunID)
	if old, err := doc.WorkflowRunCodec.Encode(before); err == nil && string(old) == string(text) && len(d.Events) == 0 {
		return afterCommit{cancel: d.Cancel}, nil
	}
	drafts, end, err := f.drafts(r, d.Events)
	if err != nil {
		return afterCommit{}, err
	}
	log := workspace.LogFile(r.ProjectID, r.RunID)
	if end != "" {
		u.Append(log, drafts[:len(drafts)-1]...)
		if err := runs.EndIn(u, r.ProjectID, r.RunID, end, drafts[len(drafts)-1]); err != nil {
			return afterCommit{}, err
		}
	} else if len(drafts) > 0 {
		u.Append(log, drafts...)
	}
	after, err := f.enqueueJobs(u, d)
	if err != nil {
		return after, err
	}
	// Written last: whoever reads that the workflow is over also finds its run and log closed.
	return after, u.Write(file, text, 0o644)
}

// closingPayload is the payload of the event that closes the log of a run.
type closingPayload struct {
	ExitCode *int    `json:"exit_code"`
	Signal   *string `json:"signal"`
	Stopped  bool    `json:"stopped"`
	Error    string  `json:"error,omitempty"`
	Reason   string  `json:"reason,omitempty"`
}

// statusOfRun returns the status of a run whose workflow has the given status.
func statusOfRun(status string) string {
	switch status {
	case doc.FlowSucceeded:
		return doc.StatusEnded
	case doc.FlowFailed:
		return doc.StatusFailed
	case doc.FlowCanceled:
		return doc.StatusStopped
	}
	return doc.StatusRunning
}

// drafts makes events for the log of a run. If one of them ends the workflow, the event that closes
// the log follows, and end is the status of the run.
func (f Flows) drafts(record doc.WorkflowRun, told []Event) (list []events.Draft, end string, err error) {
	draft := func(kind string, payload any) error {
		ref := localRef(record.RunID)
		if kind == events.InteractionRequested || kind == events.InteractionResolved {
			ref = "" // no session waits for the answer: the question is open as long as the run is live
		}
		d, err := f.Workspace.Events.Draft(events.Draft{
			RunID: record.RunID, SessionRef: ref, Actor: events.ActorSystem, Visibility: events.VisibilityTeam, Type: kind,
		}, payload)
		list = append(list, d)
		return err
	}
	for _, e := range told {
		if made, ok := e.Payload.(events.Draft); ok {
			list = append(list, made)
			continue
		}
		if err := draft(e.Type, e.Payload); err != nil {
			return nil, "", err
		}
	}
	if !slices.ContainsFunc(told, func(e Event) bool { return e.Type == eventEnded }) {
		return list, "", nil
	}
	end = statusOfRun(record.Status)
	closing := closingPayload{Stopped: record.Status == doc.FlowCanceled}
	switch {
	case record.Status == doc.FlowSucceeded:
		closing.ExitCode = new(0)
	case record.Error != nil:
		closing.ExitCode, closing.Error, closing.Reason = new(1), record.Error.Message, record.Error.Code
	}
	return list, end, draft("run."+end, closing)
}

// enqueueJobs queues the jobs of a decision.
func (f Flows) enqueueJobs(u *workspace.Unit, d Decision) (after afterCommit, err error) {
	after.cancel = d.Cancel
	for _, a := range d.Assignments {
		spec, order := f.jobOf(d.Record, a)
		id, start, err := job.EnqueueStep(u, f.Starter, spec, &order)
		if err != nil {
			return after, err
		}
		after.jobs, after.starts = append(after.jobs, id), append(after.starts, start)
	}
	return after, nil
}

// jobOf returns the job of a step.
func (f Flows) jobOf(record doc.WorkflowRun, a Assignment) (doc.JobSpec, doc.JobOrder) {
	task := a.Node.Task
	level := a.Template.Level(task)
	step := record.Steps[a.Step]
	spec := doc.JobSpec{
		SchemaVersion: doc.Version, Type: "job", JobID: step.JobID, JobKind: doc.JobExecution, WorkerKind: doc.AnyWorkerKindOf(a.Agent.Provider),
		WorkspaceDir: f.Workspace.Dir(), ProjectID: record.ProjectID, Goal: a.Goal, Constraints: []string{}, Deliverables: []string{},
		PermissionLevel: level, ContextRefs: []doc.ContextRef{}, WorkerAgentID: a.Agent.ID, Model: task.Model,
		ManagerActorID: record.StartedBy.ActorID, ManagerRole: record.StartedBy.ActorRole,
	}
	order := doc.JobOrder{
		Answer: task.Answer, Instructions: a.Instructions, Attachments: a.Attachments, Attempts: task.Attempts, TimeoutMS: task.TimeoutMS,
		Interactive: task.Interactive, Mode: task.Mode, Rules: task.Rules,
		Origin: &doc.JobOrigin{Kind: job.FlowOrigin, Ref: job.FlowRef(record.RunID, step.Step)},
	}
	if place := placeOf(record, a.Template); place != nil {
		at := *place
		if hasTree(place) {
			// The worktree is made for the first task that may write. Read-only tasks before it
			// work in the repository itself.
			if a.Writes {
				at.Isolation, at.BaseRunID = doc.IsolationShared, record.RunID
			} else {
				at.Isolation, at.Base = doc.IsolationNone, ""
			}
		}
		order.Place = &at
	}
	return spec, order
}

// carryOut starts the jobs of a decision and cancels those that are no longer needed. A start that
// fails ends its job; the next Advance records that.
func (f Flows) carryOut(ctx context.Context, record doc.WorkflowRun, after afterCommit) (err error) {
	for i, start := range after.starts {
		if f.Launched != nil {
			f.Launched(record.ProjectID, after.jobs[i])
		}
		err = errors.Join(err, start(ctx))
	}
	for _, id := range after.cancel {
		_, cancelErr := job.Cancel(ctx, f.Workspace, f.Starter, record.ProjectID, id)
		if !fault.Is(cancelErr, fault.NotFound) {
			err = errors.Join(err, cancelErr)
		}
	}
	return err
}

// Advance returns the current record of a run. As far as this is due, it records the results of the
// run's jobs, begins the next steps, and takes over jobs whose runners died. If nothing is due, it
// writes nothing.
func (f Flows) Advance(ctx context.Context, project, run string) (doc.WorkflowRun, error) {
	record, err := Load(f.Workspace, project, run)
	if err != nil || record.Over() {
		return record, err
	}
	for _, s := range record.Steps {
		if s.JobID == "" || s.Over() {
			continue
		}
		if _, err := job.Poll(ctx, f.Workspace, f.Starter, project, s.JobID); err != nil && !fault.Is(err, fault.NotFound) {
			return record, err
		}
	}
	due, view := f.due(project, run)
	if !due {
		return view, nil
	}
	record, err = f.change(ctx, project, run, func(_ *workspace.Unit, r *doc.WorkflowRun) ([]Event, error) {
		if r.Over() {
			return nil, errUnchanged
		}
		return nil, nil
	})
	if fault.Is(err, fault.Locked) {
		return view, nil // the next Advance does it
	}
	return record, err
}

// due reports whether a run has results to record or next steps to begin. view is the record as it
// is to be shown until then.
func (f Flows) due(project, run string) (bool, doc.WorkflowRun) {
	record, err := Load(f.Workspace, project, run)
	if err != nil || record.Over() {
		return false, record
	}
	glance := func(project, id string) (doc.Job, error) { return job.Load(f.Workspace, project, id) }
	view, ended := recordJobResults(f.Workspace, record, "", glance)
	if len(ended) > 0 || record.CancellationRequested || record.Error != nil {
		return true, record
	}
	live := false
	for _, s := range view.Steps {
		live = live || !s.Over()
	}
	return !live, view
}

// AfterJob advances the workflow run that a finished job is a step of. A runner calls it last, so a
// workflow continues without any server.
func AfterJob(ctx context.Context, w *workspace.Workspace, starter *job.Starter, project, id string) error {
	found, err := job.Load(w, project, id)
	if err != nil {
		return err
	}
	run, _, ok := job.FlowOf(found)
	if !ok {
		return nil
	}
	_, err = Flows{Workspace: w, Starter: starter}.Advance(ctx, project, run)
	if fault.Is(err, fault.NotFound) {
		return nil // the job claims a workflow that does not exist
	}
	return err
}

// AdvanceAll calls Advance for every unfinished workflow run, as a server does when it first opens a
// workspace. A failure with one run does not affect the others.
func (f Flows) AdvanceAll(ctx context.Context) (err error) {
	projects, err := workspace.Dirs(f.Workspace.FS, workspace.ProjectsDir)
	for _, project := range projects {
		ids, listErr := All(f.Workspace, project)
		err = errors.Join(err, listErr)
		for _, run := range ids {
			if ctx.Err() != nil {
				return err
			}
			_, lookErr := f.Advance(ctx, project, run)
			err = errors.Join(err, lookErr)
		}
	}
	return err
}

// All returns the ids of a project's runs that are workflow runs.
func All(w *workspace.Workspace, project string) (ids []string, err error) {
	dirs, err := workspace.Dirs(w.FS, workspace.RunsDir(project))
	for _, run := range dirs {
		if w.Exists(workspace.WorkflowRunFile(project, run)) {
			ids = append(ids, run)
		}
	}
	return ids, err
}
