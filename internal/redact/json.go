package redact

// JSON, value by value.

import (
	"bytes"
	"fmt"
	"strings"

	"ac/internal/canonjson"
)

// JSON appends a JSON value to dst, compact, with its members in order and its strings redacted
// one by one. Strings under secret names become Mask, also those in lists. Numbers and other
// values stay. Names stay, except for known values in them. It fails if text is not exactly one
// JSON value.
func (r *Redactor) JSON(dst, text []byte) ([]byte, error) {
	end, err := canonjson.Value(text, 0)
	if err != nil {
		return dst, err
	}
	if rest := bytes.TrimLeft(text[end:], " \t\r\n"); len(rest) > 0 {
		return dst, fmt.Errorf("unexpected %q behind the JSON", rest[0])
	}
	w := jsonWriter{redactor: r, text: text, out: dst}
	w.value(0, false)
	return w.out, nil
}

// jsonWriter traverses JSON text that was checked before.
type jsonWriter struct {
	redactor  *Redactor
	text, out []byte
}

// skip skips white space and the separators between values.
func (w *jsonWriter) skip(at int) int {
	for blank[w.text[at]] || w.text[at] == ',' || w.text[at] == ':' {
		at++
	}
	return at
}

// value writes the value at or after an offset and returns where it ends.
func (w *jsonWriter) value(at int, secret bool) int {
	switch at = w.skip(at); w.text[at] {
	case '{':
		return w.object(at)
	case '[':
		return w.list(at, secret)
	case '"':
		text, end := w.str(at)
		switch {
		case text == "":
		case secret:
			text = Mask
		default:
			text = w.redactor.Text(text)
		}
		w.out = canonjson.AppendString(w.out, text)
		return end
	}
	end, _ := canonjson.Value(w.text, at)
	w.out = append(w.out, w.text[at:end]...)
	return end
}

func (w *jsonWriter) str(at int) (text string, end int) {
	end, _ = canonjson.Value(w.text, at)
	return canonjson.Unquote(w.text[at:end]), end
}

// object writes an object. A pair such as {"name": "API_KEY", "value": "..."}
// counts as the member that it describes.
func (w *jsonWriter) object(at int) int {
	w.out = append(w.out, '{')
	described := false
	for at = w.skip(at + 1); w.text[at] != '}'; at = w.skip(at) {
		if last := w.out[len(w.out)-1]; last != '{' {
			w.out = append(w.out, ',')
		}
		name, end := w.str(at)
		w.out = append(canonjson.AppendString(w.out, w.redactor.known.String(name)), ':')
		at = w.skip(end)
		if (name == "name" || name == "key") && w.text[at] == '"' {
			text, _ := w.str(at)
			described = nameOf(text).secret
		}
		at = w.value(at, nameOf(name).secret || described && name == "value")
	}
	w.out = append(w.out, '}')
	return at + 1
}

// list writes a list. A string after an option with a secret name, as in the arguments of a
// command, is the value of that option.
func (w *jsonWriter) list(at int, secret bool) int {
	w.out = append(w.out, '[')
	option := false
	for at = w.skip(at + 1); w.text[at] != ']'; at = w.skip(at) {
		if last := w.out[len(w.out)-1]; last != '[' {
			w.out = append(w.out, ',')
		}
		behind := option
		option = false
		if w.text[at] == '"' {
			text, _ := w.str(at)
			dashed := strings.HasPrefix(text, "-")
			option = dashed && wordDash.run(text, 0) == len(text) && nameOf(text).secret
			behind = behind && !dashed
		}
		at = w.value(at, secret || behind)
	}
	w.out = append(w.out, ']')
	return at + 1
}
