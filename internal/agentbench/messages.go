package agentbench

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// messages is Anthropic's Messages API, as claude uses it.
type messages struct{}

func (messages) read(body []byte) (r Request, err error) {
	var in struct {
		Model    string `json:"model"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return r, fmt.Errorf("messages: %w", err)
	}
	r.API, r.Model = Messages, in.Model
	for _, tool := range in.Tools {
		r.Tools = append(r.Tools, tool.Name)
	}
	for _, m := range in.Messages {
		if m.Role == "system" {
			r.Texts = append(r.Texts, saidMeanwhile(texts(m.Content))...)
		}
		if m.Role != "user" {
			continue
		}
		var blocks []struct {
			Type    string          `json:"type"`
			Content json.RawMessage `json:"content"`
		}
		var results []string
		if json.Unmarshal(m.Content, &blocks) == nil {
			for _, b := range blocks {
				if b.Type == "tool_result" {
					results = append(results, first(texts(b.Content)))
				}
			}
		}
		if len(results) > 0 { // the agent may add reminders to the results
			r.Results = append(r.Results, results...)
			continue
		}
		r.said(texts(m.Content))
	}
	return r, nil
}

// saidMeanwhile returns the user's messages that were sent while the agent was working. claude
// passes them on after a tool result, as a system message, since they begin no turn.
func saidMeanwhile(list []string) (said []string) {
	for _, text := range list {
		if _, rest, ok := strings.Cut(text, "sent a new message while you were working:\n"); ok {
			said = append(said, rest)
		}
	}
	return said
}

func (messages) answer(out *stream, r Request, reply Reply, streamed bool) {
	u := reply.Usage
	usage := object{
		"input_tokens": u.Input, "cache_read_input_tokens": u.Cached, "cache_creation_input_tokens": u.CacheWrite,
		"output_tokens": u.Output + u.Reasoning,
	}
	if u.Reasoning > 0 {
		usage["output_tokens_details"] = object{"thinking_tokens": u.Reasoning}
	}
	stop := "end_turn"
	switch {
	case reply.Refused:
		stop = "refusal"
	case len(reply.Calls) > 0:
		stop = "tool_use"
	}
	var blocks []object
	if reply.Think != "" {
		blocks = append(blocks, object{"type": "thinking", "thinking": reply.Think, "signature": "c2ln"})
	}
	if reply.Text != "" {
		blocks = append(blocks, object{"type": "text", "text": reply.Text})
	}
	for i, call := range reply.Calls {
		name, args := call.words(r.Tools)
		blocks = append(blocks, object{"type": "tool_use", "id": fmt.Sprintf("toolu_%06d_%d", out.number, i), "name": name, "input": args})
	}
	message := object{"id": out.id("msg"), "type": "message", "role": "assistant", "model": r.Model, "content": []any{}, "stop_reason": nil, "stop_sequence": nil, "usage": usage}
	if !streamed {
		out.charge(u)
		message["content"], message["stop_reason"] = blocks, stop
		writeJSON(out.w, message)
		return
	}
	begin := object{}
	for name, value := range usage {
		begin[name] = value
	}
	begin["output_tokens"] = min(1, u.Output)
	message["usage"] = begin
	out.charge(Usage{Input: u.Input, Cached: u.Cached, CacheWrite: u.CacheWrite, Output: min(1, u.Output)})
	out.event("message_start", object{"type": "message_start", "message": message})
	for i, block := range blocks {
		delta := func(d object) {
			out.event("content_block_delta", object{"type": "content_block_delta", "index": i, "delta": d})
		}
		start := object{"type": block["type"]}
		switch block["type"] {
		case "thinking":
			start["thinking"], start["signature"] = "", ""
		case "text":
			start["text"] = ""
		default:
			start["id"], start["name"], start["input"] = block["id"], block["name"], object{}
		}
		out.event("content_block_start", object{"type": "content_block_start", "index": i, "content_block": start})
		switch block["type"] {
		case "thinking":
			delta(object{"type": "thinking_delta", "thinking": block["thinking"]})
			delta(object{"type": "signature_delta", "signature": block["signature"]})
		case "text":
			out.pieces(reply, reply.Text, func(piece string) { delta(object{"type": "text_delta", "text": piece}) })
		default:
			text, _ := json.Marshal(block["input"])
			delta(object{"type": "input_json_delta", "partial_json": string(text)})
		}
		out.event("content_block_stop", object{"type": "content_block_stop", "index": i})
	}
	out.charge(Usage{Output: u.Output - min(1, u.Output), Reasoning: u.Reasoning})
	out.event("message_delta", object{"type": "message_delta", "delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": usage})
	out.event("message_stop", object{"type": "message_stop"})
}

func (messages) refuse(w http.ResponseWriter, reply Reply) {
	kind := map[int]string{401: "authentication_error", 403: "permission_error", 429: "rate_limit_error", 500: "api_error", 529: "overloaded_error"}[reply.Status]
	if kind == "" {
		kind = "invalid_request_error"
	}
	refuse(w, reply.Status, object{"type": "error", "error": object{"type": kind, "message": reply.Text}})
}
