//go:build browser

package browser

// A run: its transcript, finding in it, and talking with its agent.

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// inRepository creates a company in a git repository, with an agent that works in the repository's
// worktrees.
func inRepository(t *testing.T) *company {
	t.Helper()
	name, err := program()
	if err != nil {
		t.Fatal(err)
	}
	repo := filepath.Join(t.TempDir(), "ledger")
	r := &company{t: t, program: name, dir: filepath.Join(repo, ".ac")}
	for file, text := range map[string]string{
		"ledger/retry.go": "package ledger\n\nimport \"fmt\"\n\n// Do does it.\nfunc Do() {\n\tfmt.Println(\"retry\", 1)\n}\n\nfunc Carry(key string) string { return \"\" }\n",
		"README.md":       "# Ledger\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(repo, file)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(repo, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, words := range [][]string{{"init", "-q", "-b", "main"}, {"config", "user.name", "Ada"}, {"config", "user.email", "ada@example.org"}, {"add", "-A"}, {"commit", "-qm", "first"}} {
		r.git(words...)
	}
	r.ac("init", repo, "--name", "Acme", "--agents", "none")
	r.project = r.one("work/projects/*")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r.ac("machine:set-provider-bin", r.dir, "--provider", "codex_app_server", "--path", self)
	r.worker = strings.TrimSpace(r.ac("agent:new", r.dir, "--name", "Kei Tanaka", "--role", "worker", "--provider", "codex_app_server"))
	return r
}

// git runs git in the repository that contains the workspace.
func (r *company) git(words ...string) string {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "git", append([]string{"-C", filepath.Dir(r.dir)}, words...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", words, err, out)
	}
	return string(out)
}

// inWorktree executes a script as a run in a worktree of the repository, and returns the run's id.
func (r *company) inWorktree(script string) string {
	r.t.Helper()
	r.ac("run", "-C", r.dir, "-p", r.project, "--worktree", "--", "sh", "-c", script)
	return strings.TrimSpace(strings.SplitN(r.ac("ps", "-aq", "-C", r.dir), "\n", 2)[0])
}

// openRun opens a tab of a run.
func (p *tab) openRun(run, part, query string) {
	p.t.Helper()
	p.eval(fmt.Sprintf(`location.hash = '#/runs/%s/%s%s'`, run, part, query), nil)
	p.until(fmt.Sprintf(`document.querySelector('#tab-%s[aria-selected=true]') && !document.querySelector('main .loading')`, part))
}

const shownItems = `[...document.querySelectorAll('[data-item]')].map((e) => e.dataset.item + ' ' + e.dataset.kind + ' ' + e.dataset.state)`

// TestTalkingWithAnAgent answers, steers, continues and stops a run from its page.
func TestTalkingWithAnAgent(t *testing.T) {
	r := found(t)
	r.serve("--project", r.project)
	p := launch(t).open(t, 1440, 900, false)
	p.goTo(r.url)
	p.lives()
	run := r.launch("say Hello **there**.;run touch approved.txt;run rm -r build;question Which colour?;hold;say All done.")
	p.openRun(run, "transcript", "")

	p.shows("[data-kind=message]", "say Hello **there**.")
	p.until(`document.querySelector('[data-kind=message] [data-md] strong')`)
	p.shows("[data-kind=permission][data-state=open]", "touch approved.txt")
	p.key("Enter", 0) // Enter by itself answers nothing
	p.click("[data-kind=permission] [data-act=respond]", "Allow once")
	p.shows("[data-kind=permission]", "touch approved.txt: Allowed by you")
	p.shows("[data-kind=tool]", "exit 0")
	p.until(`document.querySelector('[data-kind=tool] [data-took]')`)
	p.shows("[data-kind=permission][data-state=open]", "rm -r build")
	p.click("[data-kind=permission][data-state=open] [data-effect=deny]", "")
	p.shows("[data-kind=permission]", "rm -r build: Denied by you")
	p.until(`document.querySelector('[data-kind=question][data-state=open]')`)
	p.click("[data-kind=question] button", "Blue")
	p.until(`document.querySelector('[data-kind=question] button[aria-pressed=true]')`)
	p.click("[data-kind=question] button", "Answer")
	p.shows("[data-kind=message]", "I take Blue.")

	p.shows("[data-kind=message]", "I hold.")
	p.eval(`document.querySelector('[data-steer]').focus()`, nil)
	p.write("be quick")
	p.key("Enter", 2)
	p.shows("[data-kind=message]", "Steered: be quick")
	p.shows("[data-kind=message]", "All done.")
	p.shows(".run-facts", "Ended")
	p.until(`document.querySelector('[data-steer]').value === ''`)
	sameAfterReload(t, p)

	// The run continues, and then its turn is stopped.
	p.eval(`document.querySelector('[data-steer]').focus()`, nil)
	p.write("hold")
	p.click("[data-act=continue]", "")
	p.until(`document.querySelector('header [data-act=interrupt]')`)
	p.until(`[...document.querySelectorAll('[data-kind=message]')].filter((e) => e.textContent.includes('I hold.')).length === 2`)
	p.until(`document.querySelector('header [data-act=interrupt]:not(:disabled)')`) // not while it is being continued
	p.click("header [data-act=interrupt]", "")
	p.shows(".run-facts", "Stopped")
	r.ac("log:verify", r.dir)
}

// sameAfterReload checks that a reloaded page shows the same items as before, each once.
func sameAfterReload(t *testing.T, p *tab) {
	t.Helper()
	var before, after []string
	p.eval(shownItems, &before)
	if n := len(slices.Compact(slices.Sorted(slices.Values(before)))); n != len(before) {
		t.Errorf("something is shown twice: %q", before)
	}
	p.do("Page.reload", object{}, nil)
	p.until(fmt.Sprintf(`document.querySelectorAll('[data-item]').length >= %d`, len(before)))
	p.eval(shownItems, &after)
	if !slices.Equal(before, after) {
		t.Errorf("before %q\nafter %q", before, after)
	}
}

// many executes a run whose agent printed n items. Every tenth is a command, and every tenth
// command failed.
func (r *company) many(n int) string {
	r.t.Helper()
	var lines strings.Builder
	out := json.NewEncoder(&lines)
	for i := range n {
		item := object{"id": fmt.Sprintf("i%d", i), "type": "agent_message", "text": fmt.Sprintf("Message number %d is **said** here.", i)}
		if i%10 == 5 {
			code := 0
			if i%100 == 55 {
				code = 1
			}
			item = object{"id": fmt.Sprintf("i%d", i), "type": "command_execution", "command": fmt.Sprintf("go test ./part%d", i), "aggregated_output": "ok\n", "exit_code": code, "status": "completed"}
		}
		_ = out.Encode(object{"type": "item.completed", "item": item})
	}
	file := filepath.Join(r.t.TempDir(), "lines")
	if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
		r.t.Fatal(err)
	}
	run := r.id("run_id", "run:new", r.dir, "--project", r.project, "--agent", r.worker, "--provider", "codex")
	r.ac("run:execute", r.dir, "--project", r.project, "--run", run, "--argv", "cat", file)
	return run
}

// TestFindingInARun searches all of a long run, steps through its errors, and opens an event by its
// address.
func TestFindingInARun(t *testing.T) {
	r := found(t)
	run := r.many(1000)
	r.serve("--project", r.project)
	p := launch(t).open(t, 1440, 900, false)
	p.goTo(r.url)
	p.lives()
	p.openRun(run, "transcript", "")
	p.shows("[data-kind=message]", "Message number 999 is said here.")
	p.until(`document.querySelectorAll('[data-item]').length < 100`)

	p.eval(`document.querySelector('[data-find]').focus()`, nil)
	p.write("number 12")
	p.until(`document.querySelector('[data-find-count]').textContent === '1 of 10'`)
	p.shows(".found", "Message number 12 is")
	p.key("Enter", 0)
	p.until(`document.querySelector('[data-find-count]').textContent === '2 of 10'`)
	p.key("Enter", 8)
	p.key("Enter", 8)
	p.until(`document.querySelector('[data-find-count]').textContent === '10 of 10'`)
	p.shows(".found", "Message number 129 is")
	if !p.holds(`location.hash.includes('find=number')`) {
		t.Error("what is looked for is not in the address")
	}
	p.do("Page.reload", object{}, nil)
	p.until(`document.querySelector('[data-find]')?.value === 'number 12' && document.querySelector('[data-find-count]').textContent.endsWith('of 10')`)

	p.eval(`document.activeElement.blur()`, nil)
	p.key("E", 0)
	p.until(`document.querySelector('.found[data-state=error]')`)
	p.key("e", 0)
	p.until(`document.querySelector('.found[data-state=error]')`)

	var seq int
	p.eval(`+document.querySelector('.found[data-state=error]').dataset.seq`, &seq)
	p.eval(`location.hash = '#/now'`, nil)
	p.until(`!document.querySelector('[data-item]')`)
	p.openRun(run, "transcript", fmt.Sprintf("?seq=%d", seq))
	p.until(fmt.Sprintf(`document.querySelector('[data-item][aria-current=true]')?.dataset.seq === '%d'`, seq))
	p.until(`(() => { const r = document.querySelector('[data-item][aria-current=true]').getBoundingClientRect(); return r.top > 0 && r.bottom < innerHeight; })()`)

	// Scrolling up leads from the end to the beginning.
	p.until(`(() => { const el = document.querySelector('.transcript'); el.scrollTop = 0; return [...document.querySelectorAll('[data-item]')].some((e) => e.textContent.includes('Message number 0 is')); })()`)
}

// TestUnknownRun checks that the page reports an unknown run and offers a way back.
func TestUnknownRun(t *testing.T) {
	r := found(t)
	r.serve("--project", r.project)
	p := launch(t).open(t, 390, 844, false)
	p.goTo(r.url)
	p.lives()
	p.allow("404")
	p.eval(`location.hash = '#/runs/run_none/transcript'`, nil)
	p.shows("main", "There is no run run_none")
	p.click("main a.button", "Back to Now")
	p.until(`document.querySelector('h1').textContent.startsWith('Now')`)
}
