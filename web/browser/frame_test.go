//go:build browser

package browser

// The frame: the link, title and icon, switcher, palette and keys.

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestLostLink stops the server under an open page. The page must show the loss, keep a field's
// text, stop its clocks, and mark what changed meanwhile.
func TestLostLink(t *testing.T) {
	r := found(t)
	r.launch("say Hello;hold")
	r.serve("--project", r.project)
	p := launch(t).open(t, 1440, 900, false)
	p.goTo(r.url)
	p.lives()
	p.shows("[data-group=live]", "I hold.")
	p.allow("net::ERR")
	p.eval(`document.querySelector('[data-filter]').focus()`, nil)
	p.write("hold")
	r.stop()
	ended := time.Now()
	p.until(`document.documentElement.dataset.link === 'lost'`)
	took := time.Since(ended)
	t.Logf("the loss is shown after %v", took.Round(time.Millisecond))
	if took > 3*time.Second && load() < 4 {
		t.Errorf("the loss is shown after %v", took)
	}
	p.shows("[data-banner=lost]", "Not connected since")
	p.shows("[data-banner=lost] button", "Try now")
	p.shows("[data-group=live]", "Was live")
	if !p.holds(`document.activeElement.value === 'hold'`) {
		t.Error("the field lost its text or the focus")
	}
	if !p.holds(`document.querySelector('link[rel=icon]').href.includes('state=lost')`) {
		t.Error("the icon does not say that the link is lost")
	}
	if p.holds(`document.querySelector('[data-group=live] [data-since]')`) {
		t.Error("a clock of a live run goes on")
	}
	failed := r.execute("sh", "-c", "echo hold; exit 3")
	r.serve("--project", r.project)
	p.lives()
	p.until(fmt.Sprintf(`document.querySelector('[data-group=failed] [data-run=%q]')`, failed))
	p.until(`document.querySelector('.fresh')`)
	p.until(`!document.querySelector('.fresh')`)
	if p.holds(`document.querySelector('[data-banner]')`) {
		t.Error("the banner stays")
	}
}

// TestTitleAndIcon checks that title and icon show the number of needs, and that keys and the
// palette open views.
func TestTitleAndIcon(t *testing.T) {
	r := found(t)
	r.serve("--project", r.project)
	p := launch(t).open(t, 1440, 900, false)
	p.goTo(r.url)
	p.lives()
	p.until(`!document.title.startsWith('(') && document.title.includes('Now · v0 Demo Project')`)
	r.delta("Ask first", "- Ask first")
	p.until(`document.title.startsWith('(1) ') && document.querySelector('link[rel=icon]').href.includes('n=1&')`)
	p.key("2", 0)
	p.until(`document.title.startsWith('(1) Needs you · ')`)
	p.key("k", 2)
	p.until(`document.activeElement.closest('[data-palette]')`)
	p.write("dec")
	p.shows("[data-palette] [role=option][aria-selected=true]", "Decided")
	p.key("Enter", 0)
	p.until(`location.hash === '#/decided' && !document.querySelector('[data-palette]')`)
	p.until(`document.activeElement.id === 'title' && document.activeElement.textContent === 'Decided'`)
	// Esc returns the focus to where it was.
	p.eval(`document.querySelector('.side [data-act=projects]').focus()`, nil)
	p.key("k", 2)
	p.until(`document.querySelector('[data-palette]')`)
	p.key("Escape", 0)
	p.until(`!document.querySelector('[data-palette]') && document.activeElement.dataset.act === 'projects'`)
}

// TestSearch finds a run by its agent's words, and opens it at them.
func TestSearch(t *testing.T) {
	r := found(t)
	run := r.launch("say The carburettor needs a new gasket.;hold")
	r.serve("--project", r.project)
	p := launch(t).open(t, 1200, 800, false)
	p.goTo(r.url)
	p.lives()
	p.key("k", 2)
	p.until(`document.activeElement.closest('[data-palette]')`)
	p.write("carburettor gas")
	p.until(`document.querySelector('[data-palette] [role=option][data-kind=run] mark')`)
	p.shows("[data-palette] [role=option] mark", "carburettor")
	p.key("ArrowDown", 0)
	p.key("ArrowUp", 0)
	p.key("Enter", 0)
	p.until(fmt.Sprintf(`location.hash.startsWith('#/runs/%s')`, run))
	p.shows("main", "needs a new gasket")
}

// TestSwitcher filters projects by name, switches to one, and goes to all projects.
func TestSwitcher(t *testing.T) {
	r := found(t)
	r.ac("project:new", r.dir, "--name", "Search relevance")
	r.execute("sh", "-c", "echo hello")
	r.serve("--project", r.project)
	p := launch(t).open(t, 1440, 900, false)
	p.goTo(r.url)
	p.lives()
	p.shows("[data-group=done]", "hello")
	p.key("p", 0)
	p.until(`document.querySelectorAll('[role=option][data-project]').length === 3`)
	p.write("search")
	p.until(`document.querySelectorAll('[role=option][data-project]').length === 1`)
	p.key("Enter", 0)
	p.until(`location.hash.includes('project=') && document.title.includes('Search relevance')`)
	p.shows("main", "No run yet")
	p.key("0", 0)
	p.shows("main [data-project] h2", "Search relevance")
	p.click("main [data-project]", "v0 Demo Project")
	p.shows("[data-group=done]", "hello")
	if p.holds(`document.querySelector('main').textContent.includes('proj_')`) {
		t.Error("a project is shown as its id")
	}
	// Addresses of earlier versions of the page, and addresses that do not exist.
	for old, now := range map[string]string{"#/pending": "Needs you", "#/decisions": "Decided", "#/nowhere": "There is no such place"} {
		p.eval(`location.hash = '`+old+`'`, nil)
		p.shows("main h1", now)
	}
	p.allow("404")
	p.eval(`location.hash = '#/needs/memory:art_none'`, nil)
	p.shows("main", "There is no such need")
}

// TestOneConnectionForHiddenTabs hides several tabs. Together they must keep one stream open, and
// each must still update its title.
func TestOneConnectionForHiddenTabs(t *testing.T) {
	r := found(t)
	r.serve("--project", r.project)
	c := launch(t)
	first := c.open(t, 1200, 800, false)
	tabs := []*tab{first, first.sibling(), first.sibling()}
	for _, p := range tabs {
		p.goTo(r.url)
		p.lives()
	}
	for _, p := range tabs {
		p.hide()
	}
	for _, p := range tabs {
		p.until(`window.acHidden === true`)
	}
	r.delta("Ask first", "- Ask first")
	for _, p := range tabs {
		p.until(`document.title.startsWith('(1)')`)
	}
	open := 0
	for _, p := range tabs {
		var n int
		p.eval(`window.acStreams`, &n)
		open += n
	}
	if open != 1 {
		t.Errorf("%d streams are open for %d hidden tabs", open, len(tabs))
	}
}

// load returns the one-minute load average.
func load() float64 {
	var one float64
	text := strings.Fields(readFile("/proc/loadavg"))
	if len(text) > 0 {
		_, _ = fmt.Sscan(text[0], &one)
	}
	return one
}

// recorded replaces system notifications with a list.
const recorded = `
	window.acNotified = [];
	window.Notification = class {
		constructor(title, options) { this.title = title; Object.assign(this, options); window.acNotified.push(this); }
		close() { this.closed = true; }
		static permission = 'default';
		static requestPermission() { window.acAsked = (window.acAsked || 0) + 1; Notification.permission = 'granted'; return Promise.resolve('granted'); }
	};
`

// TestNotifications checks that a person who turned notifications on gets one for each new need,
// and only a count for many at once.
func TestNotifications(t *testing.T) {
	r := found(t)
	r.serve("--project", r.project)
	p := launch(t).open(t, 1200, 800, false)
	p.do("Page.addScriptToEvaluateOnNewDocument", object{"source": recorded}, nil)
	p.goTo(r.url + "/#/settings")
	p.lives()
	if p.holds(`window.acAsked || document.querySelector('[data-set=notify]').checked`) {
		t.Error("notifications are asked for, or on, before anybody chose them")
	}
	p.click("[data-set=notify]", "")
	p.until(`document.querySelector('[data-set=notify]').checked`)
	r.help("While it is seen", "?")
	p.until(`document.title.startsWith('(1)')`)
	p.hide()
	// The first need arrives after the visible tab's stream has closed and before the stream of
	// hidden tabs opens.
	p.eval(`(() => {
		const real = window.fetch;
		window.fetch = async (...args) => {
			if (String(args[0]).includes('light=1') && !window.acGo) {
				window.acHeaders = args[1].headers;
				await new Promise((go) => { window.acGo = go; });
			}
			return real(...args);
		};
		window.acServes = async (text) => {
			const ended = new AbortController();
			const reader = (await real('/api/rows?light=1', { headers: window.acHeaders, signal: ended.signal })).body.getReader();
			for (let said = ''; !said.includes(text);) said += new TextDecoder().decode((await reader.read()).value);
			ended.abort();
		};
	})()`, nil)
	p.until(`window.acHidden && window.acGo`)
	secret := "ghp_" + strings.Repeat("A1b2", 9)
	r.help("Which queue? "+secret, "Is it the old one?")
	p.eval(`window.acServes('Which queue')`, nil)
	p.eval(`window.acGo()`, nil)
	p.until(`window.acNotified.length === 1`)
	var one struct{ Title, Body, Tag string }
	p.eval(`window.acNotified[0]`, &one)
	if one.Title != "Help · Growth Worker" || !strings.HasPrefix(one.Body, "Which queue?") || strings.Contains(one.Body, secret) || !strings.HasPrefix(one.Tag, "help:help_") {
		t.Errorf("%+v", one)
	}
	for i := range 5 {
		r.help(fmt.Sprintf("Question %d", i), "?")
	}
	p.until(`document.title.startsWith('(7)')`)
	p.until(`window.acNotified.some((n) => n.tag === 'ac-burst' && /^\d+ things need you$/.test(n.title)) || window.acNotified.length === 6`)
	p.eval(`window.acNotified[0].onclick()`, nil)
	p.until(`location.hash.startsWith('#/needs/help')`)
}

// TestRowsStayUnderThePointer checks that a focused row does not move when a new need arrives.
func TestRowsStayUnderThePointer(t *testing.T) {
	r := found(t)
	for i := range 4 {
		r.delta(fmt.Sprintf("Proposal %d", i), fmt.Sprintf("- Line %d", i))
	}
	r.serve("--project", r.project)
	p := launch(t).open(t, 1440, 900, false)
	p.goTo(r.url + "/#/needs")
	p.lives()
	p.until(`document.querySelectorAll('[data-needs-list] [data-need]').length === 4`)
	var before, after float64
	p.eval(`(() => { const row = [...document.querySelectorAll('[data-needs-list] [data-need]')][2]; row.focus(); window.acRow = row.dataset.need; return row.getBoundingClientRect().top; })()`, &before)
	r.help("Which queue?", "?")
	p.until(`document.querySelectorAll('[data-needs-list] [data-need]').length === 5`)
	p.eval(`(() => { const row = document.activeElement; return row.dataset.need === window.acRow ? row.getBoundingClientRect().top : -1; })()`, &after)
	if before != after {
		t.Errorf("the row with the focus moved from %v to %v", before, after)
	}
}

// TestOtherSites tries to write from a page of another origin.
func TestOtherSites(t *testing.T) {
	r := found(t)
	r.serve("--project", r.project)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<title>elsewhere</title><main><h1>elsewhere</h1></main>"))
	}))
	defer elsewhere.Close()
	p := launch(t).open(t, 800, 600, false)
	p.allow("")
	p.goTo(elsewhere.URL)
	for kind, mode := range map[string]string{"application/json": "cors", "text/plain": "no-cors"} {
		p.eval(fmt.Sprintf("fetch(%q, {method: 'POST', mode: %q, headers: {'Content-Type': %q}, body: JSON.stringify({body: 'from elsewhere', target_agent_id: %q})}).then(() => 0, () => 0)",
			r.url+"/api/comments", mode, kind, r.worker), nil)
	}
	if kept := r.ac("comment:list", r.dir, "--project", r.project); strings.Contains(kept, "from elsewhere") {
		t.Errorf("another site left a comment: %s", kept)
	}
}

// TestReloadKeepsThePlace reloads a scrolled list with a focused row, and a half-written note.
func TestReloadKeepsThePlace(t *testing.T) {
	r := found(t)
	r.create(100)
	need := "memory:" + r.delta("Ask first", "- Ask first")
	r.serve("--project", r.project)
	p := launch(t).open(t, 1440, 900, false)
	p.goTo(r.url)
	p.lives()
	p.until(`document.querySelectorAll('#list-now [data-run]').length > 5`)
	p.eval(`document.getElementById('list-now').scrollTop = 2000`, nil)
	p.until(`[...document.querySelectorAll('#list-now [data-run]')].some((e) => e.getBoundingClientRect().top > 300)`)
	p.eval(`[...document.querySelectorAll('#list-now [data-run]')].find((e) => e.getBoundingClientRect().top > 300).focus({ preventScroll: true })`, nil)
	var before, after struct {
		Run string
		Top float64
	}
	where := `(() => { const e = document.activeElement; return { run: e.dataset.run || e.tagName, top: e.getBoundingClientRect().top }; })()`
	p.eval(where, &before)
	p.reload()
	p.until(fmt.Sprintf(`document.activeElement.dataset.run === %q && Math.abs(document.activeElement.getBoundingClientRect().top - %f) < 2`, before.Run, before.Top))
	p.lives()
	if p.eval(where, &after); after != before {
		t.Errorf("after the reload %+v, before %+v", after, before)
	}

	p.need(need)
	p.until(`!document.querySelector('.decide [data-act=approve]').disabled`)
	p.key("a", 0)
	p.until(`document.activeElement.tagName === 'TEXTAREA'`)
	p.write("half a note")
	p.eval(`document.activeElement.setSelectionRange(4, 4)`, nil)
	p.reload()
	p.until(`document.activeElement.tagName === 'TEXTAREA' && document.activeElement.value === 'half a note' && document.activeElement.selectionStart === 4`)
}

// reload reloads the page, and waits until the new one has drawn something.
func (p *tab) reload() {
	p.t.Helper()
	p.eval(`window.acBefore = true`, nil)
	p.do("Page.reload", object{}, nil)
	p.until(`!window.acBefore && document.readyState === 'complete' && !!document.querySelector('main h1')`)
}

// TestCutStream stops the server while a run streams into the page. The page must show the loss.
// After a restart it must show everything the run said meanwhile, once.
func TestCutStream(t *testing.T) {
	r := found(t)
	run := r.launch("pulse Line")
	r.serve("--project", r.project)
	p := launch(t).open(t, 1440, 900, false)
	for _, text := range []string{"ERR_", "Failed to load"} {
		p.allow(text)
	}
	p.goTo(r.url + "/#/runs/" + run)
	p.lives()
	p.shows("[data-kind=message]", "Line 2")
	r.stop()
	p.until(`document.documentElement.dataset.link === 'lost'`)
	p.shows("[data-banner=lost]", "Not connected since")
	p.shows("[data-kind=message]", "Line 2")
	r.serve("--project", r.project)
	p.lives()
	p.shows("[data-kind=message]", "Line 8")
	var lines []string
	p.eval(`[...document.querySelectorAll('[data-kind=message]')].map((e) => (/Line \d+/.exec(e.textContent) || [''])[0]).filter(Boolean)`, &lines)
	for i, one := range lines {
		if i > 0 && one == lines[i-1] {
			t.Errorf("%s is there twice", one)
		}
	}
	if want := []string{"Line 0", "Line 1", "Line 2", "Line 3", "Line 4", "Line 5", "Line 6", "Line 7", "Line 8"}; len(lines) < len(want) || !slices.Equal(lines[:len(want)], want) {
		t.Errorf("the page shows %q", lines)
	}
}
