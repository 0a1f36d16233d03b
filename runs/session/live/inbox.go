package live

// The inbox of a conversation: lines of the agent, wishes of people, and timers that
// fired, all of them carried out by one goroutine in the order in which they came.

import "sync"

// maxWaitingLines is how many bytes of the agent's lines may wait to be read.
const maxWaitingLines = 8 << 20

// inbox is a queue of what is to be done. It is safe for concurrent use.
type inbox struct {
	mu      sync.Mutex
	changed sync.Cond
	queue   []errand
	bytes   int
	closed  bool
}

type errand struct {
	do    func()
	bytes int
}

func newInbox() *inbox {
	b := &inbox{}
	b.changed.L = &b.mu
	return b
}

// post queues what is to be done. It reports whether it will be: after the end
// nothing is.
func (b *inbox) post(do func()) bool { return b.put(errand{do: do}, false) }

// line queues a line, waiting while too many bytes are queued.
func (b *inbox) line(n int, do func()) { b.put(errand{do, n}, true) }

func (b *inbox) put(e errand, patient bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for patient && b.bytes > maxWaitingLines && !b.closed {
		b.changed.Wait()
	}
	if b.closed {
		return false
	}
	b.queue = append(b.queue, e)
	b.bytes += e.bytes
	b.changed.Broadcast()
	return true
}

// run carries out what is queued until close; what was queued before it is carried
// out, too.
func (b *inbox) run() {
	for {
		b.mu.Lock()
		for len(b.queue) == 0 && !b.closed {
			b.changed.Wait()
		}
		batch := b.queue
		b.queue = nil
		b.mu.Unlock()
		if len(batch) == 0 {
			return
		}
		for _, e := range batch {
			e.do()
			if e.bytes > 0 {
				b.mu.Lock()
				b.bytes -= e.bytes
				b.changed.Broadcast()
				b.mu.Unlock()
			}
		}
	}
}

// close takes nothing more.
func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.changed.Broadcast()
}
