package comma

import "ac/internal/shape"

// MCP servers that a strategy defines, and those that its agents name.

// ownServer is an MCP server that the strategy brings.
type ownServer struct{ id, transport string }

// ownServers reads which MCP servers a strategy brings.
func (t *translator) ownServers(v *shape.Value) {
	if v.Kind != shape.Map && v.Kind != shape.List && given(v) {
		t.refuse("mcpServers", "expected object, got %s", v.Kind)
	}
	for i, id := range serverIDs(v) {
		transport := "stdio"
		if v.Kind == shape.Map {
			transport = transportOf(&v.Items[i])
		}
		t.servers = append(t.servers, ownServer{id, transport})
	}
}

// serverIDs are the servers that a member names: the keys of an object, or a list of names.
func serverIDs(v *shape.Value) (ids []string) {
	if v.Kind == shape.Map {
		return v.Keys
	}
	for i := range v.Items {
		switch item := &v.Items[i]; item.Kind {
		case shape.String:
			ids = append(ids, item.Text)
		case shape.Map:
			ids = append(ids, item.Get("id").Text)
		default:
		}
	}
	return ids
}

// transportOf is how a server would be spoken with.
func transportOf(v *shape.Value) string {
	for _, name := range []string{"transport", "type"} {
		if kind := v.Get(name); kind.Kind == shape.String && kind.Text != "" {
			return kind.Text
		}
	}
	if given(v.Get("url")) {
		return "http"
	}
	return "stdio"
}
