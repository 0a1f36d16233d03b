//go:build browser

package browser

// A person and an agent that asks, over the real program.

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestTalkingWithAnAgent answers, steers, stops and continues a run from the page.
func TestTalkingWithAnAgent(t *testing.T) {
	r := openControlRoom(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r.ac("machine:set-provider-bin", r.dir, "--provider", "codex_app_server", "--path", self)
	p := launch(t).open(t, 1440, 900, false)
	p.goTo(r.url)
	p.until(`document.querySelector('.link-state.live')`)
	var run struct {
		RunID string `json:"run_id"`
	}
	said := r.ac("run:launch", r.dir, "say Hello there.;run touch approved.txt;run rm -r build;question Which colour?;hold;say All done.",
		"--project", r.project, "--agent", r.worker, "--provider", "codex_app_server", "--mode", "default", "--no-watch")
	if err := json.Unmarshal([]byte(said), &run); err != nil {
		t.Fatalf("%v: %s", err, said)
	}

	// It asks: the list says so, and so does the inbox. Enter alone answers nothing.
	p.shows(`[data-run="`+run.RunID+`"]`, "Waits for an answer")
	p.key("2", 0)
	p.shows("h1", "Needs you")
	p.shows("[data-ask] h3", "touch approved.txt")
	p.shows("[data-ask] .note", "left")
	p.key("Enter", 0)
	p.click("[data-ask] button", "Allow once")
	p.shows("[data-ask] h3", "rm -r build")

	// The run shows what it said and did, and what it asks.
	p.click("[data-ask] a", "run ")
	p.shows(".transcript .user", "say Hello there.")
	p.shows(".transcript .say", "Hello there.")
	p.shows(".transcript .event", "touch approved.txt: Allowed by you")
	p.shows(".transcript .tool .mono", "output of touch approved.txt")
	p.until(`document.querySelector('.transcript [data-ask] textarea')`)
	p.eval(`document.querySelector('.transcript [data-ask] textarea').focus()`, nil)
	p.write("use make clean")
	p.click(".transcript [data-ask] button", "Deny")
	p.shows(".transcript .event", "rm -r build: Denied by you: use make clean")

	// A question with choices.
	p.click(".transcript [data-ask] button", "Blue")
	p.until(`document.querySelector('.transcript [data-ask] button[aria-pressed=true]')`)
	p.click(".transcript [data-ask] button.primary", "Answer")
	p.shows(".transcript .say", "I take Blue.")
	p.shows(".transcript .say", "I hold.")

	// Steering ends what it holds for.
	p.shows(".speaking .hint", "Turn 1 is under way")
	p.eval(`document.querySelector('[data-say]').focus()`, nil)
	p.write("be quick")
	p.key("Enter", 2)
	p.shows(".transcript .say", "Steered: be quick")
	p.shows(".transcript .say", "All done.")
	p.shows(".detail .pill", "Ended")
	p.until(`document.querySelector('[data-say]').value === ''`)

	sameAfterReload(t, p)
	again(t, r, p, run.RunID)
	r.ac("log:verify", r.dir)
}

// sameAfterReload pins that a page that comes new shows what one showed that was there.
func sameAfterReload(t *testing.T, p *tab) {
	t.Helper()
	const shown = `[...document.querySelectorAll('.transcript .entry')].map((e) => e.textContent)`
	var before, after []string
	p.eval(shown, &before)
	if n := len(slices.Compact(slices.Sorted(slices.Values(before)))); n != len(before) {
		t.Errorf("something is shown twice: %q", before)
	}
	p.do("Page.reload", object{}, nil)
	p.until(fmt.Sprintf(`document.querySelectorAll('.transcript .entry').length >= %d`, len(before)))
	p.eval(shown, &after)
	if !slices.Equal(before, after) {
		t.Errorf("before %q\nafter %q", before, after)
	}
}

// again continues the run, changes its policy and stops its turn.
func again(t *testing.T, r *controlRoom, p *tab, run string) {
	t.Helper()
	p.shows(".speaking .hint", "own conversation")
	p.eval(`document.querySelector('[data-say]').focus()`, nil)
	p.write("hold;say never")
	p.click(".speaking button", "Continue")
	p.shows(".transcript .user", "hold;say never")
	p.shows(".speaking .hint", "Turn 2 is under way")
	p.eval(`(() => { const menu = document.querySelector('.policy select[name=mode]'); menu.value = 'accept_edits'; menu.dispatchEvent(new Event('change')); })()`, nil)
	p.shows(".policy .hint", "edits files in its folder without asking")
	if policy := r.ac("run:policy", r.dir, run); !strings.Contains(policy, "mode accept_edits") {
		t.Errorf("the policy is %s", policy)
	}
	p.click(".speaking button", "Stop turn")
	p.shows(".transcript .event", "Turn interrupted")
	p.shows(".detail .pill", "Stopped")
	p.shows(".speaking button", "Continue")
}
