package heartbeat

import (
	"fmt"
	"testing"

	"ac/workspace/doc"
)

// BenchmarkState is what each step of a tick pays for 2,000 runs with cursors.
func BenchmarkState(b *testing.B) {
	state := doc.EmptyHeartbeatState()
	for i := range 2000 {
		state.RunEventCursors[fmt.Sprintf("proj_01M7WQPHC9GWK2X9QBY24HCW21::run_%026d", i)] = 12
	}
	for i := range 200 {
		state.WorkerState[fmt.Sprintf("agent_%026d", i)] = doc.HeartbeatWorker{LastOKAt: at(0), LastContextHash: "x", SuppressedUntil: at(0)}
	}
	for b.Loop() {
		text, err := doc.HeartbeatStateCodec.Encode(state)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := doc.HeartbeatStateCodec.Decode(text); err != nil {
			b.Fatal(err)
		}
	}
}
