package web

import (
	"encoding/json"
	"slices"
	"testing"
)

// TestLines checks which frames of a stream carry a last line, including on a stream that begins in
// the middle of the output.
func TestLines(t *testing.T) {
	t.Parallel()
	f := newServer(t)
	f.log("run_1", 1, 1)
	f.print("run_1", 2, words(1), `{"type":"item.completed","item":{"id":"c","type":"command_execution","command":"go test","aggregated_output":"ok","exit_code":0}}`)
	lines := func(path string, most int) (found []string) {
		r := f.open(path)
		defer r.cancel()
		for range most {
			var frame struct {
				Line  string
				Event json.RawMessage
			}
			mustJSON(t, r.next().data, &frame)
			if frame.Event == nil {
				t.Fatal("a frame without an event")
			}
			found = append(found, frame.Line)
		}
		return found
	}
	for path, want := range map[string][]string{
		"/api/stream?lines=1&project_id=" + project:    {"", "words 1", "go test"},
		"/api/stream?lines=1&run_id=run_1":             {"", "words 1", "go test"},
		"/api/stream?lines=1&run_id=run_1&since_seq=2": {"go test"},
		"/api/stream?run_id=run_1":                     {"", "", ""},
	} {
		if got := lines(path, len(want)); !slices.Equal(got, want) {
			t.Errorf("%s: %q, not %q", path, got, want)
		}
	}
}
