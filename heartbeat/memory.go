package heartbeat

// What a tick remembers of the state between its steps, so that a state that
// nobody else changed is not parsed again: with thousands of cursors that is most
// of what a step costs.

import (
	"bytes"
	"maps"

	"ac/workspace"
	"ac/workspace/doc"
)

// memory is the state as it was read or written last, with its text. It is for
// one goroutine.
type memory struct {
	text  []byte
	state doc.HeartbeatState
}

// stateIn is stateIn for a text that may be known. The state may be changed.
func (m *memory) stateIn(u *workspace.Unit) (state doc.HeartbeatState, damaged, err error) {
	text, err := u.Read(StateFile())
	if err == nil && len(m.text) > 0 && bytes.Equal(text, m.text) {
		return copyOf(m.state), nil, nil
	}
	return stateIn(u)
}

// put is PutState, remembered.
func (m *memory) put(u *workspace.Unit, state doc.HeartbeatState) error {
	text, err := doc.HeartbeatStateCodec.Encode(state)
	if err != nil {
		return err
	}
	m.text, m.state = text, copyOf(state)
	return u.Write(StateFile(), text, 0o644)
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
	if text, err := w.Read(StateFile()); err == nil && len(m.text) > 0 && bytes.Equal(text, m.text) {
		return copyOf(m.state), nil
	}
	return ReadState(w)
}

func copyOf(state doc.HeartbeatState) doc.HeartbeatState {
	state.RunEventCursors, state.WorkerState = maps.Clone(state.RunEventCursors), maps.Clone(state.WorkerState)
	state.Idempotency, state.HourlyActionCounters = maps.Clone(state.Idempotency), maps.Clone(state.HourlyActionCounters)
	return state
}
