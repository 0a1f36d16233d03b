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
	d := NewDecoder(filled.Type())
	var raw bytes.Buffer
	raw.WriteByte('{')
	var failed error
	d.plan.Fields(filled, func(name string, value reflect.Value, _ *shape.Plan, omit bool) {
		if omit || value.IsZero() && d.plan.EmptyIsAbsent(name, value.Kind()) {
			return
		}
		text, err := json.Marshal(value.Interface())
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
	if failed != nil {
		return failed
	}
	return d.Decode(raw.Bytes(), params)
}
