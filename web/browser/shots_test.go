//go:build browser

package browser

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

var shots = flag.String("shots", "", "a folder for pictures of every view")

// TestEveryViewFits opens every view in both themes at widths from a telephone
// to a wall, and finds nothing that is wider than the window.
func TestEveryViewFits(t *testing.T) {
	f := serve(t, bootOf())
	c := launch(t)
	places := map[string]string{
		"now": "#/now", "run": "#/runs/run_01M7WQSZBK0000", "run over": "#/runs/" + overRun, "needs": "#/pending", "decisions": "#/decisions", "plan": "#/plan",
		"people": "#/people", "colleague": "#/people/agent_ada", "talk": "#/talk/conv_home", "cost": "#/cost", "health": "#/health",
	}
	for _, size := range [][2]int{{400, 860}, {1440, 900}, {2560, 1300}} {
		for _, dark := range []bool{false, true} {
			if dark && size[0] > 2000 {
				continue // the colours are those of the others
			}
			p := c.open(t, size[0], size[1], dark)
			p.goTo(f.URL)
			p.until(`document.querySelector('.link-state.live')`)
			for name, hash := range places {
				p.eval(fmt.Sprintf("location.hash = %q", hash), nil)
				p.until(`!document.querySelector('.loading') && document.querySelector('main h1')`)
				p.eval(`new Promise((done) => setTimeout(done, 150))`, nil)
				if !p.settles(`document.documentElement.scrollWidth <= innerWidth && [...document.querySelectorAll('.scroller, .needs-body, .rows')].every((e) => e.scrollWidth <= e.clientWidth + 1)`) {
					t.Errorf("%s is wider than %d", name, size[0])
				}
				if *shots == "" {
					continue
				}
				theme := map[bool]string{false: "light", true: "dark"}[dark]
				if err := os.WriteFile(filepath.Join(*shots, fmt.Sprintf("%s-%d-%s.png", name, size[0], theme)), p.picture(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
