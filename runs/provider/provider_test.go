package provider

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ac/internal/proc/proctest"
	"ac/workspace/doc"
)

// cli writes a fake CLI: a shell script that prints what the real one would.
func cli(t testing.TB, dir, name, script string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := proctest.WriteProgram(file, []byte("#!/bin/sh\n"+script+"\n")); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestApprove checks which programs may be executed. Names count, directories never do, and a
// shell stays a shell under any name.
func TestApprove(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, c := range map[string]struct {
		file, link string
		patterns   []string
		ok         bool
	}{
		"plain":                {"codex", "", []string{"codex"}, true},
		"with suffix":          {"codex-nightly", "", []string{"codex"}, true},
		"upper case":           {"Codex", "", []string{"codex"}, true},
		"only a directory":     {"codex/agent", "", []string{"codex"}, false},
		"another name":         {"agent", "", []string{"codex"}, false},
		"fit by what it leads": {"codex-1.2", "mycli", []string{"codex"}, true},
		"fit by its own name":  {"program.js", "codex", []string{"codex"}, true},
		"a shell in disguise":  {"bash", "codex", []string{"codex"}, false},
		"no patterns":          {"anything", "", nil, true},
		"no patterns, shell":   {"zsh", "", nil, false},
	} {
		at := filepath.Join(dir, strings.ReplaceAll(name, " ", "_"))
		file := cli(t, at, c.file, "exit 0")
		if c.link != "" {
			link := filepath.Join(at, "links", c.link)
			if err := os.MkdirAll(filepath.Dir(link), 0o750); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(file, link); err != nil {
				t.Fatal(err)
			}
			file = link
		}
		p, err := Find(file, "")
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Approve(c.patterns); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAdapterStatus(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	marker := filepath.Join(dir, "executed")
	machine := doc.Machine{ProviderBins: map[string]string{
		"codex":  cli(t, dir, "codex", `[ "$1 $2" = "app-server --help" ] && exit 0; exit 3`),
		"claude": cli(t, dir, "assistant", "touch "+marker),
		"gemini": filepath.Join(dir, "gemini"),
	}}
	got := map[string]string{}
	for _, a := range StatusWithin(context.Background(), machine, Cache{Environ: os.Environ()}, 20*time.Second) {
		word, _, _ := strings.Cut(a.Reason, ":")
		got[a.Name] = word
		if a.Available != (a.Reason == "") {
			t.Errorf("%+v", a)
		}
		if a.Provider == "codex" && a.Program != machine.ProviderBins["codex"] || a.Provider == "gemini" && a.Program != "" {
			t.Errorf("%s is the program %q", a.Name, a.Program)
		}
	}
	want := map[string]string{"codex_app_server": "", "codex_cli": "", "claude_cli": "name not allowed", "gemini_cli": "binary not found"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("a program with an unapproved name was executed")
	}
}

func TestCommandLines(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		driver Driver
		work   Work
		want   string
		stdin  bool
	}{
		"codex":                  {Codex, Work{Program: "codex", Model: "m", Prompt: "p", Level: ReadOnly}, "codex exec --model m --skip-git-repo-check --sandbox read-only --color never --json -", true},
		"codex with schema":      {Codex, Work{Program: "codex", Prompt: "p", Level: Patch, SchemaFile: "s.json"}, "codex exec --skip-git-repo-check --sandbox workspace-write --color never --output-schema s.json --json -", true},
		"codex with files":       {Codex, Work{Program: "codex", Prompt: "p", Level: Patch, Files: FilesFor(Patch, "/ac", "/a b", "/c\"")}, `codex exec --skip-git-repo-check --sandbox workspace-write --color never --disable shell_tool --disable unified_exec -c mcp_servers.ac.command="/ac" -c mcp_servers.ac.args=["mcp:files","--dir","/a b","--dir","/c\""] --json -`, true},
		"codex, all":             {Codex, Work{Program: "codex", Prompt: "p", Level: Full}, "codex exec --skip-git-repo-check --sandbox danger-full-access --color never --json -", true},
		"claude reads":           {Claude, Work{Program: "claude", Prompt: "p", Level: ReadOnly}, "claude --print --output-format stream-json --verbose --include-partial-messages --permission-mode dontAsk --allowedTools=Read,Glob,Grep", true},
		"claude patches":         {Claude, Work{Program: "claude", Prompt: "p", Level: Patch}, "claude --print --output-format stream-json --verbose --include-partial-messages --permission-mode acceptEdits --disallowedTools=Bash", true},
		"claude runs":            {Claude, Work{Program: "claude", Prompt: "p", Level: RunCommands}, "claude --print --output-format stream-json --verbose --include-partial-messages --permission-mode acceptEdits --allowedTools=Bash", true},
		"claude, its own tools":  {Claude, Work{Program: "claude", Prompt: "p", Level: RunCommands, AllowedTools: []string{"a", "b"}}, "claude --print --output-format stream-json --verbose --include-partial-messages --permission-mode dontAsk --allowedTools=a,b", true},
		"claude, not more":       {Claude, Work{Program: "claude", Prompt: "p", Level: ReadOnly, AllowedTools: []string{"Read", "Bash(git log:*)", "mcp__x__y"}}, "claude --print --output-format stream-json --verbose --include-partial-messages --permission-mode dontAsk --allowedTools=Read,mcp__x__y", true},
		"claude, schema":         {Claude, Work{Program: "claude", Prompt: "p", Level: Patch, Schema: "{}"}, "claude --print --output-format json --permission-mode acceptEdits --disallowedTools=Bash --json-schema {}", true},
		"claude, schema, stream": {Claude, Work{Program: "claude", Prompt: "p", Level: ReadOnly, Schema: "{}", Stream: true}, "claude --print --output-format stream-json --verbose --include-partial-messages --permission-mode dontAsk --allowedTools=Read,Glob,Grep --json-schema {}", true},
		"gemini":                 {Gemini, Work{Program: "gemini", Model: "m", Prompt: "p", Level: ReadOnly}, "gemini --approval-mode=plan --output-format json --model m -p p", false},
		"gemini, trusted":        {Gemini, Work{Program: "gemini", Prompt: "p", Level: Patch, Trusted: true, Stream: true}, "gemini --skip-trust --approval-mode=auto_edit --output-format stream-json -p p", false},
		"gemini, all":            {Gemini, Work{Program: "gemini", Prompt: "p", Level: RunCommands}, "gemini --approval-mode=yolo --output-format json -p p", false},
		"gemini, long":           {Gemini, Work{Program: "gemini", Prompt: strings.Repeat("x", maxArgument+1), Level: RunCommands}, "gemini --approval-mode=yolo --output-format json", true},
		"gemini, like an option": {Gemini, Work{Program: "gemini", Prompt: "--help", Level: RunCommands}, "gemini --approval-mode=yolo --output-format json", true},
		"template":               {Gemini, Work{Prompt: "p", Model: "m", Level: "patch", Template: []string{"gemini-x", "--m={MODEL}", "{PERMISSION_LEVEL}", "{PROMPT}"}}, "gemini-x --m=m patch p", false},
		"template without":       {Gemini, Work{Prompt: "p", Template: []string{"gemini-x"}}, "gemini-x", true},
	} {
		cli, err := CLIOf(string(c.driver))
		if err != nil {
			t.Fatal(err)
		}
		call, err := cli.ForWork(c.work)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := strings.Join(call.Argv, " "); got != c.want || (call.Stdin != nil) != c.stdin {
			t.Errorf("%s:\n got %s (stdin %v)\nwant %s", name, got, call.Stdin != nil, c.want)
		}
	}
	for _, template := range [][]string{{""}, {"/bin/bash", "-c"}, {"gemini", "a\nb"}, {"nice", "SH", "-c"}, {"BASH"}, {"gemini", "/bin/zsh"}, {"gemini", "a\x00b"}} {
		if _, err := (geminiCLI{}).ForWork(Work{Template: template}); err == nil {
			t.Errorf("%q was accepted", template)
		}
	}
}

// TestServersOfClaude checks that the server list is part of its option's word. As a separate
// word, the list would swallow the words after it.
func TestServersOfClaude(t *testing.T) {
	t.Parallel()
	words, err := LiveCall{Provider: "claude", Driver: doc.LiveClaude, Servers: "/run/x.mcp.json", Resume: "s"}.Words(doc.Machine{ProviderBins: map[string]string{"claude": "/bin/claude"}})
	if got := strings.Join(words, " "); err != nil || !strings.HasSuffix(got, " --mcp-config=/run/x.mcp.json --resume s") {
		t.Errorf("%s %v", got, err)
	}
}

// TestLiveModesAreNeverWide checks that claude never gets a mode that allows by itself,
// whatever the run's mode: it must ask, and ac judges its requests.
func TestLiveModesAreNeverWide(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]string{"default": "default", "accept_edits": "default", "plan": "plan", "full_auto": "default"} {
		words, err := LiveCall{Provider: "claude", Driver: doc.LiveClaude, Mode: mode}.Words(doc.Machine{})
		if got := strings.Join(words, " "); err != nil || !strings.HasSuffix(got, " --permission-prompt-tool stdio --permission-mode "+want) {
			t.Errorf("%s: %s %v", mode, got, err)
		}
	}
}

func TestClaudeAnswer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ output, want string }{
		"result wins":    {`{"type":"assistant","message":{"content":[{"type":"text","text":"hi"}]}}` + "\n" + `{"type":"result","result":"done"}`, "done"},
		"last result":    {`{"type":"result","result":"one"}` + "\n" + `{"type":"result","result":"two"}` + "\n" + `{"type":"result","result":" "}`, "two"},
		"not doubled":    {`{"type":"message_stop","text":"hi","message":{"content":"hi"}}`, "hi"},
		"final twice":    {`{"type":"item.completed","text":"hi"}` + "\n" + `{"type":"turn.completed","text":"hi"}`, "hi"},
		"characters":     {`{"type":"final","text":"` + strings.Repeat("é", 150) + `"}` + "\n" + `{"type":"final","text":"b"}`, strings.Repeat("é", 150) + "b"},
		"fragments join": {`{"type":"delta","delta":{"text":"a"}}` + "\n" + `{"type":"delta","delta":{"text":"b"}}`, "ab"},
		"long fragments": {`{"type":"delta","delta":{"text":"` + strings.Repeat("a", 300) + `"}}` + "\n" + `{"type":"delta","delta":{"text":"b"}}`, strings.Repeat("a", 300) + "b"},
		"told as a whole": {
			`{"type":"stream_event","event":{},"delta":{"text":"x"}}` + "\n" + `{"type":"stream_event","delta":{"text":"x"}}` + "\n" +
				`{"type":"assistant","message":{"content":[{"type":"text","text":"xx"}]}}` + "\n" + `{"type":"stream_event","delta":{"text":"y"}}`, "xxy",
		},
		"nothing": {"plain words\n{}\n", ""},
	} {
		got, err := claudeCLI{}.Answer(c.output, "")
		if got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestGuard(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	marker := filepath.Join(dir, "executed")
	bins := map[string]string{
		"yes":     cli(t, dir, "codex", `echo "Logged in using ChatGPT"`),
		"no":      cli(t, dir, "codex-no", `echo "Not logged in"`),
		"key":     cli(t, dir, "codex-key", `echo "Logged in using an API key"`),
		"fails":   cli(t, dir, "codex-fails", `echo "Logged in"; exit 1`),
		"other":   cli(t, dir, "agent", "touch "+marker),
		"gemini":  cli(t, dir, "gemini", "touch "+marker),
		"missing": filepath.Join(dir, "codex-missing"),
	}
	path := "PATH=" + os.Getenv("PATH")
	for name, c := range map[string]struct {
		provider, bin string
		environ       []string
		reason        string
	}{
		"subscription": {"codex", "yes", nil, ""},
		"logged out":   {"codex", "no", nil, ProbeFailed},
		"by key":       {"codex", "key", nil, ProbeFailed},
		"probe fails":  {"codex", "fails", nil, ProbeFailed},
		"missing":      {"codex", "missing", nil, ProbeFailed},
		"unapproved":   {"codex", "other", nil, UnapprovedBinary},
		"key is set":   {"codex_app_server", "yes", []string{"OPENAI_API_KEY=k"}, APIKeyPresent},
		"key, missing": {"codex", "missing", []string{"CODEX_API_KEY=k"}, APIKeyPresent},
		"claude key":   {"claude_code", "other", []string{"ANTHROPIC_API_KEY=k"}, UnapprovedBinary},
		"gemini":       {"gemini", "gemini", []string{"GEMINI_API_KEY=k"}, ""},
		"gemini blank": {"gemini", "gemini", []string{"GEMINI_API_KEY= "}, ProbeFailed},
		"vertex":       {"gemini", "gemini", []string{"GOOGLE_GENAI_USE_VERTEXAI=TRUE", "GOOGLE_CLOUD_PROJECT=p", "GOOGLE_CLOUD_LOCATION=l"}, ""},
		"other api":    {"local", "other", nil, ""},
	} {
		machine := doc.Machine{ProviderBins: map[string]string{c.provider: bins[c.bin]}}
		got := Guard(context.Background(), machine, c.provider, nil, append(c.environ, path))
		if got.Reason != c.reason || (c.reason == "") != (got.Proof.Strategy != "") {
			t.Errorf("%s: %q (%s), proof %+v", name, got.Reason, got.Message, got.Proof)
		}
	}
	key := []string{"GEMINI_API_KEY=k", path}
	for program, reason := range map[string]string{bins["gemini"]: "", bins["other"]: UnapprovedBinary, "/bin/sh": UnapprovedBinary} {
		if got := Guard(context.Background(), doc.Machine{}, "gemini", []string{program, "{PROMPT}"}, key); got.Reason != reason {
			t.Errorf("template %s: %q", program, got.Reason)
		}
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("a refused or unproven program was executed")
	}
}

// TestAbilities checks the abilities read from a program's help, and that a failed help call
// counts as no answer.
func TestAbilities(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, c := range map[string]struct {
		cli      CLI
		script   string
		want     Abilities
		answered bool
	}{
		"codex":  {codexCLI{}, `[ "$1 $2" = "exec --help" ] && echo "  --output-schema FILE, --disable X"`, Abilities{Schema: true, NoRuns: true}, true},
		"claude": {claudeCLI{}, `[ "$1" = "--help" ] && echo "  --json-schema, or stream-json"`, Abilities{Schema: true, Stream: true}, true},
		"gemini": {geminiCLI{}, `echo "choices: json"`, Abilities{}, true},
		"silent": {geminiCLI{}, `exit 1`, Abilities{}, false},
	} {
		able, answered := AbilitiesOf(t.Context(), c.cli, cli(t, dir, name, c.script), os.Environ())
		if able != c.want || answered != c.answered {
			t.Errorf("%s: %+v, %v", name, able, answered)
		}
	}
}

// TestProbe checks which outcomes count as accepting a run's command line.
func TestProbe(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		ok     bool
		detail string
	}{
		"wants a prompt": {`echo "No prompt provided via stdin." >&2; exit 1`, true, ""},
		"refuses a word": {`echo "error: unexpected argument '--json' found" >&2; exit 2`, false, "error: unexpected argument '--json' found"},
	} {
		a := adapters()[1]
		p := a.try(t.Context(), cli(t, t.TempDir(), "codex", `[ "$1" = --version ] && { echo "codex-cli 1"; exit; }; [ "$1 $2" = "exec --help" ] && { echo resume; exit; }; `+c.script), os.Environ())
		if p.OK != c.ok || p.Detail != c.detail || p.Version != "codex-cli 1" || !p.Resume {
			t.Errorf("%s: %+v", name, p)
		}
	}
	server := adapters()[0]
	p := server.try(t.Context(), cli(t, t.TempDir(), "codex", `[ "$1" = app-server ] || exit 0; while read -r line; do case $line in *'"id":2'*) echo '{"id":2,"result":{"thread":{"id":"t"}}}';; esac; done`), os.Environ())
	if !p.OK {
		t.Errorf("%+v", p)
	}
	p = server.try(t.Context(), cli(t, t.TempDir(), "codex", `[ "$1" = app-server ] || exit 0; while read -r line; do case $line in *'"id":2'*) echo '{"id":2,"error":{"code":-32600,"message":"thread/start needs more"}}';; esac; done`), os.Environ())
	if p.OK || p.Detail != "thread/start needs more" {
		t.Errorf("%+v", p)
	}
	p = server.try(t.Context(), filepath.Join(t.TempDir(), "codex"), os.Environ())
	if p.OK || !strings.Contains(p.Detail, "no such file") {
		t.Errorf("a program that cannot be started: %+v", p)
	}
}

func TestAbout(t *testing.T) {
	t.Parallel()
	bin := cli(t, t.TempDir(), "codex", `[ "$1" = --version ] && { echo "codex-cli 1.2"; echo more; exit 0; }; printf 'usage\n'`)
	p := About(context.Background(), "codex", bin, os.Environ())
	if p.Version == nil || *p.Version != "codex-cli 1.2" || p.HelpHash == nil || len(*p.HelpHash) != 64 {
		t.Errorf("%+v", p)
	}
}

// TestAnswers checks how each CLI's answer is extracted from its output.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ provider, stdout, last, want string }{
		"codex from its file":  {"codex", `{"type":"item.completed","item":{"text":"draft"}}`, "the answer", "the answer"},
		"codex from its lines": {"codex", `{"type":"item.completed","item":{"type":"agent_message","text":"the longer answer"}}` + "\n" + `{"type":"turn.completed","usage":{"input_tokens":1}}`, "", "the longer answer"},
		"gemini":               {"gemini_cli", `{"response":"hello","stats":{}}`, "", "hello"},
		"gemini, streamed":     {"gemini", `{"type":"message","role":"user","content":"q"}` + "\n" + `{"type":"message","role":"assistant","content":"let me see","delta":true}` + "\n" + `{"type":"tool_use","tool_id":"a"}` + "\n" + `{"type":"message","role":"assistant","content":"4","delta":true}` + "\n" + `{"type":"message","role":"assistant","content":"2","delta":true}` + "\n" + `{"type":"result","status":"success"}`, "", "42"},
		"gemini, plain":        {"gemini", "no JSON at all", "", "no JSON at all"},
		"claude":               {"claude-code", `{"type":"result","subtype":"success","result":"done"}`, "", "done"},
	} {
		cli, err := CLIOf(c.provider)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := cli.Answer(c.stdout, c.last); err != nil || got != c.want {
			t.Errorf("%s: %q (%v)", name, got, err)
		}
		if _, err := cli.Answer(" \n", ""); err == nil {
			t.Errorf("%s: nothing was taken for an answer", name)
		}
	}
	if _, err := CLIOf("cmd"); err == nil {
		t.Error("cmd has a driver")
	}
}

// TestModelFlag checks that a hint that only names a provider yields no model.
func TestModelFlag(t *testing.T) {
	t.Parallel()
	for hint, want := range map[string]string{"codex": "", "claude_code": "", "": "", "gpt-5": "gpt-5", "claude-opus": "claude-opus"} {
		if got := ModelFlag(hint); got != want {
			t.Errorf("%q: %q", hint, got)
		}
	}
}
