//go:build browser

package browser

// Start: nothing starts before its plan is shown, and a form's text survives a reload.

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// set sets a form field.
func (p *tab) set(name, value string) {
	p.t.Helper()
	p.until(fmt.Sprintf(`document.querySelector('[data-field=%s]')`, name))
	p.eval(fmt.Sprintf(`(() => { const el = document.querySelector('[data-field=%s]'); el.value = %q; el.dispatchEvent(new Event('input', { bubbles: true })); el.dispatchEvent(new Event('change', { bubbles: true })); })()`, name, value), nil)
	p.until(fmt.Sprintf(`document.querySelector('[data-field=%s]').value === %q`, name, value))
}

// TestStart writes a prompt, reviews the plan, starts, and retries.
func TestStart(t *testing.T) {
	r := inRepository(t)
	r.serve("--project", r.project, "--allow-launch")
	p := launch(t).open(t, 1440, 900, false)
	p.goTo(r.url)
	p.lives()
	p.key("c", 0)
	p.shows("h1", "Start")
	p.click("[data-act=start]", "")
	p.shows("[role=alert]", "Choose an agent first.")
	p.until(`document.activeElement?.dataset.field === 'agent'`)
	p.set("agent", r.worker)
	p.set("prompt", "say Started from the page.")
	p.set("budget", "$2.00")
	p.do("Page.reload", object{}, nil)
	p.until(`document.querySelector('[data-field=prompt]')?.value === 'say Started from the page.'`)
	p.eval(`document.querySelector('[data-field=prompt]').focus()`, nil)
	p.key("Enter", 2)
	p.shows("[role=dialog] h2", "Start this?")
	p.shows("[role=dialog]", "Kei Tanaka")
	p.shows("[role=dialog]", "in a new worktree of ledger")
	p.shows("[role=dialog]", "$2.00 (given)")
	if n := strings.TrimSpace(r.ac("ps", "-aq", "-C", r.dir)); n != "" {
		t.Errorf("something runs before it was confirmed: %s", n)
	}
	p.until(`document.querySelector('[role=dialog] [data-act=confirm]:not(:disabled)')`)
	p.click("[role=dialog] [data-act=confirm]", "Start")
	p.until(`location.hash.startsWith('#/runs/run_')`)
	p.shows("[data-kind=message]", "Started from the page.")
	p.shows(".run-facts", "Ended")
	if p.holds(`document.activeElement === document.body`) {
		t.Error("the focus fell to the body")
	}

	// A retry starts another run like this one.
	p.click("[data-act=retry]", "")
	p.until(`location.hash.includes('from=run_')`)
	p.click("[data-act=start]", "")
	p.until(`document.querySelector('[role=dialog] [data-act=confirm]:not(:disabled)')`)
	p.click("[role=dialog] [data-act=confirm]", "Start")
	p.until(`location.hash.startsWith('#/runs/run_')`)
	p.shows("[data-kind=message]", "Started from the page.")
}

// TestStartOfACommand starts a command with an agent whose provider has no driver.
func TestStartOfACommand(t *testing.T) {
	r := inRepository(t)
	shell := strings.TrimSpace(r.ac("agent:new", r.dir, "--name", "Shelly", "--role", "worker", "--provider", "cmd"))
	r.serve("--project", r.project, "--allow-launch")
	p := launch(t).open(t, 1440, 900, false)
	p.goTo(r.url)
	p.lives()
	p.eval(fmt.Sprintf(`location.hash = '#/start?agent=%s'`, shell), nil)
	p.set("command", `sh -c 'echo "two words" done'`)
	p.shows("#start-words", `["sh","-c","echo \"two words\" done"]`)
	p.click("[data-act=start]", "")
	p.until(`document.querySelector('[role=dialog] [data-act=confirm]:not(:disabled)')`)
	p.click("[role=dialog] [data-act=confirm]", "Start")
	p.until(`location.hash.startsWith('#/runs/run_')`)
	p.shows("[data-item]", "two words done")
}

// TestStartIsOff checks that without --allow-launch the page shows the same form, with a command to
// copy.
func TestStartIsOff(t *testing.T) {
	r := found(t)
	r.serve("--project", r.project)
	p := launch(t).open(t, 1440, 900, false)
	p.goTo(r.url)
	p.lives()
	p.eval(`navigator.clipboard.writeText = async (text) => { window.copied = text; }; 0`, nil)
	p.eval(fmt.Sprintf(`location.hash = '#/start?agent=%s'`, r.worker), nil)
	p.until(fmt.Sprintf(`document.querySelector('[data-field=agent]')?.value === '%s'`, r.worker))
	if p.holds(`document.querySelector('[data-act=start]')`) {
		t.Error("it offers to start")
	}
	p.set("prompt", "say it's here")
	p.click("main button", "Copy command")
	p.until(`window.copied`)
	var copied string
	if p.eval(`copied`, &copied); !strings.HasPrefix(copied, "ac run:launch ") || !strings.Contains(copied, `'say it'\''s here'`) || !strings.Contains(copied, "--agent "+r.worker) {
		t.Errorf("copied %s", copied)
	}
}

// TestPlanChanged commits between the plan and the start. Nothing may start, and the page must mark
// the difference. Confirming again starts the new plan.
func TestPlanChanged(t *testing.T) {
	r := inRepository(t)
	r.serve("--project", r.project, "--allow-launch")
	p := launch(t).open(t, 1440, 900, false)
	p.goTo(r.url)
	p.lives()
	p.allow("409")
	p.eval(fmt.Sprintf(`location.hash = '#/start?agent=%s'`, r.worker), nil)
	p.set("prompt", "say Started.")
	p.until(`document.querySelector('[data-field=repo]')?.value`)
	p.click("[data-act=start]", "")
	p.until(`document.querySelector('[role=dialog] [data-act=confirm]:not(:disabled)')`)
	r.git("commit", "-q", "--allow-empty", "-m", "meanwhile")
	p.click("[role=dialog] [data-act=confirm]", "Start")
	p.shows("[role=dialog] [role=alert]", "Nothing was started")
	p.shows("[role=dialog] .differs", "from "+strings.TrimSpace(r.git("rev-parse", "--short=7", "HEAD")))
	p.click("[role=dialog] [data-act=confirm]", "Start")
	p.until(`location.hash.startsWith('#/runs/run_')`)
}

// TestMaskedPromptIsNotRetried retries a run whose stored prompt contains a mask, and enters
// another prompt with a mask. Neither may reach an agent, and the page must say why.
func TestMaskedPromptIsNotRetried(t *testing.T) {
	r := found(t)
	run := r.launch("say The key is [REDACTED_SECRET].")
	r.serve("--project", r.project, "--allow-launch")
	p := launch(t).open(t, 1440, 900, false)
	p.allow("409")
	p.goTo(r.url + "/#/runs/" + run)
	p.lives()
	p.shows(".run-facts", "Ended")
	p.click("[data-act=retry]", "")
	p.until(`location.hash.includes('from=run_')`)
	refused := func() {
		t.Helper()
		p.click("[data-act=start]", "")
		p.shows("[role=dialog] [role=alert]", "the agent would be given the mask")
		p.until(`document.querySelector('[role=dialog] [data-act=confirm]').disabled`)
		p.click("[role=dialog] [data-act=cancel]", "")
		p.until(`!document.querySelector('[role=dialog]')`)
	}
	refused()
	p.set("prompt", "say It was [REDACTED].")
	refused()
	if made, _ := filepath.Glob(filepath.Join(r.dir, "work/projects", r.project, "runs/*")); len(made) != 1 {
		t.Errorf("a run was made: %q", made)
	}
	p.set("prompt", "say It was the old one.")
	p.click("[data-act=start]", "")
	p.until(`document.querySelector('[role=dialog] [data-act=confirm]:not(:disabled)')`)
	p.click("[role=dialog] [data-act=confirm]", "Start")
	p.shows("[data-kind=message]", "It was the old one.")
}
