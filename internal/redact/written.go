package redact

// The forms of a value within JSON text. Encoders differ in what they escape.

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"ac/internal/canonjson"
)

// jsonForms returns the forms of a value within JSON, and within JSON text that is itself a
// string in JSON. The encoders are this program, Go (<, > and & escaped), Python (ASCII only),
// and PHP (slashes escaped too). Of two nested encoders the outer one is the same as the inner
// one, or this program.
func jsonForms(value string) (forms []string) {
	for _, write := range []func(string) string{escapeCanonical, escapeGo, escapePython, escapePHP} {
		once := write(value)
		forms = append(forms, once, escapeCanonical(once), write(once))
	}
	return forms
}

func escapeCanonical(text string) string {
	quoted := canonjson.AppendString(nil, text)
	return string(quoted[1 : len(quoted)-1])
}

func escapeGo(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		return text
	}
	return string(quoted[1 : len(quoted)-1])
}

func escapePython(text string) string {
	text = escapeCanonical(text)
	var out strings.Builder
	for _, c := range text {
		if c < utf8.RuneSelf {
			out.WriteRune(c)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, c) {
			fmt.Fprintf(&out, `\u%04x`, unit)
		}
	}
	return out.String()
}

func escapePHP(text string) string { return strings.ReplaceAll(escapePython(text), "/", `\/`) }
