package lane

import "testing"

// BenchmarkEnterLeave measures a launch that joins a lane of forty others.
func BenchmarkEnterLeave(b *testing.B) {
	l := New(newWorkspace(b))
	for range 40 {
		place, err := l.Enter(b.Context(), request(1))
		if err != nil {
			b.Fatal(err)
		}
		defer place.Leave()
	}
	for b.Loop() {
		place, err := l.Enter(b.Context(), request(1))
		if err != nil {
			b.Fatal(err)
		}
		place.Leave()
	}
}

// BenchmarkEmptyLane measures what the lane costs a launch that is alone.
func BenchmarkEmptyLane(b *testing.B) {
	l := New(newWorkspace(b))
	for b.Loop() {
		place, err := l.Enter(b.Context(), request(1))
		if err != nil {
			b.Fatal(err)
		}
		place.Leave()
	}
}
