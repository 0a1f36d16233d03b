package transcript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// client applies changes, as a reader of the stream does.
type client struct {
	items map[string]*Item
	state State
}

func newClient() *client {
	return &client{items: map[string]*Item{}, state: State{Status: "running", OpenInteractions: []string{}}}
}

func (c *client) apply(t testing.TB, seq int64, changes []Change) {
	t.Helper()
	for _, change := range changes {
		switch change.Op {
		case Status:
			c.state = *change.State
			continue
		case Open:
			if c.items[change.Item.ID] != nil {
				t.Errorf("%s is opened twice", change.Item.ID)
			}
		case Append:
			if old := c.items[change.Item.ID]; old == nil {
				t.Errorf("text is appended to %s, which is unknown", change.Item.ID)
			} else {
				old.Apply(change.Field, change.Text, seq)
			}
			continue
		case Update, Close:
		}
		c.items[change.Item.ID] = change.Item.Snapshot()
	}
}

// same compares the items and the state of a client with those of a fold.
func (c *client) same(t testing.TB, items []*Item, state State) {
	t.Helper()
	if len(c.items) != len(items) {
		t.Fatalf("the client has %d items, the fold %d", len(c.items), len(items))
	}
	for _, item := range items {
		want, _ := json.Marshal(item)
		got, _ := json.Marshal(c.items[item.ID])
		if !bytes.Equal(want, got) {
			t.Fatalf("the client has\n%s\nthe fold\n%s", got, want)
		}
	}
	if !c.state.equal(state) {
		t.Fatalf("the client has the state %+v, the fold %+v", c.state, state)
	}
}

// logs returns the logs of all recordings, and two made-up ones.
func logs(t testing.TB) (list [][]Event) {
	for _, name := range conversations(t) {
		list = append(list, logOf(t, name))
	}
	for _, name := range recordings(t) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		log := []Event{{ID: "evt_0", Type: "run.executing", SessionRef: "local_run_1", Payload: json.RawMessage(`{}`)}}
		for line := range bytes.Lines(text) {
			log = append(log, chunk("stdout", string(line)))
		}
		list = append(list, append(log, Event{ID: "evt_end", Type: "run.ended", Payload: json.RawMessage(`{}`)}))
	}
	return append(list, printed(), document())
}

// printed is the log of a program that speaks no protocol, though some of its lines look like
// JSON.
func printed() []Event {
	return []Event{
		executing("command"), chunk("stdout", "making it\n\n"), chunk("stdout", "done: 3 files, é\r\n{\"a\": 1}\n[\n"),
		chunk("stderr", "\x1b[31mwarning\x1b[0m: old\n"), chunk("stdout", strings.Repeat("a line of many\n", 6000)), chunk("stdout", "no end"),
		{ID: "evt_end", Type: "run.ended", Payload: json.RawMessage(`{}`)},
	}
}

// document is the log of a program whose whole output is one JSON document over many lines.
func document() []Event {
	return []Event{
		executing(""), chunk("stdout", "{\n  \"session_id\": \"s\",\n  \"response\": \"it is\\ndone\",\n"), chunk("stdout", "  \"stats\": {}\n}\n"),
		{ID: "evt_end", Type: "run.ended", Payload: json.RawMessage(`{}`)},
	}
}

func executing(driver string) Event {
	return Event{ID: "evt_0", Type: "run.executing", SessionRef: "local_run_1", Payload: json.RawMessage(`{"driver":"` + driver + `"}`)}
}

// TestEveryDecoderHasALog checks that the logs cover every decoder.
func TestEveryDecoderHasALog(t *testing.T) {
	t.Parallel()
	missing := map[string]bool{}
	for _, d := range []decoder{&appServer{}, &codexExec{}, &claude{}, &acp{}, &geminiStream{}, &openCode{}, &wholeOutput{}, nil} {
		missing[fmt.Sprintf("%T", d)] = true
	}
	for _, log := range logs(t) {
		f := NewFold("proj_1")
		for i, e := range log {
			f.Apply(int64(i+1), e)
		}
		delete(missing, fmt.Sprintf("%T", f.session.decoder))
	}
	if len(missing) > 0 {
		t.Errorf("no log for %v", missing)
	}
}

// TestChangesMakeTheTranscript checks that applying the changes makes the transcript at every
// seq, and that a fork of the fold makes the same changes.
func TestChangesMakeTheTranscript(t *testing.T) {
	t.Parallel()
	for _, log := range logs(t) {
		checkChanges(t, log, len(log)/3, 1)
	}
}

// checkChanges applies a log, with a fork before the given event. It compares after every so
// many events, and at the end.
func checkChanges(t testing.TB, log []Event, at, every int) {
	t.Helper()
	full, brief := NewFold("proj_1"), NewBrief("proj_1")
	c := newClient()
	var fork *Fold
	for i, e := range log {
		seq := int64(i + 1)
		if i == at {
			fork = full.Fork()
		}
		changes := full.Apply(seq, e)
		if fork != nil {
			if diff := cmp.Diff(told(changes), told(fork.Apply(seq, e))); diff != "" {
				t.Fatalf("the fork changes otherwise at %d: %s", seq, diff)
			}
		}
		brief.Apply(seq, e)
		c.apply(t, seq, changes)
		if i%every == 0 || i == len(log)-1 {
			c.same(t, full.Items(), full.State())
		}
	}
	for _, f := range []*Fold{fork, brief} {
		if f == nil {
			continue
		}
		line, at := f.LastLine()
		if wantLine, wantAt := full.LastLine(); line != wantLine || at != wantAt {
			t.Fatalf("a fold that keeps less has the last line %q (%s), not %q (%s)", line, at, wantLine, wantAt)
		}
		if f.FinalText() != full.FinalText() || f.Digest("run_1") != full.Digest("run_1") || !f.State().equal(full.State()) {
			t.Fatalf("a fold that keeps less has another end: %q, %q", f.FinalText(), full.FinalText())
		}
	}
}

// told formats changes as they are sent.
func told(changes []Change) (list []string) {
	for _, c := range changes {
		text, _ := json.Marshal(struct {
			Op          Op
			Item        *Item
			Field, Text string
			State       *State
		}{c.Op, c.Item, c.Field, c.Text, c.State})
		list = append(list, string(text))
	}
	return list
}

// TestPiecesEqualTheWhole checks that the same items result from output in pieces of any size.
func TestPiecesEqualTheWhole(t *testing.T) {
	t.Parallel()
	all := logs(t)
	rapid.Check(t, func(rt *rapid.T) {
		log := all[rapid.IntRange(0, len(all)-1).Draw(rt, "log")]
		seed := rapid.Uint64().Draw(rt, "seed")
		most := rapid.SampledFrom([]int{1, 7, 64, 1000, 100_000}).Draw(rt, "most")
		if diff := cmp.Diff(outcomeOf(log), outcomeOf(cutAnew(log, rand.New(rand.NewPCG(seed, 0)), most))); diff != "" {
			rt.Error(diff)
		}
	})
}

// cutAnew returns the log with its output in other pieces: adjoining ones are joined and cut,
// never within a character.
func cutAnew(log []Event, r *rand.Rand, most int) (list []Event) {
	pending := map[string]string{}
	flush := func(e Event) {
		for _, stream := range []string{"stdout", "stderr"} {
			for text := pending[stream]; text != ""; {
				end := min(len(text), 1+r.IntN(most))
				for end < len(text) && !utf8.RuneStart(text[end]) {
					end++
				}
				e.Payload = chunkOf(stream, text[:end])
				list, text = append(list, e), text[end:]
			}
		}
		clear(pending)
	}
	for _, e := range log {
		if e.Type != "provider.raw" {
			flush(chunk("stdout", ""))
			list = append(list, e)
			continue
		}
		said := readChunk(e.Payload, nil)
		if len(pending) > 0 && pending[said.stream] == "" || r.IntN(4) == 0 {
			flush(e)
		}
		pending[said.stream] += string(said.chunk)
	}
	flush(chunk("stdout", ""))
	return list
}

// outcomeOf returns what a log results in, without positions and times.
func outcomeOf(log []Event) (list []string) {
	f := NewFold("proj_1")
	for i, e := range log {
		f.Apply(int64(i+1), e)
	}
	for _, i := range f.Items() {
		c := *i
		if strings.Contains(c.ID, ":seq") {
			c.ID = ""
		}
		c.SeqFirst, c.SeqLast, c.StartedAt, c.EndedAt = 0, 0, "", ""
		if c.Interaction != nil {
			c.Interaction = new(*c.Interaction)
			c.Interaction.ResolvedAt, c.Interaction.RequestedAt = "", ""
		}
		line, _ := json.Marshal(c)
		list = append(list, string(line))
	}
	facts, _ := json.Marshal(f.Facts())
	return append(list, string(facts), f.FinalText(), f.Digest("run_1"))
}

// FuzzFold reads any output of any driver, with our events in between. Nothing panics, and the
// changes make the transcript however the output is cut.
func FuzzFold(f *testing.F) {
	for i, log := range logs(f) {
		var text strings.Builder
		for _, e := range log {
			if e.Type == "provider.raw" {
				chunk := readChunk(e.Payload, nil).chunk
				text.Write(chunk)
			}
		}
		whole := text.String()
		f.Add(byte(i), uint64(i), whole[max(0, len(whole)-3<<10):])
	}
	f.Add(byte(0), uint64(1), "{\n\"response\": \"x\"\n}\nmore")
	f.Fuzz(func(t *testing.T, driver byte, seed uint64, text string) {
		if len(text) > 8<<10 {
			return
		}
		drivers := []string{"", "codex", "claude", "acp", "command"}
		log := []Event{{ID: "evt_0", Type: "run.executing", Payload: json.RawMessage(`{"driver":"` + drivers[int(driver)%len(drivers)] + `"}`)}}
		turn := Event{ID: "evt_1", Type: "run.turn_started", Payload: json.RawMessage(`{"turn":1,"text":"x"}`)}
		lines := slices.Collect(strings.Lines(strings.ToValidUTF8(text, "\uFFFD")))
		for i, line := range lines {
			if i == len(lines)/4 && driver&32 != 0 {
				log = append(log, turn)
			}
			stream := "stdout"
			if driver&64 != 0 && i%5 == 0 {
				stream = "stderr"
			}
			log = append(log, chunk(stream, line))
		}
		if driver&128 != 0 {
			log = append(log, Event{ID: "evt_2", Type: "run.turn_ended", Payload: json.RawMessage(`{"turn":1,"status":"interrupted"}`)})
		}
		log = append(log, Event{ID: "evt_end", Type: "run.ended", Payload: json.RawMessage(`{}`)})
		checkChanges(t, log, int(seed%uint64(len(log))), 1+len(log)/6)
		if diff := cmp.Diff(outcomeOf(log), outcomeOf(cutAnew(log, rand.New(rand.NewPCG(seed, 1)), 1+int(seed%200)))); diff != "" {
			t.Error(diff)
		}
	})
}

// FuzzLine reads any line of a log.
func FuzzLine(f *testing.F) {
	for _, log := range logs(f)[:6] {
		for _, e := range log {
			line, _ := json.Marshal(e)
			f.Add(string(line))
		}
	}
	f.Add(`{"type":"interaction.requested","payload":{"interaction_id":"int_1","questions":[{}]}}`)
	f.Fuzz(func(_ *testing.T, line string) {
		fold := NewFold("proj_1")
		for seq := int64(1); seq <= 3; seq++ { // repeated, so that ids recur
			fold.Line(seq, []byte(line))
		}
		for _, i := range fold.Items() {
			_ = Render(i)
		}
	})
}
