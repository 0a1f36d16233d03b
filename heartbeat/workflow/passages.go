package workflow

// Passages: every entry of every node of a flow, for clients that draw it as a tree.

import (
	"strings"

	"ac/workspace/doc"
)

// States of a passage.
const (
	Entered     = "entered"
	Left        = "left"
	PassageFail = "failed"
)

// Passage is one entry of one node. Usage and RunID belong to the newest attempt of its job.
// Passages leaves them empty, because the record does not contain them.
type Passage struct {
	Path      string     `json:"path"`
	Iteration int        `json:"iteration"`
	Round     int        `json:"round"`
	Depth     int        `json:"depth"`
	Name      string     `json:"name"`
	Kind      string     `json:"kind"`
	State     string     `json:"state"`
	Input     string     `json:"input"`
	Text      *string    `json:"text,omitempty"`
	Usage     *doc.Usage `json:"usage"`
	StartedAt string     `json:"started_at"`
	EndedAt   string     `json:"ended_at,omitempty"`
	JobID     string     `json:"job_id,omitempty"`
	RunID     string     `json:"run_id,omitempty"`
}

// Passages lists the entries of all nodes in all rounds, in order of entry. It is a function of the
// record and its templates.
func Passages(templates []*doc.WorkflowTemplate, record doc.WorkflowRun) []Passage {
	list := []Passage{}
	e := &engine{templates: templates, d: Decision{Record: record}}
	w := newWalk(e)
	e.w, w.passages = w, &list
	for i, round := range record.Rounds {
		w.enterRound(templates[round.Template], round, i == len(record.Rounds)-1)
		w.mayBegin = false
		w.node(w.template.Root, round.Input)
	}
	return list
}

// Progress returns how far a run is, from 0 to 100: the share of the current round's steps that
// have ended. Only a run that is over returns 100. The value never falls within a round.
func Progress(templates []*doc.WorkflowTemplate, record doc.WorkflowRun) int {
	if record.Over() {
		return 100
	}
	round := record.Round()
	ended := 0
	for _, s := range record.Steps {
		if s.Round == round.Round && s.Over() {
			ended++
		}
	}
	// The most entries that each task or question can have.
	most := 0
	for _, n := range templates[round.Template].Nodes {
		if n.Task != nil || n.Ask != nil {
			most += entriesOf(templates[round.Template].Root, n.Path)
		}
	}
	return min(99, ended*100/max(most, ended+1))
}

// entriesOf returns how often a node below another one may be entered, as far as a bound is known.
func entriesOf(from *doc.Node, path string) int {
	n, times := from, 1
	for n.Path != path {
		times *= max(1, n.Cycles, n.Rounds)
		next := n.Observer
		for _, c := range n.Steps {
			if path == c.Path || strings.HasPrefix(path, c.Path+".") {
				next = c
			}
		}
		if next == nil {
			return times
		}
		n = next
	}
	return times
}

// passing records that a node is entered. The returned function records how it was left. A task
// without a step yet does not count as entered.
func (w *walk) passing(n *doc.Node, input string) func(outcome) {
	if w.passages == nil {
		return func(outcome) {}
	}
	s := w.stepOf(n)
	if (n.Task != nil || n.Ask != nil) && s == nil && (n.Ask == nil || !w.skips(n, input)) {
		return func(outcome) {}
	}
	at := len(*w.passages)
	p := Passage{
		Path: n.Path, Iteration: w.count[n.Path], Round: w.round.Round, Depth: w.depth, Name: n.Label(), Kind: n.Kind, State: Entered, Input: input,
		StartedAt: w.round.StartedAt,
	}
	if at > 0 && (*w.passages)[at-1].Round == p.Round {
		p.StartedAt = (*w.passages)[at-1].StartedAt
	}
	if s != nil {
		p.StartedAt, p.EndedAt, p.JobID = s.StartedAt, s.EndedAt, s.JobID
	}
	*w.passages = append(*w.passages, p)
	return func(out outcome) { w.passed(at, s, out) }
}

func (w *walk) skips(n *doc.Node, input string) bool {
	return w.ask(n, call{input: input}).state == done
}

// passed records how a node was left. A composite node ends with the last node that it entered.
func (w *walk) passed(at int, s *doc.FlowStep, out outcome) {
	p := &(*w.passages)[at]
	switch out.state {
	case waiting:
		if s == nil || s.Status != doc.StepCanceled {
			return
		}
		p.State = PassageFail
	case done:
		p.State, p.Text = Left, &out.text
	case failed:
		p.State = PassageFail
	}
	for _, below := range (*w.passages)[at+1:] {
		p.EndedAt = max(p.EndedAt, below.EndedAt)
	}
	if s != nil {
		p.EndedAt = s.EndedAt
	}
}
