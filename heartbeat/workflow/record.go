package workflow

// Reading and writing the records of workflow runs, and starting runs.

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"ac/events"
	"ac/governance/policy"
	"ac/heartbeat/job"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/internal/shape"
	"ac/internal/yamldoc"
	"ac/runs"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// Provider is the provider of workflow runs.
const Provider = "workflow"

// defaultAgent owns a run whose flow does not begin with an agent's task.
const defaultAgent = "agent_global_manager"

// Flows manages the workflows of one workspace. It is safe for concurrent use.
type Flows struct {
	Workspace *workspace.Workspace
	Starter   *job.Starter
	// Launched is called for each job before its runner starts; it may be nil.
	Launched func(project, job string)
}

// Load reads the record of a workflow run. For any other run it returns fault.NotFound.
func Load(w *workspace.Workspace, project, run string) (doc.WorkflowRun, error) {
	record, err := workspace.Load(w, doc.WorkflowRunCodec, workspace.WorkflowRunFile(project, run))
	return checked(record, project, run, err)
}

// IsWorkflowRun reports whether a run is a workflow run.
func IsWorkflowRun(w *workspace.Workspace, project, run string) bool {
	return w.Exists(workspace.WorkflowRunFile(project, run))
}

func loadIn(u *workspace.Unit, project, run string) (doc.WorkflowRun, error) {
	record, err := workspace.LoadIn(u, doc.WorkflowRunCodec, workspace.WorkflowRunFile(project, run))
	return checked(record, project, run, err)
}

func checked(record doc.WorkflowRun, project, run string, err error) (doc.WorkflowRun, error) {
	file := workspace.WorkflowRunFile(project, run)
	switch {
	case fault.Is(err, fault.NotFound):
		return record, fault.New(fault.NotFound, "run %s of project %s is no run of a workflow", run, project)
	case err != nil:
		return record, err
	case len(record.Rounds) == 0:
		return record, fault.New(fault.InvalidFile, "%s has no round", file)
	}
	for _, r := range record.Rounds {
		if r.Template >= len(record.Templates) {
			return record, fault.New(fault.InvalidFile, "%s: round %d names a template that is not there", file, r.Round)
		}
	}
	return record, workspace.CheckID(file, run, record.RunID)
}

// Templates reads the templates of a record.
func Templates(record doc.WorkflowRun) ([]*doc.WorkflowTemplate, error) {
	list := make([]*doc.WorkflowTemplate, len(record.Templates))
	for i := range record.Templates {
		t, err := doc.BindWorkflow(&record.Templates[i])
		if err != nil {
			return nil, fault.New(fault.InvalidFile, "template %d of run %s: %w", i, record.RunID, err)
		}
		list[i] = &t
	}
	return list, nil
}

// Start is the input of a new workflow run.
type Start struct {
	ProjectID  string
	RunID      string // a new one if empty
	WorkflowID string // "" for a template that the client sent
	Template   shape.Value
	Input      string
	Inputs     map[string]string
	Priority   string
	Place      *doc.JobPlace
	Origin     *doc.JobOrigin
	SourcePath string
	Budget     *doc.Budget // of all attempts; nil for the template's budget
	Actor      policy.Actor
	// Said are texts for the first task, treated as if they were sent while it runs; each has at
	// most 64 KiB. Notices are written to the run's log.
	Said, Notices []string
}

// Run starts a workflow run. Its record, its first jobs and its log are durable on return, and
// their runners have been started. Errors are fault.InvalidParams for missing inputs,
// fault.InvalidFile for an invalid template, fault.RunExists for a run_id that is taken, and
// fault.Denied for an actor who may not launch.
func (f Flows) Run(ctx context.Context, s Start) (doc.WorkflowRun, error) {
	template, err := doc.BindWorkflow(&s.Template)
	if err != nil {
		return doc.WorkflowRun{}, err
	}
	if issues := ModeIssues(&template); len(issues) > 0 {
		return doc.WorkflowRun{}, fault.Invalid(issues...)
	}
	for _, in := range template.Inputs {
		if _, ok := s.Inputs[in.Name]; in.Required && !ok {
			return doc.WorkflowRun{}, fault.Invalid(fault.Issue{Path: []any{"inputs", in.Name}, Code: "invalid_type", Expected: "string", Message: "is required"})
		}
	}
	var record doc.WorkflowRun
	var after afterCommit
	err = f.Workspace.Update(ctx, func(u *workspace.Unit) (err error) {
		record, after, err = f.begin(u, s, &template)
		return err
	})
	if refusal, ok := errors.AsType[*refused](err); ok {
		return record, errors.Join(f.keepRefusal(ctx, refusal), refusal.error)
	}
	if err != nil {
		return record, err
	}
	f.Workspace.NotifyAppend(workspace.LogFile(record.ProjectID, record.RunID))
	return record, f.carryOut(ctx, record, after)
}

// refused is a launch that the policy refuses, with the events of that decision.
type refused struct {
	error
	told []events.Draft
}

// keepRefusal writes a refusal to the audit log, which holds decisions without a run.
func (f Flows) keepRefusal(ctx context.Context, r *refused) error {
	return f.Workspace.Update(ctx, func(u *workspace.Unit) error {
		u.Append(workspace.AuditLog, r.told...)
		return nil
	})
}

// begin queues a run, its record, its log and its first jobs.
func (f Flows) begin(u *workspace.Unit, s Start, template *doc.WorkflowTemplate) (record doc.WorkflowRun, after afterCommit, err error) {
	w := f.Workspace
	project, err := w.Project(s.ProjectID)
	if err != nil {
		return record, after, err
	}
	if s.RunID == "" {
		s.RunID = w.Env.IDs.New("run")
	}
	verdict := policy.Ask(w, policy.Question{Action: policy.Launch, RunID: s.RunID, Actor: s.Actor, Resource: policy.Resource{
		ID: s.RunID, Kind: "run", Visibility: events.VisibilityOrg,
	}})
	told, err := verdict.Events(w.Events)
	if err != nil {
		return record, after, err
	}
	if refusal := verdict.Refusal(); refusal != nil {
		return record, after, &refused{refusal, told}
	}
	now := clock.Stamp(w.Env.Clock.Now())
	record = doc.WorkflowRun{
		SchemaVersion: doc.Version, Type: "workflow_run", RunID: s.RunID, ProjectID: project.ID, WorkflowID: s.WorkflowID,
		Templates: []shape.Value{s.Template}, SourcePath: s.SourcePath, Input: s.Input, Inputs: s.Inputs, Priority: s.Priority, Place: s.Place,
		Origin: s.Origin, StartedBy: doc.FlowActor{ActorID: s.Actor.ID, ActorRole: s.Actor.Role}, Status: doc.FlowRunning,
		Rounds: []doc.FlowRound{{Round: 1, Input: s.Input, StartedAt: now}}, Steps: []doc.FlowStep{},
	}
	if record.Inputs == nil {
		record.Inputs = map[string]string{}
	}
	if place := placeOf(record, template); place != nil && place.Isolation == doc.IsolationShared {
		if err := job.CheckSharable(w, project.ID, place.BaseRunID); err != nil {
			return record, after, err
		}
	}
	if err := f.mayWrite(record, template, s.Actor); err != nil {
		return record, after, err
	}
	said, err := f.keepSaid(&record, s)
	if err != nil {
		return record, after, err
	}
	d, err := f.decide(u, record, []*doc.WorkflowTemplate{template})
	if err != nil {
		return record, after, err
	}
	record = d.Record
	unmet, err := f.unmet(template)
	if err != nil {
		return record, after, err
	}
	began := Event{eventStarted, startedPayload{orNull(s.WorkflowID), template.Name, template.Pattern(), template.StepCount()}}
	drafts, end, err := f.drafts(record, slices.Concat(said, []Event{began}, noticed(s.Notices), unmet, d.Events))
	if err != nil {
		return record, after, err
	}
	text, err := doc.WorkflowRunCodec.Encode(record)
	if err != nil {
		return record, after, err
	}
	_, err = runs.CreateWith(u, project.ID, firstAgent(record), Provider, runs.Beginning{
		RunID: record.RunID, Budget: cmp.Or(s.Budget, template.Budget), Events: slices.Concat(told, drafts), End: end,
		Files: []workspace.TreeFile{{Name: "workflow.yaml", Content: text}},
	})
	if err != nil {
		return record, after, err
	}
	after, err = f.enqueueJobs(u, d)
	return record, after, err
}

// mayWrite refuses a worker's request for a run whose tasks change a repository without isolation.
func (f Flows) mayWrite(record doc.WorkflowRun, t *doc.WorkflowTemplate, actor policy.Actor) error {
	place := placeOf(record, t)
	if place == nil || place.Isolation != doc.IsolationNone {
		return nil
	}
	who, err := policy.Effective(f.Workspace, actor)
	if err != nil || who.Role != "worker" {
		return err
	}
	for _, n := range t.Nodes {
		if n.Task != nil && t.Level(n.Task) != "read-only" {
			return fault.New(fault.Denied, "task %s may change the repository itself: that needs a manager or a person", n.Key())
		}
	}
	return nil
}

// firstAgent returns the agent that owns the run.
func firstAgent(record doc.WorkflowRun) string {
	for _, s := range record.Steps {
		if s.AgentID != "" {
			return s.AgentID
		}
	}
	return defaultAgent
}

// placeOf returns where the tasks of a run work, nil for the workspace.
func placeOf(record doc.WorkflowRun, t *doc.WorkflowTemplate) *doc.JobPlace {
	if record.Place != nil {
		return record.Place
	}
	return t.Place
}

// Continue runs the flow of a finished run again, as another round of the same record. It accepts a
// new input and optionally another template. An unfinished run is fault.RunBusy.
func (f Flows) Continue(ctx context.Context, again ContinueRequest) (record doc.WorkflowRun, err error) {
	project, run, with, actor := again.ProjectID, again.RunID, again.Template, again.Actor
	var given *doc.WorkflowTemplate
	if with != nil {
		template, err := doc.BindWorkflow(with)
		if err != nil {
			return record, err
		}
		if issues := ModeIssues(&template); len(issues) > 0 {
			return record, fault.Invalid(issues...)
		}
		given = &template
	}
	if _, err := f.Advance(ctx, project, run); err != nil {
		return record, err
	}
	return f.change(ctx, project, run, func(u *workspace.Unit, r *doc.WorkflowRun) ([]Event, error) {
		if !r.Over() {
			return nil, fault.New(fault.RunBusy, "run %s goes on: it is %s", run, r.Status)
		}
		told, err := f.mayLaunch(run, actor)
		if err != nil {
			return told, err
		}
		var unmet []Event
		templates, err := Templates(*r)
		if err != nil {
			return nil, err
		}
		template := r.Round().Template
		flow := templates[template]
		if given != nil {
			flow = given
			if unmet, err = f.unmet(given); err != nil {
				return nil, err
			}
		}
		if again.Moves {
			r.Place = again.Place
		}
		if err := f.mayWrite(*r, flow, actor); err != nil {
			return nil, err
		}
		if with != nil {
			template = slices.IndexFunc(r.Templates, func(v shape.Value) bool { return equalDocuments(v, *with) })
			if template < 0 {
				template = len(r.Templates)
				r.Templates = append(slices.Clone(r.Templates), *with)
			}
		}
		from := statusOfRun(r.Status)
		round := r.Round().Round + 1
		r.Rounds = append(slices.Clone(r.Rounds), doc.FlowRound{Round: round, Template: template, Input: again.Input, StartedAt: clock.Stamp(f.Workspace.Env.Clock.Now())})
		r.Status, r.Error, r.Text, r.EndedAt, r.CancellationRequested = doc.FlowRunning, nil, "", "", false
		told = append(told, Event{events.RunContinued, continuedPayload{from}}, Event{eventRound, roundPayload{round}})
		return slices.Concat(told, noticed(again.Notices), unmet), f.reopen(u, project, run)
	})
}

type continuedPayload struct {
	FromStatus string `json:"from_status"`
}

// mayLaunch asks the policy whether an actor may continue a run. It returns the events of the
// decision.
func (f Flows) mayLaunch(run string, actor policy.Actor) ([]Event, error) {
	verdict := policy.Ask(f.Workspace, policy.Question{Action: policy.Launch, RunID: run, Actor: actor, Resource: policy.Resource{
		ID: run, Kind: "run", Visibility: events.VisibilityOrg,
	}})
	told, err := verdict.Events(f.Workspace.Events)
	if err != nil {
		return nil, err
	}
	if refusal := verdict.Refusal(); refusal != nil {
		return nil, &refused{refusal, told}
	}
	var list []Event
	for i := range told {
		list = append(list, Event{"", told[i]})
	}
	return list, nil
}

// reopen marks the record of a run as running again.
func (f Flows) reopen(u *workspace.Unit, project, run string) error {
	file := workspace.RunFile(project, run)
	record, err := workspace.LoadIn(u, doc.RunCodec, file)
	if err != nil {
		return err
	}
	record.Status, record.EndedAt, record.Error, record.ErrorKind = doc.StatusRunning, "", "", ""
	return workspace.Put(u, doc.RunCodec, file, record, 0o644)
}

// equalDocuments reports whether two documents are equal.
func equalDocuments(a, b shape.Value) bool {
	x, errX := yamldoc.EncodeValue(a)
	y, errY := yamldoc.EncodeValue(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// Cancel requests the cancellation of a run and cancels its unfinished jobs. The request is durable
// on return. A run that is over stays unchanged.
func (f Flows) Cancel(ctx context.Context, project, run string) (doc.WorkflowRun, error) {
	record, err := f.change(ctx, project, run, func(_ *workspace.Unit, r *doc.WorkflowRun) ([]Event, error) {
		if r.Over() {
			return nil, errUnchanged
		}
		r.CancellationRequested = true
		return nil, nil
	})
	if err != nil || record.Over() {
		return record, err
	}
	return f.Advance(ctx, project, run)
}

// hasTree reports whether the tasks of a run have a worktree to share.
func hasTree(place *doc.JobPlace) bool {
	return place != nil && place.Isolation == doc.IsolationWorktree
}

// localRef returns the session_ref in the events of a run without a session.
func localRef(run string) string { return session.LocalRef(run) }
