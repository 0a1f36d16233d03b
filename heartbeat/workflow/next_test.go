package workflow_test

// Compares the engine with a reference that runs a flow by plain recursion.

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ac/heartbeat/workflow"
	"ac/internal/yamldoc"
	"ac/workspace/doc"
)

// answer is what the worker of a step does. It depends only on the node and on how often the
// node was entered.
type answer struct {
	text     string
	fails    bool
	approved bool
	done     bool
	tasks    []doc.PlanTask
}

// draw generates random nodes. A node's path identifies it, so behavior can depend on the path.
type draw struct {
	t     *rapid.T
	nodes int
}

func (d *draw) node(depth int) map[string]any {
	d.nodes++
	kinds := []string{"task", "task", "input"}
	if depth < 4 && d.nodes < 12 {
		kinds = append(kinds, "sequence", "parallel", "cycle", "maker_checker", "supervisor")
	}
	n := map[string]any{"kind": rapid.SampledFrom(kinds).Draw(d.t, "kind")}
	switch n["kind"] {
	case "task":
		return d.task("goal")
	case "input":
		n["skip_if_given"], n["ask"], n["text"] = rapid.Bool().Draw(d.t, "skip"), rapid.Bool().Draw(d.t, "ask"), "preset"
	case "sequence", "parallel", "cycle":
		var steps []any
		for range rapid.IntRange(1, 3).Draw(d.t, "steps") {
			steps = append(steps, d.node(depth+1))
		}
		if n["kind"] == "cycle" {
			steps = append(steps, d.task("goal"))
			n["cycles"] = rapid.IntRange(1, 3).Draw(d.t, "cycles")
			if rapid.Bool().Draw(d.t, "observed") {
				n["observer"] = d.task("goal")
				n["break_on"] = map[string]any{"signals": []any{"yes"}}
			}
		}
		if n["kind"] == "parallel" && rapid.Bool().Draw(d.t, "narrow") {
			n["concurrency"] = rapid.IntRange(1, 2).Draw(d.t, "concurrency")
		}
		n["steps"] = steps
	case "maker_checker":
		n["maker"], n["checker"], n["rounds"] = d.task("goal"), d.task("goal"), rapid.IntRange(1, 3).Draw(d.t, "rounds")
	case "supervisor":
		a, b := d.task(""), d.task("")
		a["id"], b["id"] = "w"+strconv.Itoa(d.nodes)+"a", "w"+strconv.Itoa(d.nodes)+"b"
		n["supervisor"], n["workers"], n["rounds"] = d.task("goal"), []any{a, b}, rapid.IntRange(1, 3).Draw(d.t, "rounds")
	}
	return n
}

func (d *draw) task(goal string) map[string]any {
	d.nodes++
	n := map[string]any{"kind": "task", "agent": map[string]any{"role": "worker"}}
	if goal != "" {
		n["goal"] = rapid.SampledFrom([]string{"do {{input}}", "see {{feedback}} in {{cycle}}", "{{{{ {{inputs.topic}}"}).Draw(d.t, "goal")
	}
	if rapid.Bool().Draw(d.t, "remembers") {
		n["remember"] = true
	}
	if rapid.IntRange(0, 3).Draw(d.t, "lenient") == 0 {
		n["on_failure"] = "continue"
	}
	return n
}

// template returns a bound template of a flow.
func template(t interface{ Fatal(...any) }, flow map[string]any, maxJobs int) *doc.WorkflowTemplate {
	type holder struct {
		SchemaVersion int              `json:"schema_version"`
		Type          string           `json:"type"`
		ID            string           `json:"id"`
		Name          string           `json:"name"`
		Inputs        []map[string]any `json:"inputs"`
		MaxJobs       int              `json:"max_jobs"`
		Flow          map[string]any   `json:"flow"`
	}
	value, err := yamldoc.Parse([]byte(jsonOf(holder{1, "workflow", "a:b", "T", []map[string]any{{"name": "topic"}}, maxJobs, flow})))
	if err != nil {
		t.Fatal(err)
	}
	made, err := doc.BindWorkflow(&value)
	if err != nil {
		t.Fatal(err, jsonOf(flow))
	}
	return &made
}

// reference runs a flow the obvious way.
type reference struct {
	template *doc.WorkflowTemplate
	behave   func(path string, iteration int) answer
	count    map[string]int
	memory   map[string][]string
	goals    map[string]string // by path and iteration
}

type failure struct{ code string }

// run returns the text of a node, or panics with its failure.
func (r *reference) run(n *doc.Node, input, feedback string, cycle int) string {
	r.count[n.Path]++
	switch n.Kind {
	case doc.NodeTask:
		return r.task(n, input, feedback, cycle, nil).text
	case doc.NodeInput:
		if n.Ask.SkipIfGiven && strings.TrimSpace(input) != "" {
			return input
		}
		if !n.Ask.Ask {
			return n.Ask.Text
		}
		r.goals[key(n.Path, r.count[n.Path])] = "?"
		return "said " + key(n.Path, r.count[n.Path])
	case doc.NodeSequence:
		for _, s := range n.Steps {
			input = r.run(s, input, "", cycle)
		}
		return input
	case doc.NodeParallel:
		var texts []string
		for _, s := range n.Steps {
			texts = append(texts, r.run(s, input, "", cycle))
		}
		return strings.Join(texts, n.Separator)
	case doc.NodeCycle:
		for c := 1; ; c++ {
			text := input
			for _, s := range n.Steps {
				text = r.run(s, text, "", c)
			}
			if c == n.Cycles {
				return text
			}
			input = text
			if n.Observer != nil {
				input = r.run(n.Observer, text, "", c)
				if n.BreakOn != nil && strings.Contains(input, "yes") {
					return text
				}
			}
		}
	case doc.NodeMakerChecker:
		for c := 1; c <= n.Rounds; c++ {
			made := r.run(n.Steps[0], input, feedback, c)
			r.count[n.Steps[1].Path]++
			checked := r.task(n.Steps[1], made, feedback, c, nil)
			if checked.approved && !checked.fails {
				return made
			}
			feedback = checked.text
		}
		panic(failure{workflow.CodeNotApproved})
	}
	return r.supervise(n, input)
}

func (r *reference) supervise(n *doc.Node, input string) string {
	for c := 1; c <= n.Rounds; c++ {
		r.count[n.Steps[0].Path]++
		plan := r.task(n.Steps[0], input, "", c, nil)
		if plan.done || plan.fails {
			return plan.text
		}
		for _, task := range plan.tasks {
			for _, worker := range n.Steps[1:] {
				if worker.ID == task.Agent {
					r.count[worker.Path]++
					r.task(worker, task.Goal, "", c, &task.Goal)
				}
			}
		}
	}
	panic(failure{workflow.CodeExhausted})
}

func key(path string, iteration int) string { return path + "#" + strconv.Itoa(iteration) }

func (r *reference) task(n *doc.Node, input, feedback string, cycle int, goal *string) answer {
	number := ""
	if cycle > 0 {
		number = strconv.Itoa(cycle)
	}
	text := strings.NewReplacer("{{input}}", input, "{{feedback}}", feedback, "{{cycle}}", number, "{{{{", "{{", "{{inputs.topic}}", "T").Replace(n.Task.Goal)
	if goal != nil {
		text = *goal
	}
	at := key(n.Path, r.count[n.Path])
	r.goals[at] = text
	if calls := r.memory[n.Path]; n.Task.Remember != "" && len(calls) > 0 {
		r.goals[at] = text + "\n\n<earlier_calls>\n" + strings.Join(calls, "") + "</earlier_calls>"
	}
	a := r.behave(n.Path, r.count[n.Path])
	if a.fails {
		if !n.Task.Continue {
			panic(failure{"boom"})
		}
		a.text = "[failed: broken]"
	}
	r.memory[n.Path] = append(r.memory[n.Path], "<call>\n<message>\n"+text+"\n</message>\n<answer>\n"+a.text+"\n</answer>\n</call>\n")
	return a
}

// behaviour returns a function that decides what the workers of a template do.
func behaviour(t *doc.WorkflowTemplate, failing int) func(string, int) answer {
	return func(path string, iteration int) answer {
		h := 0
		for _, c := range path + "/" + strconv.Itoa(iteration) {
			h = (h*31 + int(c)) % 100003
		}
		a := answer{text: "answer " + key(path, iteration), fails: h%20 < failing, approved: h%3 == 0, done: h%4 == 0}
		if h%5 == 0 {
			a.text += " yes"
		}
		for _, n := range t.Nodes {
			if n.Kind == doc.NodeSupervisor && n.Steps[0].Path == path && !a.done {
				for i := range 1 + h%2 {
					a.tasks = append(a.tasks, doc.PlanTask{Agent: n.Steps[1+(h+i)%2].ID, Goal: "goal of " + key(path, iteration)})
				}
			}
		}
		return a
	}
}

// TestNextLikeTheReference compares random flows with the reference. Their steps end in random
// order, and each decision is made twice to check that it is idempotent.
func TestNextLikeTheReference(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tmpl := template(t, (&draw{t: t}).node(1), 1000)
		behave := behaviour(tmpl, rapid.IntRange(0, 2).Draw(t, "failing"))
		input := rapid.SampledFrom([]string{"", "start"}).Draw(t, "input")

		r := &reference{template: tmpl, behave: behave, count: map[string]int{}, memory: map[string][]string{}, goals: map[string]string{}}
		want, failed := r.whole(input)

		got, goals := play(t, tmpl, input, behave)
		for at := range goals {
			if failed == "" && r.goals[at] == "" {
				t.Fatalf("%s was entered, which nothing asks for", at)
			}
		}
		if failed != "" {
			if got.Status != doc.FlowFailed || got.Error == nil || !slices.Contains([]string{"boom", workflow.CodeNotApproved, workflow.CodeExhausted}, got.Error.Code) {
				t.Fatalf("it ended as %s %+v, and should fail as with %s", got.Status, got.Error, failed)
			}
			return
		}
		if got.Status != doc.FlowSucceeded || got.Text != want {
			t.Fatalf("it ended as %s with %q, not with %q: %+v", got.Status, got.Text, want, got.Error)
		}
		if diff := cmp.Diff(slices.Sorted(maps.Keys(r.goals)), slices.Sorted(maps.Keys(goals))); diff != "" {
			t.Fatalf("steps: %s", diff)
		}
		for at, goal := range r.goals {
			if goals[at] != goal {
				t.Fatalf("%s was asked %q, not %q", at, goals[at], goal)
			}
		}
	})
}

func (r *reference) whole(input string) (text, failed string) {
	defer func() {
		switch fault := recover().(type) {
		case nil:
		case failure:
			failed = fault.code
		default:
			panic(fault)
		}
	}()
	return r.run(r.template.Root, input, "", 0), ""
}

// play runs a flow with the engine and checks that each step is entered once.
func play(t *rapid.T, tmpl *doc.WorkflowTemplate, input string, behave func(string, int) answer) (doc.WorkflowRun, map[string]string) {
	world := workflow.World{Now: "2026-01-02T03:04:05.000Z", Agents: []doc.Agent{{ID: "a", Name: "A", Role: "worker", Provider: "codex"}}}
	record := doc.WorkflowRun{
		RunID: "run_1", Status: doc.FlowRunning, Rounds: []doc.FlowRound{{Round: 1, Input: input, StartedAt: world.Now}}, Inputs: map[string]string{"topic": "T"},
	}
	goals := map[string]string{}
	for range 10000 {
		d := workflow.Next([]*doc.WorkflowTemplate{tmpl}, record, world)
		again := workflow.Next([]*doc.WorkflowTemplate{tmpl}, d.Record, world)
		if len(again.Assignments)+len(again.Questions)+len(again.Events) > 0 || cmp.Diff(again.Record, d.Record) != "" {
			t.Fatalf("a second look decides more: %+v", again)
		}
		record = d.Record
		for _, a := range d.Assignments {
			s := record.Steps[a.Step]
			at := key(s.Path, s.Iteration)
			if _, twice := goals[at]; twice {
				t.Fatalf("%s is entered twice", at)
			}
			goals[at] = a.Goal
		}
		for _, q := range d.Questions {
			goals[key(record.Steps[q.Step].Path, record.Steps[q.Step].Iteration)] = "?"
		}
		if record.Over() {
			return record, goals
		}
		end(t, &record, d.Cancel, behave)
	}
	t.Fatal("it does not end")
	return record, goals
}

// end ends a random active step.
func end(t *rapid.T, record *doc.WorkflowRun, canceled []string, behave func(string, int) answer) {
	var live []int
	for i, s := range record.Steps {
		if !s.Over() {
			live = append(live, i)
		}
	}
	if len(live) == 0 {
		t.Fatalf("nothing goes on in a run that is %s: %+v", record.Status, record.Steps)
	}
	s := &record.Steps[rapid.SampledFrom(live).Draw(t, "step")]
	if slices.Contains(canceled, s.JobID) {
		s.Status = doc.StepCanceled
		return
	}
	a := behave(s.Path, s.Iteration)
	s.Status, s.Text, s.Approved, s.Done, s.Tasks = doc.StepSucceeded, a.text, &a.approved, &a.done, a.tasks
	switch {
	case s.JobID == "":
		s.Text = "said " + key(s.Path, s.Iteration)
	case a.fails:
		s.Status, s.Text, s.Approved, s.Done, s.Tasks = doc.StepFailed, "", nil, nil, nil
		s.Error = &doc.FlowError{Code: "boom", Message: "broken", Step: s.Step}
	}
}

func jsonOf(v any) string { return string(must(marshal(v))) }
