package comma

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ac/dialect/dialecttest"

	"github.com/google/go-cmp/cmp"

	"ac/internal/param"
	"ac/workspace/doc"
)

// translateDoc translates a strategy. It assigns agent_<key> to each agent key.
func translateDoc(t *testing.T, whole object, change ...func(*translator)) (translated, error) {
	t.Helper()
	dir := t.TempDir()
	dialecttest.Write(t, filepath.Join(dir, "prompt.md"), "Be {{kind}}.")
	from := dialecttest.Must(folders{dir}.open(filepath.Join(dir, "s.json")))
	t.Cleanup(from.close)
	value := param.Parse(dialecttest.Must(json.Marshal(whole)))
	tr := translator{from: from, level: doc.LevelRunCommands, choose: func(key, model string) (string, string, error) {
		_, chosen, _ := strings.Cut(model, "/")
		return "agent_" + key, chosen, nil
	}}
	for _, fn := range change {
		fn(&tr)
	}
	return tr.translate(&value)
}

func plain(t *testing.T, v any) any {
	t.Helper()
	var out any
	if err := json.Unmarshal(dialecttest.Must(json.Marshal(v)), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestTranslation checks what each part of a strategy is translated into.
func TestTranslation(t *testing.T) {
	t.Parallel()
	flow := object{"name": "Main", "type": "sequential", "steps": []object{
		{"agent": "user", "description": "asks"},
		{"name": "Loop", "type": "cycle", "cycles": "Infinity", "observer": "judge", "breakCycleSignals": []string{"enough"}, "breakCycleSignalMatch": "first_line", "steps": []object{{"agent": "coder"}}},
		{"name": "Loop2", "type": "cycle", "observer": "judge", "steps": []object{{"agent": "coder"}}},
		{"name": "All", "type": "broadcast", "separator": "--", "steps": []object{{"agent": "coder"}, {"agent": "judge"}}},
	}}
	made, err := translateDoc(t, object{
		"name": "My Strategy!", "version": "2", "description": "why", "flow": flow,
		"mcpServers": object{"files": object{"command": "x"}, "web": object{"url": "https://x"}},
		"agents": object{
			"user":  object{"type": "user", "config": object{"requireInput": false, "presetMessage": "begin"}},
			"coder": object{"type": "llm", "model": "openai/gpt", "systemPrompt": "prompt.md", "tools": []string{"run_command", "edit_file"}, "maxSteps": 3, "mcpServers": []string{"files"}},
			"judge": object{"systemPromptTemplate": object{"template": "{{ a }} {{b.c}} {{ l }}{{nobody}}", "variables": object{"a": "A", "b": object{"c": 1.5}, "l": []any{"x", true}}}, "outputSchema": object{"type": "object"}, "description": "d"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	coder := func() object {
		return object{
			"kind": "task", "name": "coder", "agent": object{"agent_id": "agent_coder"}, "goal": "{{input}}", "answer": "prose", "interactive": true, "attempts": 1,
			"timeout_ms": 7200000, "remember": "coder", "model": "gpt", "instructions": "Be {{{{kind}}.", "permission_level": "run-commands", "mode": "accept_edits", "rules": []object{},
		}
	}
	judge := func() object {
		return object{
			"kind": "task", "name": "judge", "agent": object{"agent_id": "agent_judge"}, "goal": "{{input}}", "answer": "prose", "interactive": true, "attempts": 1,
			"timeout_ms": 7200000, "remember": "judge", "permission_level": "read-only", "mode": "default",
			"instructions": "A 1.5 x, true\n\nAnswer with JSON that fits this schema, and with nothing else:\n{\"type\":\"object\"}",
			"rules":        []object{{"operation": "fs_exec", "effect": "deny", "glob": "**"}, {"operation": "fs_write", "effect": "deny", "glob": "**"}},
		}
	}
	want := object{
		"schema_version": 1, "type": "workflow", "id": "comma:my-strategy", "name": "My Strategy!", "description": "why", "max_jobs": 1000,
		"flow": object{"kind": "sequence", "name": "Main", "steps": []object{
			{"kind": "input", "name": "user", "ask": false, "skip_if_given": true, "text": "begin"},
			{"kind": "cycle", "name": "Loop", "cycles": "unbounded", "observer": judge(), "break_on": object{"signals": []string{"enough"}, "match": "first_line"}, "steps": []object{coder()}},
			{"kind": "cycle", "name": "Loop2", "observer": judge(), "break_on": object{"signals": []string{"end cycle", "stop", "done"}, "match": "substring"}, "steps": []object{coder()}},
			{"kind": "parallel", "name": "All", "concurrency": 1, "separator": "--", "steps": []object{coder(), judge()}},
		}},
	}
	got := plain(t, made.template.Without(strategyMember))
	if diff := cmp.Diff(plain(t, want), got); diff != "" {
		t.Error(diff)
	}
	view, err := show(made.template)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(plain(t, flow), plain(t, view.flow)); diff != "" {
		t.Errorf("the flow tree is not the flow: %s", diff)
	}
	if len(view.keys) != 3 || len(view.servers) != 2 || view.servers[1].transport == view.servers[0].transport || len(view.assigned("files")) != 1 {
		t.Errorf("%+v", view)
	}
	wantNotes := []string{
		"description of strategy agents is not used: judge", "maxSteps of strategy agents is not used: coder",
		"mcpServers of strategy agents is not used: coder", "MCP server files of the strategy is not started", "MCP server web of the strategy is not started",
	}
	if diff := cmp.Diff(wantNotes, made.notices); diff != "" {
		t.Error(diff)
	}
}

// TestLevels checks which permissions an agent's tools translate into.
func TestLevels(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tools       []string
		bound       doc.Level
		level, mode string
		rules       int
	}{
		{nil, doc.LevelRunCommands, "read-only", "default", 2},
		{[]string{"read_file"}, doc.LevelRunCommands, "read-only", "default", 2},
		{[]string{"apply_patch"}, doc.LevelRunCommands, "patch", "accept_edits", 1},
		{[]string{"run_command"}, doc.LevelRunCommands, "run-commands", "accept_edits", 1},
		{[]string{"run_command", "move_file"}, doc.LevelRunCommands, "run-commands", "accept_edits", 0},
		{[]string{"run_command", "move_file"}, doc.LevelPatch, "patch", "accept_edits", 0},
		{[]string{"run_command", "move_file"}, doc.LevelReadOnly, "read-only", "default", 0},
	} {
		agent := object{}
		if c.tools != nil {
			agent["tools"] = c.tools
		}
		made, err := translateDoc(t, flowOf(object{"a": agent}, object{"name": "F", "type": "sequential", "steps": []object{{"agent": "a"}}}), func(tr *translator) { tr.level = c.bound })
		if err != nil {
			t.Fatal(err)
		}
		task := &made.template.Get("flow").Get("steps").Items[0]
		if task.Get("permission_level").Text != c.level || task.Get("mode").Text != c.mode || len(task.Get("rules").Items) != c.rules {
			t.Errorf("%v at most %s: %s %s %d", c.tools, c.bound, task.Get("permission_level").Text, task.Get("mode").Text, len(task.Get("rules").Items))
		}
	}
}

// TestStrategyFaults checks the errors for invalid strategies. They may quote names of agents and
// flows, but no other value of the file.
func TestStrategyFaults(t *testing.T) {
	t.Parallel()
	seq := func(steps ...object) object { return object{"name": "F", "type": "sequential", "steps": steps} }
	for want, whole := range map[string]object{
		"Strategy validation failed:\n  - version: expected string, got nothing": {"name": "N", "agents": object{"a": object{}}, "flow": seq(object{"agent": "a"})},
		"Strategy validation failed:\n  - unknown: extra":                        {"name": "N", "version": "1", "extra": 1, "agents": object{"a": object{}}, "flow": seq(object{"agent": "a"})},
		"agents.a: unknown: colour":                                              flowOf(object{"a": object{"colour": "secret"}}, seq(object{"agent": "a"})),
		"agents.a.maxSteps: ":                                                    flowOf(object{"a": object{"maxSteps": "secret"}}, seq(object{"agent": "a"})),
		"flow.steps[0]: unknown: more":                                           flowOf(object{"a": object{}}, seq(object{"agent": "a", "more": "secret"})),
		"flow: unknown: cycles":                                                  flowOf(object{"a": object{}}, object{"name": "F", "type": "sequential", "cycles": 2, "steps": []object{{"agent": "a"}}}),
		"flow.cycles: must be an integer above 0, or \"Infinity\"":               flowOf(object{"a": object{}}, object{"name": "F", "type": "cycle", "cycles": 0, "steps": []object{{"agent": "a"}}}),
		"flow.steps: ": flowOf(object{"a": object{}}, seq()),
		`Agent "k" references unknown agent type "robot". Built-in agents: [llm, user].`:                flowOf(object{"k": object{"type": "robot"}}, seq(object{"agent": "k"})),
		`Flow "F" references unknown flow type "maze". Built-in flows: [broadcast, cycle, sequential].`: flowOf(object{"a": object{}}, object{"name": "F", "type": "maze", "steps": []object{{"agent": "a"}}}),
		`Flow "F" references agent "x" which is not defined. Available agents: [a, b].`:                 flowOf(object{"a": object{}, "b": object{}}, seq(object{"agent": "x"})),
		`Flow "C" references agent "x" which is not defined. Available agents: [a].`:                    flowOf(object{"a": object{}}, object{"name": "C", "type": "cycle", "observer": "x", "steps": []object{{"agent": "a"}}}),
		`Agent "a": skills are not served`:                                                              flowOf(object{"a": object{"skills": []string{"secret"}}}, seq(object{"agent": "a"})),
		"agents.a.systemPrompt: prompt file not found: ../other.md":                                     flowOf(object{"a": object{"systemPrompt": "../other.md"}}, seq(object{"agent": "a"})),
		"agents.a.systemPromptTemplate.template: Template constructs are not supported":                 flowOf(object{"a": object{"systemPromptTemplate": object{"template": "{{ a | upper }}"}}}, seq(object{"agent": "a"})),
		"agents.a.systemPrompt: must have at most 32768 bytes":                                          flowOf(object{"a": object{"systemPrompt": strings.Repeat("x", maxPrompt+1)}}, seq(object{"agent": "a"})),
	} {
		_, err := translateDoc(t, whole)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v: %v, want %s", whole, err, want)
		}
	}
	many := object{}
	for i := range maxAgents + 1 {
		many[fmt.Sprint("a", i)] = object{}
	}
	if _, err := translateDoc(t, flowOf(many, seq(object{"agent": "a0"}))); err == nil || !strings.Contains(err.Error(), "at most 64 agents") {
		t.Error(err)
	}
}

// TestDocuments checks the file formats of strategies, and the errors for malformed files.
func TestDocuments(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	read := func(name, text string) (string, error) {
		path := filepath.Join(dir, name)
		dialecttest.Write(t, path, text)
		from := dialecttest.Must(folders{dir}.open(path))
		defer from.close()
		value, err := from.read()
		return value.Get("name").Text, err
	}
	for name, text := range map[string]string{
		"a.json":  `{"name": "N"}`,
		"b.jsonc": "{ // secret\n \"url\": \"http://x/*y*/\", /* \n */ \"name\": \"N\", }",
		"c.json":  `{"list": [1, 2, /* , */ ], "name": "N",}`,
		"d.yaml":  "name: N\n",
		"e.YML":   "{name: N}\n",
	} {
		if got, err := read(name, text); err != nil || got != "N" {
			t.Errorf("%s: %q %v", name, got, err)
		}
	}
	for name, want := range map[string][2]string{
		"f.json": {"{\n \"name\": secret\n}", "Failed to parse strategy JSON: line 2, column 10"},
		"g.json": {"{\"name\": \"N\"", "Failed to parse strategy JSON: line 1, column "},
		"h.json": {"/* never ends", "Failed to parse strategy JSON: line 1, column "},
		"i.yaml": {"name: N\n secret: [\n", "Failed to parse strategy YAML"},
		"j.toml": {"name = 'N'", "Unsupported strategy file extension: .toml. Use .json, .jsonc, .yaml, or .yml."},
		"k.json": {strings.Repeat(" ", maxStrategy+1), "Strategy file not found: "},
	} {
		_, err := read(name, want[0])
		if err == nil || !strings.HasPrefix(err.Error(), want[1]) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFolders checks which folders strategies may be read from.
func TestFolders(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	in, out := filepath.Join(base, "in"), filepath.Join(base, "out")
	dialecttest.Write(t, filepath.Join(in, "a.json"), "{}")
	dialecttest.Write(t, filepath.Join(out, "b.json"), "{}")
	for link, target := range map[string]string{"c.json": filepath.Join(out, "b.json"), "d.json": "a.json", "far": out} {
		if err := os.Symlink(target, filepath.Join(in, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(in, "pipe.json"), 0o600); err != nil {
		t.Fatal(err)
	}
	allowed := folders{filepath.Join(base, "missing"), in}
	for name, want := range map[string]string{
		"in/a.json": "", "in/d.json": "", "out/../in/a.json": "",
		"out/b.json": "outside", "in/c.json": "outside", "in/far/b.json": "outside", "in/../out/b.json": "outside", "nowhere/x.json": "outside",
		"in/none.json": "not found", "in/sub/none.json": "not found", "in/pipe.json": "not found",
	} {
		from, err := allowed.open(filepath.Join(base, name))
		if err == nil {
			_, err = from.read()
			from.close()
		}
		if (want == "") != (err == nil) || want != "" && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// TestAgents checks which agents of the company are assigned to a strategy's agents.
func TestAgents(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	speaker, printer := s.Agents["Speaker"], s.Agents["Printer"]
	for _, c := range []struct{ byDefault, override, key, model, agent, chosen, fault string }{
		{key: "SPEAKER", agent: speaker},
		{key: "speaker", model: "openai/x", agent: speaker},
		{key: "x", model: "ac/printer", agent: printer},
		{key: "x", model: "ac/" + printer, agent: printer},
		{key: "x", model: "ac/nobody", fault: `there is no agent "nobody"`},
		{byDefault: "Printer", key: "x", model: "openai/x", agent: printer},
		{byDefault: printer, key: "speaker", agent: speaker},
		{key: "x", model: "acp_own/big/one", agent: speaker, chosen: "big/one"},
		{key: "x", model: "cmd/m", agent: printer, chosen: "m"},
		{override: "cmd/m", key: "speaker", agent: printer, chosen: "m"},
		{override: "ac/printer", key: "speaker", agent: printer},
		{key: "x", model: "openai/x", fault: `Agent "x": no agent of this workspace serves model "openai/x"; start the server with --agent, or use model "ac/<agent>"`},
		{key: "x", model: "noslash", fault: "no agent of this workspace serves model"},
		{key: "x", fault: `Agent "x": it names no model`},
	} {
		s.Company.AgentID = c.byDefault
		choose, err := s.server.chooser(t.Context(), c.override != "")
		if err != nil {
			t.Fatal(err)
		}
		model := c.model
		if c.override != "" {
			model = c.override
		}
		agent, chosen, err := choose(c.key, model)
		if agent != c.agent || chosen != c.chosen || (err != nil) != (c.fault != "") || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%+v: %s %s %v", c, agent, chosen, err)
		}
	}
	for name, family := range map[string]string{"anthropic": "claude", "Claude_code": "claude", "openai": "codex", "codex_app_server": "codex", "google-vertex": "gemini", "gemini_cli": "gemini", "opencode": "opencode"} {
		if got := familyOf(name); got != family {
			t.Errorf("%s is of %s", name, got)
		}
	}
}

// TestPlaces checks where runs work.
func TestPlaces(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Join(s.Repo, "src"), link); err != nil {
		t.Fatal(err)
	}
	main := &doc.JobPlace{RepoID: "main", Isolation: "none"}
	below := &doc.JobPlace{RepoID: "main", Isolation: "none", WorkdirRel: "src"}
	for _, c := range []struct {
		repo, cwd string
		want      *doc.JobPlace
		fault     string
	}{
		{cwd: "", want: nil},
		{cwd: s.Dir, want: nil},
		{repo: "main", cwd: "", want: main},
		{repo: "main", cwd: s.Dir, want: main},
		{cwd: s.Repo, want: main},
		{cwd: s.Repo + "/", want: main},
		{cwd: filepath.Join(s.Repo, "src"), want: below},
		{cwd: link, want: below},
		{cwd: "src", fault: "cwd src is not inside a repository linked to this project"},
		{cwd: "/", fault: "cwd / is not inside"},
		{cwd: s.Repo + "x", fault: "is not inside"},
	} {
		s.Company.RepoID = c.repo
		got, err := s.server.place(t.Context(), c.cwd)
		if diff := cmp.Diff(c.want, got); err == nil && diff != "" || (err != nil) != (c.fault != "") || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%q: %+v %v", c.cwd, got, err)
		}
	}
}
