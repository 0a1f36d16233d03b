package feed

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ac/internal/fault"
	"ac/runs/transcript"
)

// TestTranscriptFromTheStart checks what a client gets from the start: first the state of the
// run, then one close per closed item, the open items, and then the changes.
func TestTranscriptFromTheStart(t *testing.T) {
	t.Parallel()
	f, l, log := newFixture(t), newLooker(), &codexLog{}
	f.write("p", "run_1", log.begin()+log.said("m1", "One.")+log.words("m2", "Two"))
	answer := f.look(f.hub, l, new(int64(0)))
	if answer.Head == nil || *answer.Head != 4 || answer.Reset != nil {
		t.Errorf("answered with %+v", answer)
	}
	l.until(t, "what there is", func() bool { return len(l.notes) == 4 })
	f.write("p", "run_1", log.words("m2", " and"))
	l.until(t, "what is appended", func() bool { return len(l.notes) == 5 })
	f.write("p", "run_1", log.said("m2", "Two and three."))
	l.until(t, "its end", func() bool { return len(l.notes) == 6 })
	var got []string
	for _, n := range l.notes {
		id := n.ItemID
		if n.Item != nil {
			id = n.Item.ID
		}
		got = append(got, fmt.Sprintf("%d %s %s %s replayed=%v", n.Seq, n.Op, id, n.Text, n.Replayed))
	}
	want := []string{
		"0 state   replayed=true", "2 close ev:evt_2  replayed=true", "3 close 1:m1  replayed=true", "4 open 1:m2  replayed=true",
		"5 append 1:m2  and replayed=false", "6 close 1:m2  replayed=false",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if text, state := f.whole(f.hub); l.shown() != text || l.state.Activity != "busy" || state.Activity != "busy" {
		t.Errorf("the client has\n%s%+v\nnot\n%s%+v", l.shown(), l.state, text, state)
	}
}

// TestTranscriptFromNowOn checks that a client that does not resume gets no closed items, and
// that a log may appear after its reader.
func TestTranscriptFromNowOn(t *testing.T) {
	t.Parallel()
	f, l, log := newFixture(t), newLooker(), &codexLog{}
	if answer := f.look(f.hub, l, nil); *answer.Head != 0 {
		t.Errorf("answered with %+v", answer)
	}
	f.write("p", "run_1", log.begin()+log.said("m1", "One.")+log.words("m2", "Two"))
	l.until(t, "the first items", func() bool { return len(l.items) == 3 })
	late := newLooker()
	f.look(f.hub, late, nil)
	f.write("p", "run_1", log.said("m2", "Two."))
	late.until(t, "the second item", func() bool { return late.items["1:m2"] != nil && late.items["1:m2"].State == transcript.StateClosed })
	if len(late.items) != 1 {
		t.Errorf("the late one has\n%s", late.shown())
	}
}

// TestTranscriptComesBack disconnects a client after each notification. Wherever the client
// resumes, nothing is lost or repeated.
func TestTranscriptComesBack(t *testing.T) {
	t.Parallel()
	f, log := newFixture(t), &codexLog{}
	text := log.begin()
	for i := range 6 {
		id := fmt.Sprint("m", i)
		text += log.words(id, "a ") + log.words(id, "b ") + log.event("interaction.requested", fmt.Sprintf(`{"interaction_id":"int_%d","kind":"question","title":"x"}`, i))
		if i%2 == 0 {
			text += log.said(id, "a b c") + log.event("interaction.resolved", fmt.Sprintf(`{"interaction_id":"int_%d","state":"answered"}`, i))
		}
	}
	f.write("p", "run_1", text)
	for cut := 1; cut < 14; cut++ {
		l := newLooker()
		l.most = cut
		h := f.newHub(nil)
		f.look(h, l, new(int64(0)))
		l.until(t, "the cut", func() bool { return len(l.notes) == cut })
		h.Close()
		f.write("p", "run_1", log.words("m1", fmt.Sprint("more ", cut)))
		l.most = 0
		other := f.newHub(nil)
		f.look(other, l, &l.seq)
		l.until(t, "all of it", func() bool { return strings.HasSuffix(textOf(l, "1:m1"), fmt.Sprint("more ", cut)) })
		l.until(t, "the rest", func() bool { return len(l.items) == 13 })
		if want, _ := f.whole(other); l.shown() != want {
			t.Fatalf("cut after %d, the client has\n%s\nnot\n%s", cut, l.shown(), want)
		}
	}
}

// TestTranscriptOfASlowReader checks that a slow reader gets fewer and longer appends.
func TestTranscriptOfASlowReader(t *testing.T) {
	t.Parallel()
	f, l, log := newFixture(t), newLooker(), &codexLog{}
	l.stuck = make(chan struct{})
	f.write("p", "run_1", log.begin()+log.words("m1", "0 "))
	f.look(f.hub, l, new(int64(0)))
	quick := newLooker()
	f.look(f.hub, quick, new(int64(0)))
	var want strings.Builder
	want.WriteString("0 ")
	for i := 1; i <= 2000; i++ {
		f.write("p", "run_1", log.words("m1", fmt.Sprint(i, " ")))
		fmt.Fprint(&want, i, " ")
		if i%400 == 0 { // writing may be faster than reading
			quick.until(t, "a part of it", func() bool { return textOf(quick, "1:m1") == want.String() })
		}
	}
	quick.until(t, "all of it", func() bool { return textOf(quick, "1:m1") == want.String() })
	close(l.stuck)
	l.until(t, "all of it at last", func() bool { return textOf(l, "1:m1") == want.String() })
	if len(l.notes) > 20 || len(quick.notes) < 4 || len(quick.notes) > 1000 {
		t.Errorf("%d notifications for the slow one, %d for the quick one", len(l.notes), len(quick.notes))
	}
	i := slices.IndexFunc(l.notes, func(n TranscriptNotification) bool { return n.Op == transcript.Append })
	if i < 0 {
		t.Error("nothing was appended")
	}
}

// TestTranscriptOfAReplacedLog checks that a reader starts over when its log is replaced,
// whether or not the first log had grown. Nothing of the first log remains.
func TestTranscriptOfAReplacedLog(t *testing.T) {
	t.Parallel()
	for _, came := range []bool{true, false} {
		f, l, log := newFixture(t), newLooker(), &codexLog{}
		f.write("p", "run_1", log.begin()+log.said("m1", "One.")+log.said("m2", "Two."))
		f.look(f.hub, l, new(int64(0)))
		l.until(t, "what there is", func() bool { return len(l.items) == 3 })
		if came {
			f.write("p", "run_1", log.said("m3", "Three."))
			l.until(t, "what came", func() bool { return len(l.items) == 4 })
		}
		other := &codexLog{n: 100}
		f.replace("p", "run_1", other.begin()+other.said("m9", "Nine."))
		l.until(t, "the other log", func() bool { return l.items["1:m9"] != nil && len(l.items) == 2 })
	}
}

// TestTranscriptAhead checks that a client ahead of the log is reset.
func TestTranscriptAhead(t *testing.T) {
	t.Parallel()
	f, l, log := newFixture(t), newLooker(), &codexLog{}
	f.write("p", "run_1", log.begin())
	answer := f.look(f.hub, l, new(int64(9)))
	if diff := cmp.Diff(map[string]int64{"run_1": 0}, answer.Reset); diff != "" {
		t.Error(diff)
	}
	l.until(t, "all of it", func() bool { return len(l.items) == 1 })
}

// TestTranscriptEnds checks that an unsubscribed reader gets nothing more.
func TestTranscriptEnds(t *testing.T) {
	t.Parallel()
	f, l, log := newFixture(t), newLooker(), &codexLog{}
	f.write("p", "run_1", log.begin())
	answer := f.look(f.hub, l, new(int64(0)))
	l.until(t, "what there is", func() bool { return len(l.items) == 1 })
	if !f.hub.Unsubscribe(answer.ID) {
		t.Error("there was no subscription")
	}
	n := len(l.notes)
	f.subscribe(Spec{ID: "after", Run: "run_1"})
	f.write("p", "run_1", log.said("m1", "One."))
	f.seqs(t, "after", "run_1", 3)
	if len(l.notes) != n {
		t.Errorf("%d notifications after the end", len(l.notes)-n)
	}
}

// TestTranscriptNotification checks the exact lines that a client of the hub gets.
func TestTranscriptNotification(t *testing.T) {
	t.Parallel()
	f, log := newFixture(t), &codexLog{}
	f.write("p", "run_1", log.begin()+log.said("m1", "<b> & \u2028"))
	lines := make(chan string, 10)
	h := f.newHub(sinkFunc(func(_ context.Context, line []byte) error {
		lines <- string(line)
		return nil
	}))
	_, start, err := h.SubscribeTranscript(TranscriptSpec{ID: "sub_x", Workspace: f.ws, Given: "./ws", Project: "p", Run: "run_1", Since: new(int64(2))})
	if err != nil {
		t.Fatal(err)
	}
	start()
	for _, want := range []string{
		`{"jsonrpc":"2.0","method":"transcript.notification","params":{"subscription_id":"sub_x","workspace_dir":"./ws","project_id":"p","run_id":"run_1","seq":2,"replayed":true,"op":"state","state":{"status":"running","activity":"busy","turn":1,"session_ref":"s","open_interactions":[]}}}`,
		`{"jsonrpc":"2.0","method":"transcript.notification","params":{"subscription_id":"sub_x","workspace_dir":"./ws","project_id":"p","run_id":"run_1","seq":2,"replayed":true,"op":"close","item":{"item_id":"ev:evt_2","kind":"message","role":"user","turn":1,"session_ref":"s","actor":"human","text":"go","state":"closed","seq_first":2,"seq_last":2,"started_at":"2026-01-02T00:00:00.000Z","ended_at":"2026-01-02T00:00:00.000Z"}}}`,
		`{"jsonrpc":"2.0","method":"transcript.notification","params":{"subscription_id":"sub_x","workspace_dir":"./ws","project_id":"p","run_id":"run_1","seq":3,"replayed":true,"op":"close","item":{"item_id":"1:m1","kind":"message","role":"assistant","turn":1,"session_ref":"s","text":"<b> & \u2028","state":"closed","seq_first":3,"seq_last":3,"started_at":"2026-01-02T00:00:00.000Z","ended_at":"2026-01-02T00:00:00.000Z"}}}`,
	} {
		select {
		case got := <-lines:
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		case <-time.After(30 * time.Second):
			t.Fatal("nothing came")
		}
	}
}

// TestEventsAreReplayed checks that a subscriber gets the head of the log, and that replayed
// events are marked.
func TestEventsAreReplayed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write("p", "run_1", lines("run_1", 1, 3))
	notes := make(chan [2]any, 10)
	h := f.newHub(sinkFunc(func(_ context.Context, line []byte) error {
		var m struct {
			Params struct {
				Seq      int64 `json:"seq"`
				Replayed *bool `json:"replayed"`
			} `json:"params"`
		}
		if err := json.Unmarshal(line, &m); err != nil {
			return err
		}
		notes <- [2]any{m.Params.Seq, m.Params.Replayed != nil && *m.Params.Replayed}
		return nil
	}))
	answer, start, err := h.Subscribe(Spec{Workspace: f.ws, Run: "run_1", Since: map[string]int64{"run_1": 1}})
	if err != nil || answer.Head == nil || *answer.Head != 3 {
		t.Fatalf("%+v, %v", answer, err)
	}
	start()
	f.write("p", "run_1", lines("run_1", 4, 4))
	for _, want := range [][2]any{{int64(2), true}, {int64(3), true}, {int64(4), false}} {
		if got := <-notes; got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	if answer, _, err := h.Subscribe(Spec{Workspace: f.ws}); err != nil || answer.Head != nil {
		t.Errorf("of many runs: %+v, %v", answer, err)
	}
	if answer, _, err := h.Subscribe(Spec{Workspace: f.ws, Run: "run_none"}); err != nil || *answer.Head != 0 {
		t.Errorf("of no run: %+v, %v", answer, err)
	}
}

// TestLogsGoOn checks that a transcript continues in a log that grows, and starts over in
// another one.
func TestLogsGoOn(t *testing.T) {
	t.Parallel()
	f, log := newFixture(t), &codexLog{}
	if err := f.hub.Logs().Transcript(t.Context(), f.ws, "p", "run_1", nil, nil); !fault.Is(err, fault.NotFound) {
		t.Errorf("of no run: %v", err)
	}
	items := func(until *int64) (ids []string, seq int64) {
		err := f.hub.Logs().Transcript(t.Context(), f.ws, "p", "run_1", until, func(fold *transcript.Fold) {
			for _, i := range fold.Items() {
				ids = append(ids, i.ID)
			}
			seq = fold.Seq()
		})
		if err != nil {
			t.Fatal(err)
		}
		return ids, seq
	}
	expect := func(until *int64, seq int64, want ...string) {
		t.Helper()
		if ids, at := items(until); !slices.Equal(ids, want) || at != seq {
			t.Errorf("%v up to %d, want %v up to %d", ids, at, want, seq)
		}
	}
	f.write("p", "run_1", log.begin()+log.said("m1", "One.")+`{"torn`)
	expect(nil, 3, "ev:evt_2", "1:m1")
	f.write("p", "run_1", "\n"+log.said("m2", "Two."))
	expect(nil, 5, "ev:evt_2", "1:m1", "1:m2")
	expect(new(int64(3)), 3, "ev:evt_2", "1:m1")
	expect(new(int64(2)), 2, "ev:evt_2")
	expect(nil, 5, "ev:evt_2", "1:m1", "1:m2")
	expect(new(int64(99)), 5, "ev:evt_2", "1:m1", "1:m2")
	f.replace("p", "run_1", (&codexLog{n: 50}).begin())
	expect(nil, 2, "ev:evt_52")
}

// TestReplayInPages reads a log in pages while it grows. Pages are limited by count and by size.
func TestReplayInPages(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write("p", "run_1", lines("run_1", 1, 50)+"no event\n"+lines("run_1", 52, 90))
	var got []int64
	for since, more := int64(0), true; more; {
		page, err := f.hub.Logs().Replay(t.Context(), f.ws, PageSpec{Project: "p", Run: "run_1", Since: since, Limit: 7})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Events {
			got = append(got, e.Seq)
		}
		if since, more = page.Next, page.More; since == 21 {
			f.write("p", "run_1", lines("run_1", 91, 93))
		}
	}
	if want := slices.Concat(counted(1, 50), counted(52, 93)); !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	big := strings.Repeat("x", 5<<20)
	f.write("p", "run_1", strings.Replace(line("run_1", big, 1), "\n", "", 1)+"\n"+line("run_1", big, 2)+line("run_1", big, 3))
	page, err := f.hub.Logs().Replay(t.Context(), f.ws, PageSpec{Project: "p", Run: "run_1", Since: 93, Limit: 100})
	if err != nil || len(page.Events) != 1 || !page.More || page.Next != 94 {
		t.Errorf("%d large events up to %d, %v", len(page.Events), page.Next, err)
	}
	if _, err = f.hub.Logs().Replay(t.Context(), f.ws, PageSpec{Project: "p", Run: "run_1", Since: 97, Limit: 1}); !fault.Is(err, fault.CursorAhead) {
		t.Errorf("behind the end: %v", err)
	}
	f.replace("p", "run_1", lines("run_1", 1, 2))
	if page, err = f.hub.Logs().Replay(t.Context(), f.ws, PageSpec{Project: "p", Run: "run_1", Limit: 100}); err != nil || len(page.Events) != 2 || page.Head != 2 {
		t.Errorf("of the log in its place: %+v, %v", page, err)
	}
}

// TestFewTranscriptsAreKept checks the limits on the number and size of cached transcripts.
func TestFewTranscriptsAreKept(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for i := range 3 * keptLogs {
		run := fmt.Sprint("run_", i)
		f.write("p", run, lines(run, 1, 2))
		if err := f.hub.Logs().Transcript(t.Context(), f.ws, "p", run, nil, func(*transcript.Fold) {}); err != nil {
			t.Fatal(err)
		}
	}
	logs := f.hub.Logs()
	kept := logs.folds.kept
	if len(kept) != keptLogs || kept[0].key.run != fmt.Sprint("run_", 3*keptLogs-1) {
		t.Errorf("%d are kept, %v first", len(kept), kept[0].key)
	}
	kept[2].value.held.Store(keptFoldBytes + 1)
	logs.folds.shed()
	if got := len(logs.folds.kept); got != 2 {
		t.Errorf("%d are kept where the third takes too much", got)
	}
	logs.folds.kept[0].value.held.Store(keptFoldBytes + 1)
	logs.folds.shed()
	if got := len(logs.folds.kept); got != 1 {
		t.Errorf("%d are kept where the first takes too much", got)
	}
}

// TestManyStatesAreKept checks that the states of many runs stay cached. Requesting them in turn
// must not read whole logs again after they grew.
func TestManyStatesAreKept(t *testing.T) { //nolint:paralleltest // it counts what is allocated
	f, said := newFixture(t), strings.Repeat("x", 4<<10)
	const runs, messages = 3 * keptLogs, 100
	logs := make([]codexLog, runs)
	name := func(i int) string { return fmt.Sprint("run_", i) }
	look := func(i int, want string) {
		t.Helper()
		err := f.hub.Logs().RunState(t.Context(), f.ws, "p", name(i), func(f *transcript.Fold) {
			if line, _ := f.LastLine(); line != want {
				t.Errorf("%s: %.40q, want %.40q", name(i), line, want)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range runs {
		text := logs[i].begin()
		for m := range messages {
			text += logs[i].said(fmt.Sprint("m", m), said+"\nfirst")
		}
		f.write("p", name(i), text)
		look(i, "first")
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range runs {
		f.write("p", name(i), logs[i].said("last", "second"))
		look(i, "second")
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > runs*messages*4<<10/4 {
		t.Errorf("%d bytes were allocated for a message each: logs were read again", got)
	}
	if len(f.hub.Logs().states.kept) != runs || len(f.hub.Logs().folds.kept) != 0 {
		t.Errorf("%d states and %d transcripts are kept", len(f.hub.Logs().states.kept), len(f.hub.Logs().folds.kept))
	}
}

// TestIdles compares the answer of a reader that caches the state of a run with that of one
// that reads only the end of its log.
func TestIdles(t *testing.T) {
	t.Parallel()
	f, log := newFixture(t), &codexLog{}
	kept, fresh := f.hub.Logs(), NewLogs()
	if _, err := fresh.Idles(t.Context(), f.ws, "p", "run_1"); !fault.Is(err, fault.NotFound) {
		t.Errorf("of a run without a log: %v", err)
	}
	text := log.event("run.executing", `{"driver":"codex"}`)
	for i, next := range []string{
		"", log.event("agent.started", `{}`), log.event("run.turn_started", `{"turn":1}`), log.said("m1", "One."),
		log.event("run.turn_ended", `{"turn":1}`), log.event("run.ended", `{}`),
	} {
		text += next
		f.replace("p", "run_1", text)
		if err := kept.RunState(t.Context(), f.ws, "p", "run_1", func(*transcript.Fold) {}); err != nil {
			t.Fatal(err)
		}
		want := i == 1 || i == 4
		for name, logs := range map[string]*Logs{"kept": kept, "fresh": fresh} {
			if got, err := logs.Idles(t.Context(), f.ws, "p", "run_1"); got != want || err != nil {
				t.Errorf("%s, after %d: %v %v", name, i, got, err)
			}
		}
	}
}
