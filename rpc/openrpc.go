package rpc

// The OpenRPC document, made from the method table.

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"ac/internal/shape"
)

// OpenRPC is an OpenRPC 1.3 document.
type OpenRPC struct {
	OpenRPC string          `json:"openrpc"`
	Info    OpenRPCInfo     `json:"info"`
	Methods []OpenRPCMethod `json:"methods"`
}

// OpenRPCInfo is the title and version of the document.
type OpenRPCInfo struct {
	Title   string `json:"title"`
	Version string `json:"version"`
}

// OpenRPCMethod describes one method.
type OpenRPCMethod struct {
	Name           string        `json:"name"`
	Summary        string        `json:"summary"`
	ParamStructure string        `json:"paramStructure"`
	Params         []OpenRPCItem `json:"params"`
	Result         OpenRPCItem   `json:"result"`
	Access         Access        `json:"x-access"`
	Streams        bool          `json:"x-needs-stream,omitempty"`
	// Strict reports that the method refuses params that are not listed.
	Strict bool `json:"x-strict,omitempty"`
}

// OpenRPCItem is a param or a result.
type OpenRPCItem struct {
	Name     string        `json:"name"`
	Required bool          `json:"required,omitempty"`
	Schema   *shape.Schema `json:"schema"`
}

// Describe makes the OpenRPC document of a table.
func (t *Table) Describe(version string) OpenRPC {
	d := OpenRPC{OpenRPC: "1.3.2", Info: OpenRPCInfo{Title: "ac control plane", Version: version}}
	for _, m := range t.methods {
		entry := OpenRPCMethod{
			Name: m.Name, Summary: m.Summary, ParamStructure: "by-name", Params: []OpenRPCItem{}, Access: m.Access, Streams: m.Streams,
			Result: OpenRPCItem{Name: "result", Schema: resultSchema(m.result, 0)},
		}
		params := m.params().Schema()
		entry.Strict = params.AdditionalProperties == false
		for _, name := range m.params().Names() {
			entry.Params = append(entry.Params, OpenRPCItem{Name: name, Required: slices.Contains(params.Required, name), Schema: params.Properties[name]})
		}
		d.Methods = append(d.Methods, entry)
	}
	return d
}

var rawMessage = reflect.TypeFor[json.RawMessage]()

// resultSchema returns the schema of a type's JSON encoding.
func resultSchema(t reflect.Type, depth int) *shape.Schema {
	if t == rawMessage || depth > 8 {
		return &shape.Schema{}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return resultSchema(t.Elem(), depth+1)
	case reflect.Struct:
		s := &shape.Schema{Type: "object", Properties: map[string]*shape.Schema{}}
		addFields(s, t, depth)
		return s
	case reflect.Slice:
		return &shape.Schema{Type: "array", Items: resultSchema(t.Elem(), depth+1)}
	case reflect.Map:
		return &shape.Schema{Type: "object", AdditionalProperties: resultSchema(t.Elem(), depth+1)}
	case reflect.String:
		return &shape.Schema{Type: "string"}
	case reflect.Bool:
		return &shape.Schema{Type: "boolean"}
	case reflect.Int, reflect.Int64:
		return &shape.Schema{Type: "integer"}
	case reflect.Float64:
		return &shape.Schema{Type: "number"}
	}
	return &shape.Schema{}
}

func addFields(s *shape.Schema, t reflect.Type, depth int) {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous && f.Type.Kind() == reflect.Pointer {
			required := s.Required
			addFields(s, f.Type.Elem(), depth)
			s.Required = required // the fields are present together or not at all
			continue
		}
		if f.Anonymous {
			addFields(s, f.Type, depth)
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		s.Properties[name] = resultSchema(f.Type, depth+1)
		if options != "omitempty" && options != "omitzero" && f.Type.Kind() != reflect.Pointer {
			s.Required = append(s.Required, name)
		}
	}
}
