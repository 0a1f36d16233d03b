//go:build browser

package browser

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestThePageAlone(t *testing.T) {
	c := launch(t)
	for name, test := range map[string]func(*testing.T, *chromium){
		"a run moves": aRunMoves, "decide": decide, "talk": talk, "note": note, "keys": keys, "values are text": valuesAreText,
		"5,000 rows": manyRows, "polls": polls, "the shell selects": shellSelects, "stop": stop, "what comes": arrives, "a broken chain": chainBreaks, "addresses": addresses, "named and reachable": named,
	} {
		t.Run(name, func(t *testing.T) { test(t, c) })
	}
}

func aRunMoves(t *testing.T, c *chromium) {
	f := serve(t, bootOf())
	p := c.open(t, 1440, 900, false)
	p.goTo(f.URL)
	p.until(`document.querySelector('.link-state.live')`)
	p.shows(".run-row", "Ada Okafor")
	const run = "run_01M7WQSZBK0001"
	f.says(run, `{"type":"item.completed","item":{"id":"x1","type":"agent_message","text":"Looking at the ledger now."}}`)
	p.shows(`[data-run="`+run+`"]`, "Looking at the ledger now.")
	p.shows(`[data-run="`+run+`"]`, "38.3K tok") // what its log told before
	f.happen(run, "usage.reported", object{"total_tokens": 91000})
	p.shows(`[data-run="`+run+`"]`, "91K tok")
	p.click(`[data-run="`+run+`"]`, "")
	p.shows(".transcript", "A retry now carries")
	p.shows(".detail", "Chain holds")
	f.says(run, `{"type":"item.started","item":{"id":"x2","type":"command_execution","command":"ls -l","aggregated_output":"","status":"in_progress"}}`)
	p.shows(".transcript .tool", "ls -l")
	p.shows(".transcript .tool .entry-note", "runs")
	f.says(run, `{"type":"item.completed","item":{"id":"x2","type":"command_execution","command":"ls -l","aggregated_output":"total 3","exit_code":0,"status":"completed"}}`)
	p.shows(".transcript .tool .mono", "total 3")
	f.says(run, `{"type":"item.completed","item":{"id":"x3","type":"agent_message","text":"See https://example.org/a?b=c."}}`)
	p.shows(`.transcript a[rel~=noopener][href^="https://example.org/a"]`, "https://example.org/a?b=c")
	if p.holds(`[...document.querySelectorAll('.transcript .entry-title')].filter((e) => e.textContent === 'ls -l').length !== 1`) {
		t.Error("a tool call is shown twice")
	}
	f.happen(run, "policy.denied", object{"action": "read", "policy": object{"rule_id": "vis.private", "reason": "not_yours"}})
	p.click("[role=tab]", "Decisions")
	p.shows(".timeline .bad", "vis.private")
	p.click("[role=tab]", "Events")
	p.shows(".event-row", "policy.denied")
}

func decide(t *testing.T, c *chromium) {
	f := serve(t, bootOf())
	p := c.open(t, 1440, 900, true)
	p.goTo(f.URL + "/?pane=pending")
	p.shows(".item h2", "Retry only idempotent transfers")
	p.shows(".diff-line.added", "idempotency key")
	p.click(".evidence button", "art_evidence_01")
	p.shows(".evidence-item", "TestRetryAfterTimeout")
	p.key("j", 0)
	p.shows(".item h2", "Never log card numbers")
	p.key("k", 0)
	p.shows(".item h2", "Retry only idempotent transfers")
	p.key("a", 0)
	p.until(`document.activeElement && document.activeElement.id === 'field-notes'`)
	p.write("as agreed")
	p.key("Enter", 2)
	p.shows(".decisions", "as agreed")
	p.shows(".decisions .rule", "approve.manager")
	p.shows(".item h2", "Never log card numbers")
	if f.asked("expect_hash") != 1 {
		t.Error("the approval did not say which preview was looked at")
	}
	p.key("d", 0)
	p.until(`document.activeElement && document.activeElement.id === 'field-notes'`)
	p.key("Escape", 0)
	p.until(`!document.querySelector('#field-notes') && document.querySelector('.item h2').textContent.includes('Never log')`)
}

func talk(t *testing.T, c *chromium) {
	f := serve(t, bootOf())
	p := c.open(t, 1200, 800, false)
	p.goTo(f.URL + "/#/talk/conv_home")
	p.shows(".messages", "I do, before the cut-over.")
	p.eval(`document.querySelector('[data-compose]').focus()`, nil)
	p.write("Thank you <b>both</b>")
	p.key("Enter", 2)
	p.shows(".message.own", "Thank you <b>both</b>")
	p.until(`document.querySelector('[data-compose]').value === ''`)
	f.post("agent_ada", "The cut-over is done.")
	p.shows(".messages", "The cut-over is done.")
	times := f.asked("conversation.messages.list")
	time.Sleep(4 * time.Second) // longer than a poll takes to come
	if more := f.asked("conversation.messages.list"); more != times {
		t.Errorf("a conversation in which nothing is said was read %d times", more-times)
	}
}

func note(t *testing.T, c *chromium) {
	f := serve(t, bootOf())
	p := c.open(t, 1200, 800, false)
	p.goTo(f.URL + "/?pane=colleague&colleague_id=agent_ada")
	p.shows(".timeline", "Please keep the migration reversible.")
	p.eval(`document.getElementById('field-byRun').focus()`, nil)
	p.write("0004")
	p.until(`document.querySelectorAll('.timeline li').length === 1`)
	p.eval(`document.getElementById('field-colleagueNote').focus()`, nil)
	p.write("what happened here?")
	p.key("Enter", 2)
	p.shows(".timeline", "what happened here?")
}

func keys(t *testing.T, c *chromium) {
	f := serve(t, bootOf())
	p := c.open(t, 1200, 800, false)
	p.goTo(f.URL)
	p.shows(".run-row", "Ada Okafor")
	p.key("?", 0)
	p.until(`document.querySelector('[role=dialog]') && document.querySelector('[role=dialog]').contains(document.activeElement)`)
	p.key("Escape", 0)
	p.until(`!document.querySelector('[role=dialog]')`)
	for i, title := range []string{"Now", "Needs you", "Recent Decisions", "Plan", "People", "Talk", "Cost", "Health"} {
		p.key(fmt.Sprint(i+1), 0)
		p.until(fmt.Sprintf(`document.querySelector('h1').textContent === %q && document.activeElement.tagName.startsWith('H')`, title))
	}
	p.key("1", 0)
	p.shows("h1", "Now")
	p.key("j", 0)
	p.until(`location.hash === '#/runs/run_01M7WQSZBK0000'`)
	p.key("Escape", 0)
	p.until(`location.hash === '#/now'`)
	p.key("t", 0)
	p.until(`document.documentElement.dataset.theme === 'dark' && localStorage.getItem('ac.theme') === 'dark'`)
}

func valuesAreText(t *testing.T, c *chromium) {
	f := serve(t, bootOf())
	const evil = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`
	f.pending[0]["title"] = evil
	f.runs[0]["agent_id"] = evil
	f.messages[0]["body"] = evil
	f.tasks[0]["title"] = evil
	p := c.open(t, 1200, 800, false)
	for hash, place := range map[string]string{"#/now": ".run-row", "#/pending": ".item", "#/talk/conv_home": ".message", "#/plan": ".gantt-name"} {
		p.goTo(f.URL + "/" + hash)
		p.eval("location.hash = '"+hash+"'", nil)
		p.shows(place, "<img src")
		if p.holds(`document.querySelector('img') || document.title.includes('owned') || document.querySelectorAll('script').length !== 2`) {
			t.Errorf("a value became markup in %s", hash)
		}
	}
}

func manyRows(t *testing.T, c *chromium) {
	f := serve(t, bootOf())
	for i := len(f.runs); i < 5000; i++ {
		row := object{}
		for k, v := range f.runs[2] {
			row[k] = v
		}
		row["run_id"] = fmt.Sprintf("run_many%05d", i)
		f.runs = append(f.runs, row)
	}
	p := c.open(t, 1440, 900, false)
	p.goTo(f.URL)
	p.shows(".run-row", "Ada Okafor")
	if p.holds(`document.querySelectorAll('.run-row').length > 60`) {
		t.Error("rows that cannot be seen are in the document")
	}
	p.eval(`document.getElementById('rows-runs').scrollTop = 1e9`, nil)
	p.shows(".run-row", "run_many04999")
	p.eval(`document.querySelector('[data-filter]').focus()`, nil)
	p.write("many04321")
	p.until(`document.querySelectorAll('.run-row').length === 1`)
}

func polls(t *testing.T, c *chromium) {
	f := serve(t, bootOf())
	f.silent = true
	p := c.open(t, 1200, 800, false)
	p.goTo(f.URL)
	p.shows(".link-state", "olling every 5 s")
	p.shows(".run-row", "Ada Okafor")
	for end := time.Now().Add(patience); f.asked("monitor") == 0 || f.asked("inbox") == 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("monitor and inbox were never polled")
		}
	}
	for p.complaint("503") {
	}
	p.do("Page.navigate", map[string]any{"url": "about:blank"}, nil)
	for p.complaint("503") {
	}
}

func shellSelects(t *testing.T, c *chromium) {
	boot := bootOf()
	boot["pane"] = "decisions"
	f := serve(t, boot)
	p := c.open(t, 1200, 800, false)
	p.goTo(f.URL)
	p.shows("h1", "Recent Decisions")
	p.eval(`postMessage({type: 'agentcompany.select', pane: 'colleague', colleague_id: 'agent_ada'}, '*')`, nil)
	p.shows("#detail-title", "Ada Okafor")
	p.eval(`postMessage({type: 'agentcompany.select', pane: 'runs'}, '*')`, nil)
	p.shows("h1", "Now")
	p.eval(`postMessage({type: 'agentcompany.select', pane: '__proto__'}, '*'); postMessage(null, '*'); postMessage('x', '*')`, nil)
	p.shows("h1", "Now")
}

func stop(t *testing.T, c *chromium) {
	f := serve(t, bootOf())
	p := c.open(t, 1200, 800, false)
	p.goTo(f.URL + "/#/runs/run_01M7WQSZBK0000")
	p.shows(".detail .pill", "Running")
	p.key("s", 0)
	p.click(".confirm button", "Stop it")
	p.shows(".detail .pill", "Stopped")
}

// arrives adds an item while its reader writes a note: it shows, and neither the
// note nor the focus is lost.
func arrives(t *testing.T, c *chromium) {
	f := serve(t, bootOf())
	p := c.open(t, 1200, 800, false)
	p.goTo(f.URL + "/#/pending")
	p.shows(".item h2", "Retry only idempotent transfers")
	p.until(`document.querySelector('.link-state.live')`)
	p.key("d", 0)
	p.until(`document.activeElement && document.activeElement.id === 'field-notes'`)
	p.write("half a thou")
	f.mu.Lock()
	item := object{}
	for k, v := range f.pending[0] {
		item[k] = v
	}
	item["artifact_id"], item["title"] = "art_late", "It came later"
	f.pending = append(f.pending, item)
	f.mu.Unlock()
	f.changed()
	p.shows(".queue-row", "It came later")
	if !p.holds(`document.activeElement.id === 'field-notes' && document.activeElement.value === 'half a thou'`) {
		t.Error("the note or the focus was lost")
	}
}

func chainBreaks(t *testing.T, c *chromium) {
	f := serve(t, bootOf())
	p := c.open(t, 1200, 800, false)
	p.goTo(f.URL + "/#/runs/" + brokenRun)
	p.shows(".detail-figures .bad", "Chain broken at 3")
	p.shows(".detail [role=alert]", "Event 3: the hash is not that of the event")
}

// addresses looks for where the clients of a dialect connect.
func addresses(t *testing.T, c *chromium) {
	f := serve(t, bootOf())
	p := c.open(t, 1200, 800, false)
	p.goTo(f.URL + "/#/health")
	p.shows(".health .facts .mono", "/home/ada/acme")
	p.until(`[...document.querySelectorAll('.health .fact')].some((e) => e.textContent === 'Clients of autonomaws://127.0.0.1:9876/ws')`)
}

// named looks at every control: it has a name, and what is said in colours is
// told apart enough to be read (WCAG AA).
func named(t *testing.T, c *chromium) {
	f := serve(t, bootOf())
	for _, dark := range []bool{false, true} {
		p := c.open(t, 1200, 800, dark)
		for _, hash := range []string{"#/runs/run_01M7WQSZBK0000", "#/runs/" + overRun, "#/pending", "#/plan", "#/people/agent_ada", "#/talk/conv_home", "#/cost", "#/health"} {
			p.goTo(f.URL + "/" + hash)
			p.eval("location.hash = '"+hash+"'", nil)
			p.until(`!document.querySelector('.loading') && document.querySelector('main h1')`)
			if strings.HasSuffix(hash, overRun) {
				p.until(`document.querySelector('.policy select')`)
			}
			var unnamed []string
			p.eval(`[...document.querySelectorAll('button, a[href], input, select, textarea')].filter((e) => !(e.getAttribute('aria-label') || e.textContent.trim() || e.closest('label'))).map((e) => e.outerHTML.slice(0, 120))`, &unnamed)
			if len(unnamed) > 0 {
				t.Errorf("%s: without a name: %s", hash, strings.Join(unnamed, "\n"))
			}
			var faint []string
			p.eval(contrast, &faint)
			if len(faint) > 0 {
				t.Errorf("%s, dark %v: too faint: %s", hash, dark, strings.Join(faint, "\n"))
			}
		}
	}
}

// contrast lists the texts that stand out less than 4.5 to 1 from what is
// behind them. Disabled controls may.
const contrast = `(() => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgb = (color) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
  const light = ([r, g, b]) => { const f = (v) => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; }; return .2126 * f(r) + .7152 * f(g) + .0722 * f(b); };
  const behind = (e) => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c[3] > 250) return c; } return [255, 255, 255]; };
  const out = new Set();
  for (const e of document.querySelectorAll('body *')) {
    if (!(e instanceof HTMLElement) || e.closest('[disabled]') || ![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
    const a = light(rgb(getComputedStyle(e).color)), b = light(behind(e));
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < 4.5) out.add(e.className + ': ' + ratio.toFixed(2));
  }
  return [...out];
})()`
