//go:build browser

package browser

// Accessibility: axe-core must find no violation in any view, theme and width.

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// The axe-core package in the registry. The tests fetch it; the program does not contain it.
const (
	axePackage   = "axe-core@4.14.1"
	axeIntegrity = "sha512-FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ=="
)

// axeSource returns the script of axe-core, from the file named by AC_AXE or else fetched once.
var axeSource = sync.OnceValues(func() (string, error) {
	if name := os.Getenv("AC_AXE"); name != "" {
		text, err := os.ReadFile(name)
		return string(text), err
	}
	dir, err := os.MkdirTemp("", "ac-axe-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	pack := exec.Command("npm", "pack", "--silent", axePackage)
	pack.Dir = dir
	if out, err := pack.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm pack %s: %w (AC_AXE can name axe.min.js instead)\n%s", axePackage, err, out)
	}
	found, _ := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if len(found) != 1 {
		return "", fmt.Errorf("npm pack made %d packages", len(found))
	}
	packed, err := os.ReadFile(found[0])
	if err != nil {
		return "", err
	}
	if sum := sha512.Sum512(packed); "sha512-"+base64.StdEncoding.EncodeToString(sum[:]) != axeIntegrity {
		return "", fmt.Errorf("%s is not the package that the tests were made with", axePackage)
	}
	return fileOf(packed, "package/axe.min.js")
})

// fileOf returns a file of a gzipped tar archive.
func fileOf(packed []byte, name string) (string, error) {
	plain, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return "", err
	}
	for archive := tar.NewReader(plain); ; {
		head, err := archive.Next()
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		if head.Name == name {
			text, err := io.ReadAll(archive)
			return string(text), err
		}
	}
}

// accessible fails the test for each violation that axe-core finds in the current page.
func (p *tab) accessible(what string) {
	p.t.Helper()
	source, err := axeSource()
	if err != nil {
		p.t.Fatal(err)
	}
	if !p.holds(`window.axe`) {
		p.eval(source+";0", nil)
	}
	var violations []struct {
		ID, Impact, Help string
		Nodes            []struct {
			HTML, FailureSummary string
			Target               []any
		}
	}
	p.eval(`axe.run(document, {resultTypes: ['violations']}).then((r) => r.violations)`, &violations)
	for _, v := range violations {
		node := v.Nodes[0]
		p.t.Errorf("%s: %s (%s, %d): %s\n%s %v\n%s", what, v.ID, cmp.Or(v.Impact, "none"), len(v.Nodes), v.Help, node.HTML, node.Target, strings.ReplaceAll(node.FailureSummary, "\n", " "))
	}
}

// fits fails the test if something is wider than the screen, or the view does not have exactly one
// h1.
func (p *tab) fits(what string) {
	p.t.Helper()
	var wide string
	p.eval(`(() => { const w = document.documentElement.clientWidth; if (document.documentElement.scrollWidth <= w) return ''; const over = [...document.querySelectorAll('main *')].filter((e) => e.getBoundingClientRect().right > w + 1); return 'the document is ' + document.documentElement.scrollWidth + ' wide: ' + over.slice(0, 3).map((e) => e.className).join(', '); })()`, &wide)
	if wide != "" {
		p.t.Errorf("%s: %s", what, wide)
	}
	if !p.holds(`document.querySelectorAll('h1').length === 1`) {
		p.t.Errorf("%s has not one h1", what)
	}
}

func TestAccessibility(t *testing.T) {
	r := found(t)
	r.execute("sh", "-c", "echo first words; echo last words")
	r.execute("sh", "-c", "echo oh no; exit 3")
	r.milestone("The queue is hardened", true)
	r.delta("Ask before a migration", "- Ask before a migration")
	r.help("Which queue?", "Is it **the old** one?")
	r.launch("say Hello **there**;run rm -rf build;hold")
	r.serve()
	c := launch(t)
	for _, screen := range []struct {
		width, height int
		dark          bool
	}{{1440, 900, false}, {1440, 900, true}, {390, 844, false}, {390, 844, true}} {
		p := c.open(t, screen.width, screen.height, screen.dark)
		p.goTo(r.url)
		p.lives()
		name := fmt.Sprintf("%d dark=%v", screen.width, screen.dark)
		for _, view := range []string{"projects", "now", "needs", "needs?state=dismissed", "decided", "settings", "nowhere"} {
			p.eval(fmt.Sprintf(`location.hash = '#/%s'`, view), nil)
			p.until(fmt.Sprintf(`document.querySelector('main h1') && location.hash === '#/%s' && !document.querySelector('main .loading')`, view))
			p.accessible(name + " " + view)
			p.fits(name + " " + view)
			if p.holds(`document.activeElement === document.body`) {
				t.Errorf("%s %s: the focus is on the body", name, view)
			}
		}
		var needs []string
		p.eval(`location.hash = '#/needs'; new Promise((done) => setTimeout(() => done([...document.querySelectorAll('[data-need]')].map((e) => e.dataset.need)), 200))`, &needs)
		if len(needs) < 5 {
			t.Errorf("%s: only %v need somebody", name, needs)
		}
		for _, need := range needs {
			p.eval(fmt.Sprintf(`location.hash = '#/needs/' + encodeURIComponent(%q)`, need), nil)
			p.until(fmt.Sprintf(`document.querySelector('[data-need-open=%q] [data-proof]')`, need))
			p.accessible(name + " " + need)
			p.fits(name + " " + need)
		}
		p.key("k", 2)
		p.until(`document.querySelector('[data-palette] [role=option]')`)
		p.accessible(name + " palette")
		p.key("Escape", 0)
		p.until(`!document.querySelector('[data-palette]') && document.activeElement !== document.body`)
		p.key("?", 0)
		p.until(`document.querySelector('[role=dialog] .keys')`)
		p.accessible(name + " keys")
	}
}
