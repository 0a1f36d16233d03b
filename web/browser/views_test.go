//go:build browser

package browser

// Cost, Health, Plan, People and Talk, on a workspace made by commands.

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ac/internal/proc/proctest"
)

// TestCost compares the page with the program's report, and checks where the day labels are.
func TestCost(t *testing.T) {
	r := found(t)
	r.execute("sh", "-c", `echo '{"usage":{"total_tokens":777}}'`)
	r.execute("sh", "-c", "echo nothing reported")
	r.serve("--project", r.project)
	p := launch(t).open(t, 1440, 900, false)
	p.goTo(r.url)
	p.lives()
	p.allow("Canvas2D") // the test reads pixels
	p.eval(`location.hash = '#/cost?range=14d&unit=tokens'`, nil)
	p.until(`document.querySelectorAll('[data-bucket]').length === 14 && document.querySelector('.cost-canvas canvas')`)
	p.shows("[data-bucket]:last-child", "")
	p.until(`[...document.querySelectorAll('[data-bucket]')].pop().getAttribute('aria-label').includes('777')`)
	p.shows("table", "~782")
	for _, width := range []int{1440, 900, 390, 320} {
		p.do("Emulation.setDeviceMetricsOverride", object{"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false}, nil)
		p.until(fmt.Sprintf(`innerWidth === %d`, width))
		var off float64
		p.eval(`Math.max(...[...document.querySelectorAll('[data-tick]')].map((tick) => { const a = tick.getBoundingClientRect(), b = document.querySelector('[data-bucket="' + tick.dataset.tick + '"]').getBoundingClientRect(); return Math.abs(a.x + a.width / 2 - b.x - b.width / 2); }))`, &off)
		if off > 3 {
			t.Errorf("at %d a label is off by %.1f px", width, off)
		}
		p.fits(fmt.Sprintf("cost at %d", width))
		// The drawn bar must align with its element.
		p.until(`(() => { const c = document.querySelector('.cost-canvas canvas'), e = [...document.querySelectorAll('[data-bucket]')].pop().getBoundingClientRect(), b = c.getBoundingClientRect();
			const g = c.getContext('2d'), k = c.width / b.width, row = g.getImageData(0, Math.round((e.bottom - b.top - 4) * k), c.width, 1).data;
			let from = -1, to = -1; for (let x = Math.round(60 * k); x < c.width; x++) if (row[x * 4 + 3] > 200) { if (from < 0) from = x; to = x; }
			return from >= 0 && Math.abs(from / k + b.left - e.left) <= 3 && Math.abs(to / k + b.left - e.right) <= 3; })()`)
	}
	var ticks int
	p.eval(`location.hash = '#/cost?range=90d&by=provider'`, nil)
	p.until(`document.querySelectorAll('[data-bucket]').length === 90`)
	if p.eval(`document.querySelectorAll('[data-tick]').length`, &ticks); ticks < 6 || ticks > 12 {
		t.Errorf("%d labels", ticks)
	}
}

// TestHealth checks that the page shows each check, the worst first, and that it ticks and rebuilds
// the index.
func TestHealth(t *testing.T) {
	r := found(t)
	r.write("org/agents/.agent.yaml.tmp-1", "left over")
	r.serve("--project", r.project)
	p := launch(t).open(t, 1440, 900, false)
	p.goTo(r.url)
	p.lives()
	p.eval(`location.hash = '#/health'`, nil)
	p.until(`document.querySelector('[data-check]')`)
	p.until(`!document.querySelector('.check.wait')`)
	var report struct{ Checks []struct{ ID string } }
	r.call("workspace.doctor", object{}, &report)
	for _, check := range report.Checks {
		if !p.holds(fmt.Sprintf(`document.querySelector('[data-check=%q]')`, check.ID)) {
			t.Errorf("%s is not shown", check.ID)
		}
	}
	var worst []string
	p.eval(`[...document.querySelectorAll('[data-check]')].map((e) => e.className.split(' ')[1])`, &worst)
	if joined := strings.Join(worst, " "); strings.Contains(joined, "pass warn") || strings.Contains(joined, "pass fail") || strings.Contains(joined, "warn fail") {
		t.Errorf("not the worst first: %s", joined)
	}
	p.click("main button", "Tick now")
	p.click("[role=dialog] [data-act=confirm]", "Tick now")
	p.until(`!document.querySelector('[role=dialog]')`)
	p.click("main button", "Rebuild")
	p.shows("[role=status], .toast", "The index is made anew.")
}

// TestMend mends a leftover file, from the preview to the result.
func TestMend(t *testing.T) {
	r := found(t)
	left := "company/.company.yaml.tmp-2147483646-1-abcdef" // of a dead writer
	r.write(left, "left over")
	old := time.Now().Add(-48 * time.Hour)
	if err := os.Chtimes(filepath.Join(r.dir, left), old, old); err != nil {
		t.Fatal(err)
	}
	r.serve("--project", r.project)
	p := launch(t).open(t, 1440, 900, false)
	p.goTo(r.url + "/#/health")
	p.lives()
	p.click("[data-check=leftovers] [data-act=fix]", "Mend…")
	p.shows("[role=dialog]", left)
	if _, err := os.Stat(filepath.Join(r.dir, left)); err != nil {
		t.Errorf("it was mended before it was confirmed: %v", err)
	}
	p.click("[role=dialog] [data-act=confirm]", "Mend")
	p.shows(".toast", "Mended: 1 thing.")
	p.until(`!document.querySelector('[role=dialog]')`)
	p.until(`document.querySelector('[data-check=leftovers].pass')`)
	if _, err := os.Stat(filepath.Join(r.dir, left)); err == nil {
		t.Error("the file is still there")
	}
	if p.holds(`document.activeElement === document.body`) {
		t.Error("the focus fell to the body")
	}
}

// TestAgentPrograms checks that the page shows the program and version of each agent.
func TestAgentPrograms(t *testing.T) {
	r := found(t)
	program := filepath.Join(t.TempDir(), "claude")
	if err := proctest.WriteProgram(program, []byte("#!/bin/sh\necho '9.8.7 (Claude Code)'\n")); err != nil {
		t.Fatal(err)
	}
	r.ac("machine:set-provider-bin", r.dir, "--provider", "claude", "--path", program)
	r.serve("--project", r.project)
	p := launch(t).open(t, 1440, 900, false)
	p.goTo(r.url + "/#/health")
	p.lives()
	p.shows(".adapters li", program+" · 9.8.7 (Claude Code)")
}

// TestPlan opens a task from its bar, and starts a run with it.
func TestPlan(t *testing.T) {
	r := found(t)
	r.milestone("Done", true)
	r.serve("--project", r.project)
	p := launch(t).open(t, 1440, 900, false)
	p.goTo(r.url)
	p.lives()
	p.eval(`location.hash = '#/plan'`, nil)
	p.until(`document.querySelector('.gantt-link')`)
	p.eval(`[...document.querySelectorAll('.gantt-link')].find((e) => e.getAttribute('aria-label').startsWith('Harden the queue')).click()`, nil)
	p.shows("h1", "Harden the queue")
	p.shows(".milestones", "It works on a Monday")
	p.click("main a.button.primary", "Start with this task")
	p.until(`document.querySelector('[data-field=task]')?.selectedOptions[0]?.textContent === 'Harden the queue'`)
}

// TestPeople checks that people are sorted by name, and that a person's page shows that person's
// runs.
func TestPeople(t *testing.T) {
	r := found(t)
	run := r.execute("sh", "-c", "echo done")
	r.serve("--project", r.project)
	p := launch(t).open(t, 1440, 900, false)
	p.goTo(r.url)
	p.lives()
	p.eval(`location.hash = '#/people'`, nil)
	p.until(`document.querySelector('main [data-person]')`)
	if !p.holds(`(() => { const names = [...document.querySelectorAll('main [data-person] strong')].map((e) => e.textContent); return names.length > 3 && names.join() === [...names].sort((a, b) => a.localeCompare(b)).join(); })()`) {
		t.Error("not by name")
	}
	p.click(fmt.Sprintf("main [data-person='%s']", r.worker), "")
	p.until(fmt.Sprintf(`document.querySelector('main [data-run=%q]')`, run))
	p.eval(`document.querySelector('main textarea').focus()`, nil)
	p.write("Well **done**.")
	p.key("Enter", 2)
	p.until(`[...document.querySelectorAll('.said-note [data-md] strong')].some((e) => e.textContent === 'done')`)
}

// TestTalk creates a channel and writes in it.
func TestTalk(t *testing.T) {
	r := found(t)
	r.serve("--project", r.project)
	p := launch(t).open(t, 1440, 900, false)
	p.goTo(r.url)
	p.lives()
	p.eval(`location.hash = '#/talk'`, nil)
	p.shows("h1", "Talk")
	p.eval(`document.getElementById('field-channel').focus()`, nil)
	p.write("Payments")
	p.until(`document.querySelector('.new-talk button:not(:disabled)')`)
	p.click("main button", "Create")
	p.until(`document.querySelector('[data-compose]') && document.querySelector('#detail-title').textContent === 'Payments'`)
	p.eval(`document.querySelector('[data-compose]').focus()`, nil)
	p.write("Is it **rendered**?")
	p.click("main button", "Preview")
	p.shows(".preview strong", "rendered")
	p.eval(`document.querySelector('[data-compose]').focus()`, nil)
	p.key("Enter", 2)
	p.shows(".message.own [data-md] strong", "rendered")
}
