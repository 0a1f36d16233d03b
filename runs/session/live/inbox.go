package live

// The inbox of a conversation: agent lines, people's requests and expired timers. One goroutine
// executes them in order of arrival.

import "sync"

// maxWaitingLines is how many bytes of the agent's lines may be queued.
const maxWaitingLines = 8 << 20

// inbox is a queue of functions to execute. It is safe for concurrent use.
type inbox struct {
	mu      sync.Mutex
	changed sync.Cond
	queue   []inboxTask
	bytes   int
	closed  bool
}

type inboxTask struct {
	do    func()
	bytes int
}

func newInbox() *inbox {
	b := &inbox{}
	b.changed.L = &b.mu
	return b
}

// post queues a function. It reports whether the function will run: after close, none does.
func (b *inbox) post(do func()) bool { return b.put(inboxTask{do: do}, false) }

// line queues the function for a line of n bytes. It blocks while too many bytes are queued.
func (b *inbox) line(n int, do func()) { b.put(inboxTask{do, n}, true) }

func (b *inbox) put(e inboxTask, patient bool) bool {
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

// run executes the queue until close, including everything queued before it.
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

// close rejects further functions.
func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.changed.Broadcast()
}
