package shape

import (
	"math"

	"ac/internal/canonjson"
)

// MarshalJSON encodes the value as JSON. What JSON cannot represent, such as absent values and
// infinite numbers, becomes null.
func (v Value) MarshalJSON() ([]byte, error) { return v.appendJSON(nil), nil }

func (v *Value) appendJSON(dst []byte) []byte {
	switch v.Kind {
	case Bool:
		if v.Bool {
			return append(dst, "true"...)
		}
		return append(dst, "false"...)
	case Number:
		if math.IsInf(v.Num, 0) || math.IsNaN(v.Num) {
			break
		}
		return canonjson.AppendNumber(dst, v.Num)
	case String:
		return canonjson.AppendString(dst, v.Text)
	case List, Map:
		return v.appendItems(dst)
	case Absent, Null:
	}
	return append(dst, "null"...)
}

func (v *Value) appendItems(dst []byte) []byte {
	open, end := byte('['), byte(']')
	if v.Kind == Map {
		open, end = '{', '}'
	}
	dst = append(dst, open)
	for i := range v.Items {
		if i > 0 {
			dst = append(dst, ',')
		}
		if v.Kind == Map {
			dst = append(canonjson.AppendString(dst, v.Keys[i]), ':')
		}
		dst = v.Items[i].appendJSON(dst)
	}
	return append(dst, end)
}
