package heartbeat

// A cache of the state. It saves most of the cost of a tick: parsing a state that no other process
// changed, and encoding its many cursors when they did not change.

import (
	"bytes"
	"maps"
	"sync"

	"ac/workspace"
	"ac/workspace/doc"
)

// stateCache is the last state read or written, with its text. It is safe for concurrent use.
type stateCache struct {
	mu      sync.Mutex
	text    []byte
	state   doc.HeartbeatState
	cursors []byte // the encoded cursors of the state
}

// cached returns the cached state if it was parsed from text. The caller owns the copy.
func (m *stateCache) cached(text []byte) (state doc.HeartbeatState, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.text) == 0 || !bytes.Equal(text, m.text) {
		return state, false
	}
	return copyOf(m.state), true
}

// keep caches a state and its text.
func (m *stateCache) keep(text []byte, state doc.HeartbeatState) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !maps.Equal(m.state.RunEventCursors, state.RunEventCursors) {
		m.cursors = nil
	}
	m.text, m.state = text, copyOf(state)
}

// stateIn is the package's stateIn with the cache. The caller owns the copy.
func (m *stateCache) stateIn(u *workspace.Unit) (state doc.HeartbeatState, damaged, err error) {
	text, err := u.Read(workspace.HeartbeatStateFile)
	if err == nil {
		if state, ok := m.cached(text); ok {
			return state, nil, nil
		}
	}
	state, damaged, failed := stateIn(u)
	if err == nil && damaged == nil && failed == nil {
		m.keep(text, state)
	}
	return state, damaged, failed
}

// put is PutState with the cache.
func (m *stateCache) put(u *workspace.Unit, state doc.HeartbeatState) error {
	text, err := m.encode(state)
	if err != nil {
		return err
	}
	m.keep(text, state)
	return u.Write(workspace.HeartbeatStateFile, text, 0o644)
}

// change reads the state in a unit, changes it and writes it back.
func (m *stateCache) change(u *workspace.Unit, fn func(*doc.HeartbeatState)) (damaged, err error) {
	state, damaged, err := m.stateIn(u)
	if err != nil {
		return damaged, err
	}
	fn(&state)
	return damaged, m.put(u, state)
}

// read is ReadState with the cache.
func (m *stateCache) read(w *workspace.Workspace) (state doc.HeartbeatState, problem error) {
	text, err := w.Read(workspace.HeartbeatStateFile)
	if err != nil {
		return ReadState(w)
	}
	if state, ok := m.cached(text); ok {
		return state, nil
	}
	if state, err = doc.HeartbeatStateCodec.Decode(text); err != nil {
		return ReadState(w)
	}
	m.keep(text, state)
	return state, nil
}

// noCursors is the encoding of empty cursors: the line of a top-level key, which occurs nowhere
// else.
const noCursors = "\nrun_event_cursors: {}\n"

// encode encodes a state as its codec does, but inserts the cached text of the cursors.
func (m *stateCache) encode(state doc.HeartbeatState) ([]byte, error) {
	if len(state.RunEventCursors) == 0 {
		return doc.HeartbeatStateCodec.Encode(state)
	}
	cursors, err := m.encodeCursors(state.RunEventCursors)
	if err != nil {
		return nil, err
	}
	state.RunEventCursors = map[string]int64{}
	rest, err := doc.HeartbeatStateCodec.Encode(state)
	if err != nil {
		return nil, err
	}
	before, behind, _ := bytes.Cut(rest, []byte(noCursors))
	return bytes.Join([][]byte{before, []byte("\n"), cursors, behind}, nil), nil
}

func (m *stateCache) encodeCursors(cursors map[string]int64) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cursors != nil && maps.Equal(cursors, m.state.RunEventCursors) {
		return m.cursors, nil
	}
	text, err := doc.HeartbeatCursorsCodec.Encode(doc.HeartbeatCursors{RunEventCursors: cursors})
	if err == nil {
		m.cursors, m.state.RunEventCursors = text, maps.Clone(cursors)
		m.text = nil // it was encoded with other cursors
	}
	return text, err
}

func copyOf(state doc.HeartbeatState) doc.HeartbeatState {
	state.RunEventCursors, state.WorkerState = maps.Clone(state.RunEventCursors), maps.Clone(state.WorkerState)
	state.Idempotency, state.HourlyActionCounters = maps.Clone(state.Idempotency), maps.Clone(state.HourlyActionCounters)
	return state
}
