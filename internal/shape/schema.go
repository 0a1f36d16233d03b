package shape

// JSON Schema (draft 2020-12) of the structs that plans bind.

import (
	"reflect"
	"slices"
)

// Schema is a JSON Schema. It has only those keywords that the rules need.
type Schema struct {
	Type                 string             `json:"type,omitempty"`
	Description          string             `json:"description,omitempty"`
	Properties           map[string]*Schema `json:"properties,omitempty"`
	Required             []string           `json:"required,omitempty"`
	AdditionalProperties any                `json:"additionalProperties,omitempty"`
	Items                *Schema            `json:"items,omitempty"`
	AnyOf                []*Schema          `json:"anyOf,omitempty"`
	Enum                 []string           `json:"enum,omitempty"`
	Default              any                `json:"default,omitempty"`
	MinLength            int                `json:"minLength,omitempty"`
	MaxLength            int                `json:"maxLength,omitempty"`
	MinItems             int                `json:"minItems,omitempty"`
	Minimum              *float64           `json:"minimum,omitempty"`
	ExclusiveMinimum     *float64           `json:"exclusiveMinimum,omitempty"`
	Maximum              *float64           `json:"maximum,omitempty"`
	Format               string             `json:"format,omitempty"`
}

// Schema returns the JSON Schema of the values that the plan binds.
func (p *Plan) Schema() *Schema {
	s := &Schema{Type: "object", Properties: map[string]*Schema{}}
	for _, f := range p.fields {
		s.Properties[f.name] = fieldSchema(f, p.typ.FieldByIndex(f.index).Type)
		if !f.rule.optional && !f.rule.nullable {
			s.Required = append(s.Required, f.name)
		}
	}
	if p.strict {
		s.AdditionalProperties = false
	}
	return s
}

func fieldSchema(f field, t reflect.Type) *Schema {
	if t == valueType && f.rule.object {
		return &Schema{Type: "object"}
	}
	if t == valueType {
		return &Schema{}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return fieldSchema(f, t.Elem())
	case reflect.Struct:
		return f.plan.Schema()
	case reflect.Slice:
		s := &Schema{Type: "array", MinItems: f.rule.minItems}
		item := f
		item.rule.hasDef = false
		s.Items = fieldSchema(item, t.Elem())
		return s
	case reflect.Map:
		values := fieldSchema(f, t.Elem())
		if t.Elem().Kind() == reflect.Pointer {
			values = &Schema{AnyOf: []*Schema{values, {Type: "null"}}}
		}
		return &Schema{Type: "object", AdditionalProperties: values}
	}
	return scalarSchema(f.rule, t)
}

func scalarSchema(r rule, t reflect.Type) *Schema {
	s := &Schema{Type: expected(t), Enum: r.enum, Maximum: r.max}
	if r.hasCut {
		s.Maximum, s.Description = &r.cut, "Larger numbers are taken as the maximum."
	}
	if r.gt {
		s.ExclusiveMinimum = r.min
	} else {
		s.Minimum = r.min
	}
	if t.Kind() == reflect.String && r.enum == nil {
		s.MaxLength = r.maxBytes
		if s.MinLength = r.minLen; !r.empty {
			s.MinLength = max(1, r.minLen)
		}
		if r.id {
			s.MaxLength = maxIDBytes
		}
		if r.time {
			s.Format = "date-time"
		}
	}
	if r.hasDef {
		def := reflect.New(t).Elem()
		setDefault(def, r.def)
		s.Default = def.Interface()
	}
	return s
}

// Names lists the fields in the order of the struct.
func (p *Plan) Names() []string {
	names := make([]string, len(p.fields))
	for i, f := range p.fields {
		names[i] = f.name
	}
	return names
}

// EmptyIsAbsent reports whether the zero value of a named field means its default, because the
// rules do not allow the zero value.
func (p *Plan) EmptyIsAbsent(name string, of reflect.Kind) bool {
	return slices.ContainsFunc(p.fields, func(f field) bool {
		r := f.rule
		return f.name == name && r.hasDef && (of == reflect.String && !r.empty || r.min != nil && (*r.min > 0 || r.gt))
	})
}

// Has reports whether the struct has a field of this name.
func (p *Plan) Has(name string) bool {
	return slices.ContainsFunc(p.fields, func(f field) bool { return f.name == name })
}
