package comma

// The closed schema of every message to a client: its members, their types, and which are
// optional. Clients drop messages that do not fit it.

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"ac/internal/clock"
)

// part is a type in the schema.
type part struct {
	kind  string // string, number, boolean, array, object, event
	words []string
	each  *part            // the elements of an array
	has   map[string]*part // the members of an object; a trailing "?" marks an optional one
	null  bool
}

func s(words ...string) *part { return &part{kind: "string", words: words} }
func n() *part                { return &part{kind: "number"} }
func b() *part                { return &part{kind: "boolean"} }
func each(p *part) *part      { return &part{kind: "array", each: p} }
func has(members map[string]*part) *part {
	return &part{kind: "object", has: members}
}

type parts = map[string]*part

func schemas() map[string]parts {
	used := has(parts{"promptTokens": n(), "completionTokens": n()})
	result := has(parts{"text": s(), "usage": used, "finishReason": s("stop")})
	tree := &part{kind: "object"}
	server := has(parts{
		"id": s(), "source": s("global", "strategy"), "transport": s(), "enabled": b(), "enabledByDefault": b(), "toolCount": n(),
		"assignedAgents": each(s()), "error?": s(),
	})
	message := has(parts{"role": s("assistant", "tool"), "content": each(&part{kind: "object"})})
	record := has(parts{
		"id": s(), "agentName": s(), "createdAt": s(), "userMessage": has(parts{"role": s("user"), "content": s()}),
		"responseMessages": each(message), "text": s(), "usage": used, "finishReason": s("stop"),
	})
	talk := has(parts{"records": each(record), "retentionEvents": each(s()), "inputs": each(has(parts{"text": s(), "beforeRecordId?": s()}))})
	status := s("pending", "running", "completed", "error", "cancelled")
	ended := s()
	ended.null = true
	flow := parts{"runId": s(), "strategyName": s(), "agents": each(s()), "flowTree": tree}
	return map[string]parts{
		"pong":               {},
		"error":              {"code": s(), "message": s()},
		"run_prepared":       {"runId": s(), "strategyName": s(), "agents": each(s()), "flowTree": tree, "conversation": talk, "mcpServers": each(server)},
		"strategy_started":   flow,
		"strategy_completed": {"runId": s(), "result": s(), "usage": used},
		"strategy_error":     {"runId": s(), "error": has(parts{"code": s("EXECUTION_ERROR", "CANCELLED"), "message": s()})},
		"step_started":       {"runId": s(), "stepName": s(), "message": s()},
		"step_completed":     {"runId": s(), "stepName": s(), "result": result},
		"agent_output":       {"runId": s(), "agentName": s(), "model?": s(), "text": s(), "usage": used},
		"agent_streaming":    {"runId": s(), "agentName": s(), "model?": s(), "event": {kind: "event"}},
		"request_input":      {"runId": s(), "agentName": s(), "prompt?": s()},
		"request_permission": {
			"runId": s(), "requestId": s(), "agentName": s(), "toolName?": s(), "operation": s("fs.read", "fs.write", "fs.exec"), "resource": s(),
			"reason":   s("policy-ask"),
			"details?": has(parts{"title?": s(), "operation?": s(), "args_preview?": s(), "diff?": s(), "expires_at?": s()}),
		},
		"request_question": {"runId": s(), "requestId": s(), "agentName": s(), "toolName": s("ask_question"), "question": s()},
		"policy_updated":   {"runId": s(), "tool": s(), "policies": each(has(parts{"name": s()}))},
		"steer_queued":     {"runId": s(), "text": s()},
		"strategy_list":    {"runs": each(has(parts{"runId": s(), "strategyName": s(), "status": status, "startedAt": s(), "completedAt?": s()}))},
		"run_list": {"runs": each(has(parts{
			"runId": s(), "cwd": s(), "strategyName": s(), "strategyPath": s(), "startedAt": s(), "completedAt": ended, "status": status,
		}))},
		"provider_list": {"providers": each(has(parts{
			"id": s(), "name": s(), "credentialType": s("none"), "authStatus": s("configured", "none"), "models": each(has(parts{"id": s(), "name?": s()})),
			"modelsSource": s("live", "catalog"), "isCustom": b(), "error?": s(),
		}))},
		"available_models": {"models": each(has(parts{
			"id": s(), "name?": s(), "hasCredentials": b(), "providers": each(s()), "configuredProviders": each(s()),
		}))},
		"provider_registered":   {"providerId": s()},
		"provider_unregistered": {"providerId": s()},
		"mcp_server_list":       {"servers": each(server)},
		"trash_list_result":     {"workspaces": each(s()), "totalEntries": n(), "totalBytes": n()},
		"trash_clear_result":    {"cleared": n(), "bytesFreed": n()},
		"hub_packages":          {"operation": s("list"), "available": each(s()), "installed": each(s())},
	}
}

// eventSchemas returns the schemas of agent_streaming events.
func eventSchemas() map[string]parts {
	return map[string]parts{
		"step-start":     {},
		"text":           {"text": s()},
		"thinking-start": {"id": s()},
		"thinking":       {"id": s(), "text": s()},
		"thinking-end":   {"id": s()},
		"tool-call":      {"toolCallId": s(), "toolName": s(), "args": s()},
		"tool-result":    {"toolCallId": s(), "toolName": s(), "output": s(), "status": s("completed", "error"), "error?": s()},
		"done":           {"result": has(parts{"text": s(), "usage": has(parts{"promptTokens": n(), "completionTokens": n()}), "finishReason": s("stop")})},
	}
}

// schemaFaults returns how a message violates the schema.
func schemaFaults(text []byte) (faults []string) {
	var m map[string]any
	if err := json.Unmarshal(text, &m); err != nil {
		return []string{err.Error()}
	}
	kind, _ := m["type"].(string)
	known, ok := schemas()[kind]
	if !ok {
		return []string{"unknown type " + kind}
	}
	envelope := parts{"type": s(), "ts": s(), "requestId?": s()}
	for name, p := range known {
		delete(envelope, name+"?")
		envelope[name] = p
	}
	if at, ok := m["ts"].(string); ok {
		if _, err := clock.Parse(at); !err || !strings.HasSuffix(at, "Z") || len(at) != len("2026-01-01T00:00:00.000Z") {
			faults = append(faults, "ts is no time: "+at)
		}
	}
	return append(faults, has(envelope).faults("", m)...)
}

func (p *part) faults(path string, v any) (faults []string) {
	bad := func(format string, args ...any) { faults = append(faults, path+": "+fmt.Sprintf(format, args...)) }
	switch got := v.(type) {
	case nil:
		if !p.null {
			bad("is null")
		}
	case string:
		if p.kind != "string" || p.words != nil && !slices.Contains(p.words, got) {
			bad("%q is no %s %v", got, p.kind, p.words)
		}
	case float64:
		if p.kind != "number" {
			bad("is a number")
		}
	case bool:
		if p.kind != "boolean" {
			bad("is a boolean")
		}
	case []any:
		if p.kind != "array" {
			bad("is an array")
			break
		}
		for i, item := range got {
			faults = append(faults, p.each.faults(fmt.Sprintf("%s[%d]", path, i), item)...)
		}
	case map[string]any:
		faults = append(faults, p.object(path, got)...)
	}
	return faults
}

func (p *part) object(path string, got map[string]any) (faults []string) {
	members := p.has
	switch p.kind {
	case "event":
		kind, _ := got["type"].(string)
		if members = eventSchemas()[kind]; members == nil {
			return []string{path + ": unknown event " + kind}
		}
		members["type"] = s()
	case "object":
	default:
		return []string{path + ": is an object"}
	}
	if members == nil {
		return nil // an object of any members
	}
	for name, member := range members {
		plain := strings.TrimSuffix(name, "?")
		v, there := got[plain]
		if !there && plain == name {
			faults = append(faults, path+"."+plain+": is missing")
		} else if there {
			faults = append(faults, member.faults(path+"."+plain, v)...)
		}
	}
	for name := range got {
		if members[name] == nil && members[name+"?"] == nil {
			faults = append(faults, path+"."+name+": is none of the members")
		}
	}
	return faults
}
