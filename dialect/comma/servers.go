package comma

import "ac/internal/shape"

// MCP servers that a strategy defines, and those that its agents use.

// ownServer is an MCP server that a strategy defines.
type ownServer struct{ id, transport string }

// ownServers reads the MCP servers that a strategy defines.
func (t *translator) ownServers(v *shape.Value) {
	if v.Kind != shape.Map && v.Kind != shape.List && isGiven(v) {
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

// serverIDs returns the server ids in a member: the keys of an object, or the elements of a list.
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

// transportOf returns the transport of a server.
func transportOf(v *shape.Value) string {
	for _, name := range []string{"transport", "type"} {
		if kind := v.Get(name); kind.Kind == shape.String && kind.Text != "" {
			return kind.Text
		}
	}
	if isGiven(v.Get("url")) {
		return "http"
	}
	return "stdio"
}
