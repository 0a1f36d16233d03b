package answer

// JSON Schemas for the answers of CLIs. They satisfy the strictest CLI: every object is closed,
// every property is required, optional ones may be null, and the root is one object.

import (
	"encoding/json"

	"ac/workspace/doc"
)

// Schema is a JSON Schema, restricted to the keywords used here.
type Schema struct {
	Type       json.Marshaler     `json:"type,omitempty"`
	Enum       []string           `json:"enum,omitempty"`
	Properties map[string]*Schema `json:"properties,omitempty"`
	Required   []string           `json:"required,omitempty"`
	Closed     *bool              `json:"additionalProperties,omitempty"`
	Items      *Schema            `json:"items,omitempty"`
	AnyOf      []*Schema          `json:"anyOf,omitempty"`
}

// types are the types of a value: one, or a list.
type types []string

// MarshalJSON writes a single type as a string.
func (t types) MarshalJSON() ([]byte, error) {
	if len(t) == 1 {
		return json.Marshal(t[0])
	}
	return json.Marshal([]string(t))
}

func ofType(t ...string) *Schema { return &Schema{Type: types(t)} }

func text() *Schema                      { return ofType("string") }
func maybeText() *Schema                 { return ofType("string", "null") }
func oneOf(words ...string) *Schema      { return &Schema{Type: types{"string"}, Enum: words} }
func listOf(item *Schema) *Schema        { return &Schema{Type: types{"array"}, Items: item} }
func orNull(s *Schema) *Schema           { return &Schema{AnyOf: []*Schema{s, ofType("null")}} }
func maybeOneOf(words ...string) *Schema { return orNull(oneOf(words...)) }

// property is a member of an object.
type property struct {
	name string
	of   *Schema
}

func object(properties ...property) *Schema {
	s := &Schema{Type: types{"object"}, Properties: map[string]*Schema{}, Closed: new(false)}
	for _, p := range properties {
		s.Properties[p.name] = p.of
		s.Required = append(s.Required, p.name)
	}
	return s
}

// ResultSchema returns the schema of a result. runs are the accepted attempt_run_ids: the attempt's
// own and, in a repair, that of the repaired attempt.
func ResultSchema(id string, runs ...string) *Schema {
	return object(
		property{"schema_version", ofType("integer")}, property{"type", oneOf("result")},
		property{"job_id", oneOf(id)}, property{"attempt_run_id", oneOf(runs...)},
		property{"status", oneOf("succeeded", "needs_input", "blocked", "failed", "canceled")}, property{"summary", text()},
		property{"files_changed", listOf(object(
			property{"path", text()}, property{"change_type", maybeOneOf("added", "modified", "deleted", "renamed")}, property{"summary", maybeText()},
		))},
		property{"commands_run", listOf(object(
			property{"command", text()}, property{"exit_code", ofType("integer", "null")}, property{"summary", maybeText()},
		))},
		property{"artifacts", listOf(object(
			property{"relpath", text()}, property{"artifact_id", maybeText()}, property{"kind", maybeText()}, property{"sha256", maybeText()},
		))},
		property{"next_actions", listOf(object(property{"action", text()}, property{"rationale", maybeText()}))},
		property{"errors", listOf(object(property{"code", text()}, property{"message", text()}, property{"details", maybeText()}))},
	)
}

// ReportSchema returns the schema of a heartbeat report, with both shapes as one object.
func ReportSchema() *Schema {
	launch := actionSchema("launch_job",
		property{"project_id", text()}, property{"goal", text()}, property{"worker_kind", oneOf(doc.WorkerKinds()...)},
		property{"worker_agent_id", maybeText()}, property{"constraints", listOf(text())}, property{"deliverables", listOf(text())},
		property{"permission_level", oneOf("read-only", "patch", "run-commands")}, property{"context_note", maybeText()},
		property{"task_id", maybeText()}, property{"milestone_id", maybeText()},
	)
	comment := actionSchema("add_comment",
		property{"project_id", text()}, property{"body", text()}, property{"target_agent_id", maybeText()},
		property{"target_artifact_id", maybeText()}, property{"target_run_id", maybeText()},
	)
	noop := actionSchema("noop", property{"reason", text()})
	approval := actionSchema("create_approval_item",
		property{"project_id", text()}, property{"title", text()}, property{"rationale", maybeText()},
		property{"proposed_action", &Schema{AnyOf: []*Schema{launch, comment, noop, ofType("null")}}},
	)
	return object(
		property{"schema_version", ofType("integer")}, property{"type", oneOf("heartbeat_worker_report")},
		property{"status", oneOf("ok", "actions")}, property{"token", maybeText()}, property{"summary", text()},
		property{"actions", orNull(listOf(&Schema{AnyOf: []*Schema{launch, comment, approval, noop}}))},
	)
}

func actionSchema(kind string, own ...property) *Schema {
	return object(append([]property{
		{"kind", oneOf(kind)}, {"idempotency_key", text()}, {"risk", oneOf("low", "medium", "high")}, {"needs_approval", ofType("boolean")},
		{"visibility", maybeOneOf(doc.Visibilities()...)}, {"summary", maybeText()},
	}, own...)...)
}

// KindSchema returns the schema of the answers of a kind. A worker that cannot do the job gives the
// reason in cannot and leaves the rest null.
func KindSchema(kind string) *Schema {
	return object(append(answerMembers(kind), property{"cannot", maybeText()})...)
}

func answerMembers(kind string) []property {
	switch kind {
	case doc.AnswerText:
		return []property{{"text", maybeText()}, {"summary", maybeText()}}
	case doc.AnswerFiles:
		return []property{{"files", orNull(listOf(object(
			property{"path", text()}, property{"content", maybeText()}, property{"selection", maybeText()}, property{"delete", ofType("boolean", "null")},
			property{"language", maybeText()}, property{"kind", maybeText()}, property{"summary", maybeText()},
		)))}, {"summary", maybeText()}}
	case doc.AnswerReview:
		return []property{{"issues", orNull(listOf(object(
			property{"severity", oneOf("error", "warning", "info")}, property{"message", text()}, property{"line", ofType("integer", "null")},
			property{"suggestion", maybeText()}, property{"path", maybeText()},
		)))}, {"summary", maybeText()}}
	case doc.AnswerVerdict:
		return []property{{"approved", ofType("boolean", "null")}, {"text", maybeText()}}
	case doc.AnswerPlan:
		return []property{{"done", ofType("boolean", "null")}, {"text", maybeText()},
			{"tasks", orNull(listOf(object(property{"agent", text()}, property{"goal", text()})))}}
	}
	return nil
}
