package doc

// Parsing and checking a template's flow. All issues are reported at once.

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"ac/internal/fault"
	"ac/internal/shape"
	"ac/internal/yamldoc"
)

// Bounds of a template.
const (
	maxNodeDepth  = 8
	maxNodes      = 200
	maxSteps      = 50 // of a sequence or a cycle
	maxParallel   = 16 // children of a parallel, and workers of a supervisor
	maxCycles     = 100
	maxSignals    = 16
	maxRemember   = 200 // bytes of a key
	maxNameOfNode = 64
)

// DecodeWorkflow decodes a template. For YAML that is not a valid template it returns a
// *yamldoc.SchemaError with every issue.
func DecodeWorkflow(text []byte) (WorkflowTemplate, error) {
	value, err := yamldoc.Parse(text)
	if err != nil {
		return WorkflowTemplate{}, err
	}
	return BindWorkflow(&value)
}

// BindWorkflow is DecodeWorkflow for a parsed value.
func BindWorkflow(v *shape.Value) (WorkflowTemplate, error) {
	t, err := templateCodec.Bind(v)
	r := flowReader{template: &t, ids: map[string]bool{}}
	r.addIssues(err)
	if t.ID != "" {
		r.checkID(t.ID)
	}
	r.checkInputs()
	if t.Flow.Kind != shape.Absent {
		t.Root = r.node(&t.Flow, "0", []any{"flow"}, 1)
	}
	if len(r.issues) == 0 {
		r.checkReferences()
	}
	if len(r.issues) > 0 {
		return t, &yamldoc.SchemaError{Issues: r.issues}
	}
	return t, nil
}

// flowReader parses one template and collects its issues.
type flowReader struct {
	template *WorkflowTemplate
	ids      map[string]bool
	at       []nodeWithPath
	issues   []fault.Issue
}

// nodeWithPath is a node with its path in the document.
type nodeWithPath struct {
	node *Node
	path []any
}

func (r *flowReader) refuse(path []any, why string, args ...any) {
	r.issues = append(r.issues, fault.Issue{Path: path, Code: "custom", Message: fmt.Sprintf(why, args...)})
}

// addIssues records the issues of err, with path as their prefix.
func (r *flowReader) addIssues(err error, path ...any) {
	schema, ok := errors.AsType[*yamldoc.SchemaError](err)
	if !ok {
		if err != nil {
			r.refuse(path, "%s", err.Error())
		}
		return
	}
	for _, issue := range schema.Issues {
		issue.Path = slices.Concat(path, issue.Path)
		r.issues = append(r.issues, issue)
	}
}

// SplitWorkflowID splits the id of a template.
func SplitWorkflowID(id string) (domain, slug string, ok bool) {
	domain, slug, ok = strings.Cut(id, ":")
	return domain, slug, ok && WorkflowWord(domain) && WorkflowWord(slug)
}

// WorkflowWord reports whether a text is valid as a domain or a slug.
func WorkflowWord(text string) bool {
	return text != "" && len(text) <= maxNameOfNode && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789_-") == "" && text[0] != '_' && text[0] != '-'
}

func (r *flowReader) checkID(id string) {
	if _, _, ok := SplitWorkflowID(id); !ok {
		r.refuse([]any{"id"}, "must be domain:slug, both of at most %d lower-case letters, digits, - and _", maxNameOfNode)
	}
}

func (r *flowReader) checkInputs() {
	seen := map[string]bool{}
	for i, in := range r.template.Inputs {
		if seen[in.Name] || strings.ContainsAny(in.Name, "{}\r\n") {
			r.refuse([]any{"inputs", i, "name"}, "must be one line without braces, and another one for each input")
		}
		seen[in.Name] = true
	}
}

// node parses one node with its children. It returns nil if the value cannot be a node.
func (r *flowReader) node(v *shape.Value, key string, path []any, depth int) *Node {
	if depth > maxNodeDepth || len(r.at) >= maxNodes {
		r.refuse(path, "a flow has at most %d nodes, %d deep", maxNodes, maxNodeDepth)
		return nil
	}
	if v.Kind != shape.Map {
		r.issues = append(r.issues, fault.Issue{Path: path, Code: "invalid_type", Expected: "object", Message: "expected object, got " + v.Kind.String()})
		return nil
	}
	n := &Node{Kind: v.Get("kind").Text, Path: key}
	r.at = append(r.at, nodeWithPath{n, path})
	r.template.Nodes = append(r.template.Nodes, n)
	read := map[string]func(*Node, *shape.Value, []any, int){
		NodeTask: r.task, NodeInput: r.input, NodeSequence: r.sequence, NodeParallel: r.parallel, NodeCycle: r.cycle,
		NodeMakerChecker: r.makerChecker, NodeSupervisor: r.supervisor,
	}[n.Kind]
	if read == nil {
		kinds := []string{NodeTask, NodeInput, NodeSequence, NodeParallel, NodeCycle, NodeMakerChecker, NodeSupervisor}
		r.issues = append(r.issues, fault.Issue{Path: append(slices.Clone(path), "kind"), Code: "invalid_value", Values: kinds, Message: "must be one of " + strings.Join(kinds, ", ")})
		return n
	}
	read(n, v, path, depth)
	if n.ID != "" {
		switch {
		case len(n.ID) > maxNameOfNode || strings.Trim(n.ID, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") != "":
			r.refuse(append(slices.Clone(path), "id"), "must have at most %d letters, digits, - and _", maxNameOfNode)
		case r.ids[n.ID]:
			r.refuse(append(slices.Clone(path), "id"), "another node has the id %s", n.ID)
		}
		r.ids[n.ID] = true
	}
	return n
}

// children parses the nodes of a list.
func (r *flowReader) children(n *Node, list []shape.Value, field string, most int, path []any, depth int) {
	if len(list) > most {
		r.refuse(append(slices.Clone(path), field), "must have at most %d items", most)
		return
	}
	for i := range list {
		r.child(n, &list[i], append(slices.Clone(path), field, i), depth)
	}
}

func (r *flowReader) child(n *Node, v *shape.Value, path []any, depth int) *Node {
	c := r.node(v, n.Path+"."+strconv.Itoa(len(n.Steps)), path, depth+1)
	if c == nil {
		c = &Node{}
	}
	n.Steps = append(n.Steps, c)
	return c
}

func (r *flowReader) task(n *Node, v *shape.Value, path []any, _ int) {
	f, err := taskCodec.Bind(v)
	r.addIssues(err, path...)
	n.ID, n.Name = f.ID, f.Name
	n.Task = &TaskNode{
		Agent: f.Agent, Goal: f.Goal, Answer: f.Answer, PermissionLevel: f.PermissionLevel, Model: f.Model, Instructions: f.Instructions,
		Attempts: f.Attempts, TimeoutMS: f.TimeoutMS, Interactive: f.Interactive, Mode: f.Mode, Rules: f.Rules, Continue: f.OnFailure == "continue",
	}
	if f.Agent == (AgentChoice{}) {
		r.refuse(append(slices.Clone(path), "agent"), "at least one of agent_id, name, team_id, role and provider must be given")
	}
	if strings.ContainsRune(f.Model, 0) {
		r.refuse(append(slices.Clone(path), "model"), "must not contain NUL")
	}
	if len(f.Rules) > maxOrderRules {
		r.refuse(append(slices.Clone(path), "rules"), "must have at most %d items", maxOrderRules)
	}
	switch remember := f.Remember; {
	case remember.Kind == shape.Bool && remember.Bool:
		n.Task.Remember = "\x00" + n.Key() // a key that nobody can have written
	case remember.Kind == shape.String && remember.Text != "" && len(remember.Text) <= maxRemember:
		n.Task.Remember = remember.Text
	case remember.Kind != shape.Absent && remember.Kind != shape.Bool:
		r.refuse(append(slices.Clone(path), "remember"), "must be true, false or a key of at most %d bytes", maxRemember)
	}
}

func (r *flowReader) input(n *Node, v *shape.Value, path []any, _ int) {
	f, err := inputCodec.Bind(v)
	r.addIssues(err, path...)
	n.ID, n.Name = f.ID, f.Name
	n.Ask = &InputNode{Prompt: f.Prompt, SkipIfGiven: f.SkipIfGiven, Ask: f.Ask, Text: f.Text}
}

func (r *flowReader) sequence(n *Node, v *shape.Value, path []any, depth int) {
	f, err := sequenceCodec.Bind(v)
	r.addIssues(err, path...)
	n.ID, n.Name = f.ID, f.Name
	r.children(n, f.Steps, "steps", maxSteps, path, depth)
}

func (r *flowReader) parallel(n *Node, v *shape.Value, path []any, depth int) {
	f, err := parallelCodec.Bind(v)
	r.addIssues(err, path...)
	n.ID, n.Name, n.Separator, n.Concurrency = f.ID, f.Name, "\n\n", f.Concurrency
	if f.Separator != nil {
		n.Separator = *f.Separator
	}
	r.children(n, f.Steps, "steps", maxParallel, path, depth)
	if f.SharedWrites || f.Concurrency == 1 {
		return
	}
	for _, below := range n.Tasks() {
		if r.template.Level(below.Task) != "read-only" {
			r.refuse(path, "task %s may change files beside others: set shared_writes, or concurrency 1", below.Key())
		}
	}
}

// Tasks returns the tasks of a node and of all its descendants.
func (n *Node) Tasks() (list []*Node) {
	if n.Task != nil {
		list = append(list, n)
	}
	for _, c := range n.Steps {
		list = append(list, c.Tasks()...)
	}
	if n.Observer != nil {
		list = append(list, n.Observer.Tasks()...)
	}
	return list
}

func (r *flowReader) cycle(n *Node, v *shape.Value, path []any, depth int) {
	f, err := cycleCodec.Bind(v)
	r.addIssues(err, path...)
	n.ID, n.Name, n.Until, n.Cycles, n.BreakOn = f.ID, f.Name, f.Until, 1, f.BreakOn
	switch c := f.Cycles; {
	case c.Kind == shape.Number && c.Num == math.Trunc(c.Num) && c.Num >= 1 && c.Num <= maxCycles:
		n.Cycles = int(c.Num)
	case c.Kind == shape.String && c.Text == "unbounded":
		n.Cycles = 0
	case c.Kind != shape.Absent:
		r.refuse(append(slices.Clone(path), "cycles"), "must be 1 to %d, or unbounded", maxCycles)
	}
	r.children(n, f.Steps, "steps", maxSteps, path, depth)
	r.cycleEnds(n, &f, path, depth)
	if len(n.Tasks()) == 0 {
		r.refuse(path, "a cycle needs a task: without one nothing ends it")
	}
}

// cycleEnds parses the conditions that end a cycle.
func (r *flowReader) cycleEnds(n *Node, f *cycleFields, path []any, depth int) {
	if n.Until != "" && !slices.ContainsFunc(n.Steps, func(c *Node) bool { return c.ID == n.Until && c.Task != nil && c.Task.Answer == AnswerVerdict }) {
		r.refuse(append(slices.Clone(path), "until"), "must be the id of a task with answer verdict among the steps")
	}
	if f.Observer.Kind != shape.Absent {
		n.Observer = r.child(n, &f.Observer, append(slices.Clone(path), "observer"), depth)
		n.Steps = n.Steps[:len(n.Steps)-1]
		r.mustBeTask(n.Observer, append(slices.Clone(path), "observer"), "")
	}
	if n.BreakOn == nil {
		return
	}
	if n.Observer == nil {
		r.refuse(append(slices.Clone(path), "break_on"), "needs an observer")
	}
	if len(n.BreakOn.Signals) > maxSignals {
		r.refuse(append(slices.Clone(path), "break_on", "signals"), "must have at most %d items", maxSignals)
	}
}

// mustBeTask requires a node to be a task. If answer is set, it also requires that kind of
// answer, and sets it.
func (r *flowReader) mustBeTask(n *Node, path []any, answer string) {
	if n.Task == nil {
		if n.Kind != "" {
			r.refuse(path, "must be a task")
		}
		return
	}
	if answer == "" {
		return
	}
	if n.Task.Answer != "" && n.Task.Answer != answer {
		r.refuse(append(slices.Clone(path), "answer"), "is always %s here", answer)
	}
	n.Task.Answer = answer
}

func (r *flowReader) makerChecker(n *Node, v *shape.Value, path []any, depth int) {
	f, err := makerCheckerCodec.Bind(v)
	r.addIssues(err, path...)
	n.ID, n.Name, n.Rounds = f.ID, f.Name, f.Rounds
	if f.Maker.Kind == shape.Absent || f.Checker.Kind == shape.Absent {
		return
	}
	maker, checker := append(slices.Clone(path), "maker"), append(slices.Clone(path), "checker")
	r.mustBeTask(r.child(n, &f.Maker, maker, depth), maker, "")
	r.mustBeTask(r.child(n, &f.Checker, checker, depth), checker, AnswerVerdict)
}

func (r *flowReader) supervisor(n *Node, v *shape.Value, path []any, depth int) {
	f, err := supervisorCodec.Bind(v)
	r.addIssues(err, path...)
	n.ID, n.Name, n.Rounds = f.ID, f.Name, f.Rounds
	if f.Supervisor.Kind == shape.Absent {
		return
	}
	at := append(slices.Clone(path), "supervisor")
	r.mustBeTask(r.child(n, &f.Supervisor, at, depth), at, AnswerPlan)
	r.children(n, f.Workers, "workers", maxParallel, path, depth)
	for i, worker := range n.Steps[1:] {
		at := append(slices.Clone(path), "workers", i)
		r.mustBeTask(worker, at, "")
		switch {
		case worker.Task != nil && worker.Task.Goal != "":
			r.refuse(append(at, "goal"), "a worker has no goal: its supervisor gives it one")
		case worker.Task != nil && worker.ID == "":
			r.refuse(append(at, "id"), "a worker needs an id, by which its supervisor names it")
		}
	}
}

// checkReferences checks that goals and instructions refer to existing nodes and inputs. It
// requires a goal of every task but a supervisor's workers, and sets the default answer.
func (r *flowReader) checkReferences() {
	workers := map[*Node]bool{}
	known := Placeholders{Inputs: map[string]bool{}, Nodes: map[string]bool{}}
	for _, in := range r.template.Inputs {
		known.Inputs[in.Name] = true
	}
	for _, p := range r.at {
		known.Nodes[p.node.Key()] = true
		if p.node.Kind == NodeSupervisor {
			for _, w := range p.node.Steps[1:] {
				workers[w] = true
			}
		}
	}
	for _, p := range r.at {
		task := p.node.Task
		if task == nil {
			continue
		}
		if task.Goal == "" && !workers[p.node] {
			r.issues = append(r.issues, fault.Issue{Path: append(slices.Clone(p.path), "goal"), Code: "invalid_type", Expected: "string", Message: "expected string, got nothing"})
		}
		if task.Answer == "" {
			task.Answer = AnswerText
		}
		for _, text := range [][2]string{{"goal", task.Goal}, {"instructions", task.Instructions}} {
			if _, err := known.Parse(text[1]); err != nil {
				r.refuse(append(slices.Clone(p.path), text[0]), "%s", err.Error())
			}
		}
	}
}
