package doc

// Placeholders in the goals of workflows.

import (
	"fmt"
	"strings"
)

// Placeholders holds the names that a goal may use. The zero value allows any name.
type Placeholders struct {
	Inputs map[string]bool
	Nodes  map[string]bool // by key
}

// Part is a piece of a goal: literal text or a placeholder.
type Part struct {
	Text string
	// Of is the kind of placeholder (input, inputs, step, feedback or cycle), "" for literal
	// text. Name is the name of the input or the key of the node.
	Of, Name string
}

// Parse splits a text into parts. Four braces yield two literal ones. Values inserted later
// are not parsed again. An unknown name and an unterminated placeholder are errors.
func (p Placeholders) Parse(text string) (parts []Part, err error) {
	plain := strings.Builder{}
	flush := func() {
		if plain.Len() > 0 {
			parts = append(parts, Part{Text: plain.String()})
			plain.Reset()
		}
	}
	for text != "" {
		at := strings.Index(text, "{{")
		if at < 0 {
			plain.WriteString(text)
			break
		}
		plain.WriteString(text[:at])
		text = text[at+2:]
		if rest, ok := strings.CutPrefix(text, "{{"); ok {
			plain.WriteString("{{")
			text = rest
			continue
		}
		name, rest, ok := strings.Cut(text, "}}")
		if !ok {
			return nil, fmt.Errorf("{{%.40s has no end; write {{{{ for two braces", text)
		}
		part, err := p.part(strings.TrimSpace(name))
		if err != nil {
			return nil, err
		}
		flush()
		parts = append(parts, part)
		text = rest
	}
	flush()
	return parts, nil
}

func (p Placeholders) part(name string) (Part, error) {
	switch name {
	case "input", "feedback", "cycle":
		return Part{Of: name}, nil
	}
	of, what, ok := strings.Cut(name, ".")
	switch {
	case ok && of == "inputs" && (p.Inputs == nil || p.Inputs[what]):
		return Part{Of: of, Name: what}, nil
	case ok && of == "inputs":
		return Part{}, fmt.Errorf("{{%s}}: there is no input of that name", name)
	case ok && of == "step" && (p.Nodes == nil || p.Nodes[what]):
		return Part{Of: of, Name: what}, nil
	case ok && of == "step":
		return Part{}, fmt.Errorf("{{%s}}: there is no such node", name)
	}
	return Part{}, fmt.Errorf("{{%s}} is no placeholder: there are input, inputs.<name>, step.<id>, feedback and cycle", name)
}
