//go:build browser

package browser

// The costs of the page: bytes, CPU, time to the first rows, and time from a key press to the
// screen. The tests print the figures. On a busy machine, a missed limit fails no test.

import (
	"fmt"
	"runtime"
	"testing"
	"time"
)

// within logs a figure and fails the test if it exceeds twice its limit, unless the machine is
// busy.
func within(t *testing.T, what string, seen, limit float64, unit string) {
	t.Helper()
	busy := load() > 1.5*float64(runtime.NumCPU())
	note := ""
	if seen > limit {
		note = ", MISSED"
		if busy {
			note = fmt.Sprintf(", MISSED (busy machine, load %.1f)", load())
		}
	}
	t.Logf("%s: %.1f %s (limit %.0f%s)", what, seen, unit, limit, note)
	if seen > 2*limit && !busy {
		t.Errorf("%s: %.1f %s, limit %.0f", what, seen, unit, limit)
	}
}

// received returns the bytes that the tab received over the network.
func (p *tab) received() (sum float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range p.bytes {
		sum += float64(n)
	}
	return sum
}

// TestBudgetOfNow measures the page while it shows six runs that write every 1.25 s.
func TestBudgetOfNow(t *testing.T) {
	r := found(t)
	for i := range 6 {
		r.launch(fmt.Sprintf("pulse I look at file %d and say what I see, line", i))
	}
	r.serve("--project", r.project)
	p := launch(t).open(t, 1440, 900, false)
	p.do("Network.enable", struct{}{}, nil)
	p.goTo(r.url)
	p.lives()
	p.until(`document.querySelector('[data-group=live][data-count="6"]')`)
	p.shows("[data-group=live]", "line 3")
	p.heap()
	const watched = 40 * time.Second
	bytes, busy, heap, began := p.received(), p.metric("TaskDuration"), p.heap(), time.Now()
	p.eval(fmt.Sprintf(`new Promise((done) => setTimeout(done, %d))`, watched.Milliseconds()), nil)
	took := time.Since(began)
	within(t, "Now, six live runs, over the wire", (p.received()-bytes)/1024/took.Minutes(), 60, "KiB/min")
	within(t, "Now, six live runs, main thread", 100*(p.metric("TaskDuration")-busy)/took.Seconds(), 5, "%")
	within(t, "heap", p.heap()/(1<<20), 40, "MiB")
	t.Logf("heap grew by %.2f MiB in %v", (p.heap()-heap)/(1<<20), took.Round(time.Second))
	var animations int
	p.eval(`document.getAnimations().length`, &animations)
	if animations > 6 {
		t.Errorf("%d animations", animations)
	}
	hidden(t, p)
}

// hidden measures the traffic of a hidden tab.
func hidden(t *testing.T, p *tab) {
	p.hide()
	p.until(`window.acHidden === true && window.acStreams === 1`)
	bytes, began := p.received(), time.Now()
	p.eval(`new Promise((done) => setTimeout(done, 20000))`, nil)
	within(t, "hidden tab, over the wire", (p.received()-bytes)/1024/time.Since(began).Minutes(), 5, "KiB/min")
}

// firstRow records when the page painted the first row of a run.
const firstRow = `
	new MutationObserver((list, self) => {
		if (!document.querySelector('[data-run]')) return;
		self.disconnect();
		requestAnimationFrame(() => setTimeout(() => { window.acFirst = performance.now(); }));
	}).observe(document, {childList: true, subtree: true});
`

func TestBudgetOf500Runs(t *testing.T) {
	r := found(t)
	r.create(494)
	for range 6 {
		r.launch("say Hello;hold")
	}
	r.serve("--project", r.project)
	p := launch(t).open(t, 1440, 900, false)
	p.do("Network.enable", struct{}{}, nil)
	p.do("Page.addScriptToEvaluateOnNewDocument", object{"source": firstRow}, nil)
	p.goTo(r.url) // warms up the server, as for a page that others already use
	p.lives()
	p.until(`document.querySelector('[data-count="500"]')`)
	bytes := p.received()
	p.do("Page.navigate", object{"url": "about:blank"}, nil)
	p.goTo(r.url)
	p.lives()
	p.until(`document.querySelector('[data-count="500"]') && window.acFirst`)
	var first float64
	p.eval(`window.acFirst`, &first)
	within(t, "500 runs, request to first rows painted", first, 300, "ms")
	p.eval(`new Promise((done) => setTimeout(done, 1000))`, nil)
	within(t, "500 runs, bytes until settled, with the page", (p.received()-bytes)/1024, 220, "KiB")

	var took float64
	p.eval(`document.querySelector('[data-filter]').focus(); window.acKey = 0;
		addEventListener('keydown', () => { window.acPressed = performance.now(); }, {capture: true});
		new MutationObserver(() => requestAnimationFrame(() => setTimeout(() => { window.acKey ||= performance.now() - window.acPressed; }))).observe(document.querySelector('main'), {childList: true, subtree: true, characterData: true, attributes: true}); 0`, nil)
	p.key("z", 0)
	p.until(`window.acKey > 0`)
	p.eval(`window.acKey`, &took)
	within(t, "500 rows, key to screen", took, 100, "ms")
}
