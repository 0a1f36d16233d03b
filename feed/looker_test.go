package feed

// Test helpers: a client that follows a transcript, and a log of codex.

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"ac/runs/transcript"
)

// codexLog makes the lines of a live run of codex. n is the number of the last event.
type codexLog struct{ n int }

func (l *codexLog) event(kind, payload string) string {
	l.n++
	return fmt.Sprintf(`{"event_id":"evt_%d","run_id":"run_1","session_ref":"s","type":%q,"actor":"human","ts_wallclock":"2026-01-02T00:00:00.000Z","payload":%s}`+"\n", l.n, kind, payload)
}

func (l *codexLog) output(method, params string) string {
	line, _ := json.Marshal(`{"method":"` + method + `","params":{` + params + "}}\n")
	return l.event("provider.raw", `{"stream":"stdout","chunk":`+string(line)+`}`)
}

func (l *codexLog) begin() string {
	return l.event("run.executing", `{"driver":"codex"}`) + l.event("run.turn_started", `{"turn":1,"text":"go"}`)
}

func (l *codexLog) said(id, text string) string {
	return l.output("item/completed", fmt.Sprintf(`"item":{"type":"agentMessage","id":%q,"text":%q}`, id, text))
}

func (l *codexLog) words(id, text string) string {
	return l.output("item/agentMessage/delta", fmt.Sprintf(`"itemId":%q,"delta":%q`, id, text))
}

// looker is a client that follows a transcript and records its notifications.
type looker struct {
	*viewer
	mu    sync.Mutex
	notes []TranscriptNotification
	wrong error
	more  chan struct{}
	stuck chan struct{} // blocks all reads until it is closed; may be nil
	most  int           // how many notifications are read, 0 for no limit
}

func newLooker() *looker { return &looker{viewer: newViewer(), more: make(chan struct{})} }

func (l *looker) take(ctx context.Context, n TranscriptNotification) error {
	if l.stuck != nil {
		select {
		case <-l.stuck:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.most > 0 && len(l.notes) == l.most {
		return context.Canceled
	}
	if err := l.apply(n); err != nil && l.wrong == nil {
		l.wrong = err
	}
	l.notes = append(l.notes, n)
	close(l.more)
	l.more = make(chan struct{})
	return nil
}

// until waits for a condition on what was received.
func (l *looker) until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		l.mu.Lock()
		ok, more, wrong := holds(), l.more, l.wrong
		l.mu.Unlock()
		if wrong != nil {
			t.Fatal(wrong)
		}
		if ok {
			return
		}
		select {
		case <-more:
		case <-deadline:
			t.Fatalf("%s: not within 30 s: %+v", what, l.notes)
		}
	}
}

// look subscribes to the transcript of run_1, from now on if since is nil.
func (f *fixture) look(h *Hub, l *looker, since *int64) (answer SubscribeResult) {
	f.t.Helper()
	answer, start, err := h.SubscribeTranscript(TranscriptSpec{Workspace: f.ws, Project: "p", Run: "run_1", Since: since, Deliver: l.take})
	if err != nil {
		f.t.Fatal(err)
	}
	start()
	return answer
}

// whole returns the current transcript and state.
func (f *fixture) whole(h *Hub) (text string, state transcript.State) {
	f.t.Helper()
	err := h.Logs().Transcript(context.Background(), f.ws, "p", "run_1", nil, func(fold *transcript.Fold) {
		var items []*transcript.Item
		for _, i := range fold.Items() {
			items = append(items, i.Snapshot())
		}
		text, state = shown(items), fold.State()
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return text, state
}

func textOf(l *looker, id string) string {
	if l.items[id] == nil {
		return ""
	}
	return l.items[id].Text
}

type sinkFunc func(ctx context.Context, line []byte) error

func (f sinkFunc) Notify(ctx context.Context, line []byte) error { return f(ctx, line) }
