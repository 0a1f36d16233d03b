package acecode

// The state of a listener: which sessions are active or deleted, what was read, and models that
// were chosen but not used yet. All of it may be lost.

import (
	"sync"

	"ac/workspace/doc"
)

// chosenModel is the model of a session: a profile or the id of a model.
type chosenModel struct{ model, profile string }

// memory is the state of a listener. It is safe for concurrent use.
type memory struct {
	mu      *sync.Mutex
	active  map[string]bool
	deleted map[string]bool
	read    map[string]int64 // event numbers
	unread  map[string]bool  // marked as unread by a person
	model   map[string]chosenModel
	mode    doc.Mode // of new sessions, "" for the project's default
}

func newMemory() memory {
	return memory{mu: &sync.Mutex{}, active: map[string]bool{}, deleted: map[string]bool{}, read: map[string]int64{}, unread: map[string]bool{}, model: map[string]chosenModel{}}
}

// wake marks a session as active.
func (m *memory) wake(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.active[id] = true
	delete(m.deleted, id)
}

// forget marks a session as deleted. It reports whether it was not deleted before.
func (m *memory) forget(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	was := m.deleted[id]
	m.deleted[id] = true
	delete(m.active, id)
	delete(m.model, id)
	return !was
}

// is reports whether a session is active, and whether it was deleted.
func (m *memory) is(id string) (active, deleted bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.active[id], m.deleted[id]
}

// markRead records up to which event a session was read.
func (m *memory) markRead(id string, cursor int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.read[id] = max(m.read[id], cursor)
	delete(m.unread, id)
}

// markUnread makes a session count as unread until it is marked as read.
func (m *memory) markUnread(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unread[id] = true
}

// readUpTo returns up to which event a session was read, and whether it counts as unread.
func (m *memory) readUpTo(id string, head int64) (cursor int64, unread bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	cursor = m.read[id]
	return cursor, m.unread[id] || cursor > 0 && cursor < head
}

// choose records the model for the next start of a session's agent.
func (m *memory) choose(id string, model chosenModel) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.model[id] = model
}

func (m *memory) chosen(id string) (model chosenModel, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	model, ok = m.model[id]
	return model, ok
}
