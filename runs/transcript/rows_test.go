package transcript

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// row tests one row of a mapping: events in, items out. A line of give that begins with "> " is
// output of the agent, and one with "2> " is its stderr. Other lines are events: "[actor ]type
// payload". Lines are numbered from 1, and events have the ids evt_1, evt_2, …
type row struct {
	name string
	give string
	want string
}

func runRows(t *testing.T, rows []row) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			f := NewFold("proj_1")
			for i, e := range scripted(t, r.give) {
				f.Apply(int64(i+1), e)
			}
			var got strings.Builder
			for _, i := range f.Items() {
				got.WriteString(shownItem(i) + "\n")
			}
			want := ""
			for line := range strings.Lines(strings.TrimSpace(r.want)) {
				want += strings.TrimSpace(line) + "\n"
			}
			if want == "\n" {
				want = ""
			}
			if diff := cmp.Diff(want, got.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// scripted returns the events of a row.
func scripted(t testing.TB, give string) (list []Event) {
	t.Helper()
	for line := range strings.Lines(strings.TrimSpace(give)) {
		line = strings.TrimSpace(line)
		n := len(list) + 1
		e := Event{ID: fmt.Sprint("evt_", n), Actor: "system", RunID: "run_1", SessionRef: "local_run_1", At: moment(n)}
		if text, ok := strings.CutPrefix(line, "2> "); ok {
			e.Type, e.Payload = "provider.raw", chunkOf("stderr", strings.ReplaceAll(text, `\e`, "\x1b")+"\n")
		} else if text, ok := strings.CutPrefix(line, "> "); ok {
			e.Type, e.Payload = "provider.raw", chunkOf("stdout", text+"\n")
		} else {
			words, payload, _ := strings.Cut(line, "{")
			fields := strings.Fields(words)
			if len(fields) == 2 {
				e.Actor = fields[0]
			}
			e.Type, e.Payload = fields[len(fields)-1], json.RawMessage("{"+payload)
			if payload == "" {
				e.Payload = json.RawMessage("{}")
			}
			if !json.Valid(e.Payload) {
				t.Fatalf("line %d is no JSON: %s", n, e.Payload)
			}
		}
		list = append(list, e)
	}
	return list
}

func moment(n int) string { return fmt.Sprintf("2026-11-22T00:%02d:%02d.000Z", n/60, n%60) }

func chunkOf(stream, text string) json.RawMessage {
	payload, _ := json.Marshal(map[string]string{"stream": stream, "chunk": text})
	return payload
}

// shownItem formats an item on one line, without absent fields.
func shownItem(i *Item) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s %s [%d-%d]", i.ID, i.Kind, i.Role, i.State, i.SeqFirst, i.SeqLast)
	with := func(name string, value any, there bool) {
		if there {
			fmt.Fprintf(&b, " %s=%v", name, value)
		}
	}
	with("turn", i.Turn, i.Turn != 0)
	with("by", i.Actor, i.Actor != "")
	with("parent", i.Parent, i.Parent != "")
	with("prompt_bytes", i.PromptBytes, i.PromptBytes != 0)
	with("meta", string(i.DisplayMeta), i.DisplayMeta != nil)
	with("note", fmt.Sprintf("%q", i.Note), i.Note != "")
	with("truncated", true, i.Truncated)
	if i.Text != "" {
		fmt.Fprintf(&b, " %q", i.Text)
	}
	if t := i.Tool; t != nil {
		fmt.Fprintf(&b, " %s %q kind=%s status=%s out=%q", t.Name, t.Title, t.Kind, t.Status, t.OutputTail)
		with("server", t.Server, t.Server != "")
		if t.ExitCode != nil {
			fmt.Fprintf(&b, " exit=%d", *t.ExitCode)
		}
		for _, l := range t.Locations {
			fmt.Fprintf(&b, " at=%s", l.Path)
		}
		with("diff", fmt.Sprintf("%q", t.Diff), t.Diff != "")
	}
	for _, s := range i.Plan {
		fmt.Fprintf(&b, " (%s %s)", s.Status, s.Text)
	}
	with("plan", "[]", i.Plan != nil && len(i.Plan) == 0)
	if r := i.Interaction; r != nil {
		fmt.Fprintf(&b, " %s %s %q", r.InteractionID, r.State, r.Title)
		with("waits", r.ItemID, r.ItemID != "")
		with("answered", r.By+"/"+r.Reason, r.By != "")
	}
	if u := i.Usage; u != nil {
		text, _ := json.Marshal(u)
		fmt.Fprintf(&b, " %s", text)
	}
	return b.String()
}
