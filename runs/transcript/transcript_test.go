package transcript

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ac/runs/failure"
)

var update = flag.Bool("update", false, "write the goldens anew")

// recordings returns the recorded outputs of agents, of the releases that the package comment
// names. Each has its transcript beside it.
func recordings(t testing.TB) []string {
	t.Helper()
	names, err := filepath.Glob("testdata/*.jsonl")
	if err != nil || len(names) < 5 {
		t.Fatal(names, err)
	}
	return names
}

// read applies the lines of a file as the output of one session.
func read(t testing.TB, name string) *Fold {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	driver := ""
	if strings.Contains(name, "app-server") {
		driver = "codex"
	}
	f := NewFold("")
	f.Apply(1, Event{ID: "evt_1", Type: "run.executing", SessionRef: "local_run_1", At: "2026-11-22T00:00:00.000Z", Payload: json.RawMessage(fmt.Sprintf(`{"driver":%q}`, driver))})
	seq := int64(1)
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		seq++
		f.Apply(seq, chunk("stdout", lines.Text()+"\n"))
	}
	f.Apply(seq+1, Event{ID: "evt_end", Type: "run.ended", SessionRef: "local_run_1", At: "2026-11-22T00:01:00.000Z", Payload: json.RawMessage(`{"exit_code":0,"signal":null}`)})
	return f
}

func chunk(stream, text string) Event {
	payload, _ := json.Marshal(map[string]string{"stream": stream, "chunk": text})
	return Event{ID: "evt", Type: "provider.raw", Actor: "agent_1", SessionRef: "local_run_1", At: "2026-11-22T00:00:01.000Z", Payload: payload}
}

// shown formats a transcript as golden files have it.
func shown(f *Fold) string {
	var b strings.Builder
	for _, i := range f.Items() {
		b.WriteString(shownItem(i) + "\n")
	}
	facts := f.Facts()
	fmt.Fprintf(&b, "conversation %q, said %d, answer %q\n", facts.Conversation, facts.Said, facts.Answer)
	if facts.Failure != nil {
		fmt.Fprintf(&b, "failed: %s %s %q\n", facts.Failure.Kind, facts.Failure.RetryAfter, facts.Failure.Text)
	}
	return b.String()
}

// TestFactsAlone compares the facts of NewFacts with those of NewSession.
func TestFactsAlone(t *testing.T) {
	t.Parallel()
	for _, name := range recordings(t) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		driver := ""
		if strings.Contains(name, "app-server") {
			driver = "codex"
		}
		whole, brief := NewSession(driver), NewFacts(driver)
		for line := range bytes.Lines(text) {
			whole.Line("stdout", line)
			brief.Line("stdout", line)
		}
		whole.End()
		brief.End()
		if diff := cmp.Diff(whole.Facts(), brief.Facts()); diff != "" || brief.Conversation() != whole.Facts().Conversation {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestRecordings(t *testing.T) {
	t.Parallel()
	for _, name := range recordings(t) {
		got, golden := shown(read(t, name)), strings.TrimSuffix(name, ".jsonl")+".txt"
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// TestProse checks that output that belongs to no agent is one message, line by line.
func TestProse(t *testing.T) {
	t.Parallel()
	s := NewSession("")
	for _, line := range []string{"", "building", "", "  {not json", `{"some":"json"}`, "done"} {
		s.Line("stdout", []byte(line))
	}
	s.End()
	if s.prose.Text != "building\n\n  {not json\n{\"some\":\"json\"}\ndone\n" || s.Facts().Known {
		t.Errorf("%+v", s.prose)
	}
	s = NewSession("")
	s.Line("stderr", []byte("\x1b[31mboom\x1b[0m\x07"))
	s.End()
	if f := s.Facts().Failure; f == nil || f.Text != "boom" || f.Kind != failure.Unknown {
		t.Errorf("%+v", f)
	}
}
