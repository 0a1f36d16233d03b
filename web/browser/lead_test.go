//go:build browser

package browser

// The work of a lead who keeps the page open all day: passing requests on, raising budgets, using a
// phone, and opening the page of another machine.

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSecretsOfNeeds checks that a secret in the proofs of a need is masked. A manager may reveal
// it until another place is opened.
func TestSecretsOfNeeds(t *testing.T) {
	r := found(t)
	const secret = "ghp_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"
	failed := "run_failed:" + r.execute("sh", "-c", "echo the key is "+secret+"; exit 3") + ":1"
	help := "help:" + r.help("Which key?", "Is it "+secret+"?")
	r.serve("--project", r.project)
	p := launch(t).open(t, 1440, 900, false)
	p.goTo(r.url)
	p.lives()
	for _, id := range []string{failed, help} {
		p.need(id)
		p.until(`document.querySelector('[data-proof] .secret')`)
		if p.holds(`document.documentElement.innerHTML.includes('AbCdEf')`) {
			t.Errorf("%s tells the secret", id)
		}
		p.click("[data-need-open] [data-act=show-secret]", "")
		p.shows("[data-proof]", secret)
	}
	p.need(failed)
	p.shows("[data-proof]", "the key is [REDACTED")
	p.shows("#detail-title", "Failed: exit 3")
	p.shows(".item-who a", "sh -c")
	p.until(`!document.documentElement.innerHTML.includes('AbCdEf')`)
}

// elsewhere removes what browsers withhold from a plain http address of another machine: the
// clipboard and random UUIDs.
const elsewhere = `
	delete Crypto.prototype.randomUUID;
	Object.defineProperty(Navigator.prototype, 'clipboard', { get: () => undefined, configurable: true });
	const set = DataTransfer.prototype.setData;
	DataTransfer.prototype.setData = function (type, text) { window.acCopiedText = text; return set.call(this, type, text); };
`

// TestPageOfAnotherMachine starts a run and copies an address, without the browser features that
// need a secure context.
func TestPageOfAnotherMachine(t *testing.T) {
	r := inRepository(t)
	r.serve("--project", r.project, "--allow-launch")
	p := launch(t).open(t, 1440, 900, false)
	p.do("Page.addScriptToEvaluateOnNewDocument", object{"source": elsewhere}, nil)
	p.goTo(r.url + "/#/start")
	p.lives()
	if p.holds(`'randomUUID' in crypto || navigator.clipboard`) {
		t.Fatal("the page has what it is not to have")
	}
	p.set("agent", r.worker)
	p.set("prompt", "say Started from elsewhere.")
	p.click("[data-act=start]", "")
	p.until(`document.querySelector('[role=dialog] [data-act=confirm]:not(:disabled)')`)
	p.click("[role=dialog] [data-act=confirm]", "Start")
	p.shows("[data-kind=message]", "Started from elsewhere.")
	p.do("Runtime.evaluate", object{"expression": `document.querySelector('[data-item] .seq-link').click()`, "userGesture": true}, nil)
	p.shows(".toast", "is copied")
	if !p.holds(`window.acCopiedText.includes('/#/runs/run_')`) {
		t.Error("what was copied is no address")
	}
}

// TestLookingMakesNobody opens every view. That must not hire an agent, and Start must still list
// the repositories.
func TestLookingMakesNobody(t *testing.T) {
	r := inRepository(t)
	staff := func() int {
		agents, _ := filepath.Glob(filepath.Join(r.dir, "org/agents/*"))
		return len(agents)
	}
	before := staff()
	r.serve("--allow-launch")
	p := launch(t).open(t, 1440, 900, false)
	p.goTo(r.url)
	p.lives()
	for _, view := range []string{"projects", "now", "needs", "start", "plan", "people", "people/" + r.worker, "cost", "decided", "health", "settings"} {
		p.show(view)
	}
	p.show("start")
	p.until(`[...document.querySelectorAll('[data-field=repo] option')].some((e) => e.textContent === 'ledger')`)
	if n := staff(); n != before {
		t.Errorf("%d agents, %d before the views were opened", n, before)
	}
}

// TestContinueWithAnotherBudget continues a run that exceeded its budget.
func TestContinueWithAnotherBudget(t *testing.T) {
	r := found(t)
	run := r.launch("say Some words that are counted.", "--budget-tokens", "1")
	r.serve("--project", r.project)
	p := launch(t).open(t, 1440, 900, false)
	p.goTo(r.url)
	p.lives()
	p.need("over_budget:" + run)
	p.click(".decide [data-act=continue]", "Continue")
	p.until(`document.querySelector('.speaking [data-field=budget]')`)
	p.eval(`document.querySelector('[data-steer]').focus()`, nil)
	p.write("say Within it.")
	p.eval(`document.querySelector('.speaking [data-field=budget]').focus()`, nil)
	p.write("a lot")
	p.click("[data-act=continue]", "Continue")
	p.shows(".toast", "A budget is like $2.00")
	p.eval(`document.querySelector('.speaking [data-field=budget]').select()`, nil)
	p.write("100k tokens")
	p.key("Enter", 2)
	p.shows("[data-kind=message]", "Within it.")
	p.shows(".run-facts", "Ended")
}

// TestHelpIsPassedOn passes a request for help on to another person.
func TestHelpIsPassedOn(t *testing.T) {
	r := found(t)
	id := "help:" + r.help("Which queue?", "Is it **the old** one?")
	r.serve()
	p := launch(t).open(t, 1440, 900, false)
	p.goTo(r.url)
	p.lives()
	p.need(id)
	p.click("[data-act=pass-on]", "Pass on")
	p.until(`document.querySelector('[role=dialog] [data-act=confirm]:disabled')`)
	var director string
	p.eval(`[...document.querySelectorAll('[role=dialog] option')].find((e) => e.textContent.startsWith('Director')).value`, &director)
	p.set("agent", director)
	p.eval(fmt.Sprintf(`document.getElementById('field-pass/%s/words').focus()`, id), nil)
	p.write("You built it.")
	p.click("[role=dialog] [data-act=confirm]:enabled", "Pass on")
	p.shows(".toast", "Passed on to Director")
	p.until(`!document.querySelector('[role=dialog]') && document.activeElement !== document.body`)
	if !p.holds(fmt.Sprintf(`document.querySelector('[data-need-open=%q]')`, id)) {
		t.Error("the request does not wait any more")
	}
	p.show("people/" + director)
	for _, text := range []string{"Which queue?", "the old", "You built it."} {
		p.shows(".notes", text)
	}
}

// TestSayToSomebody writes to a person while the page shows all projects.
func TestSayToSomebody(t *testing.T) {
	r := found(t)
	other := strings.TrimSpace(r.ac("project:new", r.dir, "--name", "Aardvarks"))
	r.launch("hold")
	r.serve()
	p := launch(t).open(t, 1440, 900, false)
	p.goTo(r.url)
	p.lives()
	p.show("people")
	p.until(fmt.Sprintf(`document.querySelector('main [data-person=%q] .face .dot.live')`, r.worker))
	p.show("people/" + r.worker)
	p.set("project", r.project)
	p.eval(`document.querySelector('main textarea').focus()`, nil)
	p.write("Well **done**.")
	p.key("Enter", 2)
	p.shows(".said-note", "Well done.")
	for project, want := range map[string]int{r.project: 1, other: 0} {
		var notes []object
		r.call("comment.list", object{"project_id": project, "target_agent_id": r.worker}, &notes)
		if len(notes) != want {
			t.Errorf("%d notes in %s, want %d", len(notes), project, want)
		}
	}
}

// TestLeadsPhone checks views that are tight on a phone: names stay readable, and Now folds its
// filter.
func TestLeadsPhone(t *testing.T) {
	r := found(t)
	r.ac("project:new", r.dir, "--name", "A project with a name that is rather longer than anybody would want it to be")
	run := r.launch("run rm -rf build/of/the/release/of/this/year/and/of/the/last/one;hold")
	r.serve()
	p := launch(t).open(t, 390, 844, false)
	p.goTo(r.url)
	p.lives()
	p.openRun(run, "transcript", "")
	p.until(`document.querySelector('h1').getBoundingClientRect().width > 250`)
	p.fits("run")
	p.show("plan")
	p.until(`[...document.querySelectorAll('.project-name')].every((e) => e.getBoundingClientRect().width > 250 && e.getBoundingClientRect().height < 80)`)
	p.show("now")
	p.until(`document.querySelector('[data-run]') && !document.querySelector('[data-filter]')`)
	p.click(".filter-more", "Filter")
	p.until(`document.querySelector('[data-filter]')`)
	p.eval(`document.querySelector('[data-filter]').focus()`, nil)
	p.write("nothing of it")
	p.shows("main", "No run fits")
	p.fits("now with its filter")
}

// TestMemoryIsTakenBack approves a line for the memory, proposes its reverse on Decided, and
// approves that.
func TestMemoryIsTakenBack(t *testing.T) {
	r := found(t)
	memory := func() string { return readFile(filepath.Join(r.dir, "work/projects", r.project, "memory.md")) }
	before := memory()
	id := r.delta("Ask before a migration", "- Ask before a migration")
	r.ac("memory:approve", r.dir, "--project", r.project, "--artifact", id)
	if memory() == before {
		t.Fatal("nothing was remembered")
	}
	r.serve("--project", r.project)
	p := launch(t).open(t, 1440, 900, false)
	p.allow("409") // from a need that is already settled
	p.goTo(r.url)
	p.lives()
	p.show("decided/" + id)
	p.click("[data-act=reverse]", "Propose the reverse")
	p.shows("[role=dialog] pre", "- Ask before a migration")
	p.click("[role=dialog] [data-act=confirm]", "Propose")
	p.shows(".toast", "Proposed: Take back: Ask before a migration")
	p.eval(`location.hash = '#/needs'`, nil)
	p.shows("[data-needs-list] [data-kind=memory]", "Take back")
	p.click("[data-needs-list] [data-kind=memory]", "Take back")
	p.until(`[...document.querySelectorAll('[data-proof=diff] [data-sign="-"]')].some((e) => e.textContent.includes('Ask before a migration'))`)
	p.click(".decide [data-act=approve]", "Approve")
	p.click(".decide [data-act=confirm]", "Approve")
	p.shows(".toast", "Approved: Take back")
	if memory() != before {
		t.Errorf("the memory is\n%s", memory())
	}
}

// TestMachineThatIsSilent copies the command that abandons a session of an unreachable machine. The
// machine exists only as records.
func TestMachineThatIsSilent(t *testing.T) {
	r := found(t)
	run := r.id("run_id", "run:new", r.dir, "--project", r.project, "--agent", r.worker, "--provider", "cmd")
	const machine = "wkr_01ARZ3NDEKTSV4RRFFQ69G5FAV"
	ref := "local_" + run
	sum := sha256.Sum256([]byte(r.project + "\x00" + run + "\x00" + ref))
	attempt := fmt.Sprintf("%x-1", sum[:8])
	since := time.Now().Add(-time.Hour).UnixMilli()
	r.write(".local/hub/attempts/"+attempt+".json", fmt.Sprintf(`{"attempt":%q,"project_id":%q,"run_id":%q,"session_ref":%q,"epoch":1,"worker_id":%q,"lease_s":600,"on_cut_off":"finish"}`, attempt, r.project, run, ref, machine))
	r.write(".local/sessions/"+ref+".yaml", fmt.Sprintf("schema_version: 1\ntype: session_record\nsession_ref: %s\nworkspace_dir: %s\nproject_id: %s\nrun_id: %s\nstatus: running\nstarted_at_ms: %d\nworker_id: %s\nepoch: 1\nreach: unreachable\nunreachable_since_ms: %d\n",
		ref, r.dir, r.project, run, since, machine, since))
	r.serve("--project", r.project)
	p := launch(t).open(t, 1440, 900, false)
	p.do("Page.addScriptToEvaluateOnNewDocument", object{"source": elsewhere}, nil)
	p.goTo(r.url)
	p.lives()
	id := "unreachable:" + run
	p.eval(`location.hash = '#/needs'`, nil)
	p.until(fmt.Sprintf(`document.querySelector('[data-need=%q]')`, id))
	p.shows("[data-need-open]", "has not been heard since")
	p.do("Runtime.evaluate", object{"expression": `[...document.querySelectorAll('.decide button')].find((e) => e.textContent.includes('Copy')).click()`, "userGesture": true}, nil)
	p.until(fmt.Sprintf(`window.acCopiedText?.includes('session:abandon') && window.acCopiedText.includes(%q)`, ref))
}
