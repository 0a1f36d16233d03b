package feed

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ac/runs/transcript"
)

// viewer is a client that applies notifications.
type viewer struct {
	items map[string]*transcript.Item
	state transcript.State
	seq   int64
}

func newViewer() *viewer { return &viewer{items: map[string]*transcript.Item{}} }

// apply applies a notification as encoded for the wire.
func (v *viewer) apply(n TranscriptNotification) error {
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	n = TranscriptNotification{}
	if err := json.Unmarshal(text, &n); err != nil {
		return err
	}
	if n.Op == transcript.Status && n.Seq == 0 {
		*v = *newViewer() // another log begins
	}
	if n.Seq < v.seq {
		return fmt.Errorf("seq %d behind %d", n.Seq, v.seq)
	}
	v.seq = n.Seq
	switch n.Op {
	case transcript.Status:
		v.state = *n.State
	case transcript.Append:
		if v.items[n.ItemID] == nil {
			return fmt.Errorf("%s is appended to and unknown", n.ItemID)
		}
		v.items[n.ItemID].Apply(n.Field, n.Text, n.Seq)
	case transcript.Open:
		if v.items[n.Item.ID] != nil {
			return fmt.Errorf("%s is opened twice", n.Item.ID)
		}
		v.items[n.Item.ID] = n.Item
	case transcript.Update, transcript.Close:
		v.items[n.Item.ID] = n.Item
	}
	return nil
}

// shown returns items as text.
func shown(items []*transcript.Item) string {
	slices.SortFunc(items, func(a, b *transcript.Item) int { return strings.Compare(a.ID, b.ID) })
	var b strings.Builder
	for _, i := range items {
		text, _ := json.Marshal(i)
		b.Write(append(text, '\n'))
	}
	return b.String()
}

func (v *viewer) shown() string { return shown(slices.Collect(maps.Values(v.items))) }

// codexEvents draws the events of a session with parallel items.
func codexEvents(t *rapid.T) (list []transcript.Event) {
	add := func(kind, payload string) {
		list = append(list, transcript.Event{ID: fmt.Sprint("evt_", len(list)), Type: kind, RunID: "run_1", SessionRef: "s", At: "2026-11-22T00:00:00.000Z", Payload: json.RawMessage(payload)})
	}
	out := func(method, params string) {
		line, _ := json.Marshal(`{"method":"` + method + `","params":{` + params + "}}\n")
		add("provider.raw", `{"stream":"stdout","chunk":`+string(line)+`}`)
	}
	add("run.executing", `{"driver":"codex"}`)
	add("run.turn_started", `{"turn":1,"text":"go"}`)
	kinds := rapid.SampledFrom([][]int{{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {0, 2, 2, 5, 6, 9, 9, 9, 9}}).Draw(t, "kinds")
	items := rapid.SampledFrom([]int{0, 0, 3}).Draw(t, "items")
	for n := range rapid.IntRange(1, 120).Draw(t, "events") {
		id := rapid.IntRange(0, items).Draw(t, "item") + n/60*4
		switch rapid.SampledFrom(kinds).Draw(t, "what") {
		case 0:
			out("item/started", fmt.Sprintf(`"item":{"type":"commandExecution","id":"c%d","command":"ls","status":"inProgress"}`, id))
		case 1:
			out("item/completed", fmt.Sprintf(`"item":{"type":"commandExecution","id":"c%d","command":"ls","status":"completed","exitCode":0,"aggregatedOutput":"all"}`, id))
		case 2, 3:
			out("item/commandExecution/outputDelta", fmt.Sprintf(`"itemId":"c%d","delta":"line %d\n"`, id, n))
		case 4:
			out("item/completed", fmt.Sprintf(`"item":{"type":"agentMessage","id":"m%d","text":"whole"}`, id))
		case 5:
			add("interaction.requested", fmt.Sprintf(`{"interaction_id":"int_%d","kind":"permission","title":"x"}`, n))
		case 6:
			add("interaction.resolved", fmt.Sprintf(`{"interaction_id":"int_%d","state":"allowed"}`, n-1))
		default:
			out("item/agentMessage/delta", fmt.Sprintf(`"itemId":"m%d","delta":"word %d "`, id, n))
		}
	}
	return list
}

// TestPace checks the pacing at any speed of the log and of the reader. After each flush the
// client has the whole transcript, and no item is sent more than 20 times in a second. A client
// that resumes with its last seq, on any server, gets the whole transcript too.
func TestPace(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		log := codexEvents(t)
		full := transcript.NewFold("p")
		fork, p, client := transcript.NewFold("p").Fork(), newPace(), newViewer()
		now := time.Unix(0, 0)
		sent := map[string][]time.Time{}
		cut := rapid.IntRange(0, 200).Draw(t, "cut")
		var torn *viewer // the state of a client that was disconnected
		notes := 0
		steps := rapid.SampledFrom([][]int{{0, 1, 5}, {0, 0, 1, 5, 30, 60, 300}}).Draw(t, "steps")
		flush := func() {
			for _, c := range p.take(now) {
				n := TranscriptNotification{Seq: c.seq, Op: c.Op, Item: c.Item, State: c.State}
				if c.Op == transcript.Append {
					n.Item, n.ItemID, n.Field, n.Text = nil, c.id, c.Field, strings.Join(c.pieces, "")
				}
				if err := client.apply(n); err != nil {
					t.Fatal(err)
				}
				if c.id != "" {
					sent[c.id] = append(sent[c.id], now)
				}
				if notes++; notes == cut {
					torn = &viewer{items: maps.Clone(client.items), seq: client.seq}
					for id, i := range torn.items {
						torn.items[id] = i.Snapshot()
					}
				}
			}
			if got, want := client.shown(), shown(slices.Clone(full.Items())); got != want {
				t.Fatalf("at %d the client has\n%s\nnot\n%s", full.Seq(), got, want)
			}
		}
		for i, e := range log {
			seq := int64(i + 1)
			full.Apply(seq, e)
			p.add(seq, fork.Apply(seq, e))
			now = now.Add(time.Duration(rapid.SampledFrom(steps).Draw(t, "ms")) * time.Millisecond)
			if d, ok := p.wait(now); ok && d <= 0 && rapid.IntRange(0, 3).Draw(t, "slow") > 0 {
				flush()
			}
		}
		for d, ok := p.wait(now); ok; d, ok = p.wait(now) {
			if d > time.Second {
				t.Fatalf("it waits for %s", d)
			}
			now = now.Add(max(d, 0))
			flush()
		}
		for id, times := range sent {
			for i := range times {
				if i >= perSecond && times[i].Sub(times[i-perSecond]) < time.Second {
					t.Fatalf("%s is sent %d times within %s", id, perSecond+1, times[i].Sub(times[i-perSecond]))
				}
			}
		}
		if torn != nil {
			for _, i := range full.Items() {
				if i.State == transcript.StateOpen || i.SeqLast >= torn.seq {
					torn.items[i.ID] = i.Snapshot()
				}
			}
			if got, want := torn.shown(), shown(slices.Clone(full.Items())); got != want {
				t.Fatalf("back from %d the client has\n%s\nnot\n%s", torn.seq, got, want)
			}
		}
	})
}

// TestPaceJoinsForTheSlow checks that what waits for a stuck reader is bounded.
func TestPaceJoinsForTheSlow(t *testing.T) {
	t.Parallel()
	p, f := newPace(), transcript.NewFold("p").Fork()
	f.Apply(1, transcript.Event{Type: "run.executing", Payload: json.RawMessage(`{"driver":"codex"}`)})
	for seq := int64(2); seq < 30_000; seq++ {
		p.add(seq, f.Apply(seq, transcript.Event{ID: "e", Type: "provider.raw", Payload: json.RawMessage(`{"stream":"stdout","chunk":"{\"method\":\"item/agentMessage/delta\",\"params\":{\"itemId\":\"m\",\"delta\":\"one more word \"}}\n"}`)}))
		if len(p.waiting) > maxWaiting || p.bytes > 2*maxWaitingBytes {
			t.Fatalf("%d changes of %d bytes wait", len(p.waiting), p.bytes)
		}
	}
	if d, ok := p.wait(time.Unix(0, 0)); !ok || d > 0 {
		t.Errorf("it waits for %s", d)
	}
	if list := p.take(time.Unix(0, 0)); len(list) != 1 || list[0].Op != transcript.Open || !list[0].Item.Truncated {
		t.Errorf("%d changes are sent", len(list))
	}
}
