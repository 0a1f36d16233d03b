//go:build browser

package browser

// The changes of a run: diffs, comments on lines, and landing.

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const changesOfLedger = `cat > ledger/retry.go <<'END'
package ledger

import "fmt"

// Do does it.
func Do(key string) {
	fmt.Println("retry", 2, key)
}

func Carry(key string) string { return key }
END
echo 'package ledger' > ledger/key.go`

// TestChanges checks that the page shows a run's changes by line and word, and lands them.
func TestChanges(t *testing.T) {
	r := inRepository(t)
	run := r.inWorktree(changesOfLedger)
	r.serve("--project", r.project)
	p := launch(t).open(t, 1440, 900, false)
	p.goTo(r.url)
	p.lives()
	p.openRun(run, "changes", "")
	p.shows("[data-file='ledger/key.go']", "key.go")
	p.click("[data-file='ledger/retry.go']", "")
	p.shows("[data-sign='+']", "func Carry(key string) string { return key }")
	p.shows("[data-sign='-']", `func Carry(key string) string { return "" }`)
	p.shows("[data-sign='-'] mark", `""`)
	p.shows("[data-sign=' ']", `import "fmt"`)
	p.until(`document.querySelector('[data-sign="+"] .hl-keyword')`)
	if !p.holds(`location.hash.includes('file=')`) {
		t.Error("the file is not in the address")
	}

	// Land as uncommitted changes, then revert.
	retry := filepath.Join(filepath.Dir(r.dir), "ledger/retry.go")
	p.click("[data-act=land]", "As uncommitted")
	p.until(`document.querySelector('[role=dialog] [data-act=confirm]:not(:disabled)')`)
	p.shows("[role=dialog]", "ledger/key.go")
	p.click("[role=dialog] [data-act=confirm]", "Apply")
	p.until(`document.querySelector('[data-act=revert]')`)
	if text, err := os.ReadFile(retry); err != nil || !strings.Contains(string(text), "return key") {
		t.Errorf("the file is not changed: %v %s", err, text)
	}
	p.shows("[data-checkpoint]", "Applied 2 files by")
	p.click("[data-act=revert]", "")
	p.click("[role=dialog] [data-act=confirm]", "Revert")
	p.until(`!document.querySelector('[data-act=revert]')`)
	p.shows("[data-checkpoint]", "Put back 2 files by")
	if text, err := os.ReadFile(retry); err != nil || strings.Contains(string(text), "return key") {
		t.Errorf("the file is not as it was: %v %s", err, text)
	}

	// Land as one commit.
	p.click("[data-act=land]", "Land")
	p.until(`document.querySelector('[role=dialog] [data-act=confirm]:not(:disabled)')`)
	p.eval(`document.querySelector('[role=dialog] textarea').focus()`, nil)
	p.write("Carry the key")
	p.click("[role=dialog] [data-act=confirm]", "Land")
	p.shows("[role=dialog] h2", "Landed on main as")
	p.shows("[role=dialog]", "git revert")
	p.click("[role=dialog] [data-act=cancel]", "")
	if log := r.git("log", "--format=%s", "-1"); strings.TrimSpace(log) != "Carry the key" {
		t.Errorf("the newest commit is %q", log)
	}
	p.until(`!document.querySelector('[data-act=land]')`)
	if p.holds(`document.activeElement === document.body`) {
		t.Error("the focus fell to the body")
	}
}

// TestConflicts checks that the page names the conflicting files and does not allow landing.
func TestConflicts(t *testing.T) {
	r := inRepository(t)
	run := r.inWorktree(changesOfLedger)
	if err := os.WriteFile(filepath.Join(filepath.Dir(r.dir), "ledger/retry.go"), []byte("package other\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.git("commit", "-qam", "another way")
	r.serve("--project", r.project)
	p := launch(t).open(t, 1440, 900, false)
	p.goTo(r.url)
	p.lives()
	p.openRun(run, "changes", "")
	p.click("[data-act=land]", "Land")
	p.shows("[role=dialog] .conflicts", "ledger/retry.go")
	if !p.holds(`document.querySelector('[role=dialog] [data-act=confirm]').disabled`) {
		t.Error("it can be landed")
	}
	p.allow("409")
}

// TestLinesLikeHeaders checks that changed lines which look like diff headers are counted and
// shown, in a change of two files.
func TestLinesLikeHeaders(t *testing.T) {
	r := inRepository(t)
	run := r.launch("write a.sql,b.sql ++ first;say Done.", "--repo", r.repo(), "--level", "patch", "--mode", "accept_edits")
	r.serve("--project", r.project)
	p := launch(t).open(t, 1440, 900, false)
	p.goTo(r.url)
	p.lives()
	p.openRun(run, "transcript", "")
	p.shows("[data-kind=file_change] .entry-note", "+2 −0")
	var signs []string
	p.eval(`[...document.querySelectorAll('[data-kind=file_change] [data-sign]')].map((e) => e.dataset.sign + e.querySelector('.diff-text').textContent)`, &signs)
	if want := []string{"+++ first", "+++ first"}; !slices.Equal(signs, want) {
		t.Errorf("%q are shown, not %q", signs, want)
	}
}

// TestReview comments on a changed line. The draft must survive a reload, and the agent must
// receive the comment when it continues.
func TestReview(t *testing.T) {
	r := inRepository(t)
	run := r.launch("write key.go package ledger;say Done.", "--repo", r.repo(), "--level", "patch", "--mode", "accept_edits")
	r.serve("--project", r.project)
	p := launch(t).open(t, 1440, 900, false)
	p.goTo(r.url)
	p.lives()
	p.openRun(run, "transcript", "")
	p.shows("[data-kind=message]", "Done.")
	p.shows(".run-facts", "Ended")
	p.openRun(run, "changes", "")
	p.shows("[data-sign='+']", "package ledger")
	p.click("[data-sign='+'] [data-act=comment-line]", "")
	p.until(`document.activeElement.tagName === 'TEXTAREA'`)
	p.write("Name it **KeepKey**.")
	p.click("[data-act=keep-comment]", "")
	p.shows(".draft", "Name it **KeepKey**.")
	if p.holds(`document.activeElement === document.body`) {
		t.Error("the focus fell to the body")
	}
	p.do("Page.reload", object{}, nil)
	p.shows(".draft", "Name it **KeepKey**.")
	p.click("[data-act=send-comments]", "Send 1 comment")
	p.shows("[role=dialog] pre", "key.go:1 (new)\n> package ledger\nName it **KeepKey**.")
	p.click("[role=dialog] [data-act=confirm]", "Send")
	p.until(`!document.querySelector('[role=dialog]') && !document.querySelector('.draft')`)
	p.shows(".line-comment [data-md] strong", "KeepKey")
	p.openRun(run, "transcript", "")
	p.shows("[data-kind=message]", "Comments on your changes:")
}

// TestDecidedFilesArePutBack approves files and reverts them on Decided. Decided must show what
// happened to them, including when they are applied again.
func TestDecidedFilesArePutBack(t *testing.T) {
	r := inRepository(t)
	project := "work/projects/" + r.project + "/project.yaml"
	text, err := os.ReadFile(filepath.Join(r.dir, project))
	if err != nil {
		t.Fatal(err)
	}
	r.write(project, string(text)+"file_artifacts:\n  approval: required\n")
	params := line(object{"workspace_dir": r.dir, "project_id": r.project, "artifacts": []object{{"path": "proposed.txt", "content": "new\n"}}, "target": object{"repo_id": r.repo()}, "actor_id": "mia", "actor_role": "manager"})
	out, err := exec.CommandContext(t.Context(), r.program, "rpc:call", "--method", "artifact.apply", "--params", params).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "approv") {
		t.Fatalf("the files do not wait: %v %s", err, out)
	}
	id := strings.TrimSuffix(r.one("work/projects/*/artifacts/*.json"), ".json")
	r.serve("--project", r.project, "--role", "human")
	p := launch(t).open(t, 1440, 900, false)
	p.allow("409")
	p.goTo(r.url)
	p.lives()
	r.call("inbox.resolve", object{"project_id": r.project, "artifact_id": id, "decision": "approved", "notes": ""}, nil)
	p.eval(`location.hash = '#/decided'`, nil)
	p.click(".decision-row [data-act=revert]", "Revert…")
	p.shows("[role=dialog]", "proposed.txt")
	p.click("[role=dialog] [data-act=confirm]", "Revert")
	p.shows(".decision-row [data-checkpoint]", "Put back 1 file by")
	p.until(`!document.querySelector('.decision-row [data-act=revert]')`)
	if _, err := os.Stat(filepath.Join(filepath.Dir(r.dir), "proposed.txt")); err == nil {
		t.Error("the file is still there")
	}
	var list []object
	r.call("artifact.checkpoints", object{"project_id": r.project}, &list)
	r.call("artifact.revert", object{"project_id": r.project, "checkpoint_id": list[0]["checkpoint_id"]}, nil)
	p.reload()
	p.shows(".decision-row [data-checkpoint]", "Applied again 1 file by")
	p.until(`document.querySelector('.decision-row [data-act=revert]')`)
}

// repo returns the id of the project's repository.
func (r *company) repo() string {
	r.t.Helper()
	roots, err := os.ReadFile(filepath.Join(r.dir, ".local/machine.yaml"))
	if err != nil {
		r.t.Fatal(err)
	}
	for line := range strings.Lines(string(roots)) {
		if name, _, is := strings.Cut(strings.TrimSpace(line), ": "); is && strings.HasSuffix(strings.TrimSpace(line), "/ledger") {
			return name
		}
	}
	r.t.Fatalf("no repository in %s", roots)
	return ""
}
