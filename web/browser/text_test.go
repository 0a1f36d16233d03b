//go:build browser

package browser

// Text of agents: nothing in it may cause a script, request, navigation or control.

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// asking returns texts that would request %s if a browser took them for markup, and other payloads,
// some with hidden characters.
func asking() []string {
	return []string{
		`<script src="%s/s.js"></script>`, `<img src="%s/i.png" onerror="window.pwned=1">`, `<object data="%s/o.swf"></object>`, `<embed src="%s/e.swf">`, `<form action="%s/f"><button>Approve</button><input name=q></form>`, `![x](%s/i.png)`, `[![x](%s/i.png)](javascript:window.pwned=1)`,
		`<link rel=stylesheet href="%s/s.css">`, `<meta http-equiv=refresh content="0;url=%s/m">`, `<base href="%s/">`, `<div style="position:fixed;inset:0;background:url(%s/b.png)">x</div>`, `<video src="%s/v.mp4" onerror=window.pwned=1></video>`, `<audio src="%s/a.mp3"></audio>`,
		"Big\n===", "<button onclick=\"window.pwned=1\" data-act=\"approve\">Approve</button>", "<script>window.pwned=1</script>", "\u202egnp.exe", "a\u200bb", "\ue000x", "[apple](https://аpple.com/)", "![x](https://example.org/i.png)",
	}
}

// TestHostileMarkdown shows all payloads in a request for help.
func TestHostileMarkdown(t *testing.T) {
	var requests atomic.Int64
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	defer elsewhere.Close()
	r := found(t)
	r.serve("--project", r.project)
	p := launch(t).open(t, 1200, 800, false)
	p.goTo(r.url)
	p.lives()
	var texts []string
	for _, one := range append(hostileTexts(), asking()...) {
		if !strings.Contains(one, "\n## ") { // a heading would end the question in its file
			texts = append(texts, strings.ReplaceAll(one, "%s", elsewhere.URL))
		}
	}
	text := strings.Join(texts, "\n\n")
	id := r.help("Look at this", text)
	p.eval(`window.reports = []; addEventListener('securitypolicyviolation', (e) => window.reports.push(e.violatedDirective + ' ' + e.blockedURI)); location.hash = '#/needs/help:`+id+`'`, nil)
	// On a busy machine, rendering exceeds its 50 ms. The page then shows plain text until somebody
	// asks.
	p.until(`(() => { const md = document.querySelector('[data-need-open] [data-md]'); md?.querySelector('button')?.click(); return md?.querySelector('p'); })()`)
	var shown struct {
		Pwned    bool
		Bad      []string
		Links    []string
		Reports  []string
		Location string
		Heads    int
	}
	p.eval(`(() => {
		const allowed = new Set('P BR HR H3 H4 H5 H6 STRONG EM DEL CODE PRE BLOCKQUOTE UL OL LI TABLE THEAD TBODY TR TH TD A INPUT SPAN'.split(' '));
		const attributes = new Set('href align start class type checked disabled target rel tabindex aria-label'.split(' '));
		const bad = [];
		for (const el of document.querySelectorAll('[data-md] *')) {
			if (!allowed.has(el.tagName)) bad.push(el.outerHTML.slice(0, 100));
			for (const a of el.attributes) if (!attributes.has(a.name)) bad.push(el.tagName + ' ' + a.name);
			if (el.tagName === 'INPUT' && (el.type !== 'checkbox' || !el.disabled)) bad.push(el.outerHTML);
		}
		return {
			pwned: 'pwned' in window, bad, reports: window.reports, location: location.href, heads: document.querySelectorAll('h1').length,
			links: [...document.querySelectorAll('[data-md] a')].filter((a) => !/^(https?|mailto):/.test(a.href) || a.target !== '_blank' || !a.rel.includes('noopener')).map((a) => a.outerHTML),
		};
	})()`, &shown)
	if shown.Pwned || len(shown.Bad) > 0 || len(shown.Links) > 0 || len(shown.Reports) > 0 || shown.Heads != 1 || !strings.HasPrefix(shown.Location, r.url) {
		t.Errorf("%+v", shown)
	}
	for _, text := range []string{"<script>window.pwned=1</script>", "U+202E", "U+200B", "U+E000", "image: x", "xn--"} {
		if !p.holds(fmt.Sprintf(`document.querySelector('[data-need-open]').textContent.includes(%q)`, text)) {
			var all string
			p.eval(`document.querySelector('[data-need-open] [data-md]').textContent.slice(-900)`, &all)
			t.Errorf("%q is not shown as text: %s", text, all)
		}
	}
	// Rendered text must not cover a control or intercept clicks.
	if p.holds(`[...document.querySelectorAll('.decide button')].some((b) => { const r = b.getBoundingClientRect(); return !b.contains(document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2)); })`) {
		t.Error("a button is covered")
	}
	if n := requests.Load(); n != 0 {
		t.Errorf("%d requests to another host", n)
	}
}
