package comma

// Strategies to templates of workflows.

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"ac/internal/shape"
	"ac/workspace/doc"
)

// ours is the member of a template that says what it was made from: the clients see that.
const ours = "comma"

// callTimeout is how long a call of an agent may take, in milliseconds.
const callTimeout = 7_200_000

// translator makes the template of a strategy.
type translator struct {
	reader
	from     source
	level    doc.Level // the highest that its agents get
	choose   func(key, model string) (agent, chosen string, err error)
	override string               // model of all agents, "" for their own
	system   map[string]string    // instructions, by agent
	picked   map[string][2]string // agent of the workspace and model, by agent
	unused   map[string][]string  // agents, by the member that is not used
	servers  []ownServer
}

// ownServer is an MCP server that the strategy brings.
type ownServer struct{ id, transport string }

// translated is a strategy as ac runs it.
type translated struct {
	name     string
	template shape.Value
	notices  []string
}

// translate reads a strategy.
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
	put(&template, ours, t.remembered(&file))
	return translated{file.Name, template, t.notices()}, nil
}

// remembered is what the clients are shown of a strategy, in its template.
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

// slug is a name as the id of a template may have it.
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

// prepare checks an agent, and finds who plays it.
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
	note("modelOptions", given(&a.llm.ModelOptions))
	note("providerOptions", given(&a.llm.ProviderOptions))
	note("context", given(&a.llm.Context))
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

// notices tell what a strategy has that is not used.
func (t *translator) notices() (told []string) {
	for _, member := range []string{"description", "skills", "maxSteps", "modelOptions", "providerOptions", "context", "mcpServers"} {
		if keys := t.unused[member]; len(keys) > 0 {
			told = append(told, fmt.Sprintf("%s of strategy agents is not used: %s", member, strings.Join(keys, ", ")))
		}
	}
	for _, s := range t.servers {
		told = append(told, "MCP server "+s.id+" of the strategy is not started")
	}
	return told
}

// instructions are the system prompt of an agent, as instructions of a task.
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
	if schema := &a.llm.OutputSchema; given(schema) {
		wish, err := schema.MarshalJSON()
		t.take(err, "agents."+a.key+".outputSchema")
		text = strings.TrimPrefix(text+"\n\nAnswer with JSON that fits this schema, and with nothing else:\n"+string(wish), "\n\n")
	}
	if text = strings.ReplaceAll(text, "{{", "{{{{"); len(text) > maxPrompt {
		t.refuse(path, "must have at most %d bytes", maxPrompt)
	}
	return text
}

// fillTemplate puts variables in the place of {{ name }} and {{ name.key }}. ok is false for
// a template with other constructs.
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

// textOf is a variable as a text.
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
		text, _ := v.MarshalJSON() // what was parsed encodes
		return string(text)
	case shape.Absent, shape.Null:
	}
	return ""
}

// flow makes the node of a flow.
func (t *translator) flow(v *shape.Value, path string, depth int) shape.Value {
	file, err := flowCodec.Bind(v)
	if !t.take(err, path) || depth > 8 {
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
		if given(file.Steps[i].Get("agent")) {
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

// foreign refuses members that the type of a flow does not have.
func (t *translator) foreign(v *shape.Value, file *flowFile, path string) {
	known := map[string]string{"cycles": "cycle", "observer": "cycle", "breakCycleSignals": "cycle", "breakCycleSignalMatch": "cycle", "separator": "broadcast"}
	for _, key := range v.Keys {
		if kind, special := known[key]; special && kind != file.Type {
			t.refuse(path, "unknown: %s", key)
		}
	}
}

// step makes the node of a call of an agent.
func (t *translator) step(flow *flowFile, v *shape.Value, path string) shape.Value {
	file, err := stepCodec.Bind(v)
	if !t.take(err, path) {
		return shape.Value{}
	}
	return t.call(flow, file.Agent)
}

// call is the node of an agent: a task, or a question to the user.
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
	return shape.Value{} // its issues are known
}

// task is the node of an agent that works.
func (t *translator) task(a *strategyAgent) shape.Value {
	picked := t.picked[a.key]
	node := obj("kind", str(doc.NodeTask), "name", str(a.key), "agent", obj("agent_id", str(picked[0])),
		"goal", str("{{input}}"), "answer", str(doc.AnswerProse), "interactive", boolean(true), "attempts", num(1),
		"timeout_ms", num(callTimeout), "remember", str(a.key))
	if picked[1] != "" {
		put(&node, "model", str(picked[1]))
	}
	if text := t.system[a.key]; text != "" {
		put(&node, "instructions", str(text))
	}
	commands := slices.Contains(a.llm.Tools, "run_command")
	writes := slices.ContainsFunc(a.llm.Tools, func(tool string) bool { return slices.Contains(writingTools(), tool) })
	level := doc.LevelReadOnly
	switch {
	case commands:
		level = doc.LevelRunCommands
	case writes:
		level = doc.LevelPatch
	}
	level = lower(level, t.level)
	mode := doc.ModeAcceptEdits
	if level == doc.LevelReadOnly {
		mode = doc.ModeDefault
	}
	rules := listOf()
	deny := func(op doc.Operation) {
		rules.Items = append(rules.Items, obj("operation", str(string(op)), "effect", str(string(doc.Deny)), "glob", str("**")))
	}
	if !commands {
		deny(doc.OpExec)
	}
	if !writes {
		deny(doc.OpWrite)
	}
	put(&node, "permission_level", str(string(level)))
	put(&node, "mode", str(string(mode)))
	put(&node, "rules", rules)
	return node
}

// writingTools are the tools of strategies that change files.
func writingTools() []string {
	return []string{"create_file", "write_file", "edit_file", "delete_file", "restore_file", "move_file", "apply_patch"}
}

// lower is the lower of two levels.
func lower(a, b doc.Level) doc.Level {
	order := []doc.Level{doc.LevelReadOnly, doc.LevelPatch, doc.LevelRunCommands}
	return order[min(max(0, slices.Index(order, a)), max(0, slices.Index(order, b)))]
}

// cycle makes the node of a flow that goes round.
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
	case given(&file.Observer):
		t.refuse(path+".observer", "must be the name of an agent")
	}
	return node
}

// ownServers reads which MCP servers a strategy brings.
func (t *translator) ownServers(v *shape.Value) {
	if v.Kind != shape.Map && v.Kind != shape.List && given(v) {
		t.refuse("mcpServers", "expected object, got %s", v.Kind)
	}
	for i, id := range serverIDs(v) {
		transport := "stdio"
		if v.Kind == shape.Map {
			transport = transportOf(&v.Items[i])
		}
		t.servers = append(t.servers, ownServer{id, transport})
	}
}

// serverIDs are the servers that a member names: the keys of an object, or a list of names.
func serverIDs(v *shape.Value) (ids []string) {
	if v.Kind == shape.Map {
		return v.Keys
	}
	for i := range v.Items {
		switch item := &v.Items[i]; item.Kind {
		case shape.String:
			ids = append(ids, item.Text)
		case shape.Map:
			ids = append(ids, item.Get("id").Text)
		default:
		}
	}
	return ids
}

// transportOf is how a server would be spoken with.
func transportOf(v *shape.Value) string {
	for _, name := range []string{"transport", "type"} {
		if kind := v.Get(name); kind.Kind == shape.String && kind.Text != "" {
			return kind.Text
		}
	}
	if given(v.Get("url")) {
		return "http"
	}
	return "stdio"
}
