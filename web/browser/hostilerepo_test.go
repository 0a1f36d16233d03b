//go:build browser

package browser

// Repositories made to harm a person who reviews their changes.

import (
	"fmt"
	"testing"
)

// hostileRepository is a shell script that names files as an attacker would: control characters,
// bidirectional marks, markup. It also makes a line of half a MiB, a binary file, symbolic links
// that lead out, and more files than the page shows.
const hostileRepository = `
put() { printf '%s\n' "$2" > "$1"; }
put "$(printf 'aa\033]0;pwned\007\033[2Jx')" one
put "$(printf 'ab\nnew line\ttab')" two
put "$(printf 'ac\342\200\256txt.exe')" three
mkdir -p 'ad<' && put 'ad</script><script>window.pwned=1<' 'four' || true
put 'ae<img src=x onerror=window.pwned=1>' '</script><script>window.pwned=1</script>'
put 'af" onclick="window.pwned=1' five
head -c 524288 /dev/zero | tr '\0' 'w' > ag_long
printf '\000\001\002' > ah_binary
ln -s /etc/passwd ai_link
ln -s .. aj_parent
mkdir -p many
i=0; while [ $i -lt 10000 ]; do : > many/f$i; i=$((i+1)); done
`

// TestHostileRepository opens each hostile file of a run. Names must be text without hidden
// characters, no script may run, nothing outside may be read, and the page must fit its window.
func TestHostileRepository(t *testing.T) {
	r := inRepository(t)
	run := r.inWorktree(hostileRepository)
	r.serve("--project", r.project)
	p := launch(t).open(t, 1440, 900, false)
	p.goTo(r.url)
	p.lives()
	p.openRun(run, "changes", "")
	p.until(`document.querySelectorAll('[data-file]').length > 9`)
	p.shows(".changes-bar .note", "left out")
	var names []string
	p.eval(`[...document.querySelectorAll('[data-file]')].map((e) => e.textContent).filter((text) => /[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]/.test(text))`, &names)
	if len(names) > 0 {
		t.Errorf("names with hidden characters: %q", names)
	}
	var shown []string
	p.eval(`[...document.querySelectorAll('[data-file]')].map((e) => e.dataset.file).filter((name) => !name.startsWith('many/'))`, &shown)
	if len(shown) < 9 {
		t.Errorf("only %q are listed", shown)
	}
	for i := range shown {
		p.eval(fmt.Sprintf(`[...document.querySelectorAll('[data-file]')].filter((e) => !e.dataset.file.startsWith('many/'))[%d].click()`, i), nil)
		p.until(fmt.Sprintf(`new URLSearchParams(location.hash.split('?')[1]).get('file') === %s`, line(shown[i])))
		p.until(`document.querySelector('.file-pane') && !document.querySelector('.file-pane .loading')`)
		if p.holds(`window.pwned || document.title.includes('pwned') || document.body.textContent.includes('root:x:0') || document.querySelector('.file-pane script, .file-pane img')`) {
			t.Errorf("%q did harm", shown[i])
		}
	}
	p.fits("hostile files")
	var took float64
	p.eval(`new Promise((done) => { const began = performance.now(); location.hash = location.hash.replace('/changes', '/transcript'); const look = () => document.querySelector('#tab-transcript[aria-selected=true]') ? done(performance.now() - began) : requestAnimationFrame(look); look(); })`, &took)
	t.Logf("leaving a list of 2,000 files takes %.0f ms", took)
}
