package worktree_test

// Safe use of git: it runs no program that a repository names, and its environment cannot
// redirect it.

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ac/runs/session"
	"ac/runs/worktree"
	"ac/workspace/doc"
)

// trap configures a program in the repository's own settings wherever git would run one. It
// returns the file that the program leaves behind.
func trap(t *testing.T, repo string) (sprung string) {
	t.Helper()
	dir := t.TempDir()
	sprung = filepath.Join(dir, "sprung")
	program := filepath.Join(dir, "trap")
	put(t, program, "#!/bin/sh\ntouch '"+sprung+"'\ncat\n")
	for key, value := range map[string]string{
		"core.fsmonitor": program, "core.pager": program, "core.sshCommand": program, "core.askPass": program,
		"core.editor": program, "credential.helper": "!" + program, "pager.status": "true", "pager.diff": "true",
		"alias.status": "!" + program, "alias.rev-parse": "!" + program, "alias.diff": "!" + program,
		"diff.external": program, "diff.evil.command": program, "diff.evil.textconv": program,
		"filter.evil.clean": program, "filter.evil.smudge": program, "filter.e=v.i l.clean": program, "filter.p.process": program,
		"core.hooksPath": dir,
	} {
		git(t, repo, "config", key, value)
	}
	for _, hook := range []string{"post-checkout", "post-index-change", "fsmonitor-watchman", "reference-transaction"} {
		put(t, filepath.Join(dir, hook), "#!/bin/sh\ntouch '"+sprung+"'\n")
		put(t, filepath.Join(repo, ".git", "hooks", hook), "#!/bin/sh\ntouch '"+sprung+"'\n")
	}
	return sprung
}

func TestLookRunsNothingOfTheRepository(t *testing.T) {
	t.Parallel()
	repo := repository(t)
	put(t, filepath.Join(repo, ".gitattributes"), "a.txt filter=evil diff=evil\nsub/* filter=p\n")
	git(t, repo, "add", ".")
	git(t, repo, "commit", "--quiet", "-m", "Attributes")
	head := git(t, repo, "rev-parse", "HEAD")
	sprung := trap(t, repo)
	put(t, filepath.Join(repo, "a.txt"), "ONE\n") // same size: only the content differs
	put(t, filepath.Join(repo, "sub", "b.txt"), "TWO\n")
	state, err := worktree.ReadState(t.Context(), os.Environ(), repo)
	if err != nil {
		t.Fatal(err)
	}
	if exists(sprung) {
		t.Error("a program of the repository's settings was run")
	}
	if state.HeadSHA != head || !state.Dirty || !strings.Contains(string(state.Patch), "+ONE") || !strings.Contains(string(state.Patch), "+TWO") {
		t.Errorf("state %+v\n%s", state, state.Patch)
	}
	// The trap works: plain git runs the program.
	cmd := exec.Command("git", "status")
	cmd.Dir = repo
	_ = cmd.Run()
	if !exists(sprung) {
		t.Error("the trap does not work")
	}
}

// TestLookFetchesNothing checks that missing objects are not fetched, because git would run a
// program that the repository's settings name.
func TestLookFetchesNothing(t *testing.T) {
	t.Parallel()
	repo, sprung := repository(t), filepath.Join(t.TempDir(), "sprung")
	program := filepath.Join(filepath.Dir(sprung), "upload")
	put(t, program, "#!/bin/sh\ntouch '"+sprung+"'\nexit 1\n")
	blob := git(t, repo, "rev-parse", "HEAD:a.txt")
	if err := os.Remove(filepath.Join(repo, ".git", "objects", blob[:2], blob[2:])); err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{
		"core.repositoryFormatVersion": "1", "extensions.partialClone": "far", "remote.far.promisor": "true",
		"remote.far.url": repo, "remote.far.uploadpack": program, "protocol.file.allow": "always", "protocol.allow": "always",
	} {
		git(t, repo, "config", key, value)
	}
	put(t, filepath.Join(repo, "a.txt"), "changed\n")
	if state, err := worktree.ReadState(t.Context(), os.Environ(), repo); err == nil {
		t.Errorf("a patch against what is not there: %+v", state)
	}
	if exists(sprung) {
		t.Error("a program of the repository's settings was run")
	}
	cmd := exec.Command("git", "diff", "HEAD")
	cmd.Dir = repo
	_ = cmd.Run()
	if !exists(sprung) {
		t.Error("the trap does not work")
	}
}

func TestLook(t *testing.T) {
	t.Parallel()
	repo := repository(t)
	look := func() worktree.State {
		t.Helper()
		state, err := worktree.ReadState(t.Context(), os.Environ(), repo)
		if err != nil {
			t.Fatal(err)
		}
		return state
	}
	if state := look(); state.Dirty || state.Patch != nil {
		t.Errorf("clean: %+v", state)
	}
	// Settings that would hide or reformat changes have no effect.
	git(t, repo, "config", "status.showUntrackedFiles", "no")
	git(t, repo, "config", "color.ui", "always")
	git(t, repo, "config", "diff.noprefix", "true")
	put(t, filepath.Join(repo, "new.txt"), "new\n")
	if state := look(); !state.Dirty || state.Patch != nil {
		t.Errorf("untracked: %+v", state)
	}
	put(t, filepath.Join(repo, "bin"), "\x00\x01")
	git(t, repo, "add", "bin")
	put(t, filepath.Join(repo, "a.txt"), "changed\n")
	state := look()
	if text := string(state.Patch); !state.Dirty || !strings.Contains(text, "diff --git a/a.txt b/a.txt") || !strings.Contains(text, "GIT binary patch") || strings.Contains(text, "\x1b") {
		t.Errorf("changed: %s", text)
	}
	// Beyond the size limit the result is an error, not a truncated patch.
	put(t, filepath.Join(repo, "a.txt"), strings.Repeat("0123456789abcdef\n", 1<<20))
	if _, err := worktree.ReadState(t.Context(), os.Environ(), repo); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("a patch of 17 MB: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := worktree.ReadState(ctx, os.Environ(), repo); err == nil {
		t.Error("a canceled look had an outcome")
	}
}

func TestLookWithoutCommits(t *testing.T) {
	t.Parallel()
	repo := t.TempDir()
	git(t, repo, "init", "--quiet")
	if _, err := worktree.ReadState(t.Context(), os.Environ(), repo); err == nil {
		t.Error("a repository without commits has a HEAD")
	}
}

// TestEnvironmentDoesNotRedirect checks that the caller's environment, such as a git hook's,
// cannot redirect git to another repository. A relative PATH entry cannot make the repository
// supply the git program.
func TestEnvironmentDoesNotRedirect(t *testing.T) {
	t.Parallel()
	repo, other := repository(t), repository(t)
	put(t, filepath.Join(other, "x.txt"), "x\n")
	git(t, other, "add", ".")
	git(t, other, "commit", "--quiet", "-m", "Other")
	sprung := filepath.Join(t.TempDir(), "sprung")
	put(t, filepath.Join(repo, "git"), "#!/bin/sh\ntouch '"+sprung+"'\n")
	environ := append([]string{}, os.Environ()...)
	for i, entry := range environ {
		if value, ok := strings.CutPrefix(entry, "PATH="); ok {
			environ[i] = "PATH=.:" + value
		}
	}
	environ = append(environ, "GIT_DIR="+filepath.Join(other, ".git"), "GIT_WORK_TREE="+other, "GIT_INDEX_FILE=/nowhere",
		"GIT_EXTERNAL_DIFF=touch "+sprung, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.fsmonitor", "GIT_CONFIG_VALUE_0=touch "+sprung,
		"GIT_CEILING_DIRECTORIES="+repo)
	state, err := worktree.ReadState(t.Context(), environ, repo)
	if err != nil || state.HeadSHA != git(t, repo, "rev-parse", "HEAD") || exists(sprung) {
		t.Errorf("%+v, %v, sprung %v", state, err, exists(sprung))
	}
}

// TestStopWhileGitWorks checks that a stop during git's work ends git and records the run as
// stopped.
func TestStopWhileGitWorks(t *testing.T) {
	t.Parallel()
	h, repo := newHouse(t), repository(t)
	h.mapRepo(t, "alpha", repo)
	h.task(t, "task_a", "scope: {requires_worktree_isolation: true}\n")
	begun := filepath.Join(t.TempDir(), "begun")
	put(t, filepath.Join(repo, ".gitattributes"), "a.txt filter=slow\n")
	git(t, repo, "add", ".")
	git(t, repo, "commit", "--quiet", "-m", "Slow")
	git(t, repo, "config", "filter.slow.smudge", "touch '"+begun+"'; exec sleep 100")
	made := h.run(t)
	h.begin(t, session.Order{RunID: made.RunID, RepoID: "alpha", TaskID: "task_a", Argv: []string{"true"}})
	await(t, "git to work", func() bool { return exists(begun) })
	if _, err := session.Stop(t.Context(), h.Workspace, session.LocalRef(made.RunID)); err != nil {
		t.Fatal(err)
	}
	if record := h.collect(t, made.RunID); record.Status != doc.StatusStopped {
		t.Errorf("%s: %s", record.Status, record.Error)
	}
	types, byType := h.log(t, made.RunID)
	wantTypes(t, types, "run.started", "run.stopped")
	if byType["run.stopped"].Payload["stopped"] != true {
		t.Errorf("run.stopped %v", byType["run.stopped"].Payload)
	}
	if left, _ := filepath.Glob(filepath.Join(h.Dir(), ".local/worktrees/*")); left != nil {
		t.Errorf("left behind: %v", left)
	}
}
