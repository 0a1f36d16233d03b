// Package workflow runs flows of tasks for agents: who does what after whom is
// decided by a plan that people wrote, not by the mood of a model.
//
// Invariants: what comes next is a pure function of the record, so that any process that
// looks at a run, in any process, decides the same; a step gets one job, whose id
// follows from the run and the step; record, jobs and events change in one unit;
// nothing needs a process that stays.
package workflow

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"ac/heartbeat/job"
	"ac/workspace/doc"
)

// World is what a decision depends on beside the record.
type World struct {
	Now    string      // a time stamp
	Agents []doc.Agent // by name
}

// Decision is what comes next in a run.
type Decision struct {
	Record doc.WorkflowRun
	Enter  []Assignment // jobs
	Cancel []string     // jobs that a failure, or a cancellation, leaves without use
	Asked  []Question
	Events []Event
}

// Assignment is a job to enter for a step that is new in the record.
type Assignment struct {
	Step         int // index into the record's steps
	Node         *doc.Node
	Template     *doc.WorkflowTemplate
	Agent        doc.Agent
	Goal         string
	Instructions string
	Attachments  []doc.Attachment
	// Writes says that a task of the run may have changed its worktree by now.
	Writes bool
}

// Question is a step that asks a person.
type Question struct {
	Step   int // index into the record's steps
	Node   *doc.Node
	Prompt string
}

// Event is an event for the log of the run, in order.
type Event struct {
	Type    string
	Payload any
}

// Codes of failures of a run that are no job's.
const (
	CodeUnavailable = "worker_unavailable"
	CodeTooMany     = "too_many_steps"
	CodeNotApproved = "not_approved"
	CodeExhausted   = "rounds_exhausted"
	CodeTooLong     = "too_much_text"
)

// Next decides what comes next in a run, from its record and the templates of its
// rounds. The record that is given stays as it is. Asked once too often it
// decides nothing new.
func Next(templates []*doc.WorkflowTemplate, record doc.WorkflowRun, world World) Decision {
	record.Steps, record.Rounds, record.Steer = slices.Clone(record.Steps), slices.Clone(record.Rounds), slices.Clone(record.Steer)
	e := &engine{templates: templates, world: world, d: Decision{Record: record}}
	if record.Over() {
		return e.d
	}
	// A worker that is missing fails its step, which may let others go on.
	for changed := true; changed; {
		changed = e.pass()
	}
	return e.d
}

// engine is one decision under way.
type engine struct {
	templates []*doc.WorkflowTemplate
	world     World
	d         Decision
	w         *walk
}

// pass walks all rounds once. It reports whether a new step failed at once, so that
// another pass decides what comes of that.
func (e *engine) pass() (again bool) {
	r := &e.d.Record
	e.noteFailedStep()
	e.noteSize()
	var end outcome
	e.w = newWalk(e)
	for i := range r.Rounds {
		round := r.Rounds[i]
		e.w.enterRound(e.templates[round.Template], round, i == len(r.Rounds)-1)
		end = e.w.node(e.w.template.Root, round.Input)
	}
	if end.state == failed && r.Error == nil {
		r.Error = end.err
	}
	switch {
	case e.w.failedAtOnce:
		return true
	case r.CancellationRequested || r.Error != nil:
		e.stop()
	case end.state == done:
		e.finish(doc.FlowSucceeded, end.text)
	default:
		r.Status = doc.FlowRunning
		if !e.live(true) && e.live(false) {
			r.Status = doc.FlowWaitingInput
		}
	}
	return false
}

// noteFailedStep keeps the first failure of a step in the round under way: from
// then on nothing new begins.
func (e *engine) noteFailedStep() {
	r := &e.d.Record
	nodes := e.templates[r.Round().Template].Nodes
	for _, s := range r.Steps {
		if r.Error != nil || s.Round != r.Round().Round || s.Status != doc.StepFailed {
			continue
		}
		i := slices.IndexFunc(nodes, func(n *doc.Node) bool { return n.Path == s.Path })
		if i < 0 || nodes[i].Task == nil || !nodes[i].Task.Continue || fatal(s.Error) {
			r.Error = stepError(s)
		}
	}
}

// noteSize ends a run whose texts grow beyond what its record can hold.
func (e *engine) noteSize() {
	size := 0
	for _, s := range e.d.Record.Steps {
		size += len(s.Text)
	}
	if size > maxTexts && e.d.Record.Error == nil {
		e.d.Record.Error = &doc.FlowError{Code: CodeTooLong, Message: "the texts of the steps are longer than a record can hold"}
	}
}

// live reports whether a step of the run goes on: one with a job, or one that waits
// for a person.
func (e *engine) live(jobs bool) bool {
	return slices.ContainsFunc(e.d.Record.Steps, func(s doc.FlowStep) bool {
		return !s.Over() && (s.Status != doc.StepWaiting) == jobs
	})
}

// stop ends a run that failed or was canceled, once nothing of it goes on.
func (e *engine) stop() {
	r := &e.d.Record
	for i := range r.Steps {
		s := &r.Steps[i]
		switch {
		case s.Over():
		case s.JobID != "":
			e.d.Cancel = append(e.d.Cancel, s.JobID)
		default:
			e.endStep(i, doc.StepCanceled, "", nil)
		}
	}
	r.Status = doc.FlowRunning
	if len(e.d.Cancel) > 0 {
		return
	}
	if r.CancellationRequested {
		r.Error = nil
		e.finish(doc.FlowCanceled, "")
		return
	}
	e.finish(doc.FlowFailed, "")
}

// finish ends the round under way, and with it the run.
func (e *engine) finish(status, text string) {
	r := &e.d.Record
	r.Status, r.Text, r.EndedAt = status, cutText(text, maxStepText), e.world.Now
	r.Round().EndedAt = e.world.Now
	e.tell(eventEnded, endedPayload{status, r.Error})
}

func (e *engine) tell(kind string, payload any) {
	e.d.Events = append(e.d.Events, Event{kind, payload})
}

// endStep ends a step and tells so.
func (e *engine) endStep(i int, status, text string, err *doc.FlowError) {
	s := &e.d.Record.Steps[i]
	s.Status, s.Text, s.Error, s.EndedAt = status, cutText(text, maxStepText), err, e.world.Now
	e.tell(eventStepEnded, stepEndedPayload{s.Step, status, len([]rune(s.Text)), err})
}

// begin makes the step of a task whose turn it is. It reports false where the run
// may not have another one.
func (e *engine) begin(n *doc.Node, call call, iteration int) {
	r := &e.d.Record
	step := doc.FlowStep{
		Step: strconv.Itoa(len(r.Steps) + 1), Node: n.Key(), Path: n.Path, Iteration: iteration, Round: e.w.round.Round,
		InputChars: len([]rune(call.input)), StartedAt: e.world.Now,
	}
	if n.Ask != nil {
		step.Status = doc.StepWaiting
		r.Steps = append(r.Steps, step)
		e.tell(eventStepStarted, startedOf(step))
		e.d.Asked = append(e.d.Asked, Question{len(r.Steps) - 1, n, n.Ask.Prompt})
		return
	}
	agent, ok := chosen(e.world.Agents, n.Task.Agent)
	jobs := 0
	for _, s := range r.Steps {
		if s.JobID != "" {
			jobs++
		}
	}
	step.Status = doc.StepQueued
	fail := func(code, message string) {
		r.Steps = append(r.Steps, step)
		e.tell(eventStepStarted, startedOf(step))
		e.endStep(len(r.Steps)-1, doc.StepFailed, "", &doc.FlowError{Code: code, Message: message, Step: step.Step})
		e.w.failedAtOnce = true
	}
	switch {
	case jobs >= e.w.template.MaxJobs:
		fail(CodeTooMany, "the run has had "+strconv.Itoa(jobs)+" jobs, which is as many as its template lets it have")
		return
	case !ok:
		fail(CodeUnavailable, "no agent that may do jobs fits "+describe(n.Task.Agent))
		return
	}
	step.AgentID, step.JobID = agent.ID, JobID(r.RunID, step.Step)
	r.Steps = append(r.Steps, step)
	e.tell(eventStepStarted, startedOf(step))
	a := e.w.assignment(n, call)
	a.Step, a.Node, a.Template, a.Agent = len(r.Steps)-1, n, e.w.template, agent
	a.Writes = slices.ContainsFunc(r.Steps, func(s doc.FlowStep) bool { return s.JobID != "" && e.w.writes(s) })
	e.useSteers(step.Step)
	e.d.Enter = append(e.d.Enter, a)
}

// chosen is the first agent that a task fits and that may do jobs.
func chosen(agents []doc.Agent, by doc.AgentChoice) (doc.Agent, bool) {
	i := slices.IndexFunc(agents, func(a doc.Agent) bool { return by.Fits(a) && job.Usable(a) })
	if i < 0 {
		return doc.Agent{}, false
	}
	return agents[i], true
}

// describe says in words what a task looks for.
func describe(c doc.AgentChoice) string {
	var said []string
	for _, w := range [][2]string{{"agent_id", c.AgentID}, {"name", c.Name}, {"team_id", c.TeamID}, {"role", c.Role}, {"provider", c.Provider}} {
		if w[1] != "" {
			said = append(said, w[0]+" "+w[1])
		}
	}
	return cmp.Or(strings.Join(said, ", "), "any")
}
