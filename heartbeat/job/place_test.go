package job_test

// Where jobs work: in worktrees or directories, and who may allow that.

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ac/heartbeat/job"
	"ac/internal/fault"
	"ac/runs"
	"ac/workspace"
	"ac/workspace/doc"
)

// repository creates a repository with a committed file, a change and an untracked file, and
// maps it as main. Workers can find git.
func (s *stage) repository() string {
	s.t.Helper()
	program, err := exec.LookPath("git")
	if err != nil {
		s.t.Fatal(err)
	}
	if err := os.Symlink(program, filepath.Join(s.bin, "git")); err != nil {
		s.t.Fatal(err)
	}
	dir := workspace.Canonical(s.t.TempDir())
	s.git(dir, "init", "--quiet", "--initial-branch=main")
	s.put(dir, "a.txt", "one\r\ntwo\r\nthree\r\n")
	s.git(dir, "add", ".")
	s.git(dir, "-c", "user.name=Ann", "-c", "user.email=ann@example.org", "commit", "--quiet", "-m", "First")
	s.put(dir, "a.txt", "one\r\nTWO\r\nthree\r\n")
	s.put(dir, "new.txt", "new\n")
	machine := s.file(workspace.MachineFile)
	machine = strings.Replace(machine, "repo_roots: {}", "repo_roots: {main: "+dir+"}", 1)
	if !strings.Contains(machine, dir) {
		s.t.Fatalf("machine.yaml: %s", machine)
	}
	s.put(s.w.Dir(), workspace.MachineFile, machine)
	return dir
}

func (s *stage) put(dir, name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) git(dir string, args ...string) string {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), "git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestWorktreeOfAJob(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	repo := s.repository()
	before := s.git(repo, "status", "--porcelain")
	spec := s.spec("job_t", "codex", "write made.txt")
	spec.PermissionLevel = "patch"
	record, left := s.ordered(spec, doc.JobOrder{Place: &doc.JobPlace{RepoID: "main", Isolation: doc.IsolationWorktree, Base: doc.BaseSnapshot}})
	if left.Result.Status != doc.ResultSucceeded || len(record.Attempts) != 2 {
		t.Fatalf("%+v %+v", record.Attempts, left.Result)
	}
	first, second := s.loadRun(record.Attempts[0].RunID), s.loadRun(record.Attempts[1].RunID)
	want := ".local/worktrees/" + s.project + "/job_t/" + first.ID
	for _, run := range []doc.Run{first, second} {
		if run.Spec.WorktreeRel != want || !run.WorktreeSnapshot || run.WorktreeBase != first.WorktreeBase {
			t.Errorf("%s works in %s from %s", run.ID, run.Spec.WorktreeRel, run.WorktreeBase)
		}
	}
	tree := filepath.Join(s.w.Dir(), want)
	if text, _ := os.ReadFile(filepath.Join(tree, "a.txt")); string(text) != "one\r\nTWO\r\nthree\r\n" {
		t.Errorf("the snapshot has %q", text)
	}
	for _, name := range []string{"new.txt", "made.txt"} {
		if _, err := os.Stat(filepath.Join(tree, name)); err != nil {
			t.Error(err)
		}
	}
	if after := s.git(repo, "status", "--porcelain"); after != before {
		t.Errorf("the repository changed: %q became %q", before, after)
	}
	if base := s.git(repo, "rev-parse", first.WorktreeBase+"^"); base != s.git(repo, "rev-parse", "HEAD") {
		t.Error("the snapshot does not stand on HEAD")
	}
	// Another job continues in the same worktree.
	shared := doc.JobOrder{Place: &doc.JobPlace{RepoID: "main", Isolation: doc.IsolationShared, BaseRunID: second.ID}}
	record, left = s.ordered(s.spec("job_u", "claude", "good"), shared)
	if run := s.loadRun(record.Attempts[0].RunID); run.Spec.WorktreeRel != want || run.WorktreeBase != first.WorktreeBase {
		t.Errorf("it works in %+v: %+v", run.Spec, left.Result)
	}
	shared.Place = &doc.JobPlace{RepoID: "main", Isolation: doc.IsolationShared, BaseRunID: "run_none"}
	if _, err := job.Submit(t.Context(), s.w, s.starter, s.spec("job_n", "codex", "x"), &shared); !fault.Is(err, fault.PlaceNotFound) {
		t.Errorf("a run that does not exist: %v", err)
	}
}

func (s *stage) loadRun(id string) doc.Run {
	s.t.Helper()
	run, err := runs.Load(s.w, s.project, id)
	if err != nil || run.Spec == nil {
		s.t.Fatalf("%s: %+v (%v)", id, run, err)
	}
	return run
}

func TestPlaceOfAJob(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	repo := s.repository()
	in := func(isolation string) doc.JobOrder {
		return doc.JobOrder{Place: &doc.JobPlace{RepoID: "main", Isolation: isolation}}
	}
	record, left := s.ordered(s.spec("job_n", "codex", "good"), in(doc.IsolationNone))
	if run := s.loadRun(record.Attempts[0].RunID); left.Result.Status != doc.ResultSucceeded || run.Spec.RepoID != "main" || run.Spec.WorktreeRel != "" || run.WorktreeBase != "" {
		t.Errorf("%+v", run)
	}
	if _, err := os.Stat(filepath.Join(repo, "acts-job_n")); err != nil {
		t.Errorf("it did not work in the repository: %v", err)
	}
	spec := s.spec("job_w", "codex", "good")
	spec.PermissionLevel, spec.ManagerRole = "patch", "worker"
	none := in(doc.IsolationNone)
	if _, err := job.Submit(t.Context(), s.w, s.starter, spec, &none); !fault.Is(err, fault.Denied) {
		t.Errorf("a worker lets somebody change the repository: %v", err)
	}
	unknown := doc.JobOrder{Place: &doc.JobPlace{RepoID: "other", Isolation: doc.IsolationWorktree}}
	if _, left := s.ordered(s.spec("job_r", "codex", "good"), unknown); left.Result.Status != doc.ResultBlocked || left.Result.Errors[0].Code != job.CodePlaceUnavailable {
		t.Errorf("%+v", left.Result)
	}
	shared := doc.JobOrder{Place: &doc.JobPlace{RepoID: "main", Isolation: doc.IsolationShared, BaseRunID: record.Attempts[0].RunID}}
	if _, err := job.Submit(t.Context(), s.w, s.starter, s.spec("job_s", "codex", "good"), &shared); !fault.Is(err, fault.PlaceNotFound) {
		t.Errorf("a run without a worktree has none to share: %v", err)
	}
	// A directory that is not a repository can only be read.
	if err := os.RemoveAll(filepath.Join(repo, ".git")); err != nil {
		t.Fatal(err)
	}
	record, left = s.ordered(s.spec("job_d", "codex", "good"), in(doc.IsolationWorktree))
	if run := s.loadRun(record.Attempts[0].RunID); left.Result.Status != doc.ResultSucceeded || run.Spec.WorktreeRel != "" {
		t.Errorf("%+v %+v", run, left.Result)
	}
	spec = s.spec("job_p", "codex", "good")
	spec.PermissionLevel = "patch"
	if _, left := s.ordered(spec, in(doc.IsolationWorktree)); left.Result.Status != doc.ResultBlocked || left.Result.Errors[0].Code != job.CodePlaceUnavailable {
		t.Errorf("%+v", left.Result)
	}
}

func TestSelection(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	repo := s.repository()
	s.put(repo, "twice.txt", "x\nx\n")
	files := func(path, selection string) string {
		text, _ := json.Marshal(map[string]any{"files": []map[string]any{{"path": path, "selection": selection}}, "summary": "s"})
		return "tell " + string(text)
	}
	order := func(path, text string) doc.JobOrder {
		return doc.JobOrder{
			Answer: doc.AnswerFiles, Attempts: 1, Place: &doc.JobPlace{RepoID: "main", Isolation: doc.IsolationNone},
			Attachments: []doc.Attachment{{Name: "selection", Path: path, Text: text}},
		}
	}
	for name, test := range map[string]struct {
		goal    string
		order   doc.JobOrder
		content string
		problem bool
		code    string
	}{
		"spliced":   {files("./a.txt", "2\n2b\n"), order("a.txt", "TWO\n"), "one\r\n2\r\n2b\r\nthree\r\n", false, ""},
		"no end":    {files("a.txt", "2\n"), order("a.txt", "TWO"), "one\r\n2\r\nthree\r\n", false, ""},
		"trimmed":   {files("a.txt", "2"), order("a.txt", "TWO\r\n"), "one\r\n2\r\nthree\r\n", false, ""},
		"unsaved":   {files("none.txt", "all of it"), order("none.txt", "y"), "all of it", false, ""},
		"never":     {files("a.txt", "2"), order("a.txt", "four"), "", true, ""},
		"twice":     {files("twice.txt", "2"), order("twice.txt", "x\n"), "", true, ""},
		"elsewhere": {files("b.txt", "2"), order("a.txt", "TWO"), "", false, job.CodeElsewhere},
	} {
		id := "job_" + strings.ReplaceAll(name, " ", "_")
		_, left := s.ordered(s.spec(id, "codex", test.goal), test.order)
		if test.code != "" {
			if left.Result.Status != doc.ResultNeedsInput || left.Result.Errors[0].Code != test.code {
				t.Errorf("%s: %+v", name, left.Result)
			}
			continue
		}
		if left.Answer == nil || len(left.Answer.Files) != 1 {
			t.Errorf("%s: %+v %+v", name, left.Result, left.Answer)
			continue
		}
		file, row := left.Answer.Answer.Files.Files[0], left.Answer.Files[0]
		if (row.Problem != "") != test.problem || !strings.HasPrefix(row.ID, "fa_") || len(row.ID) != 19 || (row.NewSHA256 == nil) != test.problem {
			t.Errorf("%s: %+v", name, row)
		}
		if !test.problem && (file.Content == nil || *file.Content != test.content || file.Selection != nil) {
			t.Errorf("%s: %q", name, *file.Content)
		}
	}
}
