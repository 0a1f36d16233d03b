//go:build agents

package agentbench

// The real agent CLIs, run through ac against a model server on the loopback.
// scripts/agents installs them and runs this.

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ac/runs/transcript"
)

// ac is the program under test, cliDir where the CLIs are.
var acBinary, cliDir string

func TestMain(m *testing.M) { os.Exit(withProgram(m)) }

func withProgram(m *testing.M) int {
	cliDir = os.Getenv("AC_AGENTS_BIN")
	if cliDir == "" {
		fmt.Fprintln(os.Stderr, "AC_AGENTS_BIN names no directory of agent CLIs: run scripts/agents")
		return 1
	}
	dir, err := os.MkdirTemp("", "ac-agents")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary folder
	acBinary = filepath.Join(dir, "ac")
	if out, err := exec.Command("go", "build", "-o", acBinary, "ac/cmd/ac").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%s%v\n", out, err)
		return 1
	}
	return m.Run()
}

// kind is one way of running an agent.
type kind struct {
	name     string
	provider string
	argv     []string // of a launch, nil for a protocol
	worker   string   // the kind of worker that a job asks for, "" for none
	// told reports whether a run that is stopped still knows what it used.
	told bool
}

func kinds() []kind {
	return []kind{
		{"codex exec", "codex", words("codex exec --skip-git-repo-check --sandbox workspace-write --color never --json -"), "codex", false},
		{"codex app-server", "codex_app_server", nil, "codex", true},
		{"claude", "claude", words("claude --print --output-format stream-json --verbose --include-partial-messages --permission-mode acceptEdits --allowedTools=Bash"), "claude", true},
		{"gemini", "gemini", words("gemini --skip-trust --approval-mode=yolo --output-format stream-json"), "gemini", true},
		{"opencode", "opencode", words("opencode run --format json"), "", true},
	}
}

func words(text string) []string { return strings.Fields(text) }

// each runs a test for every way of running an agent, side by side.
func each(t *testing.T, test func(t *testing.T, k kind)) {
	t.Helper()
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			test(t, k)
		})
	}
}

// company is a workspace with an agent, and a model that it asks.
type company struct {
	t       *testing.T
	kind    kind
	model   *Server
	dir     string
	project string
	team    string
	agent   string
	environ []string
	home    string
}

func newCompany(t *testing.T, k kind, script Script) *company { return companyOf(t, k, false, script) }

// companyOf makes a company; login says whether codex is logged in by a
// subscription, as jobs demand.
func companyOf(t *testing.T, k kind, login bool, script Script) *company {
	t.Helper()
	model, err := Start(script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = model.Close() })
	c := &company{t: t, kind: k, model: model, home: t.TempDir(), dir: filepath.Join(t.TempDir(), "acme")}
	c.configure(login)
	c.ac("workspace:init", c.dir, "--name", "Acme")
	c.team = c.ac("team:new", c.dir, "--name", "Payments")
	c.agent = c.ac("agent:new", c.dir, "--name", "Ann", "--role", "worker", "--provider", k.provider, "--team", c.team)
	c.project = c.ac("project:new", c.dir, "--name", "Checkout")
	return c
}

// configure points each CLI at the model.
func (c *company) configure(login bool) {
	write := func(name, text string) {
		file := filepath.Join(c.home, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			c.t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			c.t.Fatal(err)
		}
	}
	write(".codex/config.toml", fmt.Sprintf(`model = "gpt-6.1-sol"
model_provider = "bench"
chatgpt_base_url = %q
[model_providers.bench]
name = "bench"
base_url = %q
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
[analytics]
enabled = false
`, c.model.URL, c.model.URL+"/v1"))
	part := func(v any) string {
		text, _ := json.Marshal(v)
		return base64.RawURLEncoding.EncodeToString(text)
	}
	token := part(object{"alg": "none"}) + "." + part(object{"email": "dev@example.com", "exp": 4102444800,
		"https://api.openai.com/auth": object{"chatgpt_plan_type": "pro", "chatgpt_account_id": "acc"}}) + ".c2ln"
	auth, _ := json.Marshal(object{"auth_mode": "chatgpt", "OPENAI_API_KEY": nil, "last_refresh": time.Now().UTC(),
		"tokens": object{"id_token": token, "access_token": token, "refresh_token": "r", "account_id": "acc"}})
	if login {
		write(".codex/auth.json", string(auth))
	}
	write(".gemini/settings.json", `{"security":{"auth":{"selectedType":"gemini-api-key"}},"privacy":{"usageStatisticsEnabled":false},"general":{"enableAutoUpdate":false,"maxAttempts":1}}`)
	write(".config/opencode/opencode.json", fmt.Sprintf(`{"autoupdate":false,"model":"bench/m1","provider":{"bench":{"npm":"@ai-sdk/openai-compatible","name":"bench","options":{"baseURL":%q,"apiKey":"k"},"models":{"m1":{"name":"m1","tool_call":true,"cost":{"input":1,"output":2}}}}}}`, c.model.URL+"/v1"))
	c.environ = []string{
		"HOME=" + c.home, "PATH=" + cliDir + ":" + os.Getenv("PATH"), "TMPDIR=" + c.home, "XDG_RUNTIME_DIR=" + c.t.TempDir(),
		"PWD=/somewhere/else", "LANG=C.UTF-8",
		"ANTHROPIC_BASE_URL=" + c.model.URL, "ANTHROPIC_AUTH_TOKEN=bench-token-1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_MAX_RETRIES=1", "CODEX_REFRESH_TOKEN_URL_OVERRIDE=" + c.model.URL + "/oauth/token",
		"GEMINI_API_KEY=bench-key-1", "GOOGLE_GEMINI_BASE_URL=" + c.model.URL,
	}
}

// ac runs a command and returns what it printed.
func (c *company) ac(args ...string) string {
	c.t.Helper()
	out, err := c.try(args...)
	if err != nil {
		c.t.Fatalf("ac %s: %v", strings.Join(args, " "), err)
	}
	return out
}

func (c *company) try(args ...string) (string, error) {
	cmd := exec.CommandContext(c.t.Context(), acBinary, args...)
	cmd.Env, cmd.Dir = c.environ, c.home
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if err != nil {
		err = fmt.Errorf("%w\n%s%s", err, &stdout, &stderr)
	}
	return strings.TrimSpace(stdout.String()), err
}

// call calls a method.
func (c *company) call(method string, params object, result any) {
	c.t.Helper()
	params["workspace_dir"] = c.dir
	text, err := json.Marshal(params)
	if err != nil {
		c.t.Fatal(err)
	}
	file := filepath.Join(c.t.TempDir(), "params.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		c.t.Fatal(err)
	}
	// Params may be longer than a word of a command line.
	cmd := exec.CommandContext(c.t.Context(), acBinary, "server:start")
	cmd.Env, cmd.Dir = c.environ, c.home
	cmd.Stdin = strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`+"\n", method, text))
	out, err := cmd.Output()
	if err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	var answer struct {
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(out, &answer); err != nil || len(answer.Error) > 0 {
		c.t.Fatalf("%s: %v %s", method, err, out)
	}
	if result != nil {
		if err := json.Unmarshal(answer.Result, result); err != nil {
			c.t.Fatal(err)
		}
	}
}

// run is a run that was launched.
type run struct {
	c   *company
	id  string
	ref string
}

// launch makes a run and launches it with a prompt.
func (c *company) launch(prompt string, more object) run {
	c.t.Helper()
	var made struct {
		RunID string `json:"run_id"`
	}
	c.call("run.create", object{"project_id": c.project, "agent_id": c.agent, "provider": c.kind.provider}, &made)
	params := object{"project_id": c.project, "run_id": made.RunID}
	if c.kind.argv == nil {
		params["prompt_text"] = prompt
	} else {
		params["argv"], params["stdin_text"] = c.kind.argv, prompt
	}
	for name, value := range more {
		params[name] = value
	}
	var launched struct {
		SessionRef string `json:"session_ref"`
	}
	c.call("session.launch", params, &launched)
	return run{c, made.RunID, launched.SessionRef}
}

// poll is how a session is.
type poll struct {
	Status    string  `json:"status"`
	ExitCode  *int    `json:"exit_code"`
	Signal    *string `json:"signal"`
	Error     string  `json:"error"`
	ErrorKind string  `json:"error_kind"`
}

func (r run) poll() (p poll) {
	r.c.call("session.poll", object{"session_ref": r.ref}, &p)
	return p
}

// longest is how long an agent may take on a machine that has other things to do.
const longest = 3 * time.Minute

// end waits for the end of the run.
func (r run) end() (p poll) {
	r.c.t.Helper()
	for deadline := time.Now().Add(longest); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if p = r.poll(); p.Status != "running" {
			return p
		}
	}
	r.c.t.Fatalf("the run goes on for more than %s\n%s", longest, show(r.transcript()))
	return p
}

func (r run) dir() string {
	return filepath.Join(r.c.dir, "work/projects", r.c.project, "runs", r.id)
}

func (r run) log() string {
	text, err := os.ReadFile(filepath.Join(r.dir(), "events.jsonl"))
	if err != nil {
		r.c.t.Fatal(err)
	}
	return string(text)
}

// record is run.yaml as run.list has it.
type record struct {
	RunID   string `json:"run_id"`
	Status  string `json:"status"`
	Usage   *usage `json:"usage"`
	Session string `json:"provider_session_id"`
	Kind    string `json:"error_kind"`
}

type usage struct {
	Source     string   `json:"source"`
	Input      int64    `json:"input_tokens"`
	Cached     int64    `json:"cached_input_tokens"`
	Output     int64    `json:"output_tokens"`
	Reasoning  int64    `json:"reasoning_output_tokens"`
	Total      int64    `json:"total_tokens"`
	Cost       *float64 `json:"cost_usd"`
	CostSource string   `json:"cost_source"`
}

func (r run) record() (found record) {
	r.c.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir(), "run.yaml"))
	if err != nil {
		r.c.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if id, ok := strings.CutPrefix(strings.TrimSpace(line), "provider_session_id: "); ok {
			found.Session = strings.Trim(id, `"'`)
		}
		if kind, ok := strings.CutPrefix(line, "error_kind: "); ok {
			found.Kind = strings.TrimSpace(kind)
		}
	}
	if text, err := os.ReadFile(filepath.Join(r.dir(), "outputs/token_usage.json")); err == nil {
		found.Usage = &usage{}
		if err := json.Unmarshal(text, found.Usage); err != nil {
			r.c.t.Fatal(err)
		}
	}
	return found
}

// transcript is what a person reads of the run.
func (r run) transcript() []*transcript.Item {
	fold := transcript.NewFold()
	lines := bufio.NewScanner(strings.NewReader(r.log()))
	lines.Buffer(nil, 64<<20)
	for seq := int64(1); lines.Scan(); seq++ {
		fold.Line(seq, lines.Bytes())
	}
	return fold.Items()
}

func show(items []*transcript.Item) string {
	var b strings.Builder
	for _, i := range items {
		fmt.Fprintf(&b, "%s %s %s %.200q", i.Kind, i.Role, i.State, i.Text)
		if i.Tool != nil {
			fmt.Fprintf(&b, " %s %q %s %.100q", i.Tool.Name, i.Tool.Title, i.Tool.Status, i.Tool.OutputTail)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// repo makes a repository that the project has a link to.
func (c *company) repo() string {
	dir := filepath.Join(c.t.TempDir(), "repo")
	for _, args := range [][]string{
		{"init", "-q", "-b", "main", dir}, {"-C", dir, "config", "user.email", "dev@example.com"}, {"-C", dir, "config", "user.name", "Dev"},
		{"-C", dir, "commit", "-q", "--allow-empty", "-m", "first"},
	} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			c.t.Fatalf("git: %v %s", err, out)
		}
	}
	c.call("workspace.repo_root.set", object{"repo_id": "web", "repo_path": dir}, nil)
	c.call("workspace.project.link_repo", object{"project_id": c.project, "repo_id": "web"}, nil)
	return dir
}

// oddPrompt is 300 KB with every character that may go wrong on its way.
func oddPrompt() string {
	odd := "\x01\x02\t\x1b[31m\x7f\\ \\n \"quoted\" 'single' `tick` $HOME ${PATH} $(id) %s %00 é ß 漢字 \u00a0\u2028\u2029\u200b\ufeff 🙂 🇩🇪 \U0010fffd -- --model x {\"json\": [1]} </user> <system> \r\n"
	var b strings.Builder
	b.WriteString("- BEGIN ")
	for i := 0; b.Len() < 300_000; i++ {
		fmt.Fprintf(&b, "%06d %s", i, odd)
	}
	b.WriteString("END")
	return b.String()
}

// TestPromptArrives shows that a prompt of 300 KB reaches the model byte for byte.
func TestPromptArrives(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k kind) {
		c := newCompany(t, k, Steps(Usage{}, Reply{Text: "read", Usage: Usage{Input: 10, Output: 2}}))
		prompt := oddPrompt()
		r := c.launch(prompt, nil)
		if p := r.end(); p.Status != "ended" {
			t.Fatalf("%+v\n%s", p, show(r.transcript()))
		}
		c.charged(r)
		for _, asked := range c.model.Requests() {
			if strings.Contains(strings.Join(asked.Texts, "\n"), prompt) {
				return
			}
		}
		for _, asked := range c.model.Requests() {
			text := strings.Join(asked.Texts, "\n")
			at := strings.Index(text, "- BEGIN")
			t.Logf("%s: %d bytes, begins at %d", asked.API, len(text), at)
			for i := 0; at >= 0 && i < len(prompt) && at+i < len(text); i++ {
				if prompt[i] != text[at+i] {
					t.Logf("differs at %d: sent %q, arrived %q", i, prompt[max(0, i-20):min(len(prompt), i+40)], text[max(0, at+i-20):min(len(text), at+i+40)])
					break
				}
			}
		}
		t.Error("the prompt did not arrive as it was sent")
	})
}

// TestWhereItWorks shows that an agent works in the repository, or the worktree,
// that it was given, whatever PWD the caller had.
func TestWhereItWorks(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k kind) {
		c := newCompany(t, k, Steps(Usage{}, Reply{Calls: []Call{{Run: "pwd > made.txt"}}}, Reply{Text: "done", Usage: Usage{Input: 10, Output: 2}}))
		repo := c.repo()
		r := c.launch("make a file", object{"repo_id": "web"})
		if p := r.end(); p.Status != "ended" {
			t.Fatalf("%+v\n%s", p, show(r.transcript()))
		}
		made, err := os.ReadFile(filepath.Join(repo, "made.txt"))
		if there, _ := filepath.EvalSymlinks(repo); err != nil || strings.TrimSpace(string(made)) != there {
			t.Errorf("%s (%v)\n%s", made, err, show(r.transcript()))
		}
	})
}

// TestWorktree shows that an agent that codes works in a worktree of its own.
func TestWorktree(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k kind) {
		c := newCompany(t, k, Steps(Usage{}, Reply{Calls: []Call{{Run: "pwd > made.txt"}}}, Reply{Text: "done", Usage: Usage{Input: 10, Output: 2}}))
		repo := c.repo()
		task := c.ac("task:new", c.dir, "--project", c.project, "--title", "Code")
		milestone := c.ac("task:add-milestone", c.dir, "--project", c.project, "--task", task, "--title", "Coded", "--kind", "coding", "--accept", "It is there")
		r := c.launch("make a file", object{"repo_id": "web", "task_id": task, "milestone_id": milestone})
		if p := r.end(); p.Status != "ended" {
			t.Fatalf("%+v\n%s", p, show(r.transcript()))
		}
		made, err := filepath.Glob(filepath.Join(c.dir, ".local/worktrees/*/*/*/made.txt"))
		if err != nil || len(made) != 1 {
			t.Fatalf("%v (%v)\n%s", made, err, show(r.transcript()))
		}
		text, err := os.ReadFile(made[0])
		if there, _ := filepath.EvalSymlinks(filepath.Dir(made[0])); err != nil || strings.TrimSpace(string(text)) != there {
			t.Errorf("it worked in %s (%v)", text, err)
		}
		if _, err := os.Stat(filepath.Join(repo, "made.txt")); err == nil {
			t.Error("it wrote into the repository beside")
		}
	})
}

// TestTrust shows that gemini in a folder that nobody trusts says so.
func TestTrust(t *testing.T) {
	t.Parallel()
	k := kinds()[3]
	k.argv = words("gemini --approval-mode=yolo --output-format stream-json")
	c := newCompany(t, k, Steps(Usage{}, Reply{Text: "done"}))
	if p := c.launch("try", nil).end(); p.Status != "failed" || p.ErrorKind != "trust" {
		t.Errorf("%+v", p)
	}
}

// TestAdapters shows what ac knows of the CLIs that are here.
func TestAdapters(t *testing.T) {
	t.Parallel()
	c := newCompany(t, kinds()[0], Steps(Usage{}, Reply{Text: "asked"}))
	// What takes longer than an answer waits for is asked for again.
	for deadline := time.Now().Add(longest); time.Now().Before(deadline); {
		var adapters []struct {
			Name      string `json:"name"`
			Available bool   `json:"available"`
			Reason    string `json:"reason"`
			Version   string `json:"version"`
			TriedWith string `json:"tried_with"`
			Probe     *struct {
				OK     bool   `json:"ok"`
				Detail string `json:"detail"`
			} `json:"probe"`
			Capabilities struct {
				Resumable bool `json:"supports_resumable_session"`
			} `json:"capabilities"`
		}
		text := c.ac("rpc:call", "--method", "adapter.status", "--params", fmt.Sprintf(`{"workspace_dir":%q}`, c.dir))
		if err := json.Unmarshal([]byte(text), &adapters); err != nil {
			t.Fatal(err)
		}
		good := len(adapters) == 4
		for _, a := range adapters {
			good = good && a.Available && a.Version == a.TriedWith && a.Probe != nil && a.Probe.OK
		}
		if good {
			if n := len(c.model.Requests()); n > 0 {
				t.Errorf("the probes asked a model %d times", n)
			}
			return
		}
		t.Logf("%+v", adapters)
	}
	t.Error("an adapter is not as it was tried")
}

// TestUsage shows that what is recorded is what the model charged, over several
// steps with cached tokens and reasoning.
func TestUsage(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k kind) {
		step := Usage{Input: 1000, Cached: 400, Output: 50, Reasoning: 20}
		if k.provider == "claude" {
			step.CacheWrite = 30
		}
		c := newCompany(t, k, Steps(Usage{Input: 7, Output: 3},
			Reply{Think: "hm", Text: "First I look.", Calls: []Call{{Run: "echo one"}}, Usage: step},
			Reply{Calls: []Call{{Run: "echo two"}}, Usage: step},
			Reply{Text: "The answer is 42.", Usage: step}))
		r := c.launch("what is the answer?", nil)
		if p := r.end(); p.Status != "ended" || p.ErrorKind != "" {
			t.Fatalf("%+v\n%s", p, show(r.transcript()))
		}
		c.charged(r)
		c.readable(r)
		c.keep(r)
		if r.record().Session == "" {
			t.Error("the agent's conversation is not kept")
		}
	})
}

// keep copies what the agent printed to the folder that AC_AGENTS_KEEP names: the
// recordings that runs/transcript is tested with are made of it.
func (c *company) keep(r run) {
	dir := os.Getenv("AC_AGENTS_KEEP")
	if dir == "" {
		return
	}
	text, err := os.ReadFile(filepath.Join(r.dir(), "outputs/stdout.txt"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, strings.ReplaceAll(c.kind.name, " ", "-")+".jsonl"), text, 0o644)
	}
	if err != nil {
		c.t.Error(err)
	}
}

// charged compares what is recorded with what the model charged.
func (c *company) charged(r run) {
	c.t.Helper()
	want, u := c.model.Charged(), r.record().Usage
	if u == nil {
		c.t.Fatalf("no usage is recorded; charged %+v", want)
	}
	got := Usage{Input: u.Input, Cached: u.Cached, Output: u.Output, Reasoning: u.Reasoning}
	want.Input, want.CacheWrite = want.Input+want.CacheWrite, 0
	if got != want || u.Total != want.Total() || u.Source != "provider_reported" {
		c.t.Errorf("recorded %+v (total %d, %s), charged %+v (total %d)", got, u.Total, u.Source, want, want.Total())
	}
	if reports := c.kind.provider == "claude" || c.kind.provider == "opencode"; reports != (u.CostSource == "provider_reported") {
		c.t.Errorf("the cost is from %s", u.CostSource)
	}
}

// readable holds a transcript of TestUsage to what a person expects.
func (c *company) readable(r run) {
	c.t.Helper()
	items := r.transcript()
	answers, tools := 0, []string{}
	for _, i := range items {
		switch {
		case i.Kind == transcript.KindMessage && strings.Contains(i.Text, "The answer is 42."):
			answers++
		case i.Tool != nil:
			tools = append(tools, i.Tool.Title+" = "+strings.TrimSpace(i.Tool.OutputTail))
		}
		if strings.Contains(i.Text, `"type"`) || strings.Contains(i.Text, `"jsonrpc"`) || i.State != transcript.StateClosed {
			c.t.Errorf("noise, or open: %s", show([]*transcript.Item{i}))
		}
	}
	if answers != 1 || len(tools) != 2 || tools[0] != "echo one = one" || tools[1] != "echo two = two" {
		c.t.Errorf("%d answers, tools %q\n%s", answers, tools, show(items))
	}
}

// TestStopped shows that a stop ends everything within two seconds, and what was
// used by then is kept where the agent tells it, else estimated by what it said.
func TestStopped(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k kind) {
		step := Usage{Input: 1000, Cached: 400, Output: 50}
		c := newCompany(t, k, Steps(Usage{}, Reply{Calls: []Call{{Run: "echo one"}}, Usage: step},
			Reply{Text: strings.Repeat("on and on ", 40), Endless: true, Pause: 50 * time.Millisecond, Usage: Usage{Input: 2000}}))
		r := c.launch("talk for ever", nil)
		deadline := time.Now().Add(longest)
		for main := 0; main < 2 && time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
			main = 0
			for _, asked := range c.model.Requests() {
				if _, side := Bookkeeping(asked, Usage{}); !side {
					main++
				}
			}
		}
		time.Sleep(300 * time.Millisecond) // it talks
		c.call("session.stop", object{"session_ref": r.ref}, nil)
		p := r.end()
		if took := r.stopTook(); p.Status != "stopped" || took > 2*time.Second {
			t.Errorf("%+v after %s", p, took)
		}
		u := r.record().Usage
		switch {
		case u == nil:
			t.Error("nothing is known of what it used")
		case k.told && (u.Source != "provider_reported" || u.Input < 1000 || u.Cached != 400):
			t.Errorf("%+v", u)
		case !k.told && (u.Source != "estimated_chars" || u.Output > 2000):
			t.Errorf("%+v", u)
		}
	})
}

// stopTook is the time from the wish to stop a run to its closing event.
func (r run) stopTook() time.Duration {
	stamp, err := os.ReadFile(filepath.Join(r.dir(), "outputs/stop_requested.flag"))
	if err != nil {
		r.c.t.Fatal(err)
	}
	asked, err := time.Parse(time.RFC3339, strings.TrimSpace(string(stamp)))
	if err != nil {
		r.c.t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(r.log()), "\n")
	var last struct {
		At time.Time `json:"ts_wallclock"`
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil {
		r.c.t.Fatal(err)
	}
	return last.At.Sub(asked)
}

// TestFailures shows that a failure tells its reason in the agent's words, of which
// kind it is, and that what never reached a model costs nothing.
func TestFailures(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k kind) {
		for _, f := range []struct {
			status int
			kind   string
		}{{401, "auth"}, {429, "rate_limit"}, {500, "overloaded"}, {529, "overloaded"}} {
			t.Run(fmt.Sprint(f.status), func(t *testing.T) {
				t.Parallel()
				c := newCompany(t, k, Steps(Usage{}, Reply{Status: f.status, Text: "the bench refuses", RetryAfter: time.Second}))
				r := c.launch("try", nil)
				p := r.end()
				if p.Status != "failed" || p.ErrorKind != f.kind || p.Error == "" {
					t.Errorf("%+v\n%s", p, show(r.transcript()))
				}
				if u := r.record().Usage; u != nil && u.Total > 0 {
					t.Errorf("it cost %+v", u)
				}
				t.Logf("%s: %s", p.ErrorKind, p.Error)
			})
		}
	})
}
