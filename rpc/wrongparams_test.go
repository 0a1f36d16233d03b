package rpc

// Wrong values for every param of a method, made from its schema.

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"ac/internal/shape"
)

// malformed is one way to corrupt a request: a change to its params, and the fields
// that the answer must name.
type malformed struct {
	what   string
	change func(object)
	fields []string
}

func set(field string, value any) func(object) {
	return func(params object) { params[field] = value }
}

// wrongs lists the wrong values of one param, derived from its schema.
func wrongs(method, field string, s *shape.Schema, required bool) (list []malformed) {
	add := func(what string, value any) {
		list = append(list, malformed{what: field + " " + what, change: set(field, value), fields: []string{field}})
	}
	if required {
		list = append(list, malformed{what: field + " missing", change: func(p object) { delete(p, field) }, fields: []string{field}})
	}
	add("null", nil)
	for kind, value := range map[string]any{
		"boolean": true, "integer": 7, "number": 1.5, "string": "text", "array": []any{}, "object": object{},
	} {
		if kind != s.Type && (kind != "integer" || s.Type != "number") {
			add("is "+kind, value)
		}
	}
	switch s.Type {
	case "string":
		wrongTexts(method, field, s, add)
	case "integer", "number":
		for _, raw := range []string{"1e400", "-1e400"} {
			add(raw, json.RawMessage(raw))
		}
		if s.Type == "integer" {
			add("beyond 2^53", json.RawMessage("9007199254740992"))
			add("hardly a fraction", json.RawMessage("1.0000001"))
		}
		if s.Minimum != nil {
			add("too small", *s.Minimum-1)
		}
		if s.ExclusiveMinimum != nil {
			add("too small", *s.ExclusiveMinimum)
		}
	case "array":
		for what, item := range map[string]any{"null": nil, "number": 1, "empty": "", "array": []any{"a"}, "object": object{}} {
			add("holds "+what, []any{"fine", item})
		}
	case "object":
		wrongMembers(s, add)
	}
	return list
}

func wrongTexts(method, field string, s *shape.Schema, add func(string, any)) {
	if s.Enum != nil {
		add("no such word", "no such word")
		if upper := strings.ToUpper(s.Enum[0]); upper != s.Enum[0] {
			add("in capitals", upper)
		}
		return
	}
	if s.MinLength > 0 {
		add("empty", "")
	}
	isID := strings.HasSuffix(field, "_id") && !slices.Contains(filters[method], field)
	if isID {
		for _, id := range []string{".", "..", "../x", "a/b", "/", "/etc", `a\b`, "a\x00b", "a\nb", "\x7f", "a\u0085", strings.Repeat("x", 201), strings.Repeat("é", 101)} {
			add(fmt.Sprintf("%.20q", id), id)
		}
	}
	switch field {
	case "workspace_dir", "repo_path", "workdir_rel", "out_dir":
		add("with NUL", "a\x00b")
	case "session_ref":
		add("with NUL", "a\x00b")
		add("too long", strings.Repeat("x", 201))
		add("too long when encoded", strings.Repeat("/", 67))
		add("a lone surrogate", json.RawMessage(`"\ud800"`))
	}
	if field == "workdir_rel" {
		for _, dir := range []string{"/abs", "..", "../x", "a/../../b"} {
			add(dir, dir)
		}
	}
}

func wrongMembers(s *shape.Schema, add func(string, any)) {
	if inner, ok := s.AdditionalProperties.(*shape.Schema); ok {
		switch {
		case inner.AnyOf != nil:
			inner = inner.AnyOf[0] // the alternative is null
		case inner.Type == "":
			return // members of any kind
		default:
			add("holds null", object{"k": nil})
		}
		if inner.Type != "array" {
			add("holds array", object{"k": []any{}})
		}
		if inner.Type == "string" {
			add("holds number", object{"k": 1})
		} else {
			add("holds text", object{"k": "1"})
		}
		return
	}
	if len(s.Properties) == 0 {
		return // a free-form document, which the operation validates
	}
	add("unknown key", object{"unknown": 1})
	for name, inner := range s.Properties {
		add(name+" null", object{name: nil})
		add(name+" negative", object{name: -1})
		if inner.Type == "object" {
			add(name+" with a list", object{name: object{"k": []any{}}}) // wrong for a map of texts and for known keys
		} else {
			add(name+" object", object{name: object{}})
		}
		if inner.Type != "string" {
			add(name+" text", object{name: "1"})
		}
	}
}
