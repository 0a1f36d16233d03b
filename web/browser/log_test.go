//go:build browser

package browser

// The log of a run: colours and links but no other escape codes, old lines and new ones.

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// prints executes a run whose program prints text.
func (r *company) prints(text []byte) string {
	r.t.Helper()
	file := filepath.Join(r.t.TempDir(), "text")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		r.t.Fatal(err)
	}
	return r.execute("cat", file)
}

// TestLog checks that the log shows colours and links, drops every other escape code, and marks
// stderr.
func TestLog(t *testing.T) {
	r := found(t)
	run := r.execute("sh", "-c", `printf '\033[31mred\033[0m plain \033[38;2;1;2;3mexact\033[0m\n'
printf '\033]0;a title\007\033[2J\033[5;5Hkept \033]52;c;aGk=\007text\n'
printf '\033]8;;https://example.org/x\033\\link\033]8;;\033\\ \033]8;;javascript:alert(1)\033\\trap\033]8;;\033\\\n'
printf '\033[32mgreen\nstill green\033[0m\nspin 1\rspin 2\n'
echo oh no >&2`)
	r.serve("--project", r.project)
	p := launch(t).open(t, 1440, 900, false)
	p.goTo(r.url)
	p.lives()
	p.openRun(run, "log", "")
	p.shows("[data-log] .ansi-red-fg", "red")
	p.until(`[...document.querySelectorAll('[data-log] span')].some((e) => e.textContent === 'exact' && e.style.color === 'rgb(1, 2, 3)')`)
	p.shows("[data-log] .ansi-green-fg", "still green")
	p.shows("[data-log] .stderr", "oh no")
	p.until(`[...document.querySelectorAll('[data-log] .log-text')].some((e) => e.textContent === 'kept text')`)
	p.until(`[...document.querySelectorAll('[data-log] .log-text')].some((e) => e.textContent === 'spin 2')`)
	p.until(`document.querySelector('[data-log] a[href="https://example.org/x"][rel~=noopener]')`)
	if p.holds(`document.querySelectorAll('[data-log] a').length !== 1 || document.title.includes('a title')`) {
		t.Error("a code did what it may not")
	}
}

// TestLongLog checks that the log opens at its end, loads older lines on scrolling up, and follows.
func TestLongLog(t *testing.T) {
	r := found(t)
	run := r.execute("sh", "-c", `i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); [ $((i % 50)) = 0 ] && sleep 0.001; done`)
	r.serve("--project", r.project)
	p := launch(t).open(t, 1440, 900, false)
	p.goTo(r.url)
	p.lives()
	p.openRun(run, "log", "")
	p.shows(".log-text", "line 2999")
	p.until(`document.querySelectorAll('.log-line').length < 300`)
	p.until(`(() => { const el = document.querySelector('[data-log]'); el.scrollTop = 0; return [...document.querySelectorAll('.log-text')].some((e) => e.textContent === 'line 0'); })()`)
	p.key("f", 0)
	p.shows(".log-text", "line 2999")
}

// TestLogOfAnything prints random bytes and escape codes. The log must show text without control
// characters, and apply only colours and links.
func TestLogOfAnything(t *testing.T) {
	r := found(t)
	random := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"\x1b[", "\x1b]", "\x1bP", "\x1b_", "\x1b^", "\x1bX", "\x9b", "\x9d", "31m", "0;1;4m", "8;;http://a\x1b\\", "52;c;YQ==\x07", "\x07", "\x08", "\r", "\t", "\n", "<b>", "&lt;", "\u202e", "\u200b", "é", "2J", "?25l", ";", "m", "\x00", "\x1b", "\xff", "[REDACTED_SECRET]"}
	var text bytes.Buffer
	for range 4000 {
		text.WriteString(pieces[random.IntN(len(pieces))])
	}
	text.WriteString("\n\x1b[0mthe end\n")
	run := r.prints(text.Bytes())
	r.serve("--project", r.project)
	p := launch(t).open(t, 1440, 900, false)
	p.goTo(r.url)
	p.lives()
	p.guarded()
	p.openRun(run, "log", "")
	p.shows(".log-text", "the end")
	p.until(`document.querySelector('[data-log] [class*=ansi-]')`)
	var seen string
	p.eval(`(async () => { const el = document.querySelector('[data-log]'); let all = ''; for (let at = el.scrollHeight; at >= 0; at -= 600) { el.scrollTop = at; await new Promise((r) => setTimeout(r, 60)); all += el.textContent; } return all; })()`, &seen)
	if i := strings.IndexFunc(seen, func(c rune) bool {
		return c < ' ' && c != '\t' && c != '\n' || c >= 0x7f && c < 0xa0 || c == 0x202e || c == 0x200b
	}); i >= 0 {
		t.Errorf("a control is shown: %q", seen[max(0, i-40):min(len(seen), i+40)])
	}
	p.untouched("the log")
	p.openRun(run, "transcript", "")
	p.until(`document.querySelector('[data-item]')`)
	p.untouched("the transcript")
}

// guarded starts to record what a text must not cause: script calls, requests, navigation, and
// violations of the page's content policy.
func (p *tab) guarded() {
	p.t.Helper()
	p.eval(`window.alarms = [];
		window.alert = window.confirm = window.prompt = window.open = (...a) => { alarms.push('called ' + a); };
		document.addEventListener('securitypolicyviolation', (e) => alarms.push('violation ' + e.violatedDirective + ' ' + e.blockedURI));
		new PerformanceObserver((list) => list.getEntries().forEach((e) => { const u = new URL(e.name); if (u.origin !== location.origin || !/^\/(api\/|v\/|badge.svg|$)/.test(u.pathname)) alarms.push('asked for ' + e.name); })).observe({ type: 'resource' });
		window.placed = location.href.split('#')[0]; 0`, nil)
}

// untouched fails the test if a text caused any of that.
func (p *tab) untouched(what string) {
	p.t.Helper()
	var alarms []string
	p.eval(`[...window.alarms, ...(location.href.split('#')[0] === placed ? [] : ['went to ' + location.href])]`, &alarms)
	for _, alarm := range alarms {
		p.t.Errorf("%s: %s", what, alarm)
	}
	const hostile = `document.querySelectorAll('main [data-item] :is(script, style, iframe, object, embed, form, img, video, audio, svg:not(.icon), math, link, base, meta), main [data-log] :is(script, img, iframe, form, input)').length`
	var n int
	if p.eval(hostile, &n); n > 0 {
		p.t.Errorf("%s holds %d elements that nobody may write", what, n)
	}
	var handlers []string
	p.eval(`[...document.querySelectorAll('main *')].flatMap((e) => [...e.attributes].filter((a) => /^on|^srcdoc$|^formaction$/i.test(a.name) || (/^(href|src|action)$/i.test(a.name) && /^\s*(javascript|data|vbscript|file|blob):/i.test(a.value))).map((a) => e.tagName + ' ' + a.name + '=' + a.value))`, &handlers)
	for _, one := range handlers {
		p.t.Errorf("%s: %s", what, one)
	}
}

// TestHostileTranscript makes an agent write hostile texts as messages, thoughts, commands and
// their output, and file names.
func TestHostileTranscript(t *testing.T) {
	r := found(t)
	var lines strings.Builder
	for i, text := range hostileTexts() {
		for _, item := range []object{
			{"id": fmt.Sprintf("m%d", i), "type": "agent_message", "text": text},
			{"id": fmt.Sprintf("r%d", i), "type": "reasoning", "text": text},
			{"id": fmt.Sprintf("c%d", i), "type": "command_execution", "command": text, "aggregated_output": text, "exit_code": 1, "status": "failed"},
			{"id": fmt.Sprintf("f%d", i), "type": "file_change", "changes": []object{{"path": text, "kind": "update"}}, "status": "completed"},
		} {
			lines.WriteString(line(object{"type": "item.completed", "item": item}))
		}
	}
	file := filepath.Join(t.TempDir(), "lines")
	if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	run := r.id("run_id", "run:new", r.dir, "--project", r.project, "--agent", r.worker, "--provider", "codex")
	r.ac("run:execute", r.dir, "--project", r.project, "--run", run, "--argv", "cat", file)
	r.serve("--project", r.project)
	p := launch(t).open(t, 1440, 900, false)
	p.goTo(r.url)
	p.lives()
	p.guarded()
	p.openRun(run, "transcript", "")
	p.until(`document.querySelectorAll('[data-item] [data-md] > *').length > 0`)
	p.click(".run-tools button", "Thoughts")
	var seen int
	p.eval(`(async () => { const el = document.querySelector('.transcript'); const ids = new Set();
		for (let at = el.scrollHeight; at >= -500; at -= 500) { el.scrollTop = Math.max(0, at); await new Promise((r) => setTimeout(r, 80)); for (const e of document.querySelectorAll('[data-item]')) { ids.add(e.dataset.item); for (const a of e.querySelectorAll('[data-md] *')) a.dispatchEvent(new MouseEvent('mouseover', { bubbles: true })); } }
		return ids.size; })()`, &seen)
	if want := 4 * len(hostileTexts()); seen < want {
		t.Errorf("%d items were seen of %d", seen, want)
	}
	p.untouched("the transcript")
	for _, part := range []string{"log", "events", "notes"} {
		p.openRun(run, part, "")
		p.untouched(part)
	}
	// The agent's texts must not cover a control of the page.
	p.openRun(run, "transcript", "")
	if p.holds(`(() => { const b = document.querySelector('[data-find]').getBoundingClientRect(); return document.elementFromPoint(b.x + b.width / 2, b.y + b.height / 2) !== document.querySelector('[data-find]'); })()`) {
		t.Error("a control is covered")
	}
}

// TestSecretsOfARun prints a secret. The events, the log and the transcript must mask it, and a
// manager may reveal it.
func TestSecretsOfARun(t *testing.T) {
	r := found(t)
	const secret = "sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789abcdefghij"
	run := r.execute("echo", "the key is "+secret)
	r.serve("--project", r.project)
	p := launch(t).open(t, 1440, 900, false)
	p.goTo(r.url)
	p.lives()
	for _, part := range []string{"events", "log", "transcript"} {
		p.openRun(run, part, "")
		p.shows("main", "the key is [REDACTED_")
		if p.holds(`document.documentElement.innerHTML.includes('AbCdEf')`) {
			t.Errorf("%s tells the secret", part)
		}
	}
	p.until(`document.querySelector('[data-item] .secret')`)
	p.click("[data-item] [data-act=show-secret]", "")
	p.shows("[data-item]", secret)
	p.do("Page.reload", object{}, nil)
	p.shows("[data-item]", "the key is [REDACTED_")
}
