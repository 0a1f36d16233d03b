// Package workflow runs flows of tasks for agents. A plan that people wrote, not a model, decides
// who does what in which order.
//
// Invariants:
//   - What comes next is a pure function of the record, so every process that polls a run
//     decides the same.
//   - A step gets one job, whose id is derived from the run and the step.
//   - Record, jobs and events change in one unit.
//   - No long-lived process is needed.
package workflow

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"ac/heartbeat/job"
	"ac/workspace/doc"
)

// World holds the inputs of a decision besides the record.
type World struct {
	Now    string      // a timestamp
	Agents []doc.Agent // by name
}

// Decision is what comes next in a run.
type Decision struct {
	Record      doc.WorkflowRun
	Assignments []Assignment // jobs
	Cancel      []string     // jobs that a failure or a cancellation makes obsolete
	Questions   []Question
	Events      []Event
}

// Assignment is a job to enter for a new step of the record.
type Assignment struct {
	Step         int // index into the record's steps
	Node         *doc.Node
	Template     *doc.WorkflowTemplate
	Agent        doc.Agent
	Goal         string
	Instructions string
	Attachments  []doc.Attachment
	// Writes reports whether this or an earlier task of the run may write files.
	Writes bool
}

// Question is a step that asks a person.
type Question struct {
	Step   int // index into the record's steps
	Node   *doc.Node
	Prompt string
}

// Event is an event for the log of the run. An empty Type means that Payload is a finished draft.
type Event struct {
	Type    string
	Payload any
}

// Codes of run failures that no job reports.
const (
	CodeUnavailable = "worker_unavailable"
	CodeTooMany     = "too_many_steps"
	CodeNotApproved = "not_approved"
	CodeExhausted   = "rounds_exhausted"
	CodeTooLong     = "too_much_text"
)

// Next decides what comes next in a run, from its record and the templates of its rounds. It does
// not modify the record that was passed in. It is idempotent: applied to its own result it decides
// nothing new.
func Next(templates []*doc.WorkflowTemplate, record doc.WorkflowRun, world World) Decision {
	record.Steps, record.Rounds, record.Steer = slices.Clone(record.Steps), slices.Clone(record.Rounds), slices.Clone(record.Steer)
	e := &engine{templates: templates, world: world, d: Decision{Record: record}}
	if record.Over() {
		return e.d
	}
	// A step without an available worker fails at once, which may let other steps begin.
	for changed := true; changed; {
		changed = e.pass()
	}
	return e.d
}

// engine is the state of one decision.
type engine struct {
	templates []*doc.WorkflowTemplate
	world     World
	d         Decision
	w         *walk
}

// pass walks all rounds once. It reports whether a new step failed at once: another pass must then
// decide what follows.
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

// noteFailedStep records the first failure of a step in the current round. After that, no new step
// begins.
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

// noteSize fails a run whose texts exceed what its record can hold.
func (e *engine) noteSize() {
	size := 0
	for _, s := range e.d.Record.Steps {
		size += len(s.Text)
	}
	if size > maxTexts && e.d.Record.Error == nil {
		e.d.Record.Error = &doc.FlowError{Code: CodeTooLong, Message: "the texts of the steps are longer than a record can hold"}
	}
}

// live reports whether a step of the run is unfinished: one with a job if jobs is true, else one
// that waits for a person.
func (e *engine) live(jobs bool) bool {
	return slices.ContainsFunc(e.d.Record.Steps, func(s doc.FlowStep) bool {
		return !s.Over() && (s.Status != doc.StepWaiting) == jobs
	})
}

// stop ends a run that failed or was canceled, once none of its jobs is live.
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

// finish ends the current round, and with it the run.
func (e *engine) finish(status, text string) {
	r := &e.d.Record
	r.Status, r.Text, r.EndedAt = status, cutText(text, maxStepText), e.world.Now
	r.Round().EndedAt = e.world.Now
	e.tell(eventEnded, endedPayload{status, r.Error})
}

func (e *engine) tell(kind string, payload any) {
	e.d.Events = append(e.d.Events, Event{kind, payload})
}

// endStep ends a step and records the event.
func (e *engine) endStep(i int, status, text string, err *doc.FlowError) {
	s := &e.d.Record.Steps[i]
	s.Status, s.Text, s.Error, s.EndedAt = status, cutText(text, maxStepText), err, e.world.Now
	e.tell(eventStepEnded, stepEndedPayload{s.Step, status, len([]rune(s.Text)), err})
}

// begin adds the step of a task that may start now, and its job or question. If the run may have no
// more jobs, or no agent fits, the step fails at once.
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
		e.d.Questions = append(e.d.Questions, Question{len(r.Steps) - 1, n, n.Ask.Prompt})
		return
	}
	agent, ok := chooseAgent(e.world.Agents, n.Task.Agent)
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
	e.d.Assignments = append(e.d.Assignments, a)
}

// chooseAgent returns the first agent that fits a task and can do jobs.
func chooseAgent(agents []doc.Agent, by doc.AgentChoice) (doc.Agent, bool) {
	i := slices.IndexFunc(agents, func(a doc.Agent) bool { return by.Fits(a) && job.CanRunJobs(a) })
	if i < 0 {
		return doc.Agent{}, false
	}
	return agents[i], true
}

// describe describes in words which agent a task needs.
func describe(c doc.AgentChoice) string {
	var said []string
	for _, w := range [][2]string{{"agent_id", c.AgentID}, {"name", c.Name}, {"team_id", c.TeamID}, {"role", c.Role}, {"provider", c.Provider}} {
		if w[1] != "" {
			said = append(said, w[0]+" "+w[1])
		}
	}
	return cmp.Or(strings.Join(said, ", "), "any")
}
