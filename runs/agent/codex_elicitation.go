package agent

// Elicitations from codex's MCP servers: requests to run a tool, to open a URL or to fill in a
// form.

import (
	"encoding/json"
	"strconv"

	"ac/internal/canonjson"
)

// elicitationResult is the response to an elicitation.
type elicitationResult struct {
	Action  string          `json:"action"`
	Content json.RawMessage `json:"content"`
	Meta    *struct{}       `json:"_meta"`
}

func (p codexAsk) elicitation(q *Request) func(Answer) any {
	switch {
	case p.Meta.Kind == "mcp_tool_call":
		name := p.Server + "/" + p.Meta.Tool
		q.Tool, q.Title, q.Prompt = name, name, orElse(p.Text, "The agent wants to use a tool.")
		q.Accesses, q.Args = []Access{{Tool, name}}, p.Meta.Params
		return func(a Answer) any {
			if a.State == Allowed {
				return elicitationResult{Action: "accept", Content: json.RawMessage("{}")}
			}
			return elicitationResult{Action: "decline", Content: json.RawMessage("{}")}
		}
	case p.Mode == "url":
		q.Kind, q.Tool, q.Title, q.Prompt = Input, p.Server, orElse(p.Text, "The agent asks to open an address."), p.URL
		return func(a Answer) any {
			if a.State == Answered {
				return elicitationResult{Action: "accept", Content: json.RawMessage("{}")}
			}
			return elicitationResult{Action: "cancel", Content: json.RawMessage("null")}
		}
	}
	return p.form(q)
}

// field is a property of a form.
type field struct {
	name string
	kind string
}

// form asks one question for each property of a schema, in the schema's order.
func (p codexAsk) form(q *Request) func(Answer) any {
	q.Kind, q.Tool, q.Prompt = Question, p.Server, p.Text
	var schema struct {
		Properties json.RawMessage `json:"properties"`
	}
	decode(p.Schema, &schema)
	var fields []field
	_ = canonjson.Members(schema.Properties, func(m canonjson.Member) { // a schema without properties has no questions
		var property struct {
			Type, Title, Description string
			Enum, EnumNames          []string
		}
		decode(m.Value, &property)
		name := string(m.Key)
		fields = append(fields, field{name, property.Type})
		one := QuestionPart{ID: name, Header: property.Title, Question: orElse(property.Description, orElse(property.Title, name)), Free: len(property.Enum) == 0}
		if property.Type == "boolean" && one.Free {
			property.Enum, one.Free = []string{"true", "false"}, false
		}
		for i, value := range property.Enum {
			choice := Choice{Label: value}
			if i < len(property.EnumNames) {
				choice.Description = property.EnumNames[i]
			}
			one.Choices = append(one.Choices, choice)
		}
		q.Questions = append(q.Questions, one)
	})
	q.entitle()
	return func(a Answer) any {
		if a.State != Answered {
			return elicitationResult{Action: "cancel", Content: json.RawMessage("null")}
		}
		return elicitationResult{Action: "accept", Content: formContent(fields, a.Answers)}
	}
}

// formContent encodes a form's answers, each with its property's type.
func formContent(fields []field, answers map[string][]string) json.RawMessage {
	content := []byte{'{'}
	for _, f := range fields {
		texts := answers[f.name]
		if len(texts) == 0 {
			continue
		}
		if len(content) > 1 {
			content = append(content, ',')
		}
		content = append(canonjson.AppendString(content, f.name), ':')
		content = append(content, typedAnswer(f.kind, texts)...)
	}
	return append(content, '}')
}

func typedAnswer(kind string, texts []string) []byte {
	text := texts[0]
	switch kind {
	case "number", "integer":
		if _, err := strconv.ParseFloat(text, 64); err == nil && json.Valid([]byte(text)) {
			return []byte(text)
		}
	case "boolean":
		if text == "true" || text == "false" {
			return []byte(text)
		}
	case "array":
		list := []byte{'['}
		for i, one := range texts {
			if i > 0 {
				list = append(list, ',')
			}
			list = canonjson.AppendString(list, one)
		}
		return append(list, ']')
	}
	return canonjson.AppendString(nil, text)
}
