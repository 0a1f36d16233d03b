package pm

// Which tasks wait for themselves.

import "slices"

// cycles lists the ids of the tasks that lie on a cycle, ascending. Those that
// merely wait for one are not on it. The strongly connected components are
// found as Tarjan does (1972), with a stack of its own, for a chain of tasks
// may be as long as somebody cares to write.
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
	index, low []int // 1-based; 0 is not visited
	onStack    []bool
	stack      []int
	visited    int
	cyclic     []int
}

// visiting is a node under way and the next of its dependencies to look at.
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

// leave takes the component of which i is the first node from the stack.
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
