package workflow

// Walking a flow: every pass enters each node again. The record shows what a node already did.

import (
	"fmt"
	"slices"
	"strings"

	"ac/workspace/doc"
)

// state is the progress of a node.
type state int

const (
	waiting state = iota // for a job, a person or a free slot
	done
	failed
)

// outcome is the result of entering a node.
type outcome struct {
	state state
	text  string
	err   *doc.FlowError
}

var notYet = outcome{state: waiting}

// call is the input of a node.
type call struct {
	input    string
	goal     *string // replaces the node's goal, for the workers of a supervisor
	feedback string
	cycle    int
	with     []doc.Attachment
}

// walk is one pass over the rounds of a run.
type walk struct {
	e            *engine
	template     *doc.WorkflowTemplate
	round        doc.FlowRound
	steps        map[stepKey]int // index into the record
	count        map[string]int  // entries of nodes in the round, by path
	newest       map[string]string
	memory       map[string][]exchange
	cycle        int
	mayBegin     bool
	failedAtOnce bool
	passages     *[]Passage // nil unless Passages collects them
	depth        int
}

type stepKey struct {
	round     int
	path      string
	iteration int
}

// exchange is one call of a node that remembers.
type exchange struct{ message, answer string }

func newWalk(e *engine) *walk {
	w := &walk{e: e, steps: map[stepKey]int{}, memory: map[string][]exchange{}}
	for i, s := range e.d.Record.Steps {
		w.steps[stepKey{s.Round, s.Path, s.Iteration}] = i
	}
	return w
}

// enterRound begins a round. Only the last round may begin new steps, and only while nothing has
// failed and nobody has canceled the run.
func (w *walk) enterRound(t *doc.WorkflowTemplate, round doc.FlowRound, last bool) {
	r := &w.e.d.Record
	w.template, w.round, w.cycle = t, round, 0
	w.count, w.newest = map[string]int{}, map[string]string{}
	w.mayBegin = last && !r.Over() && r.Error == nil && !r.CancellationRequested
}

// node enters a node with an input text.
func (w *walk) node(n *doc.Node, input string) outcome {
	return w.enter(n, call{input: input, cycle: w.cycle})
}

func (w *walk) enter(n *doc.Node, c call) (out outcome) {
	w.count[n.Path]++
	left := w.passing(n, c.input)
	w.depth++
	switch n.Kind {
	case doc.NodeTask:
		out = w.task(n, c)
	case doc.NodeInput:
		out = w.ask(n, c)
	case doc.NodeSequence:
		out = w.sequence(n.Steps, c.input)
	case doc.NodeParallel:
		out = w.parallel(n, c.input)
	case doc.NodeCycle:
		out = w.cycles(n, c.input)
	case doc.NodeMakerChecker:
		out = w.makerChecker(n, c.input)
	case doc.NodeSupervisor:
		out = w.supervisor(n, c.input)
	}
	w.depth--
	left(out)
	if out.state == done {
		w.newest[n.Key()] = out.text
	}
	return out
}

// stepOf returns the step of the current entry of a node, nil if there is none yet.
func (w *walk) stepOf(n *doc.Node) *doc.FlowStep {
	i, ok := w.steps[stepKey{w.round.Round, n.Path, w.count[n.Path]}]
	if !ok {
		return nil
	}
	return &w.e.d.Record.Steps[i]
}

// leaf enters a task or a question. It returns the outcome of its step, or begins a new step.
func (w *walk) leaf(n *doc.Node, c call) outcome {
	s := w.stepOf(n)
	if s == nil {
		if w.mayBegin {
			w.e.begin(n, c, w.count[n.Path])
			w.mayBegin = !w.failedAtOnce
		}
		return notYet
	}
	switch s.Status {
	case doc.StepSucceeded:
		return outcome{state: done, text: s.Text}
	case doc.StepFailed:
		if n.Task != nil && n.Task.Continue && !fatal(s.Error) {
			return outcome{state: done, text: "[failed: " + s.Error.Message + "]"}
		}
		return outcome{state: failed, err: stepError(*s)}
	}
	return notYet
}

// fatal reports whether a failure ends the run even if the node lets the run continue.
func fatal(err *doc.FlowError) bool { return err == nil || err.Code == CodeTooMany }

// stepError returns the failure of a run that one of its steps caused.
func stepError(s doc.FlowStep) *doc.FlowError {
	if s.Error == nil {
		return &doc.FlowError{Code: doc.StepFailed, Message: "the step failed", Step: s.Step}
	}
	return &doc.FlowError{Code: s.Error.Code, Message: s.Error.Message, Step: s.Step}
}

func (w *walk) task(n *doc.Node, c call) outcome {
	out := w.leaf(n, c)
	if out.state == done && n.Task.Remember != "" {
		w.memory[n.Task.Remember] = append(w.memory[n.Task.Remember], exchange{w.message(n, c), out.text})
	}
	return out
}

func (w *walk) ask(n *doc.Node, c call) outcome {
	switch {
	case n.Ask.SkipIfGiven && strings.TrimSpace(c.input) != "":
		return outcome{state: done, text: c.input}
	case !n.Ask.Ask:
		return outcome{state: done, text: n.Ask.Text}
	}
	return w.leaf(n, c)
}

// sequence enters nodes one after the other, each with the text of the previous one.
func (w *walk) sequence(steps []*doc.Node, input string) outcome {
	out := outcome{state: done, text: input}
	for _, n := range steps {
		if out = w.node(n, out.text); out.state != done {
			return out
		}
	}
	return out
}

// parallel enters nodes concurrently, up to the node's limit.
func (w *walk) parallel(n *doc.Node, input string) outcome {
	return w.together(len(n.Steps), n.Concurrency, n.Separator, func(i int) outcome { return w.node(n.Steps[i], input) })
}

// together enters n nodes, of which at most atOnce are unfinished at a time (0 for no limit). If
// one fails, all fail.
func (w *walk) together(n, atOnce int, separator string, enter func(int) outcome) outcome {
	texts := make([]string, 0, n)
	var fault *outcome
	active := 0
	for i := range n {
		if atOnce > 0 && active >= atOnce {
			break
		}
		switch out := enter(i); out.state {
		case done:
			texts = append(texts, out.text)
		case failed:
			if fault == nil {
				fault = &out
			}
		case waiting:
			active++
		}
	}
	switch {
	case fault != nil:
		return *fault
	case len(texts) < n:
		return notYet
	}
	return outcome{state: done, text: strings.Join(texts, separator)}
}

// cycles enters a sequence repeatedly.
func (w *walk) cycles(n *doc.Node, input string) outcome {
	defer w.counting()()
	for round := 1; ; round++ {
		w.cycle = round
		out := w.sequence(n.Steps, input)
		if out.state != done || (n.Until != "" && w.approvedBy(n)) || round == n.Cycles {
			return out
		}
		input = out.text
		if n.Observer == nil {
			continue
		}
		seen := w.node(n.Observer, out.text)
		if seen.state != done {
			return seen
		}
		if n.BreakOn != nil && matches(n.BreakOn, seen.text) {
			return out
		}
		input = seen.text
	}
}

// counting returns a function that restores the cycle count of the outer cycle after an inner one.
func (w *walk) counting() func() {
	outer := w.cycle
	return func() { w.cycle = outer }
}

// approvedBy reports whether the node that ends a cycle returned a verdict of approval.
func (w *walk) approvedBy(n *doc.Node) bool {
	i := slices.IndexFunc(n.Steps, func(c *doc.Node) bool { return c.ID == n.Until })
	s := w.stepOf(n.Steps[i])
	return s != nil && s.Approved != nil && *s.Approved
}

// matches reports whether the text of an observer contains a signal that ends a cycle.
func matches(b *doc.BreakOn, text string) bool {
	text = strings.ToLower(text)
	for _, signal := range b.Signals {
		signal = strings.ToLower(signal)
		switch b.Match {
		case "exact":
			if strings.TrimSpace(text) == strings.TrimSpace(signal) {
				return true
			}
		case "first_line", "any_line":
			for line := range strings.Lines(text) {
				line = strings.TrimSpace(line)
				if line == "" {
					continue
				}
				if beginsWith(line, strings.TrimSpace(signal)) {
					return true
				}
				if b.Match == "first_line" {
					break
				}
			}
		default:
			if strings.Contains(text, signal) {
				return true
			}
		}
	}
	return false
}

// beginsWith reports whether a line is a signal, or begins with a signal and white space.
func beginsWith(line, signal string) bool {
	rest, ok := strings.CutPrefix(line, signal)
	return ok && (rest == "" || strings.TrimLeft(rest, " \t\u00a0\u3000") != rest)
}

func (w *walk) makerChecker(n *doc.Node, input string) outcome {
	defer w.counting()()
	feedback := ""
	for round := 1; round <= n.Rounds; round++ {
		w.cycle = round
		made := w.enter(n.Steps[0], call{input: input, feedback: feedback, cycle: round})
		if made.state != done {
			return made
		}
		checked := w.enter(n.Steps[1], call{input: made.text, feedback: feedback, cycle: round})
		if checked.state != done {
			return checked
		}
		if s := w.stepOf(n.Steps[1]); s.Approved != nil && *s.Approved {
			return made
		}
		feedback = checked.text
	}
	return outcome{state: failed, err: &doc.FlowError{
		Code: CodeNotApproved, Message: fmt.Sprintf("%s did not approve in %d rounds", n.Steps[1].Label(), n.Rounds),
	}}
}

func (w *walk) supervisor(n *doc.Node, input string) outcome {
	defer w.counting()()
	var reports []string
	for round := 1; round <= n.Rounds; round++ {
		w.cycle = round
		c := call{input: input, cycle: round, with: []doc.Attachment{{Name: "workers", Text: workersOf(n)}}}
		if len(reports) > 0 {
			c.with = append(c.with, doc.Attachment{Name: "reports", Text: newestOf(reports, maxInserted)})
		}
		planned := w.enter(n.Steps[0], c)
		if planned.state != done {
			return planned
		}
		plan := w.stepOf(n.Steps[0])
		if plan.Status != doc.StepSucceeded || (plan.Done != nil && *plan.Done) {
			return planned // it is done, or failed and the node lets the flow continue
		}
		tasks := plan.Tasks
		worked := w.together(len(tasks), 0, "\n\n", func(i int) outcome { return w.handOut(n, tasks[i], round) })
		if worked.state != done {
			return worked
		}
		reports = append(reports, fmt.Sprintf("Round %d\n%s\n\n%s", round, planned.text, worked.text))
	}
	return outcome{state: failed, err: &doc.FlowError{
		Code: CodeExhausted, Message: fmt.Sprintf("%s was not done after %d rounds", n.Steps[0].Label(), n.Rounds),
	}}
}

// handOut assigns a task of a plan to the worker that it names.
func (w *walk) handOut(n *doc.Node, task doc.PlanTask, round int) outcome {
	workers := n.Steps[1:]
	i := slices.IndexFunc(workers, func(c *doc.Node) bool { return c.ID == task.Agent })
	head := "[" + task.Agent + "] " + task.Goal + "\n"
	if i < 0 {
		return outcome{state: done, text: head + "[failed: there is no worker " + task.Agent + "]"}
	}
	out := w.enter(workers[i], call{input: task.Goal, goal: &task.Goal, cycle: round})
	if out.state == done {
		out.text = head + out.text
	}
	return out
}

// workersOf lists the workers of a supervisor.
func workersOf(n *doc.Node) string {
	var b strings.Builder
	for _, worker := range n.Steps[1:] {
		fmt.Fprintf(&b, "%s", worker.ID)
		if worker.Name != "" {
			fmt.Fprintf(&b, ": %s", worker.Name)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// newestOf joins texts. If they are too long, it drops the oldest ones.
func newestOf(texts []string, limit int) string {
	size, from := 0, len(texts)
	for from > 0 && (from == len(texts) || size+len(texts[from-1]) <= limit) {
		from--
		size += len(texts[from]) + 2
	}
	return cutText(strings.Join(texts[from:], "\n\n"), limit)
}

// writes reports whether the task of a step may change files.
func (w *walk) writes(s doc.FlowStep) bool {
	t := w.e.templates[w.e.d.Record.Rounds[s.Round-1].Template]
	i := slices.IndexFunc(t.Nodes, func(n *doc.Node) bool { return n.Path == s.Path })
	return i >= 0 && t.Nodes[i].Task != nil && t.Level(t.Nodes[i].Task) != "read-only"
}
