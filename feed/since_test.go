package feed

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSince checks that a client continues exactly after its last seq, and that the answer
// names runs whose logs are shorter than that.
func TestSince(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write("p", "run_1", "\n"+lines("run_1", 1, 3)+"[]\n\n"+lines("run_1", 5, 5)+`{"torn`)
	for i, c := range []struct {
		since map[string]int64
		reset map[string]int64
		want  []int64
	}{
		{map[string]int64{"run_1": 0}, nil, []int64{1, 2, 3, 5}},
		{map[string]int64{"run_1": 2}, nil, []int64{3, 5}},
		{map[string]int64{"run_1": 3}, nil, []int64{5}},
		{map[string]int64{"run_1": 4}, nil, []int64{5}},
		{map[string]int64{"run_1": 6}, map[string]int64{"run_1": 0}, []int64{1, 2, 3, 5}},
		{map[string]int64{"run_1": 4, "run_gone": 1}, map[string]int64{"run_gone": 0}, []int64{5}},
	} {
		sub := fmt.Sprint("sub_", i)
		answer := f.subscribe(Spec{ID: sub, Since: c.since, Backfill: 2})
		if diff := cmp.Diff(c.reset, answer.Reset); diff != "" {
			t.Errorf("%v: %s", c.since, diff)
		}
		if diff := cmp.Diff(c.want, f.seqs(t, sub, "run_1", 5)); diff != "" {
			t.Errorf("%v: %s", c.since, diff)
		}
	}
	answer := f.subscribe(Spec{ID: "end", Since: map[string]int64{"run_1": 5}})
	if answer.Reset != nil {
		t.Errorf("at the end: %v", answer.Reset)
	}
	f.write("p", "run_1", "\n"+lines("run_1", 7, 7))
	if diff := cmp.Diff([]int64{7}, f.seqs(t, "end", "run_1", 7)); diff != "" {
		t.Error(diff)
	}
}

// TestReconnect disconnects the client repeatedly while lines are written. With since
// the client gets each line exactly once.
func TestReconnect(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write("p", "run_1", line("run_1", "note", 1))
	var have []int64
	for i := 1; i < 12; i++ {
		client := newRecorder()
		hub := f.newHub(client)
		last := int64(len(have))
		answer, start, err := hub.Subscribe(Spec{ID: "sub", Workspace: f.ws, Since: map[string]int64{"run_1": last}})
		if err != nil || answer.Reset != nil {
			t.Fatal(err, answer.Reset)
		}
		start()
		written := make(chan struct{})
		go func() {
			defer close(written)
			f.write("p", "run_1", lines("run_1", 20*i, 20*i+19))
		}()
		client.until(t, "an event", func() bool { return len(client.notes) > 0 })
		hub.Close()
		<-written
		for _, n := range client.got("sub") {
			have = append(have, n.Seq)
		}
	}
	f.subscribe(Spec{ID: "rest", Since: map[string]int64{"run_1": int64(len(have))}})
	if len(have) < 221 {
		have = append(have, f.seqs(t, "rest", "run_1", 221)...)
	}
	if diff := cmp.Diff(counted(1, 221), have); diff != "" {
		t.Error(diff)
	}
}
