//go:build browser

package browser

// The whole of it: the program serves a workspace, and a browser looks at it.

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

type controlRoom struct {
	t                             *testing.T
	program, dir, project, worker string
	url                           string
}

func (r *controlRoom) ac(args ...string) string {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), r.program, args...)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		r.t.Fatalf("ac %s: %v\n%s%s", strings.Join(args, " "), err, &out, &stderr)
	}
	return out.String()
}

// openControlRoom makes a company and serves it with ui:web until the test ends.
func openControlRoom(t *testing.T) *controlRoom {
	t.Helper()
	dir := t.TempDir()
	r := &controlRoom{t: t, program: filepath.Join(dir, "ac"), dir: filepath.Join(dir, "acme")}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", r.program, "ac/cmd/ac")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	r.ac("demo:init", r.dir)
	one := func(pattern string) string {
		found, _ := filepath.Glob(filepath.Join(r.dir, pattern))
		if len(found) == 0 {
			t.Fatalf("the demo has no %s", pattern)
		}
		return filepath.Base(found[0])
	}
	r.project = one("work/projects/*")
	agents, _ := filepath.Glob(filepath.Join(r.dir, "org/agents/*/agent.yaml"))
	for _, file := range agents {
		if text, _ := os.ReadFile(file); bytes.Contains(text, []byte("role: worker")) && !strings.Contains(file, "secretary") {
			r.worker = filepath.Base(filepath.Dir(file))
		}
	}
	serve := exec.Command(r.program, "ui:web", r.dir, "--project", r.project, "--port", "0")
	out, err := serve.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = serve.Process.Signal(syscall.SIGTERM)
		if err := serve.Wait(); err != nil {
			t.Errorf("ui:web ended with %v", err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	r.url = regexp.MustCompile(`http://\S+`).FindString(line)
	return r
}

func TestControlRoom(t *testing.T) {
	r := openControlRoom(t)
	c := launch(t)
	p := c.open(t, 1440, 900, false)
	p.goTo(r.url)
	p.until(`document.querySelector('.link-state.live')`)

	// Start a run and see it move.
	var run struct {
		RunID string `json:"run_id"`
	}
	if err := json.Unmarshal([]byte(r.ac("run:new", r.dir, "--project", r.project, "--agent", r.worker, "--provider", "cmd")), &run); err != nil {
		t.Fatal(err)
	}
	p.shows(".run-link", run.RunID[len(run.RunID)-6:])
	p.shows(`[data-run="`+run.RunID+`"]`, "New")
	p.shows(`[data-run="`+run.RunID+`"]`, "Made, never launched")
	gate := filepath.Join(t.TempDir(), "gate")
	executed := make(chan string, 1)
	go func() {
		out, err := exec.Command(r.program, "run:execute", r.dir, "--project", r.project, "--run", run.RunID, "--argv", "sh", "-c",
			`echo "first words"; while [ ! -e "$0" ]; do sleep 0.05; done; echo '{"usage":{"total_tokens":777}}'; echo "last words"`, gate).CombinedOutput()
		if err != nil {
			executed <- err.Error() + ": " + string(out)
			return
		}
		executed <- ""
	}()
	p.shows(`[data-run="`+run.RunID+`"]`, "first words")
	p.shows(`[data-run="`+run.RunID+`"]`, "Running")
	p.click(`[data-run="`+run.RunID+`"]`, "")
	p.shows(".transcript", "first words")
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if said := <-executed; said != "" {
		t.Fatal(said)
	}
	p.shows(".transcript", "last words")
	p.shows(".detail-figures", "777")
	p.shows(".detail .pill", "Ended")
	p.key("v", 0)
	p.shows(".detail-figures", "Chain holds")

	// Approve an item.
	memory := filepath.Join(r.dir, "work/projects", r.project, "memory.md")
	text, err := os.ReadFile(memory)
	if err != nil {
		t.Fatal(err)
	}
	heading := regexp.MustCompile(`(?m)^## .+$`).FindString(string(text))
	r.ac("memory:delta", r.dir, "--project", r.project, "--title", "Seen in the browser", "--under", heading, "--insert", "- Look before you approve", "--run", run.RunID)
	p.key("2", 0)
	p.shows(".item h2", "Seen in the browser")
	p.shows(".diff-line.added", "Look before you approve")
	p.key("a", 0)
	p.until(`document.activeElement && document.activeElement.id === 'field-notes'`)
	p.write("looked")
	p.key("Enter", 2)
	p.shows(".decisions", "looked")
	p.shows(".decisions .rule", "rule")
	if text, err := os.ReadFile(memory); err != nil || !bytes.Contains(text, []byte("- Look before you approve")) {
		t.Errorf("the memory was not changed: %v", err)
	}

	// Send a message.
	p.key("6", 0)
	p.shows(".channel", "Home")
	p.click(".channel", "Home")
	p.until(`document.querySelector('[data-compose]')`)
	p.eval(`document.querySelector('[data-compose]').focus()`, nil)
	p.write("hello from the page")
	p.key("Enter", 2)
	p.shows(".message.own", "hello from the page")
	p.key("Escape", 0)

	// The other views read what they need.
	for key, shown := range map[string]string{"4": "Portfolio", "5": "People", "7": "By day", "8": "Doctor"} {
		p.key(key, 0)
		p.shows("main", shown)
		p.until(`!document.querySelector('main .loading')`)
		if p.holds(`document.querySelector('main .fault')`) {
			var fault string
			p.eval(`document.querySelector('main .fault').closest('.card, .page').textContent.slice(0, 400)`, &fault)
			t.Errorf("key %s: %s", key, fault)
		}
	}
	otherSites(t, r, p, c)
}

// otherSites tries to post from a page of another origin.
func otherSites(t *testing.T, r *controlRoom, p *tab, c *chromium) {
	f := serve(t, bootOf())
	other := c.open(t, 800, 600, false)
	f.policy = "default-src * 'unsafe-inline' 'unsafe-eval'"
	other.goTo(f.URL)
	before := p.holds(`document.body.textContent.includes('from elsewhere')`)
	for _, kind := range []string{"application/json", "text/plain"} {
		other.eval(`fetch(`+"`"+r.url+`/api/comments`+"`"+`, {method: 'POST', mode: '`+map[string]string{"application/json": "cors", "text/plain": "no-cors"}[kind]+`', headers: {'Content-Type': '`+kind+`'}, body: JSON.stringify({body: 'from elsewhere', target_agent_id: '`+r.worker+`'})}).then(() => 0, () => 0)`, nil)
	}
	for other.complaint("") {
	}
	request, err := http.NewRequest(http.MethodPost, r.url+"/api/comments", strings.NewReader(`{"body":"from elsewhere","target_agent_id":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Origin", "http://example.org")
	answer, err := (&http.Client{Timeout: time.Minute}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusForbidden {
		t.Errorf("a post of another site: %s", answer.Status)
	}
	if kept := r.ac("comment:list", r.dir, "--project", r.project); before || strings.Contains(kept, "from elsewhere") {
		t.Errorf("another site left a comment: %s", kept)
	}
	for other.complaint("") {
	}
}
