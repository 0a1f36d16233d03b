package autonoma

// Artifacts that clients send.

import (
	"fmt"

	"ac/internal/fault"
	"ac/internal/shape"
)

// sentArtifact is an artifact from a client.
type sentArtifact struct {
	ID, Type, Path string
	Content        *string
}

// typeDelete is the type of an artifact that deletes its file.
const typeDelete = "delete"

// readArtifacts reads the artifacts of a request: a list of objects. One client's encoder mistakes
// a list of property lists for an object. That object has one member for each artifact: its first
// key, and a list of the rest (see fromPropertyList). Keys may repeat.
func readArtifacts(v shape.Value) (list []sentArtifact, err error) {
	var values []shape.Value
	switch v.Kind {
	case shape.Absent, shape.Null:
		return nil, nil
	case shape.List:
		values = v.Items
	case shape.Map:
		for i, key := range v.Keys {
			value := v.Items[i]
			if value.Kind == shape.Null {
				continue
			}
			if value.Kind == shape.List {
				value = fromPropertyList(key, value)
			}
			values = append(values, value)
		}
	default:
		return nil, badArtifact("must be an array", "artifacts")
	}
	for i, value := range values {
		a, err := readArtifact(value, i)
		if err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	return list, nil
}

// fromPropertyList rebuilds an object from such a member. key is the object's first key; list holds
// its value, then keys and values in turn. A list of another form gives an absent value.
func fromPropertyList(key string, list shape.Value) shape.Value {
	if len(list.Items)%2 == 0 {
		return shape.Value{}
	}
	object := shape.Value{Kind: shape.Map, Keys: []string{key}, Items: list.Items[:1:1]}
	for i := 1; i < len(list.Items); i += 2 {
		if list.Items[i].Kind != shape.String {
			return shape.Value{}
		}
		object.Keys, object.Items = append(object.Keys, list.Items[i].Text), append(object.Items, list.Items[i+1])
	}
	return object
}

func readArtifact(v shape.Value, at int) (a sentArtifact, err error) {
	if v.Kind != shape.Map {
		return a, badArtifact("must be an artifact", "artifacts", at)
	}
	text := func(name string) (text *string) {
		switch member := v.Get(name); member.Kind {
		case shape.Absent, shape.Null:
		case shape.String:
			return &member.Text
		default:
			err = badArtifact(fmt.Sprintf("expected string, got %s", member.Kind), "artifacts", at, name)
		}
		return text
	}
	for name, into := range map[string]*string{"id": &a.ID, "type": &a.Type, "path": &a.Path} {
		if given := text(name); given != nil {
			*into = *given
		}
	}
	a.Content = text("content")
	return a, err
}

func badArtifact(why string, path ...any) error {
	return fault.Invalid(fault.Issue{Path: path, Code: "custom", Message: why})
}
