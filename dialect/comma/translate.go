package comma

// Translating strategies to workflow templates.

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"ac/internal/shape"
	"ac/workspace/doc"
)

// strategyMember is the member of a template that holds what clients see of its strategy.
const strategyMember = "comma"

// maxDepth bounds the nesting of flows that are read. Workflows have their own limit.
const maxDepth = 32

// callTimeout is the time limit of an agent's call, in milliseconds.
const callTimeout = 7_200_000

// translator translates a strategy to a template.
type translator struct {
	reader
	from     source
	level    doc.Level // highest permission level of its agents
	choose   func(key, model string) (agent, chosen string, err error)
	override string               // model for all agents, "" for their own
	system   map[string]string    // instructions, by agent
	picked   map[string][2]string // agent of the workspace and model, by agent
	unused   map[string][]string  // agents, by the member that has no effect
	servers  []ownServer
	given    []string // MCP servers of the workspace
}

// translated is a strategy as ac runs it.
type translated struct {
	name     string
	template shape.Value
	notices  []string
}

// translate translates a strategy.
func (t *translator) translate(value *shape.Value) (translated, error) {
	file, err := strategyCodec.Bind(value)
	t.take(err, "")
	t.readAgents(&file.Agents)
	if t.system, t.picked, t.unused = map[string]string{}, map[string][2]string{}, map[string][]string{}; len(t.issues) == 0 {
		for i := range t.agents {
			t.prepare(&t.agents[i])
		}
	}
	t.ownServers(&file.MCPServers)
	root := shape.Value{}
	if file.Flow.Kind == shape.Map {
		root = t.flow(&file.Flow, "flow", 1)
	}
	if err := t.err(); err != nil {
		return translated{}, err
	}
	template := obj("schema_version", num(1), "type", str("workflow"), "id", str("comma:"+slug(file.Name)), "name", str(file.Name))
	if file.Description != "" {
		put(&template, "description", str(file.Description))
	}
	put(&template, "max_jobs", num(1000))
	put(&template, "flow", root)
	put(&template, strategyMember, t.remembered(&file))
	return translated{file.Name, template, t.notices()}, nil
}

// remembered returns what clients see of a strategy, to be stored in its template.
func (t *translator) remembered(file *strategyFile) shape.Value {
	servers := listOf()
	for _, s := range t.servers {
		servers.Items = append(servers.Items, obj("id", str(s.id), "transport", str(s.transport)))
	}
	named := shape.Value{Kind: shape.Map}
	for _, a := range t.agents {
		if a.llm != nil {
			if ids := serverIDs(&a.llm.MCPServers); len(ids) > 0 {
				put(&named, a.key, strs(ids))
			}
		}
	}
	return obj("version", str(file.Version), "agents", strs(t.keys()), "flow", file.Flow, "mcp_servers", servers, "mcp_named", named)
}

// slug converts a name to a form that a template id allows.
func slug(name string) string {
	plain := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(name))
	if plain = strings.Trim(plain, "-"); plain == "" {
		plain = "strategy"
	}
	return plain[:min(len(plain), 64)]
}

// prepare checks an agent and chooses the workspace's agent that plays it.
func (t *translator) prepare(a *strategyAgent) {
	if a.llm == nil {
		return
	}
	note := func(member string, has bool) {
		if has {
			t.unused[member] = append(t.unused[member], a.key)
		}
	}
	note("description", a.llm.Description != "")
	note("maxSteps", a.llm.MaxSteps > 0)
	note("modelOptions", isGiven(&a.llm.ModelOptions))
	note("providerOptions", isGiven(&a.llm.ProviderOptions))
	note("context", isGiven(&a.llm.Context))
	note("mcpServers", len(serverIDs(&a.llm.MCPServers)) > 0)
	if len(a.llm.Skills) > 0 {
		t.stop("Agent %q: skills are not served: their texts would be missing", a.key)
	}
	t.system[a.key] = t.instructions(a)
	model := a.llm.Model
	if t.override != "" {
		model = t.override
	}
	agent, chosen, err := t.choose(a.key, model)
	if err != nil && t.fault == nil {
		t.fault = err
	}
	t.picked[a.key] = [2]string{agent, chosen}
}

// notices returns messages about the parts of a strategy that have no effect.
func (t *translator) notices() (told []string) {
	for _, member := range []string{"description", "skills", "maxSteps", "modelOptions", "providerOptions", "context", "mcpServers"} {
		if keys := t.unused[member]; len(keys) > 0 {
			told = append(told, fmt.Sprintf("%s of strategy agents is not used: %s", member, strings.Join(keys, ", ")))
		}
	}
	for _, s := range t.servers {
		if slices.Contains(t.given, s.id) {
			continue // the workspace's server of the same id is used
		}
		told = append(told, "MCP server "+s.id+" of the strategy is not started")
	}
	return told
}

// instructions returns the system prompt of an agent as the instructions of a task.
func (t *translator) instructions(a *strategyAgent) string {
	text, path := a.llm.SystemPrompt, "agents."+a.key+".systemPrompt"
	if ext := strings.ToLower(text); strings.HasSuffix(ext, ".md") || strings.HasSuffix(ext, ".txt") {
		read, err := t.from.prompt(text)
		t.take(err, path)
		text = read
	}
	if template := a.llm.SystemPromptTemplate; template != nil {
		filled, ok := fillTemplate(template.Template, &template.Variables)
		if !ok {
			t.refuse(path+"Template.template", "Template constructs are not supported")
		}
		text = strings.TrimPrefix(text+"\n\n"+filled, "\n\n")
	}
	if schema := &a.llm.OutputSchema; isGiven(schema) {
		wish, err := schema.MarshalJSON()
		t.take(err, "agents."+a.key+".outputSchema")
		text = strings.TrimPrefix(text+"\n\nAnswer with JSON that fits this schema, and with nothing else:\n"+string(wish), "\n\n")
	}
	if text = strings.ReplaceAll(text, "{{", "{{{{"); len(text) > maxPrompt {
		t.refuse(path, "must have at most %d bytes", maxPrompt)
	}
	return text
}

// fillTemplate replaces {{ name }} and {{ name.key }} by variables. ok is false if the template has
// other constructs.
func fillTemplate(template string, variables *shape.Value) (filled string, ok bool) {
	if strings.Contains(template, "{%") {
		return "", false
	}
	var b strings.Builder
	for rest := template; ; {
		before, behind, found := strings.Cut(rest, "{{")
		b.WriteString(before)
		if !found {
			return b.String(), true
		}
		name, after, closed := strings.Cut(behind, "}}")
		if !closed {
			b.WriteString("{{" + behind)
			return b.String(), true
		}
		if strings.Contains(name, "|") {
			return "", false
		}
		value := variables
		for part := range strings.SplitSeq(strings.TrimSpace(name), ".") {
			value = value.Get(part)
		}
		b.WriteString(textOf(value))
		rest = after
	}
}

// textOf returns a variable as text.
func textOf(v *shape.Value) string {
	switch v.Kind {
	case shape.String:
		return v.Text
	case shape.List:
		parts := make([]string, len(v.Items))
		for i := range v.Items {
			parts[i] = textOf(&v.Items[i])
		}
		return strings.Join(parts, ", ")
	case shape.Number, shape.Bool, shape.Map:
		text, _ := v.MarshalJSON() // a parsed value always encodes
		return string(text)
	case shape.Absent, shape.Null:
	}
	return ""
}

// flow returns the node of a flow.
func (t *translator) flow(v *shape.Value, path string, depth int) shape.Value {
	file, err := flowCodec.Bind(v)
	if !t.take(err, path) {
		return shape.Value{}
	}
	if depth > maxDepth {
		t.refuse(path, "is nested too deeply")
		return shape.Value{}
	}
	if !slices.Contains([]string{"broadcast", "cycle", "sequential"}, file.Type) {
		t.stop("Flow %q references unknown flow type %q. Built-in flows: [broadcast, cycle, sequential].", file.Name, file.Type)
		return shape.Value{}
	}
	t.foreign(v, &file, path)
	steps := listOf()
	for i := range file.Steps {
		at := fmt.Sprintf("%s.steps[%d]", path, i)
		if isGiven(file.Steps[i].Get("agent")) {
			steps.Items = append(steps.Items, t.step(&file, &file.Steps[i], at))
		} else {
			steps.Items = append(steps.Items, t.flow(&file.Steps[i], at, depth+1))
		}
	}
	switch file.Type {
	case "sequential":
		return obj("kind", str(doc.NodeSequence), "name", str(file.Name), "steps", steps)
	case "broadcast":
		node := obj("kind", str(doc.NodeParallel), "name", str(file.Name), "concurrency", num(1), "steps", steps)
		if file.Separator != nil {
			put(&node, "separator", str(*file.Separator))
		}
		return node
	}
	return t.cycle(&file, steps, path)
}

// foreign refuses members that another type of flow has.
func (t *translator) foreign(v *shape.Value, file *flowFile, path string) {
	known := map[string]string{"cycles": "cycle", "observer": "cycle", "breakCycleSignals": "cycle", "breakCycleSignalMatch": "cycle", "separator": "broadcast"}
	for _, key := range v.Keys {
		if kind, special := known[key]; special && kind != file.Type {
			t.refuse(path, "unknown: %s", key)
		}
	}
}

// step returns the node of a step.
func (t *translator) step(flow *flowFile, v *shape.Value, path string) shape.Value {
	file, err := stepCodec.Bind(v)
	if !t.take(err, path) {
		return shape.Value{}
	}
	return t.call(flow, file.Agent)
}

// call returns the node of an agent: a task, or a question to the user.
func (t *translator) call(flow *flowFile, key string) shape.Value {
	a := t.agent(key)
	switch {
	case a == nil:
		t.stop("Flow %q references agent %q which is not defined. Available agents: [%s].", flow.Name, key, strings.Join(t.keys(), ", "))
		return shape.Value{}
	case a.user != nil:
		ask, preset := true, ""
		if c := a.user.Config; c != nil {
			ask, preset = c.RequireInput == nil || *c.RequireInput, c.PresetMessage
		}
		node := obj("kind", str(doc.NodeInput), "name", str(key), "ask", boolean(ask), "skip_if_given", boolean(true))
		if preset != "" {
			put(&node, "text", str(preset))
		}
		return node
	case a.llm != nil:
		return t.task(a)
	}
	return shape.Value{} // its issues are already collected
}

// cycle returns the node of a cyclic flow.
func (t *translator) cycle(file *flowFile, steps shape.Value, path string) shape.Value {
	node := obj("kind", str(doc.NodeCycle), "name", str(file.Name), "steps", steps)
	switch c := &file.Cycles; {
	case c.Kind == shape.Absent:
	case c.Kind == shape.String && c.Text == "Infinity":
		put(&node, "cycles", str("unbounded"))
	case c.Kind == shape.Number && c.Num == math.Trunc(c.Num) && c.Num > 0:
		put(&node, "cycles", num(c.Num))
	default:
		t.refuse(path+".cycles", `must be an integer above 0, or "Infinity"`)
	}
	observer := &file.Observer
	if observer.Kind == shape.Map {
		observer = observer.Get("agent")
	}
	switch {
	case observer.Kind == shape.String:
		put(&node, "observer", t.call(file, observer.Text))
		signals := file.Signals
		if len(signals) == 0 {
			signals = []string{"end cycle", "stop", "done"}
		}
		put(&node, "break_on", obj("signals", strs(signals), "match", str(file.Match)))
	case isGiven(&file.Observer):
		t.refuse(path+".observer", "must be the name of an agent")
	}
	return node
}
