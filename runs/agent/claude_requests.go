package agent

// claude's requests for permission to use a tool. Its questions and plans are tools as well.

import (
	"encoding/json"
	"strings"
)

type claudeAsk struct {
	Subtype   string          `json:"subtype"`
	Tool      string          `json:"tool_name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Text      string          `json:"description"`
}

// claudeInput is the part of the tools' inputs that we use.
type claudeInput struct {
	FilePath  string `json:"file_path"`
	Path      string `json:"path"`
	Notebook  string `json:"notebook_path"`
	Command   string `json:"command"`
	URL       string `json:"url"`
	Query     string `json:"query"`
	Plan      string `json:"plan"`
	Content   string `json:"content"`
	Old       string `json:"old_string"`
	New       string `json:"new_string"`
	Questions []struct {
		Question, Header string
		MultiSelect      bool
		Options          []struct{ Label, Description string }
	} `json:"questions"`
}

func (c *claude) request(m *claudeLine) {
	if _, waits := c.asked[m.RequestID]; waits || m.RequestID == "" {
		return // an answer would be ambiguous
	}
	var p claudeAsk
	decode(m.Request, &p)
	if p.Subtype != "can_use_tool" {
		_ = c.send(claudeReply{"control_response", claudeReplyContent{ // best effort: the turn exposes an agent that does not read
			Subtype: "error", ID: m.RequestID, Error: "ac does not support " + p.Subtype,
		}})
		return
	}
	var in claudeInput
	decode(p.Input, &in)
	q := Request{Key: m.RequestID, Kind: Permission, Tool: p.Tool, Title: p.Tool, Args: p.Input, Item: p.ToolUseID}
	q.Prompt = "The agent wants to use " + p.Tool + "."
	switch p.Tool {
	case "AskUserQuestion":
		q.Kind, q.Prompt, q.Title = Question, "", ""
		for _, one := range in.Questions {
			asked := QuestionPart{ID: one.Question, Header: one.Header, Question: one.Question, Multi: one.MultiSelect, Free: true}
			for _, o := range one.Options {
				asked.Choices = append(asked.Choices, Choice(o))
			}
			q.Questions = append(q.Questions, asked)
		}
		q.entitle()
	case "ExitPlanMode":
		q.Kind, q.Title = Plan, "Carry out the plan"
		q.Prompt = orElse(in.Plan, orElse(c.last, "The agent has a plan."))
	default:
		in.want(&q, p)
	}
	c.asked[m.RequestID] = claudeRequest{q.Kind, append(json.RawMessage(nil), p.Input...)}
	c.host.Asked(q)
}

// want derives the accesses and the title of a request from the tool's name.
func (in claudeInput) want(q *Request, p claudeAsk) {
	switch p.Tool {
	case "Read", "Glob", "Grep", "LS", "NotebookRead":
		path := orElse(in.FilePath, orElse(in.Path, orElse(in.Notebook, ".")))
		q.Accesses, q.Title = []Access{{Read, path}}, p.Tool+" "+path
	case "Write", "Edit", "MultiEdit", "NotebookEdit":
		path := orElse(in.FilePath, in.Notebook)
		q.Accesses, q.Title = []Access{{Write, path}}, p.Tool+" "+path
		switch {
		case p.Tool == "Write":
			q.Diff = fileDiff(path, "add", in.Content)
		case in.Old != "" || in.New != "":
			q.Diff = changeDiff(path, in.Old, in.New)
		}
	case "WebFetch":
		q.Accesses, q.Title = []Access{{Network, in.URL}}, in.URL
	case "WebSearch":
		q.Accesses, q.Title = []Access{{Network, "search:" + in.Query}}, "Search: "+in.Query
	default:
		switch {
		case strings.HasPrefix(p.Tool, "Bash") || p.Tool == "KillShell":
			q.Accesses, q.Title = []Access{{Execute, in.Command}}, orElse(in.Command, p.Tool)
		case strings.HasPrefix(p.Tool, "mcp__"):
			q.Accesses = []Access{{Tool, toolOfServer(p.Tool)}}
			q.Title = q.Accesses[0].Resource
		default:
			q.Accesses = []Access{{Tool, "builtin/" + p.Tool}}
		}
	}
}

// toolOfServer returns S/T for mcp__S__T.
func toolOfServer(name string) string {
	server, tool, ok := strings.Cut(strings.TrimPrefix(name, "mcp__"), "__")
	if !ok {
		return "builtin/" + name
	}
	return server + "/" + tool
}

// claudeDecision is the answer to a permission request.
type claudeDecision struct {
	Behavior string          `json:"behavior"`
	Input    json.RawMessage `json:"updatedInput,omitempty"`
	Message  string          `json:"message,omitempty"`
}

func (c *claude) Answer(request string, a Answer) error {
	asked, open := c.asked[request]
	if !open {
		return nil
	}
	delete(c.asked, request)
	d := claudeDecision{Behavior: "deny", Message: a.text()}
	switch {
	case a.State == Allowed:
		d = claudeDecision{Behavior: "allow", Input: orObject(asked.input)}
	case a.State == Answered:
		d = claudeDecision{Behavior: "allow", Input: withAnswers(asked.input, a.Answers)}
	case asked.kind == Question:
		d.Message = unanswered
	}
	return c.send(claudeReply{"control_response", claudeReplyContent{Subtype: "success", ID: request, Response: d}})
}

func orObject(input json.RawMessage) json.RawMessage {
	if len(input) == 0 || input[0] != '{' {
		return json.RawMessage("{}")
	}
	return input
}

// withAnswers adds the answers to the input of a question, keyed by the questions' texts.
func withAnswers(input json.RawMessage, answers map[string][]string) json.RawMessage {
	joined := map[string]string{}
	for question, texts := range answers {
		joined[question] = strings.Join(texts, ", ")
	}
	var in struct {
		Questions json.RawMessage   `json:"questions,omitempty"`
		Answers   map[string]string `json:"answers"`
	}
	decode(input, &in)
	in.Answers = joined
	return arguments(in)
}
