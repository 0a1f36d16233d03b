package comma

// Building documents of shape values.

import (
	"ac/internal/shape"
)

func str(text string) shape.Value { return shape.Value{Kind: shape.String, Text: text} }

func num(n float64) shape.Value { return shape.Value{Kind: shape.Number, Num: n} }

func boolean(b bool) shape.Value { return shape.Value{Kind: shape.Bool, Bool: b} }

func listOf(items ...shape.Value) shape.Value { return shape.Value{Kind: shape.List, Items: items} }

func strs(texts []string) shape.Value {
	v := listOf()
	for _, t := range texts {
		v.Items = append(v.Items, str(t))
	}
	return v
}

// obj returns an object from alternating names and values.
func obj(pairs ...any) shape.Value {
	v := shape.Value{Kind: shape.Map}
	for i := 0; i < len(pairs); i += 2 {
		put(&v, pairs[i].(string), pairs[i+1].(shape.Value)) //nolint:forcetypeassert // pairs are ours
	}
	return v
}

func put(v *shape.Value, name string, value shape.Value) {
	v.Keys, v.Items = append(v.Keys, name), append(v.Items, value)
}

// isGiven reports whether a member is present and not null.
func isGiven(v *shape.Value) bool { return v.Kind != shape.Absent && v.Kind != shape.Null }
