//go:build browser

package browser

// Needs you: each need with its proof and its actions.

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// need waits for a need in the list and opens it.
func (p *tab) need(id string) {
	p.t.Helper()
	p.eval(`location.hash = '#/needs'`, nil)
	p.until(fmt.Sprintf(`document.querySelector('[data-needs-list] [data-need=%q]')`, id))
	p.eval(fmt.Sprintf(`document.querySelector('[data-needs-list] [data-need=%q]').click()`, id), nil)
	p.until(fmt.Sprintf(`document.querySelector('[data-need-open=%q] [data-proof]')`, id))
}

// TestMilestoneEvidence checks that the page shows a milestone's criteria, patch and tests beside
// the buttons, and offers no approval without them.
func TestMilestoneEvidence(t *testing.T) {
	r := found(t)
	whole := "milestone:" + r.milestone("Transfers are built", true)
	bare := "milestone:" + r.milestone("Nothing is built", false)
	r.serve("--project", r.project)
	p := launch(t).open(t, 1440, 900, false)
	p.allow("409") // from a need that is already settled
	p.goTo(r.url)
	p.lives()

	p.need(bare)
	p.shows("[data-need-open]", "does not fit")
	p.shows("[data-proof=patch]", "Missing: art_patch_")
	p.shows("[data-proof=tests]", "Missing: art_tests_")
	p.until(`document.querySelector('.decide [data-act=approve]').disabled && !document.querySelector('.decide [data-act=deny]').disabled`)
	p.key("a", 0)
	if p.holds(`document.querySelector('.decide textarea')`) {
		t.Error("a milestone without evidence can be approved by a key")
	}

	p.need(whole)
	p.shows("[data-proof=criteria]", "It works on a Monday")
	p.shows("[data-proof=patch]", "ledger/retry.go")
	p.until(`[...document.querySelectorAll('[data-proof=patch] [data-sign="+"]')].some((e) => e.textContent.includes('func Do(key string) {}'))`)
	p.until(`[...document.querySelectorAll('[data-proof=patch] [data-sign="-"]')].some((e) => e.textContent.includes('func Do() {}'))`)
	p.shows("[data-proof=tests]", "1.204s")
	p.until(`!document.querySelector('.decide [data-act=approve]').disabled`)
	p.key("a", 0)
	p.until(`document.activeElement.tagName === 'TEXTAREA'`)
	p.write("looked at it")
	p.key("Enter", 0) // a new line
	if !p.holds(fmt.Sprintf(`document.querySelector('[data-need-open=%q] .decide textarea')`, whole)) {
		t.Fatal("Enter decided")
	}
	p.key("Enter", 2)
	// The next need opens, its row has the focus, and a toast reports the outcome.
	p.until(fmt.Sprintf(`document.activeElement.dataset.need === %q && document.querySelector('[data-need-open=%q]')`, bare, bare))
	p.shows(".toast", "Approved: Transfers are built")
	p.until(fmt.Sprintf(`!document.querySelector('[data-need=%q]')`, whole))
	p.key("d", 0)
	p.until(`document.activeElement.tagName === 'TEXTAREA'`)
	p.key("Enter", 2)
	p.until(`document.activeElement.id === 'title'`)
	p.shows("main", "Nothing waits for you")
	p.eval(`location.hash = '#/decided'`, nil)
	p.shows(".decision-row", "Transfers are built")
	p.shows(".decision-row", "looked at it")
	p.shows(".decision-row", "rule")
	p.click(".decision-row a", "Transfers are built")
	p.shows("[data-proof=criteria]", "It works on a Monday")
}

// TestHelpIsAnswered answers a request for help from the page.
func TestHelpIsAnswered(t *testing.T) {
	r := found(t)
	id := r.help("Which queue?", "Is it **the old** one?")
	r.serve("--project", r.project)
	p := launch(t).open(t, 1440, 900, false)
	p.allow("409") // from a need that is already settled
	p.goTo(r.url)
	p.lives()
	p.need("help:" + id)
	p.until(`document.querySelector('[data-proof=question] [data-md] strong')`)
	p.eval(`document.querySelector('.decide textarea').focus()`, nil)
	p.write("The new one.")
	p.key("Enter", 2)
	p.shows("main", "Nothing waits for you")
	text, err := os.ReadFile(filepath.Join(r.dir, "inbox/help_requests", id+".md"))
	if err != nil || !strings.Contains(string(text), "The new one.") {
		t.Errorf("the answer is not in the file: %v\n%s", err, text)
	}
}

// TestPermissionInTheList allows a command on Now, denies another with words, and answers a
// question.
func TestPermissionInTheList(t *testing.T) {
	r := found(t)
	run := r.launch("run touch approved.txt;run rm -r build;question Which colour?;say All done.")
	r.serve("--project", r.project)
	p := launch(t).open(t, 1440, 900, false)
	p.allow("409") // from a need that is already settled
	p.goTo(r.url)
	p.lives()
	p.shows("[data-group=needs] [data-need]", "touch approved.txt")
	p.until(`document.querySelector('[data-group=needs] [data-deadline]').textContent.includes('left')`)
	p.key("Enter", 0)
	p.click(`[data-group=needs] [data-act=respond][data-effect=allow][data-scope=once]`, "Allow once")
	p.shows("[data-group=needs] [data-need]", "rm -r build")
	p.click("[data-group=needs] [data-need]", "rm -r build")
	p.until(`document.querySelector('[data-need-open] [data-proof=figures] dl')`)
	p.shows("[data-need-open] .command", "rm -r build")
	p.shows("[data-need-open] dl", "/repo")
	p.shows("[data-proof=items]", "touch approved.txt")
	if p.holds(`document.activeElement.closest('.decide')`) {
		t.Error("an answer has the focus by itself")
	}
	p.click(".decide button", "Deny and say…")
	p.until(`document.activeElement.tagName === 'TEXTAREA'`)
	p.write("use make clean")
	p.click(".decide [data-effect=deny]", "Deny")
	p.shows("[data-needs-list] [data-need]", "Which colour?")
	p.click("[data-needs-list] [data-need]", "Which colour?")
	p.click(".decide [data-option=Blue]", "Blue")
	p.until(`document.querySelector('.decide [data-act=answer]:not(:disabled)')`)
	p.click(".decide [data-act=answer]", "Answer")
	p.shows("main", "Nothing waits for you")
	p.eval(`location.hash = '#/runs/`+run+`'`, nil)
	p.shows("main", "use make clean")
}

// TestDismissAndRestore dismisses a failed run, and restores it.
func TestDismissAndRestore(t *testing.T) {
	r := found(t)
	run := r.execute("sh", "-c", "echo oh no; exit 3")
	r.serve("--project", r.project)
	p := launch(t).open(t, 1440, 900, false)
	p.allow("409") // from a need that is already settled
	p.goTo(r.url)
	p.lives()
	p.until(fmt.Sprintf(`document.querySelector('[data-group=failed][data-count="1"] [data-run=%q]')`, run))
	need := "run_failed:" + run + ":1"
	p.need(need)
	p.shows("[data-proof=figures]", "3")
	p.shows("[data-proof=items]", "oh no")
	p.click(".decide [data-act=dismiss]", "Dismiss")
	p.until(fmt.Sprintf(`!document.querySelector('[data-need=%q]')`, need))
	p.eval(`location.hash = '#/now'`, nil)
	p.shows("[data-group=failed]", "dismissed 1")
	p.click("[data-group=failed] a", "dismissed 1")
	p.until(fmt.Sprintf(`document.querySelector('[data-need-open=%q] [data-act=restore]')`, need))
	p.key("u", 0)
	p.shows(".toast", "Restored")
	p.eval(`location.hash = '#/needs'`, nil)
	p.until(fmt.Sprintf(`document.querySelector('[data-need=%q]')`, need))
}

// TestManyAtOnce approves several proposals for one memory in one dialog.
func TestManyAtOnce(t *testing.T) {
	r := found(t)
	for i := range 3 {
		r.delta(fmt.Sprintf("Proposal %d", i), fmt.Sprintf("- Line %d", i))
	}
	r.help("Which queue?", "Is it the old one?")
	r.milestone("Nothing is built", false)
	r.serve("--project", r.project)
	p := launch(t).open(t, 1440, 900, false)
	p.allow("409") // from a need that is already settled
	p.goTo(r.url + "/#/needs")
	p.lives()
	p.until(`document.querySelectorAll('[data-needs-list] [data-need]').length === 5`)
	p.click(".choose-all", "")
	p.shows(".bulk", "5 chosen")
	if p.holds(`document.querySelector('[data-act=bulk-approve]')`) {
		t.Error("needs of different families can be decided together")
	}
	p.eval(`document.querySelector('[data-need^="help:"]').closest('li').querySelector('input').click()`, nil)
	p.click("[data-act=bulk-approve]", "")
	p.until(`document.querySelectorAll('[role=dialog] [data-item-of]').length === 4`)
	p.shows("[role=dialog]", "1 item left out")
	p.until(`!document.querySelector('[role=dialog] [data-act=confirm]').disabled`)
	p.click("[role=dialog] [data-act=confirm]", "Approve")
	p.until(`document.querySelectorAll('[role=dialog] .note.good').length === 3`)
	p.click("[role=dialog] [data-act=cancel]", "")
	p.until(`document.querySelectorAll('[data-needs-list] [data-need]').length === 2`)
	text, err := os.ReadFile(filepath.Join(r.dir, "work/projects", r.project, "memory.md"))
	for i := range 3 {
		if line := fmt.Sprintf("- Line %d", i); err != nil || !strings.Contains(string(text), line) {
			t.Errorf("the memory has no %q: %v", line, err)
		}
	}
}

// TestTwoPeopleDecide decides a need on one page while another page shows it.
func TestTwoPeopleDecide(t *testing.T) {
	r := found(t)
	id := "memory:" + r.delta("Ask first", "- Ask first")
	r.serve("--project", r.project)
	c := launch(t)
	p, other := c.open(t, 1440, 900, false), c.open(t, 1440, 900, false)
	for _, one := range []*tab{p, other} {
		one.allow("409")
		one.allow("404")
		one.goTo(r.url)
		one.lives()
		one.need(id)
	}
	p.key("d", 0)
	p.until(`document.activeElement.tagName === 'TEXTAREA'`)
	other.key("a", 0)
	other.until(`document.activeElement.tagName === 'TEXTAREA'`)
	p.key("Enter", 2)
	p.shows("main", "Nothing waits for you")
	other.until(`document.querySelector('.need-row.struck') || !document.querySelector('[data-need]')`)
}

// TestNoteOutlivesAnotherDecision lets somebody else decide a need while a note is being sent, and
// another while a note is being written. The page must say so and keep the note.
func TestNoteOutlivesAnotherDecision(t *testing.T) {
	r := found(t)
	first, second := r.delta("Ask first", "- Ask first"), r.delta("Ask last", "- Ask last")
	r.serve("--project", r.project)
	p := launch(t).open(t, 1440, 900, false)
	p.allow("409")
	p.goTo(r.url + "/#/needs")
	p.lives()
	p.need("memory:" + first)
	p.until(`!document.querySelector('.decide [data-act=approve]').disabled`)
	p.key("a", 0)
	p.until(`document.activeElement.tagName === 'TEXTAREA'`)
	p.write("I looked at the first.")
	// What is sent now arrives after somebody else's same decision.
	p.eval(`(() => { const real = window.fetch; window.fetch = async (path, options) => {
		if (!String(options?.body).includes('"inbox.resolve"')) return real(path, options);
		window.fetch = real;
		await real(path, { ...options, body: options.body.replace('I looked at the first.', 'theirs') });
		return real(path, options);
	}; })()`, nil)
	p.key("Enter", 2)
	p.shows(".toast", "Nothing was decided: it changed meanwhile")
	p.shows("[data-kept]", "I looked at the first.")
	p.shows(".decide", "It does not wait any more")
	p.until(`document.activeElement.id === 'detail-title'`)

	p.eval(`location.hash = '#/needs'`, nil)
	p.until(fmt.Sprintf(`document.querySelector('[data-need-open="memory:%s"] [data-proof]')`, second))
	p.until(`!document.querySelector('.decide [data-act=approve]').disabled`)
	p.key("a", 0)
	p.until(`document.activeElement.tagName === 'TEXTAREA'`)
	p.write("I looked at the second.")
	r.call("inbox.resolve", object{"project_id": r.project, "artifact_id": second, "decision": "denied", "notes": ""}, nil)
	p.shows("[data-kept]", "I looked at the second.")
	p.shows(".decide", "It does not wait any more")
	p.until(`!document.querySelector('.need-row')`)
	p.shows("[data-kept]", "I looked at the second.")
	if p.holds(`document.activeElement === document.body`) {
		t.Error("the focus fell to the body")
	}
}
