package pm

// Dependency cycles.

import (
	"maps"
	"slices"
)

// cycles returns the ids of the tasks on dependency cycles, ascending. Tasks that merely
// depend on a cycle are not included. It finds strongly connected components with Tarjan's
// algorithm (1972). The implementation is iterative, since a chain of tasks may be
// arbitrarily long.
func (n *network) cycles() (ids []string) {
	s := components{
		nodes: n.nodes, index: make([]int, len(n.nodes)), low: make([]int, len(n.nodes)), onStack: make([]bool, len(n.nodes)),
	}
	for i := range n.nodes {
		if s.index[i] == 0 {
			s.visit(i)
		}
	}
	for _, i := range s.cyclic {
		ids = append(ids, n.tasks[i].ID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

type components struct {
	nodes      []node
	index, low []int // 1-based; 0 for unvisited
	onStack    []bool
	stack      []int
	visited    int
	cyclic     []int
}

// visiting is a node being visited and the index of its next dependency.
type visiting struct{ node, next int }

func (s *components) visit(root int) {
	frames := []visiting{s.enter(root)}
	for len(frames) > 0 {
		at := &frames[len(frames)-1]
		if at.next < len(s.nodes[at.node].deps) {
			on := s.nodes[at.node].deps[at.next]
			at.next++
			switch {
			case s.index[on] == 0:
				frames = append(frames, s.enter(on))
			case s.onStack[on]:
				s.low[at.node] = min(s.low[at.node], s.index[on])
			}
			continue
		}
		done := at.node
		frames = frames[:len(frames)-1]
		if len(frames) > 0 {
			waiting := frames[len(frames)-1].node
			s.low[waiting] = min(s.low[waiting], s.low[done])
		}
		s.leave(done)
	}
}

func (s *components) enter(i int) visiting {
	s.visited++
	s.index[i], s.low[i] = s.visited, s.visited
	s.stack = append(s.stack, i)
	s.onStack[i] = true
	return visiting{node: i}
}

// leave pops the component whose first node is i.
func (s *components) leave(i int) {
	if s.low[i] != s.index[i] {
		return
	}
	first := slices.Index(s.stack, i)
	component := s.stack[first:]
	for _, member := range component {
		s.onStack[member] = false
	}
	if len(component) > 1 {
		s.cyclic = append(s.cyclic, component...)
	}
	s.stack = s.stack[:first]
}

// Cyclic reports whether tasks depend on each other in a cycle. waits maps tasks to their
// dependencies. It ignores dependencies of a task on itself or on unknown tasks.
func Cyclic(waits map[string][]string) bool {
	left := maps.Clone(waits)
	// Repeatedly remove tasks without remaining dependencies. Only a cycle survives.
	for removed := true; removed; {
		removed = false
		for id, on := range left {
			if !slices.ContainsFunc(on, func(o string) bool { _, there := left[o]; return there && o != id }) {
				delete(left, id)
				removed = true
			}
		}
	}
	return len(left) > 0
}
