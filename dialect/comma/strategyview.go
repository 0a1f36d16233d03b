package comma

// Templates as clients see them: the strategy from which a template was made, or the closest
// equivalent.

import (
	"slices"

	"ac/internal/shape"
	"ac/workspace/doc"
)

// strategyView is a template in the terms of the protocol.
type strategyView struct {
	name    string
	keys    []string
	flow    shape.Value
	servers []ownServer
	named   map[string][]string // MCP servers that agents use, by agent
	nodes   *doc.WorkflowTemplate
	quiet   map[string]bool // paths of observers, which are not shown as steps
}

// show converts a template. A template that was made from a strategy contains what clients see of
// it.
func show(template shape.Value) (strategyView, error) {
	t, err := doc.BindWorkflow(&template)
	if err != nil {
		return strategyView{}, err
	}
	s := strategyView{name: t.Name, nodes: &t, quiet: map[string]bool{}, named: map[string][]string{}}
	for _, n := range t.Nodes {
		if n.Observer != nil {
			s.quiet[n.Observer.Path] = true
		}
	}
	from := template.Get(strategyMember)
	if from.Kind != shape.Map {
		s.keys, s.flow = keysOf(&t), treeOf(t.Root)
		return s, nil
	}
	for i := range from.Get("agents").Items {
		s.keys = append(s.keys, from.Get("agents").Items[i].Text)
	}
	s.flow = *from.Get("flow")
	for i := range from.Get("mcp_servers").Items {
		item := &from.Get("mcp_servers").Items[i]
		s.servers = append(s.servers, ownServer{item.Get("id").Text, item.Get("transport").Text})
	}
	named := from.Get("mcp_named")
	for i, key := range named.Keys {
		s.named[key] = serverIDs(&named.Items[i])
	}
	return s, nil
}

// keysOf returns the names of a template's tasks and questions, in order and without duplicates.
func keysOf(t *doc.WorkflowTemplate) (keys []string) {
	keys = []string{}
	for _, n := range t.Nodes {
		if (n.Task != nil || n.Ask != nil) && !slices.Contains(keys, n.Label()) {
			keys = append(keys, n.Label())
		}
	}
	return keys
}

// treeOf returns a flow in the form of a strategy: always an object with a name, a type and steps.
func treeOf(root *doc.Node) shape.Value {
	if root.Task != nil || root.Ask != nil {
		return obj("name", str(root.Label()), "type", str("sequential"), "steps", listOf(obj("agent", str(root.Label()))))
	}
	kind := map[string]string{doc.NodeSequence: "sequential", doc.NodeParallel: "broadcast", doc.NodeCycle: "cycle"}[root.Kind]
	if kind == "" {
		kind = root.Kind
	}
	steps := listOf()
	for _, n := range root.Steps {
		if n.Task != nil || n.Ask != nil {
			steps.Items = append(steps.Items, obj("agent", str(n.Label())))
		} else {
			steps.Items = append(steps.Items, treeOf(n))
		}
	}
	tree := obj("name", str(root.Label()), "type", str(kind), "steps", steps)
	switch {
	case root.Kind == doc.NodeParallel && root.Separator != "\n\n":
		put(&tree, "separator", str(root.Separator))
	case root.Kind != doc.NodeCycle:
	case root.Cycles == 0:
		put(&tree, "cycles", str("Infinity"))
	case root.Cycles > 1:
		put(&tree, "cycles", num(float64(root.Cycles)))
	}
	if root.Observer != nil {
		put(&tree, "observer", str(root.Observer.Label()))
	}
	return tree
}

// label returns the name that clients see for a node.
func (s strategyView) label(path string) string {
	for _, n := range s.nodes.Nodes {
		if n.Path == path {
			return n.Label()
		}
	}
	return path
}

// task returns the task at a path, nil if there is none.
func (s strategyView) task(path string) *doc.TaskNode {
	for _, n := range s.nodes.Nodes {
		if n.Path == path {
			return n.Task
		}
	}
	return nil
}

// assigned returns the agents that use an MCP server, in order.
func (s strategyView) assigned(server string) []string {
	keys := []string{}
	for _, key := range s.keys {
		if slices.Contains(s.named[key], server) {
			keys = append(keys, key)
		}
	}
	return keys
}
