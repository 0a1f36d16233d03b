package files

// Crash recovery of landings: the landing process or its git is killed.

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"ac/internal/proc/proctest"
	"ac/runs/worktree"
	"ac/workspace"
)

var landings = flag.Int("landings", 0, "how many landings are killed at random times, on top of those that are killed at their steps")

// playLanding lands a run in a process of its own.
func playLanding(s *Service, args []string) error {
	_, err := s.Land(context.Background(), LandOrder{ProjectID: args[1], RunID: args[3], Message: "Do it", Actor: human()})
	return err
}

// wrapper is a git that counts its calls and kills its caller before or after the n-th call.
const wrapper = `#!/bin/sh
n=$(($(cat "$AC_TEST_COUNT" 2>/dev/null) + 1))
echo $n >"$AC_TEST_COUNT"
if [ "$n" = "$AC_TEST_BEFORE" ]; then kill -9 $PPID; fi
if [ "$n" != "$AC_TEST_AFTER" ]; then exec "$AC_TEST_GIT" "$@"; fi
"$AC_TEST_GIT" "$@"
code=$?
kill -9 $PPID
exit $code
`

// dying is a stage with a landing process to be killed.
type dying struct {
	*stage
	run, old, counter string
	lander            *exec.Cmd
}

func newDying(t *testing.T, call int, variables ...string) *dying {
	t.Helper()
	d := &dying{stage: newLanding(t)}
	run, dir := d.stage.run(t)
	put(t, dir, "a.txt", "new\n")
	put(t, dir, "new/deep/c.txt", "three\n")
	put(t, dir, "sub/b.txt", "two, too\n")
	if err := os.Remove(filepath.Join(dir, "gone.txt")); err != nil {
		t.Fatal(err)
	}
	put(t, d.repo, "mine.txt", "mine\n")
	program, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	bin := resolved(t)
	if err := proctest.WriteProgram(filepath.Join(bin, "git"), []byte(wrapper)); err != nil {
		t.Fatal(err)
	}
	d.run, d.old, d.counter = run, d.head(t), filepath.Join(bin, "count")
	d.lander = process(t, "lander", d.dir, d.project, strconv.Itoa(call), run)
	d.lander.Env = append(d.lander.Env, append([]string{
		"HOME=" + bin, "XDG_CONFIG_HOME=" + bin, "PATH=" + bin + ":" + os.Getenv("PATH"), "AC_TEST_GIT=" + program, "AC_TEST_COUNT=" + d.counter,
	}, variables...)...)
	return d
}

// calls returns how often git was called.
func (d *dying) calls(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(d.counter)
	if err != nil {
		return 0
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// check waits until the last git has ended, checks the state that a killed landing left, and lands
// again. It reports whether the killed landing had moved the branch.
func (d *dying) check(t *testing.T, what string) (moved bool) {
	t.Helper()
	w := d.Workspace
	stale := time.Now().Add(-3 * time.Minute)
	_ = os.Chtimes(filepath.Join(d.dir, ".local/locks/workspace.write.lock"), stale, stale)
	w.Env.LockPatience = time.Minute
	root, err := w.LockTarget(t.Context(), d.repo) // held until git has ended
	if err != nil {
		t.Fatal(err)
	}
	moved = d.head(t) != d.old
	if status := git(t, d.repo, "status", "--porcelain"); status != "?? mine.txt" {
		t.Errorf("%s: %q", what, status)
	}
	if moved && git(t, d.repo, "rev-parse", "HEAD^") != d.old {
		t.Errorf("%s: the branch is at another commit", what)
	}
	if err := root.Close(); err != nil {
		t.Fatal(err)
	}
	d.landAgain(t, what)
	return moved
}

// landAgain lands a run that may already be landed and checks that it is landed exactly once.
func (d *dying) landAgain(t *testing.T, what string) {
	t.Helper()
	done, err := d.Land(t.Context(), d.landOrder(d.run))
	if err != nil || done.Commit == nil || *done.Commit != d.head(t) {
		t.Fatalf("%s: %+v, %v", what, done, err)
	}
	if n := git(t, d.repo, "rev-list", "--count", d.old+"..HEAD"); n != "1" {
		t.Errorf("%s: %s commits", what, n)
	}
	if status := git(t, d.repo, "status", "--porcelain"); status != "?? mine.txt" {
		t.Errorf("%s: after the next call: %q", what, status)
	}
	if n := d.landings(t, d.run); n != 1 || d.record(t, d.run).Landed == nil {
		t.Errorf("%s: %d events", what, n)
	}
	got := tree(t, d.repo)
	if got["a.txt"] != "new\n" || got["new/deep/c.txt"] != "three\n" || got["sub/b.txt"] != "two, too\n" || got["gone.txt"] != "" || got["mine.txt"] != "mine\n" || len(got) != 4 {
		t.Errorf("%s: %q", what, got)
	}
	left, err := workspace.Files(d.Workspace.FS, workspace.TempDir, "")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	for _, name := range left {
		if strings.HasPrefix(name, intentPrefix) {
			t.Errorf("%s: left %s", what, name)
		}
	}
	if _, err := os.Stat(filepath.Join(d.dir, filepath.FromSlash(d.record(t, d.run).Spec.WorktreeRel))); !os.IsNotExist(err) {
		t.Errorf("%s: the worktree: %v", what, err)
	}
}

// stride returns the step between tested calls: the usual one, or 1 in a campaign (-landings).
func stride(usual int) int {
	if *landings > 0 {
		return 1
	}
	return usual
}

// TestLandingKilledAtGit kills landings before and after their git calls. The orphaned git keeps
// running.
func TestLandingKilledAtGit(t *testing.T) {
	t.Parallel()
	total := newDying(t, 0)
	if err := total.lander.Run(); err != nil {
		t.Fatal(err, total.lander.Stderr)
	}
	calls := total.calls(t)
	total.check(t, "not killed")
	for _, moment := range []string{"BEFORE", "AFTER"} {
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			seen := map[bool]int{}
			for n := 1; n <= calls; n += stride(4) {
				d := newDying(t, 0, "AC_TEST_"+moment+"="+strconv.Itoa(n))
				if err := d.lander.Run(); err == nil {
					t.Fatalf("call %d of %d does not kill", n, calls)
				}
				seen[d.check(t, fmt.Sprintf("killed %s git %d", moment, n))]++
			}
			if seen[true] == 0 || seen[false] == 0 {
				t.Errorf("%v", seen)
			}
		})
	}
}

// TestLandingKilledAtFiles kills landings at their file system calls.
func TestLandingKilledAtFiles(t *testing.T) {
	t.Parallel()
	seen := map[bool]int{}
	for n := 3; ; n += stride(31) {
		d := newDying(t, n)
		err := d.lander.Run()
		seen[d.check(t, fmt.Sprintf("killed at call %d", n))]++
		if err == nil {
			break // the landing has fewer calls and was not killed
		}
	}
	if seen[true] < 2 || seen[false] < 2 {
		t.Errorf("%v", seen)
	}
}

// TestLandingKilledAnyTime is the campaign: it kills landings at random times.
func TestLandingKilledAnyTime(t *testing.T) {
	t.Parallel()
	seen, whole := map[bool]int{}, time.Duration(0)
	for n := range *landings + 1 {
		d := newDying(t, 0)
		begun := time.Now()
		if err := d.lander.Start(); err != nil {
			t.Fatal(err)
		}
		if n == 0 { // not killed: measures how long a landing takes
			if err := d.lander.Wait(); err != nil {
				t.Fatal(err)
			}
			whole = time.Since(begun)
		} else {
			time.Sleep(time.Duration(rand.Int64N(int64(whole)))) //nolint:gosec // any time
			_ = d.lander.Process.Kill()
			_ = d.lander.Wait()
		}
		seen[d.check(t, fmt.Sprint("kill ", n))]++
	}
	t.Logf("%d landings in %s each: %v", *landings, whole, seen)
}

// TestGitKilled lands after git itself was killed before it moved the branch. By then, git had
// written nothing, half the tree, or the tree and the index.
func TestGitKilled(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(t *testing.T, d *dying, commit string){
		"nothing": func(*testing.T, *dying, string) {},
		"half the tree": func(t *testing.T, d *dying, _ string) {
			put(t, d.repo, "a.txt", "ne")
			put(t, d.repo, "new/deep/c.txt", "")
			if err := errors.Join(os.Remove(filepath.Join(d.repo, "gone.txt")), os.Remove(filepath.Join(d.repo, "sub/b.txt"))); err != nil {
				t.Fatal(err)
			}
		},
		"tree and index": func(t *testing.T, d *dying, commit string) {
			git(t, d.repo, "read-tree", "-m", "-u", d.old, commit)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDying(t, 0)
			d.interrupted(t, leave)
			d.landAgain(t, name)
		})
	}
}

// interrupted leaves the state of a landing whose git was killed.
func (d *dying) interrupted(t *testing.T, leave func(*testing.T, *dying, string)) {
	t.Helper()
	l := &landing{s: d.Service, o: d.landOrder(d.run)}
	if err := l.load(); err != nil {
		t.Fatal(err)
	}
	l.o.DryRun = true
	if _, err := l.land(t.Context()); err != nil {
		t.Fatal(err)
	}
	target, err := l.repo.Target(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	work, err := l.work(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rel, err := l.repo.Tree(t.Context(), work)
	if err != nil {
		t.Fatal(err)
	}
	commit, err := l.repo.Commit(t.Context(), target, rel, l.message())
	if err == nil {
		err = l.writeIntent(landingIntent{RunID: d.run, ProjectID: d.project, RepoID: "repo", Root: l.root, Branch: "main", Old: d.old, New: commit})
	}
	if err != nil {
		t.Fatal(err)
	}
	leave(t, d, commit)
}

// TestGitKilledAndEdited checks that a person's edits after git was killed are kept and block the
// landing.
func TestGitKilledAndEdited(t *testing.T) {
	t.Parallel()
	d := newDying(t, 0)
	d.interrupted(t, func(t *testing.T, d *dying, _ string) {
		put(t, d.repo, "a.txt", "mine\n")
		put(t, d.repo, "new/deep/c.txt", "thr")
	})
	_, err := d.Land(t.Context(), d.landOrder(d.run))
	if worktree.ExitCode(err) != 1 || d.head(t) != d.old || tree(t, d.repo)["a.txt"] != "mine\n" {
		t.Errorf("%v: %q", err, tree(t, d.repo))
	}
	put(t, d.repo, "a.txt", base()["a.txt"])
	d.landAgain(t, "when it is put back")
}
