//go:build browser

package browser

// A log that another one takes the place of, below a page that shows its transcript.

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReplacedLog: the page shows the transcript of the log that there is now, and nothing
// of the one before.
func TestReplacedLog(t *testing.T) {
	r := openControlRoom(t)
	p := launch(t).open(t, 1440, 900, false)
	var run struct {
		RunID string `json:"run_id"`
	}
	if err := json.Unmarshal([]byte(r.ac("run:new", r.dir, "--project", r.project, "--agent", r.worker, "--provider", "cmd")), &run); err != nil {
		t.Fatal(err)
	}
	r.ac("run:execute", r.dir, "--project", r.project, "--run", run.RunID, "--argv", "printf", `first words\nmore of them\n`)
	p.goTo(r.url)
	p.until(`document.querySelector('.link-state.live')`)
	p.click(`[data-run="`+run.RunID+`"]`, "")
	p.shows(".transcript", "first words")
	p.shows(".transcript", "The run ended")

	log := filepath.Join(r.dir, "work/projects", r.project, "runs", run.RunID, "events.jsonl")
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	var other strings.Builder
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, `"type":"run.ended"`) {
			continue // it is shorter, too
		}
		other.WriteString(strings.ReplaceAll(strings.ReplaceAll(line, "evt_", "evt_X"), "first words", "other words"))
	}
	if err := os.WriteFile(log+".new", []byte(other.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(log+".new", log); err != nil {
		t.Fatal(err)
	}
	p.shows(".transcript", "other words")
	for _, gone := range []string{"first words", "The run ended"} {
		if p.holds(`document.querySelector('.transcript').textContent.includes('` + gone + `')`) {
			t.Errorf("the page still shows %q", gone)
		}
	}
}
