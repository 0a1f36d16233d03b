package param

import (
	"bytes"
	"encoding/json"
	"reflect"

	"ac/internal/canonjson"
	"ac/internal/shape"
)

// Check applies the rules of its tags to the params struct that params points to, which a
// program filled in, as if it had come over the wire: empty optional fields are absent, and
// defaults apply. Fields without a JSON name stay as they are. The error is that of Decode.
func Check(params any) error {
	filled := reflect.ValueOf(params).Elem()
	text, err := objectOf(filled, func(reflect.Value) bool { return false })
	if err != nil {
		return err
	}
	return NewDecoder(filled.Type()).Decode(text, params)
}

// nothing reports whether a list or a map of a struct within params was never made: a client
// would not have sent it.
func nothing(v reflect.Value) bool {
	return (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) && v.IsNil()
}

// objectOf is a struct as a client would have sent it, but for the fields that are left out.
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

// valueOf is a field as a client would have sent it. A struct behind a pointer or in a list
// has absent fields, too, unless it says by itself how it is written.
func valueOf(value reflect.Value) ([]byte, error) {
	switch value.Kind() {
	case reflect.Pointer:
		if !value.IsNil() && isPlain(value.Type().Elem()) {
			return objectOf(value.Elem(), nothing)
		}
	case reflect.Slice:
		if !value.IsNil() && isPlain(value.Type().Elem()) {
			return listOf(value)
		}
	}
	return json.Marshal(value.Interface())
}

// isPlain reports whether a type is a struct that is written field by field.
func isPlain(t reflect.Type) bool {
	writes := reflect.TypeFor[json.Marshaler]()
	return t.Kind() == reflect.Struct && !t.Implements(writes) && !reflect.PointerTo(t).Implements(writes)
}

func listOf(values reflect.Value) ([]byte, error) {
	raw := []byte{'['}
	for i := range values.Len() {
		text, err := objectOf(values.Index(i), nothing)
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
