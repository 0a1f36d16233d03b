//go:build browser

package browser

// A workspace made by commands and served by the real program, for every test of the page.

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// object is a JSON object.
type object = map[string]any

// programDir is the directory of the built program. TestMain removes it.
var programDir string

// program builds ac once for all tests.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "ac-browser-program-")
	if err != nil {
		return "", err
	}
	programDir = dir
	name := filepath.Join(dir, "ac")
	out, err := exec.Command("go", "build", "-o", name, "ac/cmd/ac").CombinedOutput()
	if err != nil {
		return "", &buildError{err, out}
	}
	return name, nil
})

type buildError struct {
	error
	out []byte
}

func (e *buildError) Error() string { return e.error.Error() + "\n" + string(e.out) }

// company is a workspace and the server that shows it.
type company struct {
	t       *testing.T
	program string
	dir     string
	project string // the demo project
	worker  string // an agent of codex app-server, played by this test binary
	url     string
	port    string
	server  *exec.Cmd
	runs    []string // launched runs
}

// found creates the demo company, without serving it.
func found(t *testing.T) *company {
	t.Helper()
	name, err := program()
	if err != nil {
		t.Fatal(err)
	}
	r := &company{t: t, program: name, dir: filepath.Join(t.TempDir(), "acme")}
	r.ac("demo:init", r.dir)
	r.project = r.one("work/projects/*")
	agents, _ := filepath.Glob(filepath.Join(r.dir, "org/agents/*/agent.yaml"))
	for _, file := range agents {
		if text, _ := os.ReadFile(file); bytes.Contains(text, []byte("role: worker")) && !strings.Contains(file, "secretary") {
			r.worker = filepath.Base(filepath.Dir(file))
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r.ac("machine:set-provider-bin", r.dir, "--provider", "codex_app_server", "--path", self)
	t.Cleanup(r.stopRuns)
	return r
}

// one returns the base name of the first file that matches a pattern in the workspace.
func (r *company) one(pattern string) string {
	r.t.Helper()
	files, _ := filepath.Glob(filepath.Join(r.dir, pattern))
	if len(files) == 0 {
		r.t.Fatalf("the workspace has no %s", pattern)
	}
	return filepath.Base(files[0])
}

// ac runs a command and returns what it wrote to stdout.
func (r *company) ac(args ...string) string {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), r.program, args...)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		r.t.Fatalf("ac %s: %v\n%s%s", strings.Join(args, " "), err, &out, &stderr)
	}
	return out.String()
}

// id runs a command and returns a field of its JSON output.
func (r *company) id(field string, args ...string) string {
	r.t.Helper()
	var said object
	if err := json.Unmarshal([]byte(r.ac(args...)), &said); err != nil {
		r.t.Fatalf("ac %s: %v", strings.Join(args, " "), err)
	}
	id, _ := said[field].(string)
	if id == "" {
		r.t.Fatalf("ac %s has no %s: %v", strings.Join(args, " "), field, said)
	}
	return id
}

// launch starts a run whose agent follows the steps of prompt.
func (r *company) launch(prompt string, more ...string) string {
	r.t.Helper()
	args := []string{"run:launch", r.dir, prompt, "--project", r.project, "--agent", r.worker, "--provider", "codex_app_server", "--mode", "default", "--no-watch"}
	run := r.id("run_id", append(args, more...)...)
	r.runs = append(r.runs, run)
	return run
}

// stopRuns stops the runs that the test launched.
func (r *company) stopRuns() {
	if len(r.runs) == 0 {
		return
	}
	cmd := exec.Command(r.program, append([]string{"stop"}, r.runs...)...)
	cmd.Dir = r.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Errorf("ac stop: %v\n%s", err, out)
	}
}

// create creates n runs without launching them, in one process.
func (r *company) create(n int) {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), r.program, "server:start")
	var calls bytes.Buffer
	for i := range n {
		fmt.Fprintf(&calls, `{"jsonrpc":"2.0","id":%d,"method":"run.create","params":{"workspace_dir":%q,"project_id":%q,"agent_id":%q,"provider":"cmd"}}`+"\n", i, r.dir, r.project, r.worker)
	}
	cmd.Stdin = &calls
	out, err := cmd.Output()
	if made := bytes.Count(out, []byte(`"run_id"`)); err != nil || made != n {
		r.t.Fatalf("%d of %d runs: %v", made, n, err)
	}
}

// execute executes a command as a run and waits for its end.
func (r *company) execute(argv ...string) string {
	r.t.Helper()
	run := r.id("run_id", "run:new", r.dir, "--project", r.project, "--agent", r.worker, "--provider", "cmd")
	r.ac(append([]string{"run:execute", r.dir, "--project", r.project, "--run", run, "--argv"}, argv...)...)
	return run
}

// serve starts the control room until the test ends. After stop, it uses the same port again.
func (r *company) serve(more ...string) *company {
	r.t.Helper()
	port := r.port
	if port == "" {
		port = "0"
	}
	began := r.server == nil && r.port == ""
	serve := exec.Command(r.program, append([]string{"ui:web", r.dir, "--port", port}, more...)...)
	out, err := serve.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	serve.Stderr = os.Stderr
	if err := serve.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.server = serve
	if began {
		r.t.Cleanup(r.stop)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		r.t.Fatal(err)
	}
	r.url = strings.TrimRight(regexp.MustCompile(`http://\S+`).FindString(line), "/")
	r.port = r.url[strings.LastIndexByte(r.url, ':')+1:]
	return r
}

// stop stops the control room and waits for its exit.
func (r *company) stop() {
	if r.server == nil {
		return
	}
	_ = r.server.Process.Signal(syscall.SIGTERM)
	if err := r.server.Wait(); err != nil {
		r.t.Errorf("ui:web ended with %v", err)
	}
	r.server = nil
}

// call calls a method of the page's API, as another page would.
func (r *company) call(method string, params object, result any) {
	r.t.Helper()
	body, err := json.Marshal(object{"method": method, "params": params})
	if err != nil {
		r.t.Fatal(err)
	}
	answer, err := http.Post(r.url+"/api/call", "application/json", bytes.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	defer answer.Body.Close()
	var said struct {
		Result json.RawMessage
		Error  json.RawMessage
	}
	if err := json.NewDecoder(answer.Body).Decode(&said); err != nil || said.Error != nil {
		r.t.Fatalf("%s: %v %s", method, err, said.Error)
	}
	if result != nil {
		if err := json.Unmarshal(said.Result, result); err != nil {
			r.t.Fatal(err)
		}
	}
}

// lives waits until the page is connected.
func (p *tab) lives() {
	p.t.Helper()
	p.until(`document.documentElement.dataset.link === 'live'`)
}

// milestone reports a milestone of a new task as done and returns the report's id. With evidence,
// it also writes a patch and test results.
func (r *company) milestone(title string, evidence bool) string {
	r.t.Helper()
	task := strings.TrimSpace(r.ac("task:new", r.dir, "--project", r.project, "--title", "Harden the queue"))
	milestone := strings.TrimSpace(r.ac("task:add-milestone", r.dir, "--project", r.project, "--task", task, "--title", "Build transfers", "--kind", "coding",
		"--accept", "It works on a Monday", "It is tested"))
	report := r.id("artifact_id", "milestone:report:new", r.dir, "--project", r.project, "--task", task, "--milestone", milestone, "--title", title, "--by", r.worker,
		"--evidence", "art_patch_"+milestone, "--tests", "art_tests_"+milestone)
	if evidence {
		r.write("work/projects/"+r.project+"/artifacts/art_patch_"+milestone+".patch", "diff --git a/ledger/retry.go b/ledger/retry.go\n--- a/ledger/retry.go\n+++ b/ledger/retry.go\n"+
			"@@ -11,3 +11,4 @@\n package ledger\n-func Do() {}\n+func Do(key string) {}\n+func Carry(key string) string { return key }\n \n")
		r.write("work/projects/"+r.project+"/artifacts/art_tests_"+milestone+".txt", "ok  \tledger\t1.204s\n")
	}
	return report
}

// delta proposes a line for the project's memory and returns the proposal's id.
func (r *company) delta(title, line string) string {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, "work/projects", r.project, "memory.md"))
	if err != nil {
		r.t.Fatal(err)
	}
	heading := regexp.MustCompile(`(?m)^## .+$`).FindString(string(text))
	return r.id("artifact_id", "memory:delta", r.dir, "--project", r.project, "--title", title, "--under", heading, "--insert", line, "--by", r.worker)
}

// help creates a request for help and returns its id.
func (r *company) help(title, question string) string {
	r.t.Helper()
	manager := ""
	agents, _ := filepath.Glob(filepath.Join(r.dir, "org/agents/*/agent.yaml"))
	for _, file := range agents {
		if text, _ := os.ReadFile(file); bytes.Contains(text, []byte("role: manager")) {
			manager = filepath.Base(filepath.Dir(file))
		}
	}
	id := r.id("help_request_id", "help:new", r.dir, "--title", title, "--target", manager, "--requester", r.worker, "--project", r.project)
	name := filepath.Join("inbox", "help_requests", id+".md")
	text, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		r.t.Fatal(err)
	}
	r.write(name, strings.Replace(string(text), "## Question\n", "## Question\n\n"+question+"\n", 1))
	return id
}

// write writes a file in the workspace.
func (r *company) write(name, text string) {
	r.t.Helper()
	name = filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}
