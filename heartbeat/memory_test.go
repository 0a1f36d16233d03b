package heartbeat

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"ac/workspace/doc"
)

// BenchmarkState measures what each step of a tick costs with 2,000 run cursors: for a state
// that is not cached, and for a cached one of which another part changed.
func BenchmarkState(b *testing.B) {
	state := doc.EmptyHeartbeatState()
	for i := range 2000 {
		state.RunEventCursors[fmt.Sprintf("proj_01M7WQPHC9GWK2X9QBY24HCW21::run_%026d", i)] = 12
	}
	for i := range 200 {
		state.WorkerState[fmt.Sprintf("agent_%026d", i)] = doc.HeartbeatWorker{LastOKAt: at(0), LastContextHash: "x", SuppressedUntil: at(0)}
	}
	step := func(b *testing.B, m *stateCache) {
		text, err := m.encode(state)
		if err != nil {
			b.Fatal(err)
		}
		if _, ok := m.cached(text); ok {
			return
		}
		decoded, err := doc.HeartbeatStateCodec.Decode(text)
		if err != nil {
			b.Fatal(err)
		}
		m.keep(text, decoded)
	}
	b.Run("unknown", func(b *testing.B) {
		for b.Loop() {
			step(b, &stateCache{})
		}
	})
	b.Run("known", func(b *testing.B) {
		m := &stateCache{}
		for b.Loop() {
			state.Stats.TicksTotal++
			text, err := m.encode(state)
			if err != nil {
				b.Fatal(err)
			}
			m.keep(text, state)
		}
	})
}

// TestMemoryWritesAsTheCodec compares the cache's encoding of successive states with the
// codec's, and checks that the cache returns a state only for its exact text.
func TestMemoryWritesAsTheCodec(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m, state := &stateCache{}, doc.EmptyHeartbeatState()
		word := rapid.OneOf(rapid.StringMatching(`[a-z0-9_:]{1,12}`), rapid.SampledFrom([]string{"run_event_cursors: {}", "a\nrun_event_cursors: {}\nb", "", "x: y", "012", "'"}))
		for range rapid.IntRange(1, 8).Draw(t, "changes") {
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0:
				state.RunEventCursors[word.Draw(t, "run")] = rapid.Int64Range(0, 1<<40).Draw(t, "seq")
			case 1:
				clear(state.RunEventCursors)
			case 2:
				state.WorkerState[word.Draw(t, "agent")] = doc.HeartbeatWorker{LastContextHash: word.Draw(t, "hash")}
			case 3:
				state.LastTickReason = word.Draw(t, "reason")
			case 4:
				state.Stats.TicksTotal++
			}
			text, err := m.encode(state)
			want, wantErr := doc.HeartbeatStateCodec.Encode(state)
			if (err == nil) != (wantErr == nil) || !bytes.Equal(text, want) {
				t.Fatalf("%v, %v\n%s\n%s", err, wantErr, text, want)
			}
			if err != nil {
				return
			}
			m.keep(text, state)
			if _, ok := m.cached(append(text[:len(text):len(text)], '\n')); ok {
				t.Fatal("another text is known")
			}
			if got, ok := m.cached(text); !ok || fmt.Sprint(got) != fmt.Sprint(state) {
				t.Fatalf("%v is remembered as %v, %v", state, got, ok)
			}
		}
	})
}
