package autonoma

// Artifacts that clients send back.

import (
	"fmt"

	"ac/internal/fault"
	"ac/internal/shape"
)

// sentArtifact is an artifact of a client.
type sentArtifact struct {
	ID, Type, Path string
	Content        *string
}

// typeDelete is the type of an artifact that ends its file.
const typeDelete = "delete"

// readArtifacts reads the artifacts of a request: a list of objects; or, from a client whose
// encoder takes a list of property lists for an object, an object whose keys are the first
// words of those lists, once for each artifact, so that a key may stand there twice.
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

// fromPropertyList is the object of a property list whose first key stands before it:
// value, then key and value in turns. A list that is none is absent.
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
