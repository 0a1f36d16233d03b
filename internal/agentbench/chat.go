package agentbench

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
)

// chat is OpenAI's Chat Completions API, as opencode uses it.
type chat struct{}

func (chat) read(body []byte) (r Request, err error) {
	var in struct {
		Model    string `json:"model"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		} `json:"tools"`
		ResponseFormat *part `json:"response_format"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return r, fmt.Errorf("chat: %w", err)
	}
	r.API, r.Model, r.Schema = Chat, in.Model, in.ResponseFormat != nil && in.ResponseFormat.Type == "json_schema"
	for _, tool := range in.Tools {
		r.Tools = append(r.Tools, tool.Function.Name)
	}
	for _, m := range in.Messages {
		list := texts(m.Content)
		switch m.Role {
		case "user":
			r.said(list)
		case "tool":
			r.Results = append(r.Results, first(list))
		}
	}
	return r, nil
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

func (chat) answer(out *stream, r Request, reply Reply, streamed bool) {
	usage := object{
		"prompt_tokens": reply.Usage.Input + reply.Usage.Cached, "prompt_tokens_details": object{"cached_tokens": reply.Usage.Cached},
		"completion_tokens":         reply.Usage.Output + reply.Usage.Reasoning,
		"completion_tokens_details": object{"reasoning_tokens": reply.Usage.Reasoning}, "total_tokens": reply.Usage.Total(),
	}
	calls := make([]object, 0, len(reply.Calls))
	for i, call := range reply.Calls {
		name, args := call.words(r.Tools)
		text, _ := json.Marshal(args)
		calls = append(calls, object{"index": i, "id": fmt.Sprintf("call_%06d_%d", out.number, i), "type": "function", "function": object{"name": name, "arguments": string(text)}})
	}
	finish := "stop"
	if len(calls) > 0 {
		finish = "tool_calls"
	}
	if reply.Refused {
		finish = "content_filter"
	}
	frame := func(delta object, finish any) object {
		return object{"id": out.id("chatcmpl"), "object": "chat.completion.chunk", "created": 1, "model": r.Model, "choices": []object{{"index": 0, "delta": delta, "finish_reason": finish}}}
	}
	if !streamed {
		out.charge(reply.Usage)
		message := object{"role": "assistant", "content": reply.Text}
		if len(calls) > 0 {
			message["tool_calls"] = slices.Clone(calls)
		}
		writeJSON(out.w, object{"id": out.id("chatcmpl"), "object": "chat.completion", "created": 1, "model": r.Model, "usage": usage,
			"choices": []object{{"index": 0, "message": message, "finish_reason": finish}}})
		return
	}
	out.event("", frame(object{"role": "assistant", "content": ""}, nil))
	if reply.Think != "" {
		out.event("", frame(object{"reasoning_content": reply.Think}, nil))
	}
	out.pieces(reply, reply.Text, func(piece string) { out.event("", frame(object{"content": piece}, nil)) })
	if len(calls) > 0 {
		out.event("", frame(object{"tool_calls": calls}, nil))
	}
	last := frame(object{}, finish)
	last["usage"] = usage
	out.charge(reply.Usage)
	out.event("", last)
	out.send("", "[DONE]")
}

func (chat) refuse(w http.ResponseWriter, reply Reply) { responses{}.refuse(w, reply) }
