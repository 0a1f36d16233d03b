//go:build browser

package browser

// Accessibility of a run, Start, Plan, People, Talk, Cost and Health.

import (
	"fmt"
	"strings"
	"testing"
)

// TestScreensAreAccessible runs axe on each view, in both themes and widths.
func TestScreensAreAccessible(t *testing.T) {
	r := inRepository(t)
	changed := r.inWorktree(changesOfLedger + "\nprintf '\\033[31mred\\033[0m plain\\n'; echo oh no >&2")
	live := r.launch("say Hello **there**, see `ledger/retry.go`.;run touch approved.txt;hold", "--repo", r.repo())
	r.milestone("The queue is hardened", true)
	decided := r.milestone("It is decided", true)
	task := strings.TrimSpace(r.ac("task:new", r.dir, "--project", r.project, "--title", "Load test"))
	r.serve("--project", r.project, "--allow-launch")
	r.call("inbox.resolve", object{"project_id": r.project, "artifact_id": decided, "decision": "approved"}, nil)
	c := launch(t)
	views := []struct{ hash, ready string }{
		{"runs/" + live + "/transcript", `[data-kind=permission] [data-act=respond]`},
		{"runs/" + changed + "/changes?file=ledger/retry.go", `[data-sign="+"] .hl-keyword`},
		{"runs/" + changed + "/changes", `[data-file]`},
		{"runs/" + changed + "/log", `.ansi-red-fg`},
		{"runs/" + changed + "/events", `.event-row`},
		{"runs/" + changed + "/notes", `[data-note]`},
		{"runs/run_none/transcript", `.empty`},
		{"start", `[data-act=start]`},
		{"start?from=" + changed, `[data-act=start]`},
		{"plan", `.gantt-link`},
		{"plan/" + task, `h1`},
		{"decided/" + decided, `[data-proof=criteria]`},
		{"people", `[data-person] strong`},
		{"people/" + r.worker, `textarea`},
		{"talk", `h1`},
		{"cost", `[data-bucket]`},
		{"health", `[data-check]`},
	}
	for _, screen := range []struct {
		width, height int
		dark          bool
	}{{1440, 900, false}, {1440, 900, true}, {390, 844, false}, {390, 844, true}} {
		p := c.open(t, screen.width, screen.height, screen.dark)
		p.allow("404")
		p.goTo(r.url)
		p.lives()
		name := fmt.Sprintf("%d dark=%v", screen.width, screen.dark)
		for _, view := range views {
			p.eval(fmt.Sprintf(`location.hash = '#/%s'`, view.hash), nil)
			p.until(fmt.Sprintf(`document.querySelector('main h1') && document.querySelector('main ' + %q) && !document.querySelector('main .loading, main .check.wait')`, view.ready))
			p.accessible(name + " " + view.hash)
			p.fits(name + " " + view.hash)
			if p.holds(`document.activeElement === document.body`) {
				t.Errorf("%s %s: the focus is on the body", name, view.hash)
			}
		}
		p.eval(fmt.Sprintf(`location.hash = '#/runs/%s/changes'`, changed), nil)
		p.until(`document.querySelector('[data-act=land]')`)
		p.click("[data-act=land]", "Land")
		p.until(`document.querySelector('[role=dialog] [data-act=confirm]:not(:disabled)')`)
		p.accessible(name + " land")
		p.key("Escape", 0)
		p.until(`!document.querySelector('[role=dialog]')`)
		if p.holds(`document.activeElement === document.body`) {
			t.Errorf("%s: after the dialog the focus is on the body", name)
		}
		p.eval(`location.hash = '#/start'`, nil)
		p.set("agent", r.worker)
		p.set("prompt", "say Hello.")
		p.click("[data-act=start]", "Review")
		p.until(`document.querySelector('[role=dialog] [data-act=confirm]:not(:disabled)')`)
		p.accessible(name + " start")
	}
}
