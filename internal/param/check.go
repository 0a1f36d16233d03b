package param

import (
	"bytes"
	"encoding/json"
	"reflect"

	"ac/internal/canonjson"
	"ac/internal/shape"
)

// Check applies the rules in the tags of a params struct that a program filled in. params
// points to it. Check works as if the params had come over the wire: empty optional fields are
// absent, and defaults apply. Fields without a JSON name stay unchanged. The error is that of
// Decode.
func Check(params any) error {
	filled := reflect.ValueOf(params).Elem()
	text, err := objectOf(filled, func(reflect.Value) bool { return false })
	if err != nil {
		return err
	}
	return NewDecoder(filled.Type()).Decode(text, params)
}

// isNilCollection reports whether a value is a nil list or map, which a client would not have sent. It
// applies to structs within params.
func isNilCollection(v reflect.Value) bool {
	return (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) && v.IsNil()
}

// objectOf encodes a struct as a client would have sent it, without the fields that leftOut
// selects.
func objectOf(filled reflect.Value, leftOut func(reflect.Value) bool) ([]byte, error) {
	d := NewDecoder(filled.Type())
	var raw bytes.Buffer
	raw.WriteByte('{')
	var failed error
	d.plan.Fields(filled, func(name string, value reflect.Value, _ *shape.Plan, omit bool) {
		if omit || leftOut(value) || value.IsZero() && d.plan.EmptyIsAbsent(name, value.Kind()) {
			return
		}
		text, err := valueOf(value)
		if err != nil {
			failed = err
			return
		}
		if raw.Len() > 1 {
			raw.WriteByte(',')
		}
		raw.Write(canonjson.AppendString(nil, name))
		raw.WriteByte(':')
		raw.Write(text)
	})
	raw.WriteByte('}')
	return raw.Bytes(), failed
}

// valueOf encodes a field as a client would have sent it. Absent fields are also left out of
// structs behind a pointer or in a list, unless the struct has its own JSON encoding.
func valueOf(value reflect.Value) ([]byte, error) {
	switch value.Kind() {
	case reflect.Pointer:
		if !value.IsNil() && isPlain(value.Type().Elem()) {
			return objectOf(value.Elem(), isNilCollection)
		}
	case reflect.Slice:
		if !value.IsNil() && isPlain(value.Type().Elem()) {
			return listOf(value)
		}
	}
	return json.Marshal(value.Interface())
}

// isPlain reports whether a type is a struct that is encoded field by field.
func isPlain(t reflect.Type) bool {
	writes := reflect.TypeFor[json.Marshaler]()
	return t.Kind() == reflect.Struct && !t.Implements(writes) && !reflect.PointerTo(t).Implements(writes)
}

func listOf(values reflect.Value) ([]byte, error) {
	raw := []byte{'['}
	for i := range values.Len() {
		text, err := objectOf(values.Index(i), isNilCollection)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			raw = append(raw, ',')
		}
		raw = append(raw, text...)
	}
	return append(raw, ']'), nil
}
