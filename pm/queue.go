package pm

// A priority queue of nodes.

import "container/heap"

type queue struct {
	items []int
	less  func(a, b int) bool
}

func (q *queue) push(i int) { heap.Push((*heaped)(q), i) }
func (q *queue) pop() int   { return heap.Pop((*heaped)(q)).(int) }

// heaped adapts the queue to container/heap.
type heaped queue

func (h *heaped) Len() int           { return len(h.items) }
func (h *heaped) Less(a, b int) bool { return h.less(h.items[a], h.items[b]) }
func (h *heaped) Swap(a, b int)      { h.items[a], h.items[b] = h.items[b], h.items[a] }
func (h *heaped) Push(x any)         { h.items = append(h.items, x.(int)) }
func (h *heaped) Pop() any {
	last := len(h.items) - 1
	x := h.items[last]
	h.items = h.items[:last]
	return x
}
