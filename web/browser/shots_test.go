//go:build browser

package browser

// Every view on the narrowest and the widest screen, and the screenshots of the documentation.

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

var shots = flag.String("shots", "", "the folder of the documentation's pictures, to take them anew")

// lively creates a company in which something of each kind happens, and returns a live run.
func (r *company) lively() string {
	r.t.Helper()
	r.ac("project:new", r.dir, "--name", "Search relevance")
	for _, title := range []string{"Review the ledger schema", "Rewrite transfers", "Load test the queue"} {
		r.ac("task:new", r.dir, "--project", r.project, "--title", title)
	}
	r.execute("sh", "-c", `echo 'go test ./ledger'; echo 'ok  ledger  1.204s'; echo '{"usage":{"total_tokens":46400}}'`)
	r.execute("sh", "-c", "echo 'connecting to the registry'; echo 'quota exceeded: limit reached' >&2; exit 1")
	r.milestone("Build transfers", true)
	r.delta("Ask before a migration", "- Ask before a migration of the ledger")
	r.delta("Prefer integers", "- Amounts are integers of cents")
	r.help("Which queue do transfers use?", "The **old** queue has the retries, the new one has the metrics. I would take `queue/v2`.")
	r.launch("say Transfers are **idempotent** now: each carries its key.;run rm -rf build;hold")
	return r.launch("say I'll look at how a transfer is **retried**.\n\n- the key is made in `ledger/retry.go`\n- nothing keeps it;say The key is kept now.;hold")
}

// TestEveryViewFits opens every view at 320 and 2,560 pixels and checks that nothing is wider than
// the window.
func TestEveryViewFits(t *testing.T) {
	r := found(t)
	run := r.lively()
	r.serve()
	c := launch(t)
	for _, width := range []int{320, 2560} {
		p := c.open(t, width, 900, false)
		p.allow("409")
		p.goTo(r.url)
		p.lives()
		for _, view := range []string{"projects", "now", "needs", "start", "plan", "people", "talk", "cost", "decided", "health", "settings", "runs/" + run} {
			p.show(view)
			p.fits(fmt.Sprintf("%s at %d", view, width))
		}
	}
	if *shots != "" {
		pictures(t, r, c, run)
	}
}

// show opens a view and waits until it has loaded.
func (p *tab) show(view string) {
	p.t.Helper()
	p.eval(fmt.Sprintf(`location.hash = '#/%s'`, view), nil)
	p.until(fmt.Sprintf(`location.hash === '#/%s' && document.querySelector('main h1') && !document.querySelector('main .loading')`, view))
}

// pictures takes the screenshots of the documentation.
func pictures(t *testing.T, r *company, c *chromium, run string) {
	for _, one := range []struct {
		name, view string
		width      int
		dark       bool
	}{
		{"now", "now", 1440, false}, {"now-narrow", "now", 390, false}, {"needs-you", "needs", 1440, false}, {"run-dark", "runs/" + run, 1440, true},
		{"projects", "projects", 1440, false}, {"plan", "plan", 1440, false}, {"cost-dark", "cost", 1440, true}, {"talk-narrow", "talk", 390, false},
	} {
		p := c.open(t, one.width, 900, one.dark)
		p.allow("409")
		p.goTo(r.url)
		p.lives()
		p.show(one.view)
		if one.name == "needs-you" {
			p.click("[data-needs-list] [data-kind=milestone]", "")
			p.until(`document.querySelector('[data-proof=patch]')`)
		}
		p.eval(`document.fonts.ready.then(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 300)))))`, nil)
		if err := os.WriteFile(filepath.Join(*shots, "control-room-"+one.name+".png"), p.picture(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
