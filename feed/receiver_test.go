package feed

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"
)

// received subscribes with its own receiver and returns the events that it gets. More than
// wanted are an error.
func (f *fixture) received(t *testing.T, spec Spec, want int) (got []string) {
	t.Helper()
	events := make(chan string)
	spec.Workspace = f.ws
	spec.Deliver = func(ctx context.Context, e Event) error {
		select {
		case events <- fmt.Sprintf("%s/%s %d", e.Project, e.Run, e.Seq):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	answer, start, err := f.hub.Subscribe(spec)
	if err != nil {
		t.Fatal(err)
	}
	start()
	defer f.hub.Unsubscribe(answer.ID)
	for len(got) < want {
		select {
		case e := <-events:
			got = append(got, e)
		case <-time.After(30 * time.Second):
			t.Fatalf("only %v", got)
		}
	}
	select {
	case e := <-events:
		t.Errorf("more than %v: %s", got, e)
	case <-time.After(50 * time.Millisecond):
	}
	slices.Sort(got)
	return got
}

// TestResumeByTime checks that runs without a seq resume at a time and others after
// their seq, and that a clock that goes back hides no event.
func TestResumeByTime(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	at := func(s int) time.Time { return time.Date(2026, 1, 2, 0, 0, s, 0, time.UTC) }
	for n, second := range []int{1, 5, 2, 9} {
		f.write("p", "run_a", lineAt("run_a", "note", n, at(second)))
	}
	f.write("p", "run_b", lineAt("run_b", "note", 1, at(1))+"no event\n"+lineAt("run_b", "note", 2, at(6)))
	f.write("q", "run_c", lineAt("run_c", "note", 1, at(9)))
	f.write("q", "run_quiet", lineAt("run_quiet", "note", 1, at(9)))
	old := at(0)
	if err := os.Chtimes(f.file("q", "run_quiet"), old, old); err != nil { // not written since
		t.Fatal(err)
	}
	for _, c := range []struct {
		spec Spec
		want []string
	}{
		{Spec{After: at(5)}, []string{"p/run_a 2", "p/run_a 3", "p/run_a 4", "p/run_b 3", "q/run_c 1"}},
		{Spec{After: at(5), Backfill: 10, Project: "p"}, []string{"p/run_a 2", "p/run_a 3", "p/run_a 4", "p/run_b 3"}},
		{Spec{After: at(6), Since: map[string]int64{"run_a": 3, "run_c": 1}}, []string{"p/run_a 4", "p/run_b 3"}},
		{Spec{After: at(10)}, nil},
	} {
		if got := f.received(t, c.spec, len(c.want)); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, want %v", c.spec, got, c.want)
		}
	}
	if notes := f.got(""); len(notes) != 0 {
		t.Errorf("the hub's own sink got %v", notes)
	}
}

// TestGrown checks that an observer of growth is notified of lines of any kind, but only in
// the runs of its subscription.
func TestGrown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write("p", "run_a", lines("run_a", 1, 1))
	f.write("q", "run_q", lines("run_q", 1, 1))
	w := &watched{make(chan struct{}, 1)}
	f.subscribe(Spec{ID: "grown", Project: "p", OnGrowth: func(_, _ string) { w.changed() }})
	f.subscribe(Spec{ID: "q", Project: "q"})
	f.write("q", "run_q", lines("run_q", 2, 2))
	f.seqs(t, "q", "run_q", 2)
	select {
	case <-w.told:
		t.Error("told of another project")
	default:
	}
	write := func(run, text string) func() error {
		return func() error {
			f.write("p", run, text)
			return nil
		}
	}
	w.expect(t, "an event", write("run_a", lines("run_a", 2, 2)))
	w.expect(t, "a line that is no event", write("run_a", "no event\n"))
	w.expect(t, "a new run", write("run_new", lines("run_new", 1, 1)))
}
