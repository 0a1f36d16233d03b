//go:build agents

package agentbench

// The real agent CLIs, run through ac against a model server on the loopback.
// scripts/agents installs them and runs these tests. This file has the company that they
// work for, and helpers to run it.

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

// acBinary is the path of the program under test, cliDir the directory of the CLIs.
var acBinary, cliDir string

func TestMain(m *testing.M) { os.Exit(withProgram(m)) }

func withProgram(m *testing.M) int {
	if says := os.Getenv(toolSecret); says != "" {
		return serveTool(says)
	}
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
	live     bool     // launched as a live session, in mode full_auto
}

func kinds() []kind {
	return []kind{
		{"codex exec", "codex", words("codex exec --skip-git-repo-check --sandbox workspace-write --color never --json -"), "codex", false},
		{"codex app-server", "codex_app_server", nil, "codex", false},
		{"claude", "claude", words("claude --print --output-format stream-json --verbose --include-partial-messages --permission-mode acceptEdits --allowedTools=Bash"), "claude", false},
		{"gemini", "gemini", words("gemini --skip-trust --approval-mode=yolo --output-format stream-json"), "gemini", false},
		{"opencode", "opencode", words("opencode run --format json"), "", false},
		{"claude live", "claude", nil, "", true},
		{"gemini by ACP", "gemini", nil, "", true},
		{"opencode by ACP", "opencode", nil, "acp", true},
	}
}

func words(text string) []string { return strings.Fields(text) }

// each runs a test for every way of running an agent, in parallel.
func each(t *testing.T, test func(t *testing.T, k kind)) {
	t.Helper()
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			test(t, k)
		})
	}
}

// company is a workspace with an agent and a model server for it.
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

// companyOf makes a company. login is whether codex is logged in with a
// subscription, which jobs require.
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

// write writes a file in the user's home.
func (c *company) write(name, text string) {
	c.t.Helper()
	file := filepath.Join(c.home, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// configure points each CLI at the model.
func (c *company) configure(login bool) {
	c.write(".codex/config.toml", fmt.Sprintf(`model = "gpt-6.1-sol"
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
		c.write(".codex/auth.json", string(auth))
	}
	c.write(".gemini/settings.json", `{"security":{"auth":{"selectedType":"gemini-api-key"}},"privacy":{"usageStatisticsEnabled":false},"general":{"enableAutoUpdate":false,"maxAttempts":1}}`)
	c.write(".config/opencode/opencode.json", fmt.Sprintf(`{"autoupdate":false,"model":"bench/m1","provider":{"bench":{"npm":"@ai-sdk/openai-compatible","name":"bench","options":{"baseURL":%q,"apiKey":"k"},"models":{"m1":{"name":"m1","tool_call":true,"limit":{"context":1000000,"output":100000},"cost":{"input":1,"output":2}}}}}}`, c.model.URL+"/v1"))
	c.environ = []string{
		"HOME=" + c.home, "PATH=" + cliDir + ":" + os.Getenv("PATH"), "TMPDIR=" + c.home, "XDG_RUNTIME_DIR=" + c.t.TempDir(),
		"PWD=/somewhere/else", "LANG=C.UTF-8",
		"ANTHROPIC_BASE_URL=" + c.model.URL, "ANTHROPIC_AUTH_TOKEN=bench-token-1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_MAX_RETRIES=1", "CODEX_REFRESH_TOKEN_URL_OVERRIDE=" + c.model.URL + "/oauth/token",
		"GEMINI_API_KEY=bench-key-1", "GOOGLE_GEMINI_BASE_URL=" + c.model.URL,
	}
}

// patient lets codex retry as often as it does by default.
func (c *company) patient() {
	file := filepath.Join(c.home, ".codex/config.toml")
	text, err := os.ReadFile(file)
	if err != nil {
		c.t.Fatal(err)
	}
	var kept []string
	for line := range strings.Lines(string(text)) {
		if !strings.Contains(line, "_max_retries") {
			kept = append(kept, line)
		}
	}
	if err := os.WriteFile(file, []byte(strings.Join(kept, "")), 0o600); err != nil {
		c.t.Fatal(err)
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

// call calls a method through a server.
func (c *company) call(method string, params object, result any) {
	c.t.Helper()
	params["workspace_dir"] = c.dir
	text, err := json.Marshal(params)
	if err != nil {
		c.t.Fatal(err)
	}
	// Params may exceed the length limit of a command-line argument.
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

// run is a launched run.
type run struct {
	c   *company
	id  string
	ref string
}

// launch creates a run and launches it with a prompt.
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
	if c.kind.live {
		params["interactive"], params["mode"] = true, "full_auto"
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

// poll is the answer of session.poll.
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

// longest is how long an agent may take on a busy machine.
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

// record holds parts of run.yaml, and the usage that was recorded.
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

// transcript returns the items of the run's transcript.
func (r run) transcript() []*transcript.Item {
	fold := transcript.NewFold("")
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

// repo creates a repository and links it to the project.
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

// oddPrompt returns a prompt of 300 KB with characters that are easily corrupted in transit.
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
