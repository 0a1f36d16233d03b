package doc

import (
	"ac/internal/fault"
	"ac/internal/shape"
)

// Opaque is a map whose content other programs define. It is preserved unchanged.
type Opaque = shape.Value

// EmptyMap is an Opaque without entries, written as {}.
func EmptyMap() Opaque { return shape.Value{Kind: shape.Map} }

// CheckFields requires the launcher of an agent, if set, to be a map.
func (a *Agent) CheckFields() []fault.Issue {
	if a.Launcher.Kind != shape.Absent && a.Launcher.Kind != shape.Map {
		return []fault.Issue{{Path: []any{"launcher"}, Code: "invalid_type", Expected: "object", Message: "expected object, got " + a.Launcher.Kind.String()}}
	}
	return nil
}
