package agentbench

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// responses is OpenAI's Responses API, as codex uses it.
type responses struct{}

// part is a piece of content, as in most APIs.
type part struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// texts decodes content that is a text or a list of parts.
func texts(raw json.RawMessage) (list []string) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []string{text}
	}
	var parts []part
	if json.Unmarshal(raw, &parts) != nil {
		return nil
	}
	for _, p := range parts {
		if p.Text != "" {
			list = append(list, p.Text)
		}
	}
	return list
}

// said records texts of the user. The tool results start anew.
func (r *Request) said(list []string) {
	if len(list) == 0 {
		return
	}
	r.Texts, r.Results = append(r.Texts, list...), nil
	r.Prompt = ""
	for _, text := range list {
		r.Prompt += text
	}
}

// tool is a tool that codex offers, or a namespace of tools.
type tool struct {
	Type  string `json:"type"`
	Name  string `json:"name"`
	Tools []tool `json:"tools"`
}

func (t tool) names() (list []string) {
	for _, inner := range t.Tools {
		list = append(list, inner.names()...)
	}
	switch {
	case t.Type == "namespace":
	case t.Name == "":
		list = append(list, t.Type)
	default:
		list = append(list, t.Name)
	}
	return list
}

func (responses) read(body []byte) (r Request, err error) {
	var in struct {
		Model string `json:"model"`
		Input []struct {
			Type    string          `json:"type"`
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
			Output  json.RawMessage `json:"output"`
			Tools   []tool          `json:"tools"` // set in additional_tools items
		} `json:"input"`
		Tools []tool `json:"tools"`
		Text  struct {
			Format *part `json:"format"`
		} `json:"text"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return r, fmt.Errorf("responses: %w", err)
	}
	r.API, r.Model, r.Schema = Responses, in.Model, in.Text.Format != nil && in.Text.Format.Type == "json_schema"
	for _, t := range in.Tools {
		r.Tools = append(r.Tools, t.names()...)
	}
	for _, item := range in.Input {
		for _, t := range item.Tools {
			r.Tools = append(r.Tools, t.names()...)
		}
		switch {
		case item.Role == "user":
			r.said(texts(item.Content))
		case item.Type == "function_call_output" || item.Type == "custom_tool_call_output":
			result := string(item.Output)
			if list := texts(item.Output); len(list) > 0 {
				result = strings.Join(list, "\n")
			}
			r.Results = append(r.Results, result)
		}
	}
	return r, nil
}

func (responses) answer(out *stream, r Request, reply Reply, _ bool) {
	id := out.id("resp")
	out.event("response.created", object{"type": "response.created", "response": object{"id": id, "object": "response", "status": "in_progress", "model": r.Model, "output": []any{}}})
	index := 0
	item := func(added, done object) {
		out.event("response.output_item.added", object{"type": "response.output_item.added", "output_index": index, "item": added})
		out.event("response.output_item.done", object{"type": "response.output_item.done", "output_index": index, "item": done})
		index++
	}
	if reply.Think != "" {
		thought := object{"type": "reasoning", "id": out.id("rs"), "summary": []object{{"type": "summary_text", "text": reply.Think}}}
		item(thought, thought)
	}
	if reply.Text != "" && !reply.Refused {
		name := out.id("msg")
		begin := object{"type": "message", "id": name, "role": "assistant", "status": "in_progress", "content": []any{}}
		out.event("response.output_item.added", object{"type": "response.output_item.added", "output_index": index, "item": begin})
		out.pieces(reply, reply.Text, func(piece string) {
			out.event("response.output_text.delta", object{"type": "response.output_text.delta", "item_id": name, "output_index": index, "content_index": 0, "delta": piece})
		})
		kind := "output_text"
		content := object{"type": kind, "text": reply.Text, "annotations": []any{}}
		done := object{"type": "message", "id": name, "role": "assistant", "status": "completed", "content": []object{content}}
		out.event("response.output_item.done", object{"type": "response.output_item.done", "output_index": index, "item": done})
		index++
	}
	for i, call := range reply.Calls {
		name, args := call.words(r.Tools)
		callID := fmt.Sprintf("call_%06d_%d", out.number, i)
		made := object{"type": "function_call", "id": fmt.Sprintf("fc_%06d_%d", out.number, i), "call_id": callID, "name": name, "status": "completed"}
		if call.Space != "" {
			made["namespace"] = call.Space
		}
		if text, ok := args.(string); ok {
			made["type"], made["input"] = "custom_tool_call", text
		} else {
			text, _ := json.Marshal(args)
			made["arguments"] = string(text)
		}
		item(made, made)
	}
	u := reply.Usage
	out.charge(u)
	if reply.Refused {
		out.event("response.failed", object{"type": "response.failed", "response": object{
			"id": id, "object": "response", "status": "failed", "model": r.Model, "output": []any{},
			"error": object{"code": "invalid_prompt", "message": reply.Text},
		}})
		return
	}
	out.event("response.completed", object{"type": "response.completed", "response": object{
		"id": id, "object": "response", "status": "completed", "model": r.Model, "output": []any{},
		"usage": object{
			"input_tokens": u.Input + u.Cached, "input_tokens_details": object{"cached_tokens": u.Cached},
			"output_tokens": u.Output + u.Reasoning, "output_tokens_details": object{"reasoning_tokens": u.Reasoning},
			"total_tokens": u.Total(),
		},
	}})
}

func (responses) refuse(w http.ResponseWriter, reply Reply) {
	refuse(w, reply.Status, object{"error": object{"message": reply.Text, "type": "error", "code": nil}})
}
