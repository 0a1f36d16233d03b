package canarytest

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ac/company/workforce"
	"ac/governance/pipeline"
	"ac/heartbeat/job"
	"ac/rpc"
	"ac/runs/session"
	"ac/workspace"
)

// Numbers of planted secrets. Given secrets are in environments, inherited or set at launch, and
// may occur nowhere afterwards. Spoken secrets are written by people. They are in no environment,
// and must not leave the machine.
const (
	inherited = 30
	launched  = 5
	spoken    = 15
)

// givenCore returns the core of a given secret. The tests search for each of its two halves, so
// they also find a secret that was cut in two.
func givenCore(i int) string { return fmt.Sprintf("Q%02dxvLk3RtNw%02dzPm7Yh", i, i) }

var givenHalves = regexp.MustCompile(`Q(\d\d)xvLk3Rt|Nw(\d\d)zPm7Yh`)

func spokenCore(i int) string { return fmt.Sprintf("SPOKEN%02dZQ9XV7LK", i) }

var spokenCores = regexp.MustCompile(`SPOKEN(\d\d)ZQ9XV7LK`)

// givenSecret wraps a core in characters that encoders treat differently.
func givenSecret(i int) string {
	shapes := []string{
		"%s", `say "%s"`, `C:\keys\%s\n`, "-----BEGIN PRIVATE KEY-----\n%s\n-----END PRIVATE KEY-----\n", "pässwört-%s-😀", "wJalr/%s/K7MD+EXAMPLE==",
		"<%s>&'", "tab\there\x01%s\x7f", "two words %s", "https://user:%s@host/path?a=b", "line\r\n%s\u2028end", strings.Repeat("long ", 300) + "%s", "{\"key\":\"%s\"}", "%%%s%%", "'%s'",
	}
	return fmt.Sprintf(shapes[i%len(shapes)], givenCore(i))
}

// spokenSecret returns a secret that its format reveals.
func spokenSecret(i int) string {
	shapes := []string{
		"sk-proj-%sabcdefghijkl", "ghp_%sabcdefghijkl", "xoxb-123456-%s", "Bearer %s.abc", "api_key=%s", `password: "two words %s"`,
		"AKIA%s", "glpat-%sabcdefghij", "github_pat_%sabcdefghijklmnopqrst", "eyJhbGciOiJIUzI1NiJ9.eyJ%sabcd.abcdefghijklmnop", "-----BEGIN RSA PRIVATE KEY-----\n%s\n-----END RSA PRIVATE KEY-----",
		"postgres://user:%s@db/x", `{"client_secret":"%s"}`, `{"text":"{\"access_token\":\"%s\"}"}`, "AWS_SECRET_ACCESS_KEY=%s",
	}
	return fmt.Sprintf(shapes[i%len(shapes)], spokenCore(i))
}

// town is a company full of secrets, with its own environment and folders.
type town struct {
	t            *testing.T
	root         string // contains everything that the program may write
	ws           string
	environ      []string
	executable   string
	s            *server
	project, run string
	in           object
	spoken       string          // all spoken secrets
	kept         map[string]bool // the kinds of keeper processes checked
}

func newTown(t *testing.T) *town {
	t.Helper()
	root, err := os.MkdirTemp("", "t") //nolint:usetesting // short: sockets lie below it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(root); err != nil {
			t.Error(err)
		}
	})
	c := &town{t: t, root: workspace.Canonical(root), kept: map[string]bool{}}
	c.ws, c.in = filepath.Join(c.root, "ws"), object{"workspace_dir": filepath.Join(c.root, "ws")}
	if c.executable, err = os.Executable(); err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(c.executable, filepath.Join(bin, worker)); err != nil {
		t.Fatal(err)
	}
	c.environ = []string{"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"), "GORACE=atexit_sleep_ms=0"}
	for name, dir := range map[string]string{"HOME": "home", "TMPDIR": "tmp", "XDG_RUNTIME_DIR": "run", "XDG_CACHE_HOME": "cache"} {
		at := filepath.Join(c.root, dir)
		if err := os.Mkdir(at, 0o700); err != nil {
			t.Fatal(err)
		}
		c.environ = append(c.environ, name+"="+at)
	}
	for i := range inherited {
		name := []string{"TOKEN", "API_KEY", "secret", "PASSWD", "Credentials", "AUTH_HEADER"}[i%6]
		c.environ = append(c.environ, fmt.Sprintf("AC_CANARY_%d_%s=%s", i, name, givenSecret(i)))
	}
	var all []string
	for i := range spoken {
		all = append(all, spokenSecret(i))
	}
	c.spoken = strings.Join(all, "\n")
	c.s = start(t, c.environ)
	return c
}

// with returns params for the workspace, with more added.
func (c *town) with(more object) object {
	all := maps.Clone(c.in)
	maps.Copy(all, more)
	return all
}

// TestCanaries lets a company do everything with fifty secrets. Then it searches for each of them
// in every file that the program wrote, and in all its output.
func TestCanaries(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	c.found()
	c.speak()
	c.launch()
	c.jobs()
	c.refused()
	said := c.fill()
	c.leave()
	said += run(t, c.environ, workforce.CreateSharePackParams{ProjectID: c.project, CreatedBy: "human"}, shareCommand, c.ws)
	c.reads()
	c.search() // while the server has its files open
	c.s.stop()
	c.search()
	c.silent("stdout of the server", c.s.stdout.String())
	c.silent("stderr of the server", c.s.stderr.String())
	c.silent("commands", said)
	if _, err := os.Stat("/proc/self"); err == nil && !c.kept[job.RunCommand] {
		t.Errorf("only processes of %v were looked at", c.kept)
	}
	if n := strings.Count(c.s.stdout.String(), "[REDACTED]"); n < 1000 {
		t.Errorf("the canaries never came near the answers: %d marks", n)
	}
}

// found creates the company.
func (c *town) found() {
	c.t.Helper()
	var made struct {
		ProjectID string `json:"project_id"`
	}
	c.s.must("workspace.init", c.with(object{"company_name": "Acme"}), nil)
	c.s.must("events.subscribe", c.with(object{"subscription_id": "s"}), nil)
	c.s.must("workspace.project.create_with_defaults", c.with(object{"name": "P"}), &made)
	c.project = made.ProjectID
	agent := "schema_version: 1\ntype: agent\nid: agent_w\nname: Worker\nrole: worker\nprovider: codex\ncreated_at: 2026-01-01T00:00:00.000Z\nlauncher: {}\n"
	machine := "schema_version: 1\ntype: machine\nrepo_roots:\n  a: \"/srv/" + spokenSecret(0) + "\"\nprovider_bins:\n  gemini: \"/nowhere/" + spokenSecret(1) + "\"\n"
	c.put("org/agents/agent_w/agent.yaml", agent)
	c.put(workspace.MachineFile, machine)
}

func (c *town) put(name, text string) {
	c.t.Helper()
	file := filepath.Join(c.ws, filepath.FromSlash(name))
	err := os.MkdirAll(filepath.Dir(file), 0o750)
	if err == nil {
		err = os.WriteFile(file, []byte(text), 0o600)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// speak writes spoken secrets to documents that are stored verbatim.
func (c *town) speak() {
	c.t.Helper()
	c.run = c.newRun()
	c.put("work/projects/"+c.project+"/artifacts/art_c.md", "---\nschema_version: 1\ntype: proposal\nid: art_c\ncreated_at: 2026-01-01T00:00:00.000Z\ntitle: T\nvisibility: org\nproduced_by: human\nrun_id: "+
		c.run+"\ncontext_pack_id: ctx_1\n---\n\n## Summary\n\n"+c.spoken+"\n\n## Plan\n\n## Risks\n")
	human := object{"project_id": c.project, "author_id": "human", "author_role": "human"}
	comment := c.with(human)
	maps.Copy(comment, object{"body": c.spoken, "target_run_id": c.run})
	c.s.must("comment.add", comment, nil)
	c.s.must("conversation.message.send", c.with(object{
		"scope": "project", "project_id": c.project, "conversation_id": "conv_" + c.project + "_home", "author_id": "human_ceo", "author_role": "ceo", "body": c.spoken,
	}), nil)
	var delta struct {
		ArtifactID string `json:"artifact_id"`
	}
	lines := slices.Collect(strings.SplitSeq("- "+c.spoken, "\n"))
	c.s.must("memory.propose_delta", c.with(object{
		"project_id": c.project, "title": "T", "under_heading": "## Decisions", "insert_lines": lines, "visibility": "org",
		"produced_by": "human", "run_id": "run_manual", "context_pack_id": "ctx_manual",
	}), &delta)
	c.s.must("memory.approve_delta", c.with(object{
		"project_id": c.project, "artifact_id": delta.ArtifactID, "actor_id": "human", "actor_role": "human", "notes": c.spoken,
	}), nil)
}

// launch runs a provider that prints all secrets from its arguments and its environment. Its stdin
// also contains secrets.
func (c *town) launch() {
	c.t.Helper()
	argv, env, stdin := []string{c.executable, spillCommand, c.spoken}, map[string]string{}, ""
	for i := range launched {
		env[fmt.Sprintf("LAUNCH_CANARY_%d_TOKEN", i)] = givenSecret(inherited + i)
	}
	for i := range inherited + launched {
		if secret := givenSecret(i); len(secret) < 1000 {
			argv, stdin = append(argv, "--token="+secret), stdin+secret+"\n"
		}
	}
	c.session(c.run, object{"argv": argv, "env": env, "stdin_text": stdin}, "ended")
}

func (c *town) newRun() string {
	c.t.Helper()
	var made struct {
		RunID string `json:"run_id"`
	}
	c.s.must("run.create", c.with(object{"project_id": c.project, "agent_id": "agent_w", "provider": "cmd"}), &made)
	return made.RunID
}

func (c *town) session(run string, params object, want string) {
	c.t.Helper()
	launch := c.with(object{"project_id": c.project, "run_id": run})
	maps.Copy(launch, params)
	var made struct {
		Ref string `json:"session_ref"`
	}
	var end struct{ Status string }
	c.s.must("session.launch", launch, &made)
	c.s.must("session.collect", c.with(object{"session_ref": made.Ref}), &end)
	if end.Status != want {
		c.t.Errorf("session %s is %s", made.Ref, end.Status)
	}
}

// refused launches a missing program whose path contains a secret, which the error must not reveal.
func (c *town) refused() {
	c.t.Helper()
	c.session(c.newRun(), object{"argv": []string{"/nowhere/" + givenCore(0)}}, "failed")
}

// jobs submits one job that succeeds and one that fails.
func (c *town) jobs() {
	c.t.Helper()
	for _, goal := range []string{"succeed", "fail"} {
		spec := object{
			"worker_kind": "codex", "workspace_dir": c.ws, "project_id": c.project, "job_id": "job_" + goal, "goal": goal + " " + c.spoken,
			"constraints": []string{c.spoken}, "deliverables": []string{}, "permission_level": "read-only", "context_refs": []any{},
		}
		c.s.must("job.submit", object{"job": spec}, nil)
		var got struct{ Status string }
		for ; got.Status != "completed"; time.Sleep(5 * time.Millisecond) {
			c.keepers()
			c.s.must("job.collect", c.with(object{"project_id": c.project, "job_id": "job_" + goal}), &got)
		}
	}
}

// keepers checks the guards, supervisors and job runners. They must receive secrets through pipes,
// never in their arguments or environment.
func (c *town) keepers() {
	c.t.Helper()
	programs, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		c.t.Fatal(err)
	}
	for _, program := range programs {
		executable, _ := os.Readlink(program) // fails for processes of others, or gone ones
		dir := filepath.Dir(program)
		words, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		environ, _ := os.ReadFile(filepath.Join(dir, "environ"))
		part := strings.Split(string(words)+"\x00", "\x00")[:2]
		if err != nil || executable != c.executable || !slices.Contains([]string{session.GuardCommand, session.SuperviseCommand, job.RunCommand}, part[1]) {
			continue
		}
		c.kept[part[1]] = true
		c.silent("the process of "+part[1], string(words)+string(environ))
	}
}

// fill lets the worker fill an artifact. The worker writes it to a file of its own.
func (c *town) fill() string {
	c.t.Helper()
	return run(c.t, c.environ, pipeline.FillSpec{ProjectID: c.project, ArtifactID: "art_c", AgentID: "agent_w", Prompt: givenSecret(1) + c.spoken}, fillCommand, c.ws)
}

// leave creates diagnostics for other people and an export for another machine.
func (c *town) leave() {
	c.t.Helper()
	c.s.must("workspace.diagnostics", c.with(object{"out_dir": filepath.Join(c.root, "diagnostics")}), nil)
	c.s.must("workspace.export", c.with(object{"out_dir": filepath.Join(c.root, "export"), "include_local": true}), nil)
}

// reads calls every method that only reads, and some others. It skips those with nil params below.
func (c *town) reads() {
	c.t.Helper()
	project := c.with(object{"project_id": c.project})
	home := c.with(object{"scope": "project", "project_id": c.project})
	ofRun := c.with(object{"project_id": c.project, "run_id": c.run})
	more := map[string]object{
		"run.replay": c.with(object{"project_id": c.project, "run_id": c.run, "mode": "verified"}), "sharepack.replay": nil,
		"artifact.read":        c.with(object{"project_id": c.project, "artifact_id": "art_c", "actor_id": "human", "actor_role": "human"}),
		"memory.preview_delta": nil,                                                // the proposal is approved already
		"interaction.get":      nil,                                                // there are none
		"run.changes":          nil, "artifact.list": nil, "artifact.preview": nil, // need a run with a worktree
		"artifact.checkpoints": project,
		"needs.get":            nil, // nothing waits
		"artifact.evidence":    nil, // there is no milestone report
		"task.get":             nil, // there is none
		"search.query":         c.with(object{"q": "run", "limit": 100}),
		"usage.series":         c.with(object{"from": "2026-01-01", "to": "2026-01-31"}),
		"skill.read":           c.with(object{"name": "init"}),
		"terminal.read":        nil, // there are none
		"workflow.get":         nil, "workflow.status": nil, "workflow.runs": project,
		"workflow.check": c.with(object{"template": object{"kind": "none"}}),
		"run.output":     ofRun, "run.transcript": ofRun, "events.replay": ofRun, "run.policy.get": ofRun, "policy.defaults.get": project,
		"memory.list_deltas":   c.with(object{"actor_id": "human", "actor_role": "human"}),
		"context.plan_for_job": c.with(object{"project_id": c.project, "manager_actor_id": "human", "manager_role": "human", "goal": "g"}),
		"session.poll":         c.with(object{"session_ref": "local_" + c.run}),
		"pm.snapshot":          home, "pm.recommend_allocations": project, "conversation.list": home, "task.list": project, "job.list": project, "comment.list": project,
		"desktop.bootstrap.snapshot": c.with(object{"scope": "project", "project_id": c.project, "actor_id": "human", "view": "conversation", "conversation_id": "conv_" + c.project + "_home"}),
		"conversation.messages.list": c.with(object{"scope": "project", "project_id": c.project, "conversation_id": "conv_" + c.project + "_home"}),
		"agent.profile.snapshot":     c.with(object{"agent_id": "agent_w"}),
		"job.poll":                   c.with(object{"project_id": c.project, "job_id": "job_fail"}), "job.collect": c.with(object{"project_id": c.project, "job_id": "job_succeed"}),
	}
	called := 0
	for _, m := range rpc.NewTable("").Methods() {
		params, own := more[m.Name]
		if (m.Access != rpc.Read && !own) || (own && params == nil) {
			continue
		}
		if !own {
			params = c.in
		}
		c.s.must(m.Name, params, nil)
		called++
	}
	for _, name := range []string{"adapter.status", "workspace.doctor", "workspace.projects.list", "index.sync_worker_flush"} {
		c.s.must(name, c.in, nil)
	}
	if called < 30 {
		c.t.Errorf("only %d methods were called", called)
	}
}

// search searches every file and file name for given secrets. Diagnostics and share packs must not
// contain spoken ones either.
func (c *town) search() {
	c.t.Helper()
	files := 0
	err := filepath.WalkDir(c.root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(c.root, path)
		if err != nil || !entry.Type().IsRegular() {
			c.silent("a name", name)
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		c.silent(name, name+"\n"+string(text))
		if strings.HasPrefix(name, "diagnostics") || strings.Contains(name, "share_packs") {
			c.without(spokenCores, name, string(text))
		}
		return nil
	})
	if err != nil || files < 100 {
		c.t.Errorf("%d files (%v)", files, err)
	}
}

// silent checks that a text contains no part of a given secret.
func (c *town) silent(name, text string) { c.without(givenHalves, name, text) }

// without checks that a text contains none of the given cores.
func (c *town) without(cores *regexp.Regexp, name, text string) {
	c.t.Helper()
	found, first := map[string]bool{}, ""
	for _, at := range cores.FindAllStringIndex(text, -1) {
		if found[text[at[0]:at[1]]] = true; first == "" {
			first = text[max(0, at[0]-60):min(len(text), at[1]+30)]
		}
	}
	if len(found) > 0 {
		c.t.Errorf("%s holds %v, first in %q", name, slices.Sorted(maps.Keys(found)), first)
	}
}
