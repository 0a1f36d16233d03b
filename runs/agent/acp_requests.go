package agent

// Updates and requests of an ACP agent during a turn.

import (
	"encoding/json"
	"slices"
	"strings"
)

// acpRequest is a request that waits for an answer.
type acpRequest struct {
	id      json.RawMessage
	options []acpChoice
}

type acpChoice struct {
	ID   string `json:"optionId"`
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// acpTool is a tool call, as far as it has been reported.
type acpTool struct {
	ID        string          `json:"toolCallId"`
	Title     string          `json:"title"`
	Kind      string          `json:"kind"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"rawInput"`
	Locations []struct {
		Path string `json:"path"`
	} `json:"locations"`
	Content []struct {
		Type    string `json:"type"`
		Path    string `json:"path"`
		Old     string `json:"oldText"`
		New     string `json:"newText"`
		Content struct {
			Text string `json:"text"`
		} `json:"content"`
	} `json:"content"`
}

// maxTools bounds the tool calls kept in memory.
const maxTools = 500

func (a *acp) Line(line []byte) {
	m, ok := a.rpc.take(line)
	switch {
	case !ok:
	case m.isRequest() && m.Method == "session/request_permission":
		a.request(m)
	case m.isRequest():
		_ = a.rpc.refuse(m.ID, m.Method) // best effort: the turn exposes an agent that does not read
	case m.Method == "session/update":
		a.update(m.Params)
	}
}

func (a *acp) update(params json.RawMessage) {
	var p struct {
		Update json.RawMessage `json:"update"`
	}
	decode(params, &p)
	var u struct {
		Kind     string `json:"sessionUpdate"`
		Commands []struct {
			Name string `json:"name"`
		} `json:"availableCommands"`
		Mode   string      `json:"currentModeId"`
		Config []acpOption `json:"configOptions"`
		Cost   *struct {
			Amount   float64 `json:"amount"`
			Currency string  `json:"currency"`
		} `json:"cost"`
	}
	decode(p.Update, &u)
	switch u.Kind {
	case "tool_call", "tool_call_update":
		var t acpTool
		decode(p.Update, &t)
		a.mergeTool(t)
	case "available_commands_update":
		a.command = false
		for _, c := range u.Commands {
			a.command = a.command || c.Name == "compact"
		}
	case "current_mode_update":
		a.mode = u.Mode
	case "config_option_update":
		if u.Config != nil {
			a.settings(u.Config)
		}
	case "usage_update":
		if u.Cost != nil && (u.Cost.Currency == "" || u.Cost.Currency == "USD") && !a.loading {
			if a.cost = &u.Cost.Amount; a.usageReported && !a.active {
				a.report()
			}
		}
	}
}

// mergeTool merges an update of a tool call with its earlier reports.
func (a *acp) mergeTool(t acpTool) acpTool {
	before := a.tools[t.ID]
	t.Title, t.Kind, t.Name = orElse(t.Title, before.Title), orElse(t.Kind, before.Kind), orElse(t.Name, before.Name)
	if len(t.Input) == 0 {
		t.Input = before.Input
	}
	if len(t.Locations) == 0 {
		t.Locations = before.Locations
	}
	if len(t.Content) == 0 {
		t.Content = before.Content
	}
	if len(a.tools) >= maxTools {
		clear(a.tools)
	}
	a.tools[t.ID] = t
	return t
}

func (a *acp) request(m message) {
	var p struct {
		Tool    acpTool     `json:"toolCall"`
		Options []acpChoice `json:"options"`
	}
	if _, waits := a.asked[string(m.ID)]; waits {
		return // an answer would be ambiguous
	}
	decode(m.Params, &p)
	t := a.mergeTool(p.Tool)
	q := Request{Key: string(m.ID), Kind: Permission, Tool: orElse(t.Name, orElse(t.Kind, "tool")), Title: t.Title, Args: t.Input, Item: t.ID}
	q.Prompt = "The agent wants to use " + orElse(t.Title, q.Tool) + "."
	q.Always = len(choicesOf(p.Options, "allow_once")) == 0 && len(choicesOf(p.Options, "allow_always")) > 0
	for _, c := range t.Content {
		switch {
		case c.Type == "diff":
			q.Diff += changeDiff(c.Path, c.Old, c.New)
		case c.Content.Text != "":
			q.Prompt = c.Content.Text
		}
	}
	a.want(&q, t)
	a.asked[q.Key] = acpRequest{slices.Clone(m.ID), p.Options}
	a.host.Asked(q)
}

// paths returns the files that a call affects.
func (t acpTool) paths() (paths []string) {
	for _, l := range t.Locations {
		paths = append(paths, l.Path)
	}
	for _, c := range t.Content {
		if len(t.Locations) == 0 && c.Type == "diff" {
			paths = append(paths, c.Path)
		}
	}
	return paths
}

// want derives the accesses of a request from the call's kind.
func (a *acp) want(q *Request, t acpTool) {
	var in struct {
		Command json.RawMessage `json:"command"`
		URL     string          `json:"url"`
	}
	decode(t.Input, &in)
	switch t.Kind {
	case "read", "search", "think":
		for _, path := range t.paths() {
			q.Accesses = append(q.Accesses, Access{Read, path})
		}
		if q.Accesses == nil {
			q.Accesses = []Access{{Read, "."}}
		}
	case "edit", "delete", "move":
		q.Accesses = writes(t.paths())
	case "execute":
		q.Accesses = []Access{{Execute, orElse(commandText(in.Command), t.Title)}}
	case "fetch":
		q.Accesses = []Access{{Network, orElse(in.URL, t.Title)}}
	case "switch_mode":
		q.Kind = Plan
	default:
		q.Accesses = []Access{{Tool, a.resource(t)}}
	}
}

// resource returns S/T for a tool of a server that we configured, else builtin/NAME. Gemini
// appends the server to the call's title, and puts both into the call's id.
func (a *acp) resource(t acpTool) string {
	name := orElse(t.Name, t.Title)
	if strings.HasPrefix(name, "mcp__") {
		return toolOfServer(name)
	}
	for _, s := range a.start.Servers {
		if tool, ok := strings.CutPrefix(name, s.Name+"__"); ok {
			return s.Name + "/" + tool
		}
		tool, ok := strings.CutSuffix(name, " ("+s.Name+" MCP Server)")
		if ok && strings.HasPrefix(t.ID, "mcp_"+s.Name+"_"+tool+"__") {
			return s.Name + "/" + tool
		}
	}
	return "builtin/" + name
}

func choicesOf(options []acpChoice, kinds ...string) (found []acpChoice) {
	for _, kind := range kinds {
		for _, o := range options {
			if o.Kind == kind {
				found = append(found, o)
			}
		}
	}
	return found
}

// acpOutcome is the response to a permission request.
type acpOutcome struct {
	Outcome acpSelected `json:"outcome"`
}

type acpSelected struct {
	Outcome string `json:"outcome"`
	Option  string `json:"optionId,omitempty"`
}

func (a *acp) Answer(request string, answer Answer) error {
	asked, open := a.asked[request]
	if !open {
		return nil
	}
	delete(a.asked, request)
	var fitting []acpChoice
	switch answer.State {
	case Allowed:
		fitting = choicesOf(asked.options, "allow_once", "allow_always")
	case Denied, TimedOut:
		fitting = choicesOf(asked.options, "reject_once", "reject_always")
	}
	outcome := acpOutcome{acpSelected{Outcome: "cancelled"}}
	if len(fitting) > 0 {
		outcome.Outcome = acpSelected{"selected", fitting[0].ID}
	}
	return a.rpc.reply(asked.id, outcome)
}
