package validate

// A workspace with every kind of document, broken in many ways, and the exact findings of each.

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"ac/workspace"
)

var update = flag.Bool("update", false, "write the findings of every broken workspace into testdata")

const projectA = "work/projects/proj_a/"

// fullWorkspace writes the workspace of testdata/full.txtar.
func fullWorkspace(t testing.TB) (dir string) {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/full.txtar")
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(t.TempDir(), "ws")
	for _, name := range workspace.RequiredDirs() {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o750); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range archive.Files {
		put(t, dir, file.Name, string(file.Data))
	}
	return dir
}

func put(t testing.TB, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// breakage is one way to break the workspace of fullWorkspace.
type breakage struct {
	name string
	do   func(t *testing.T, dir string)
}

// swap replaces the first occurrence of a text in a file. The text must be there.
func swap(file, old, fresh string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), old) {
			t.Fatalf("%s does not contain %q", file, old)
		}
		put(t, dir, file, strings.Replace(string(text), old, fresh, 1))
	}
}

func fill(file, text string) func(*testing.T, string) {
	return func(t *testing.T, dir string) { t.Helper(); put(t, dir, file, text) }
}

func gone(name string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

func instead(name string, put func(path string) error) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		gone(name)(t, dir)
		if err := put(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

func directory(path string) error { return os.MkdirAll(path, 0o750) }
func fifo(path string) error      { return syscall.Mkfifo(path, 0o600) }
func outside(path string) error   { return os.Symlink(os.TempDir(), path) }
func dangling(path string) error  { return os.Symlink("nowhere", path) }

func fileLink(to string) func(string) error {
	return func(path string) error { return os.Symlink(to, path) }
}

func breakages() []breakage {
	const (
		company = "company/company.yaml"
		team    = "org/teams/team_a/team.yaml"
		agent   = "org/agents/agent_a/agent.yaml"
		project = projectA + "project.yaml"
		run     = projectA + "runs/run_a/run.yaml"
		log     = projectA + "runs/run_a/events.jsonl"
		task    = projectA + "tasks/task_a.md"
		brief   = projectA + "artifacts/art_brief.md"
		delta   = projectA + "artifacts/art_delta.md"
		report  = projectA + "artifacts/art_report.md"
		pack    = projectA + "context_packs/ctx_a/"
		review  = "inbox/reviews/rev_a.yaml"
		help    = "inbox/help_requests/help_a.md"
		comment = "inbox/comments/cmt_a.yaml"
		talk    = projectA + "conversations/conv_a/"
		job     = projectA + "jobs/job_a/job.yaml"
		beat    = ".local/heartbeat/config.yaml"
	)
	return []breakage{
		{"nothing", func(*testing.T, string) {}},
		{"work is gone", gone("work")},
		{"local is gone", gone(".local")},
		{"a file where a directory is due", instead("org/teams", func(p string) error { return os.WriteFile(p, nil, 0o600) })},
		{"company is a directory", instead(company, directory)},
		{"company is a FIFO", instead(company, fifo)},
		{"company leads out", instead(company, outside)},
		{"company leads nowhere", instead(company, dangling)},
		{"company leads elsewhere inside", func(t *testing.T, dir string) {
			t.Helper()
			if err := os.Rename(filepath.Join(dir, company), filepath.Join(dir, "company", "real.yaml")); err != nil {
				t.Fatal(err)
			}
			instead(company, fileLink("real.yaml"))(t, dir)
		}},
		{"an empty document", fill(company, "")},
		{"a list", fill(company, "[1]\n")},
		{"a syntax error", fill(company, "type: [company\n")},
		{"a key twice", swap(company, "name: Acme", "name: Acme\nname: Acme")},
		{"two documents", swap(company, "name: Acme", "name: Acme\n---\nname: Acme")},
		{"no UTF-8", swap(company, "Acme", "Ac\xffme")},
		{"a bomb of aliases", fill(company, "a: &a [1,2,3,4,5,6,7,8,9]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d]\n")},
		{"four bad fields", fill(company, "schema_version: 0\ntype: team\nid: ''\nname: 5\ncreated_at: 2026-02-30T00:00:00Z\n")},
		{"other styles of YAML", fill(company, "\uFEFF# a comment\r\n{\"schema_version\": 0x1, type: &t company, \"id\": !!str 5, name: 'it''s\r\n  folded', created_at: \"2026-11-20T14:58\"}\r\n")},
		{"a newer version and unknown keys", swap(company, "schema_version: 1", "schema_version: 7\nx: {y: [1]}")},
		{"unknown visibility keys", swap("company/policy.yaml", "  director_workplan: org", "  director_workplan: everyone\n  more: org")},
		{"a bad rate card", swap(".local/machine.yaml", "output: 1", "output: -1, more: 2")},
		{"a bad execution policy", swap(".local/machine.yaml", "channel: subscription_cli", "channel: mail")},
		{"a team of another id", swap(team, "id: team_a", "id: team_b")},
		{"a team without its document", gone(team)},
		{"an agent of an unknown team", swap(agent, "team_id: team_a", "team_id: team_z")},
		{"an agent without role and with a null launcher", swap(agent, "role: worker\nprovider: codex\nteam_id: team_a\ncreated_at: 2026-11-20T14:58:47.110Z\nlauncher: {}", "provider: codex\ncreated_at: 2026-11-20T14:58:47.110Z\nlauncher: null")},
		{"an agent with an odd launcher", swap(agent, "launcher: {}", "launcher: [x]")},
		{"a project without its document", gone(project)},
		{"a hard limit below the soft one", swap(project, "hard_tokens: 5", "hard_tokens: 4")},
		{"a budget that does not fit", swap(project, "hard_tokens: 5", "hard_tokens: 4.5\n  money: 1")},
		{"broken repository links", fill(projectA+"repos.yaml", "type: project_repo_links\nextra: 1\n")},
		{"a run without its document", gone(run)},
		{"a run without its log", gone(log)},
		{"a run of another project and of nobody", swap(run, "project_id: proj_a\nagent_id: agent_a", "project_id: proj_b\nagent_id: agent_z")},
		{"a run of bad usage and spec", swap(run, "total_tokens: 5}\nspec:\n  kind: command\n  argv: [echo, hi]", "total_tokens: 5, more: 1}\nspec:\n  kind: command\n  argv: []\n  model: x")},
		{"a run whose log lost events", swap(run, "spec:", "log_integrity: {state: broken, lost_events: 3, last_hash: "+strings.Repeat("ab", 32)+"}\nspec:")},
		{"a log without seals", fill(log, `{"schema_version":1,"type":"run.started"}`+"\n")},
		{"a task without front matter", fill(task, "# Do it\n")},
		{"a task whose front matter does not end", fill(task, "---\ntype: task\n")},
		{"a task whose front matter is no YAML", fill(task, "---\na: [\n---\n")},
		{"a task of strict fields", swap(task, "status: ready\nvisibility: team", "status: waiting\nvisibility: team\nextra: 1")},
		{"a task without lists", swap(task, "deliverables: [one]\nacceptance_criteria: [two]\nmilestones:\n  - id: ms_a\n    title: First\n    kind: coding\n    status: ready\n    acceptance_criteria: [three]\n    evidence: {requires_patch: true, requires_tests: false}", "milestones: []")},
		{"a task that ends before it begins", swap(task, "status: ready", "schedule: {planned_start: 2026-01-02T00:00:00Z, planned_end: 2026-01-01T00:00:00Z}\nstatus: ready")},
		{"a task without headings, of nobody", swap(task, "assignee_agent_id: agent_a", "assignee_agent_id: agent_z\nschedule: {}")},
		{"a task without its headings", swap(task, "  ## contract  \n\n## Milestones", "## Contracts")},
		{"a task in CRLF", func(t *testing.T, dir string) {
			t.Helper()
			text, err := os.ReadFile(filepath.Join(dir, task))
			if err != nil {
				t.Fatal(err)
			}
			put(t, dir, task, strings.ReplaceAll(string(text), "\n", "\r\n"))
		}},
		{"a task that is a directory", instead(task, directory)},
		{"a stray copy of a task", func(t *testing.T, dir string) {
			t.Helper()
			text, err := os.ReadFile(filepath.Join(dir, task))
			if err != nil {
				t.Fatal(err)
			}
			put(t, dir, projectA+"tasks/copy of task_a.md", string(text))
		}},
		{"an artifact of an unknown type", swap(brief, "intake_brief", "poem")},
		{"an artifact without a heading", swap(brief, "## Success Criteria\n", "### Success Criteria\n")},
		{"a delta with an extra field and no target", swap(delta, "target_file: work/projects/proj_a/memory.md", "extra: 1")},
		{"a delta without its patch", gone(projectA + "artifacts/art_delta.patch")},
		{"a delta whose patch is a directory", swap(delta, "patch_file: work/projects/proj_a/artifacts/art_delta.patch", "patch_file: work/projects/proj_a/artifacts")},
		{"a delta whose patch lies outside", swap(delta, "patch_file: work/projects/proj_a/artifacts/art_delta.patch", "patch_file: ../../etc/passwd")},
		{"a delta with an extra field and no heading", func(t *testing.T, dir string) {
			t.Helper()
			swap(delta, "patch_file:", "extra: 1\npatch_file:")(t, dir)
			swap(delta, "## Changes\n", "")(t, dir)
		}},
		{"a report without evidence", swap(report, "evidence_artifacts: []", "x: 1")},
		{"a proposal that misses its schema", swap(projectA+"artifacts/art_proposal.md", "  body: risky hello\n", "")},
		{"a context pack without snapshot", gone(pack + "policy_snapshot.yaml")},
		{"a context pack with a short digest", swap(pack+"manifest.yaml", "0123456789abcdef", "abcdef")},
		{"a share pack without its file", gone(projectA + "share_packs/share_a/bundle/art_brief.md")},
		{"a share pack that reaches out", swap(projectA+"share_packs/share_a/manifest.yaml", "bundle_relpath: work/projects/proj_a/share_packs/share_a/bundle/art_brief.md", "bundle_relpath: /etc/passwd")},
		{"a review that decides nothing", swap(review, "decision: approved", "decision: maybe")},
		{"a help request without response", swap(help, "## Response", "## Answer")},
		{"a help request of strict fields", swap(help, "requester: agent_a", "requester: agent_a\nextra: 1")},
		{"a comment on nothing", swap(comment, "  run_id: run_a\n", "")},
		{"a comment of another name", func(t *testing.T, dir string) {
			t.Helper()
			if err := os.Rename(filepath.Join(dir, comment), filepath.Join(dir, "inbox/comments/cmt_b.yaml")); err != nil {
				t.Fatal(err)
			}
		}},
		{"a conversation of another scope", swap(talk+"conversation.yaml", "scope: project\nproject_id: proj_a", "scope: workspace")},
		{"a conversation without its document", gone(talk + "conversation.yaml")},
		{"messages that are none", fill(talk+"messages.jsonl", strings.Repeat("{\"type\":\"message\"}\n", 6)+"torn\n\n")},
		{"a job of another id", swap(job, "job_id: job_a", "job_id: job_b")},
		{"a job with an extra field", swap(job, "status: queued", "status: queued\nextra: 1")},
		{"a broken heartbeat", swap(beat, "tick_interval_minutes: 7", "tick_interval_minutes: 0\nmore: 1")},
		{"a broken heartbeat state", fill(".local/heartbeat/state.yaml", "{")},
		{"a broken session record", swap(".local/sessions/local_run_a.yaml", "status: ended", "status: sleeping")},
		{"odd entries", func(t *testing.T, dir string) {
			t.Helper()
			put(t, dir, "org/teams/notes.txt", "")
			put(t, dir, "inbox/reviews/rev.json", "{}")
			put(t, dir, "org/agents/.hidden", "")
			put(t, dir, "org/agents/.agent.yaml.tmp-1-2-abc", "")
			for name, make := range map[string]func(string) error{"org/agents/out": outside, "org/agents/nowhere": dangling, "work/projects/pipe": fifo} {
				if err := make(filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}
		}},
		{"unreadable", instead(task, fifo)},
	}
}

// TestBrokenWorkspaces compares the findings of every broken workspace with
// testdata/findings.txt.
func TestBrokenWorkspaces(t *testing.T) {
	t.Parallel()
	const golden = "testdata/findings.txt"
	var got bytes.Buffer
	for _, b := range breakages() {
		dir := fullWorkspace(t)
		b.do(t, dir)
		found := Folder(workspace.SystemEnv(), dir)
		fmt.Fprintf(&got, "== %s\n", b.name)
		for _, issue := range found.Issues {
			fmt.Fprintf(&got, "%s | %s | %s\n", issue.Code, issue.Path, issue.Message)
		}
		for _, issue := range found.Warnings {
			fmt.Fprintf(&got, "warning: %s | %s | %s\n", issue.Code, issue.Path, issue.Message)
		}
		if again := Folder(workspace.SystemEnv(), dir); !cmp.Equal(found, again) {
			t.Errorf("%s: a second look gives other findings:\n%s", b.name, cmp.Diff(found, again))
		}
	}
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

// TestForbidden checks that a document that may not be read is a finding.
func TestForbidden(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("SKIPPED: root may read every file")
	}
	const task = "work/projects/proj_a/tasks/task_a.md"
	dir := fullWorkspace(t)
	if err := os.Chmod(filepath.Join(dir, task), 0); err != nil {
		t.Fatal(err)
	}
	found := Folder(workspace.SystemEnv(), dir)
	if len(found.Issues) != 1 || found.Issues[0].Code != "read_error" || found.Issues[0].Path != task {
		t.Errorf("%+v", found.Issues)
	}
}

// TestKeptFindings checks that an open workspace with cached findings reports the same as a fresh
// validation, before and after its documents change.
func TestKeptFindings(t *testing.T) {
	t.Parallel()
	for _, b := range breakages() {
		dir := fullWorkspace(t)
		old := time.Now().Add(-time.Hour)
		err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
			if err == nil {
				err = os.Chtimes(path, old, old)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		w, err := workspace.Open(workspace.SystemEnv(), dir)
		if err != nil {
			t.Fatal(err)
		}
		// Only old files are cached, and a change time cannot be set. So the clock is advanced.
		v := New(w)
		later := v.memory()
		later.now = func() time.Time { return time.Now().Add(time.Minute) }
		if found := validate(w.FS, later, thorough); len(found.Issues)+len(found.Warnings) > 0 {
			t.Errorf("the full workspace has findings: %+v", found)
		}
		if kept := v.findings.Len(); kept < 20 {
			t.Errorf("only %d findings were kept", kept)
		}
		b.do(t, dir)
		if diff := cmp.Diff(Folder(workspace.SystemEnv(), dir), validate(w.FS, later, thorough)); diff != "" {
			t.Errorf("%s: (-fresh +kept)\n%s", b.name, diff)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
}
