package agentbench

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// generate is Gemini's generateContent.
type generate struct{}

func (generate) read(body []byte) (r Request, err error) {
	var in struct {
		Contents []struct {
			Role  string `json:"role"`
			Parts []struct {
				Text             string           `json:"text"`
				FunctionResponse *json.RawMessage `json:"functionResponse"`
			} `json:"parts"`
		} `json:"contents"`
		Tools []struct {
			FunctionDeclarations []struct {
				Name string `json:"name"`
			} `json:"functionDeclarations"`
		} `json:"tools"`
		GenerationConfig struct {
			ResponseMimeType string `json:"responseMimeType"`
		} `json:"generationConfig"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return r, fmt.Errorf("gemini: %w", err)
	}
	r.API, r.Schema = Gemini, in.GenerationConfig.ResponseMimeType == "application/json"
	for _, set := range in.Tools {
		for _, tool := range set.FunctionDeclarations {
			r.Tools = append(r.Tools, tool.Name)
		}
	}
	for _, c := range in.Contents {
		if c.Role != "user" && c.Role != "" {
			continue
		}
		var said, results []string
		for _, p := range c.Parts {
			switch {
			case p.FunctionResponse != nil:
				results = append(results, string(*p.FunctionResponse))
			case p.Text != "":
				said = append(said, p.Text)
			}
		}
		if len(results) > 0 {
			r.Results = append(r.Results, results...)
			continue
		}
		r.said(said)
	}
	return r, nil
}

func (generate) answer(out *stream, r Request, reply Reply, streamed bool) {
	u := reply.Usage
	usage := object{
		"promptTokenCount": u.Input + u.Cached, "cachedContentTokenCount": u.Cached, "candidatesTokenCount": u.Output,
		"thoughtsTokenCount": u.Reasoning, "totalTokenCount": u.Total(),
	}
	frame := func(parts []object, finish string) object {
		candidate := object{"index": 0, "content": object{"role": "model", "parts": parts}}
		f := object{"candidates": []object{candidate}, "modelVersion": r.Model, "responseId": out.id("r")}
		if finish != "" {
			candidate["finishReason"] = finish
			f["usageMetadata"] = usage
		}
		return f
	}
	finish := "STOP"
	if reply.Refused { // Gemini withholds a refused answer
		finish, reply.Text = "SAFETY", ""
	}
	calls := make([]object, 0, len(reply.Calls))
	for _, call := range reply.Calls {
		name, args := call.words(r.Tools)
		calls = append(calls, object{"functionCall": object{"name": name, "args": args}})
	}
	if !streamed {
		out.charge(u)
		writeJSON(out.w, frame(append([]object{{"text": reply.Text}}, calls...), finish))
		return
	}
	if reply.Think != "" {
		out.event("", frame([]object{{"text": reply.Think, "thought": true}}, ""))
	}
	out.pieces(reply, reply.Text, func(piece string) { out.event("", frame([]object{{"text": piece}}, "")) })
	if len(calls) == 0 {
		calls = []object{{"text": ""}}
	}
	out.charge(u)
	out.event("", frame(calls, finish))
}

func (generate) refuse(w http.ResponseWriter, reply Reply) {
	state := map[int]string{401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE", 529: "UNAVAILABLE"}[reply.Status]
	body := object{"code": reply.Status, "message": reply.Text, "status": state}
	if reply.RetryAfter > 0 {
		body["details"] = []object{{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": fmt.Sprintf("%.0fs", reply.RetryAfter.Seconds())}}
	}
	refuse(w, reply.Status, object{"error": body})
}
