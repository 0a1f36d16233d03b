package heartbeat

// What a heartbeat remembers of the state, so that a state that nobody else
// changed is not parsed again, and its many cursors are not written anew where
// they are as they were: that is most of what a tick costs.

import (
	"bytes"
	"maps"
	"sync"

	"ac/workspace"
	"ac/workspace/doc"
)

// memory is the state as it was read or written last, with its text. It is safe
// for concurrent use.
type memory struct {
	mu      sync.Mutex
	text    []byte
	state   doc.HeartbeatState
	cursors []byte // of the state, as text
}

// known gives the state that a text is, if it is remembered. It may be changed.
func (m *memory) known(text []byte) (state doc.HeartbeatState, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.text) == 0 || !bytes.Equal(text, m.text) {
		return state, false
	}
	return copyOf(m.state), true
}

// keep remembers a state and its text.
func (m *memory) keep(text []byte, state doc.HeartbeatState) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !maps.Equal(m.state.RunEventCursors, state.RunEventCursors) {
		m.cursors = nil
	}
	m.text, m.state = text, copyOf(state)
}

// stateIn is stateIn for a text that may be known. The state may be changed.
func (m *memory) stateIn(u *workspace.Unit) (state doc.HeartbeatState, damaged, err error) {
	text, err := u.Read(workspace.HeartbeatStateFile)
	if err == nil {
		if state, ok := m.known(text); ok {
			return state, nil, nil
		}
	}
	state, damaged, failed := stateIn(u)
	if err == nil && damaged == nil && failed == nil {
		m.keep(text, state)
	}
	return state, damaged, failed
}

// put is PutState, remembered.
func (m *memory) put(u *workspace.Unit, state doc.HeartbeatState) error {
	text, err := m.encode(state)
	if err != nil {
		return err
	}
	m.keep(text, state)
	return u.Write(workspace.HeartbeatStateFile, text, 0o644)
}

// change reads the state in a unit, changes it and writes it back.
func (m *memory) change(u *workspace.Unit, fn func(*doc.HeartbeatState)) (damaged, err error) {
	state, damaged, err := m.stateIn(u)
	if err != nil {
		return damaged, err
	}
	fn(&state)
	return damaged, m.put(u, state)
}

// read is ReadState for a text that may be known.
func (m *memory) read(w *workspace.Workspace) (state doc.HeartbeatState, problem error) {
	text, err := w.Read(workspace.HeartbeatStateFile)
	if err != nil {
		return ReadState(w)
	}
	if state, ok := m.known(text); ok {
		return state, nil
	}
	if state, err = doc.HeartbeatStateCodec.Decode(text); err != nil {
		return ReadState(w)
	}
	m.keep(text, state)
	return state, nil
}

// noCursors is how a state without cursors says so: the line of a key at the top
// level, which nothing else can be.
const noCursors = "\nrun_event_cursors: {}\n"

// encode writes a state as its codec does, with the text of the cursors put in
// that was made when they last changed.
func (m *memory) encode(state doc.HeartbeatState) ([]byte, error) {
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

func (m *memory) encodeCursors(cursors map[string]int64) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cursors != nil && maps.Equal(cursors, m.state.RunEventCursors) {
		return m.cursors, nil
	}
	text, err := doc.HeartbeatCursorsCodec.Encode(doc.HeartbeatCursors{RunEventCursors: cursors})
	if err == nil {
		m.cursors, m.state.RunEventCursors = text, maps.Clone(cursors)
		m.text = nil // it had others
	}
	return text, err
}

func copyOf(state doc.HeartbeatState) doc.HeartbeatState {
	state.RunEventCursors, state.WorkerState = maps.Clone(state.RunEventCursors), maps.Clone(state.WorkerState)
	state.Idempotency, state.HourlyActionCounters = maps.Clone(state.Idempotency), maps.Clone(state.HourlyActionCounters)
	return state
}
