//go:build browser

package browser

// A person decides only what that person saw: proofs with secrets, and proofs that change.

import (
	"path/filepath"
	"strings"
	"testing"
)

const seenSecret = "ghp_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"

// besideASecret proposes a line for a memory that already contains a secret.
func (r *company) besideASecret() (need string) {
	r.t.Helper()
	r.remembers("- old key " + seenSecret)
	return "memory:" + r.delta("Ask first", "- Ask first")
}

// remembers makes line the only line of the project's memory.
func (r *company) remembers(line string) {
	r.t.Helper()
	r.write("work/projects/"+r.project+"/memory.md", "# Memory\n\n## Decisions\n\n"+line+"\n")
}

// TestApprovedAsSeen reveals the secret of a proposal, changes the memory, and approves. The first
// approval must be refused, and the page must show the change before a second one.
func TestApprovedAsSeen(t *testing.T) {
	r := found(t)
	id := r.besideASecret()
	r.serve("--project", r.project)
	p := launch(t).open(t, 1440, 900, false)
	p.allow("409")
	p.goTo(r.url)
	p.lives()
	p.need(id)
	p.click("[data-need-open] [data-act=show-secret]", "")
	p.shows("[data-proof=diff]", seenSecret)
	r.remembers("- old key " + seenSecret + "\n- written meanwhile")
	p.click(".decide [data-act=approve]", "Approve")
	p.click(".decide [data-act=confirm]", "Approve")
	p.shows(".toast", "Nothing was decided: it changed meanwhile")
	p.shows("[data-proof=diff]", "written meanwhile")
	p.until(`!document.documentElement.innerHTML.includes('AbCdEf')`)
	p.click("[data-need-open] [data-act=show-secret]", "")
	p.shows("[data-proof=diff]", seenSecret)
	p.shows("[data-proof=diff]", "written meanwhile")
	p.click(".decide [data-act=approve]", "Approve")
	p.click(".decide [data-act=confirm]", "Approve")
	p.shows(".toast", "Approved: Ask first")
}

// TestAnsweredAsSeen checks the same for a request for help.
func TestAnsweredAsSeen(t *testing.T) {
	r := found(t)
	id := r.help("Which key?", "Is it "+seenSecret+"?")
	r.serve("--project", r.project)
	p := launch(t).open(t, 1440, 900, false)
	p.allow("409")
	p.goTo(r.url)
	p.lives()
	p.need("help:" + id)
	p.click("[data-need-open] [data-act=show-secret]", "")
	p.shows("[data-proof=question]", seenSecret)
	file := "inbox/help_requests/" + id + ".md"
	r.write(file, strings.Replace(readFile(filepath.Join(r.dir, file)), "Is it ", "Is it not ", 1))
	p.eval(`document.querySelector('.decide textarea').focus()`, nil)
	p.write("Yes.")
	p.key("Enter", 2)
	p.shows(".toast", "the request changed meanwhile")
	p.shows("[data-proof=question]", "Is it not")
	p.until(`!document.documentElement.innerHTML.includes('AbCdEf')`)
}

// delayed holds back responses to requests for plain text until window.acLetGo is called.
const delayed = `(() => { const real = window.fetch; const gate = new Promise((go) => { window.acLetGo = go; });
	window.fetch = async (path, options) => {
		const answer = real(path, options);
		if (String(options?.body).includes('"mask":false')) { window.acAsked = true; await gate; window.acGot = true; }
		return answer;
	}; })()`

// TestLateSecretIsDropped leaves a proof before its secret arrives, and returns before then. The
// page must not show the secret.
func TestLateSecretIsDropped(t *testing.T) {
	r := found(t)
	first, second := "help:"+r.help("Which key?", "Is it "+seenSecret+"?"), "help:"+r.help("Which queue?", "Is it the old one?")
	r.serve("--project", r.project)
	p := launch(t).open(t, 1440, 900, false)
	p.goTo(r.url)
	p.lives()
	p.need(first)
	p.eval(delayed, nil)
	p.click("[data-need-open] [data-act=show-secret]", "")
	p.until(`window.acAsked`)
	p.need(second)
	p.need(first)
	p.eval(`new Promise((done) => { window.acLetGo(); setTimeout(done, 500); })`, nil)
	p.until(`window.acGot`)
	p.until(`document.querySelector('[data-need-open] [data-act=show-secret]')`)
	if p.holds(`document.documentElement.innerHTML.includes('AbCdEf')`) {
		t.Error("the secret is shown to somebody who left")
	}
}

// TestSecretsOfDecisions opens a decided proposal with a secret, on Decided and on its author's
// page. Both must mask the secret, and a reversal must restore the memory exactly.
func TestSecretsOfDecisions(t *testing.T) {
	r := found(t)
	r.remembers("- old")
	memory := func() string { return readFile(filepath.Join(r.dir, "work/projects", r.project, "memory.md")) }
	before := memory()
	id := r.delta("Keys", "- key "+seenSecret)
	r.ac("memory:approve", r.dir, "--project", r.project, "--artifact", id)
	r.serve("--project", r.project)
	p := launch(t).open(t, 1440, 900, false)
	p.allow("409")
	p.goTo(r.url)
	p.lives()
	for _, view := range []string{"people/" + r.worker, "decided/" + id} {
		p.show(view)
		p.shows("main", "key [REDACTED")
		if p.holds(`document.documentElement.innerHTML.includes('AbCdEf')`) {
			t.Errorf("%s tells the secret", view)
		}
	}
	p.shows("[data-proof=items]", "key [REDACTED")
	p.click("[data-act=reverse]", "Propose the reverse")
	p.click("[role=dialog] [data-act=confirm]", "Propose")
	p.shows(".toast", "Proposed: Take back: Keys")
	p.eval(`location.hash = '#/needs'`, nil)
	p.click("[data-needs-list] [data-kind=memory]", "Take back")
	p.click(".decide [data-act=approve]", "Approve")
	p.click(".decide [data-act=confirm]", "Approve")
	p.shows(".toast", "Approved: Take back")
	if memory() != before {
		t.Errorf("the memory is\n%s", memory())
	}
}

// TestLineThatLooksLikeAHead proposes to take back a line that looks like the header of a diff.
func TestLineThatLooksLikeAHead(t *testing.T) {
	r := found(t)
	id := r.delta("Counting", "++ counts twice\n- and once")
	r.ac("memory:approve", r.dir, "--project", r.project, "--artifact", id)
	r.serve("--project", r.project)
	p := launch(t).open(t, 1440, 900, false)
	p.goTo(r.url)
	p.lives()
	p.show("decided/" + id)
	p.click("[data-act=reverse]", "Propose the reverse")
	p.shows("[role=dialog] pre", "++ counts twice")
	p.click("[role=dialog] [data-act=confirm]", "Propose")
	p.shows(".toast", "Proposed: Take back: Counting")
}

// unflagged removes the over_budget flag from rows once window.acUnflagged is set, like rows that
// the room no longer holds.
const unflagged = `(() => { const real = JSON.parse; JSON.parse = (text, ...more) => real(window.acUnflagged ? text.replaceAll('"over_budget"', '"was_over"') : text, ...more); })()`

// TestHiddenBudgetIsNotSent enters a budget for a run that exceeded its own, and sends a message
// after the budget field has disappeared. The message must go without the hidden budget.
func TestHiddenBudgetIsNotSent(t *testing.T) {
	r := found(t)
	run := r.launch("say Some words that are counted.", "--budget-tokens", "1")
	r.serve("--project", r.project)
	p := launch(t).open(t, 1440, 900, false)
	p.do("Page.addScriptToEvaluateOnNewDocument", object{"source": unflagged}, nil)
	for _, text := range []string{"ERR_", "Failed to load"} {
		p.allow(text)
	}
	p.goTo(r.url)
	p.lives()
	p.need("over_budget:" + run)
	p.click(".decide [data-act=continue]", "Continue")
	p.until(`document.querySelector('.speaking [data-field=budget]')`)
	p.eval(`document.querySelector('.speaking [data-field=budget]').focus()`, nil)
	p.write("a lot")
	r.call("run.continue", object{"project_id": r.project, "run_id": run, "prompt_text": "say Within it.", "budget": object{"hard_tokens": 100000}}, nil)
	p.shows("[data-kind=message]", "Within it.")
	p.shows(".run-facts", "Ended")
	p.eval(`window.acUnflagged = true`, nil)
	r.stop()
	p.until(`document.documentElement.dataset.link === 'lost'`)
	r.serve("--project", r.project)
	p.lives()
	p.until(`document.querySelector('[data-steer]') && !document.querySelector('.speaking [data-field=budget]') && document.querySelector('[data-act=continue]:not(:disabled)')`)
	p.eval(`document.querySelector('[data-steer]').focus()`, nil)
	p.write("say Once more.")
	p.key("Enter", 2)
	p.shows("[data-kind=message]", "Once more.")
}

// TestNoteOfNoProject passes on a request without a project while the page shows all projects. The
// page must ask for the note's project.
func TestNoteOfNoProject(t *testing.T) {
	r := found(t)
	other := strings.TrimSpace(r.ac("project:new", r.dir, "--name", "Zebras"))
	id := r.help("Which queue?", "Is it the old one?")
	file := "inbox/help_requests/" + id + ".md"
	r.write(file, strings.Replace(readFile(filepath.Join(r.dir, file)), "project_id: "+r.project+"\n", "", 1))
	r.serve()
	p := launch(t).open(t, 1440, 900, false)
	p.goTo(r.url)
	p.lives()
	p.need("help:" + id)
	p.click("[data-act=pass-on]", "Pass on")
	p.until(`document.querySelector('[role=dialog] [data-field=project]')`)
	var director string
	p.eval(`[...document.querySelectorAll('[role=dialog] option')].find((e) => e.textContent.startsWith('Director')).value`, &director)
	p.set("agent", director)
	p.set("project", other)
	p.accessible("passing on")
	p.click("[role=dialog] [data-act=confirm]:enabled", "Pass on")
	p.shows(".toast", "Passed on to Director")
	for project, want := range map[string]int{r.project: 0, other: 1} {
		var notes []object
		r.call("comment.list", object{"project_id": project, "target_agent_id": director}, &notes)
		if len(notes) != want {
			t.Errorf("%d notes in %s, want %d", len(notes), project, want)
		}
	}
}
