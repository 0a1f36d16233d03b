//go:build browser

package browser

import (
	"flag"
	"fmt"
	"testing"
	"time"
)

var many = flag.Int("events", 20000, "how many events the page has to bear; its promise is 100,000")

// TestAThousandEventsASecond sends a run's events a thousand a second to a page
// that shows it: the page keeps up, and what it keeps alive does not grow with
// what it was told.
func TestAThousandEventsASecond(t *testing.T) {
	f := serve(t, bootOf())
	c := launch(t)
	p := c.open(t, 1440, 900, false)
	p.goTo(f.URL + "/#/runs/run_01M7WQSZBK0001")
	p.shows(".transcript", "A retry now carries")
	p.until(`document.querySelector('.link-state.live')`)
	const run = "run_01M7WQSZBK0001"
	pour := func(from, to int) {
		began := time.Now()
		for i := from; i < to; i++ {
			f.says(run, fmt.Sprintf(`{"type":"item.completed","item":{"id":"p%d","type":"agent_message","text":"Line %d of what is said at some length."}}`, i, i))
			if ahead := time.Duration(i-from)*time.Millisecond - time.Since(began); ahead > 0 {
				time.Sleep(ahead)
			}
		}
	}
	pour(0, *many/2)
	p.shows(".transcript", fmt.Sprintf("Line %d of", *many/2-1))
	before := p.heap()
	pour(*many/2, *many)
	sent := time.Now()
	p.shows(".transcript", fmt.Sprintf("Line %d of", *many-1))
	behind := time.Since(sent)
	after := p.heap()
	var nodes int
	p.eval(`document.querySelectorAll('*').length`, &nodes)
	t.Logf("%d events; behind at the end %v; heap %.1f MB halfway, %.1f MB at the end; %d elements", *many, behind, before/1e6, after/1e6, nodes)
	if behind > 5*time.Second {
		t.Errorf("the page was %v behind", behind)
	}
	if after > before*1.3+4e6 {
		t.Errorf("the heap grew from %.1f to %.1f MB", before/1e6, after/1e6)
	}
	if nodes > 4000 {
		t.Errorf("%d elements in the document", nodes)
	}
}

// TestAnEventIsSeenSoon measures from the server's write to what is shown, and
// the first paint.
func TestAnEventIsSeenSoon(t *testing.T) {
	f := serve(t, bootOf())
	c := launch(t)
	p := c.open(t, 1440, 900, false)
	p.goTo(f.URL)
	p.shows(".run-row", "Ada Okafor")
	p.until(`document.querySelector('.link-state.live')`)
	p.picture()
	p.until(`performance.getEntriesByType('paint').length > 0`)
	var paint float64
	p.eval(`performance.getEntriesByType('paint')[0].startTime`, &paint)
	const run = "run_01M7WQSZBK0000"
	best := time.Hour
	for i := range 10 {
		p.eval(fmt.Sprintf(`window.seen = new Promise((done) => { const look = new MutationObserver(() => { if (document.body.textContent.includes('tick %d!')) { look.disconnect(); done(Date.now()); } }); look.observe(document.body, {subtree: true, childList: true, characterData: true}); }); 0`, i), nil)
		sent := time.Now()
		f.says(run, fmt.Sprintf(`{"type":"item.completed","item":{"id":"tick%d","type":"agent_message","text":"tick %d!"}}`, i, i))
		var at int64
		p.eval(`window.seen`, &at)
		best = min(best, time.UnixMilli(at).Sub(sent))
	}
	t.Logf("first paint after %.0f ms; an event shown after %v at best", paint, best)
	if best > time.Second {
		t.Errorf("an event was shown after %v", best)
	}
}
