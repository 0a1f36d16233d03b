package crashtest

// Kills of processes that found a company with departments, each at one call to the file
// system. Afterwards either nothing of the company exists, or all of it.

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"ac/company"
	"ac/company/provisioning"
	"ac/enterprise"
	"ac/internal/durable"
	"ac/internal/durable/faultfs"
	"ac/workspace"
	"ac/workspace/validate"
)

var foundingStep = flag.Int("founding-step", 41, "how many calls lie between two at which a founding process is killed; 1 kills at every call")

// foundCommand makes the test binary such a process. Its arguments are the folder and the
// number of the call at which it is killed, or placed.
const foundCommand = "found"

// placed kills right after the step that puts the company in place.
const placed = -1

func found(args []string) error {
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	plan := faultfs.NewPlan(max(n, 0), faultfs.Death)
	plan.OnDeath = die
	env := workspace.SystemEnv()
	env.OpenFS = plan.Open
	if n == placed {
		env.OpenFS = func(dir string) (durable.FS, error) {
			fsys, err := plan.Open(dir)
			return deadly{fsys}, err
		}
	}
	_, err = ensure(context.Background(), env, args[0])
	return err
}

func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // until the signal arrives
}

// deadly dies after the step that puts a company in place. For an absent directory, that is
// the rename of what was built beside it. In an empty one, it is the rename of the last part.
type deadly struct{ durable.FS }

func (d deadly) Rename(from, to string) error {
	err := d.FS.Rename(from, to)
	if err == nil && (to == foundingName || to == "company") {
		die()
	}
	return err
}

// folderAt returns the folder at a path.
func folderAt(all *company.Host, dir string) provisioning.Folder {
	return provisioning.Folder{InFolder: company.InFolder{Folder: all.In(dir)}}
}

// ensure ensures that a folder has a small company with departments.
func ensure(ctx context.Context, env workspace.Env, dir string) (result provisioning.EnsureEnterpriseResult, err error) {
	all := company.New(company.Options{Env: env})
	defer func() { err = errors.Join(err, all.Close()) }()
	p := provisioning.EnterpriseParams{Departments: []string{"qa"}, WorkersPerDept: 1}
	p.WorkspaceDir = dir
	return folderAt(all, dir).EnsureEnterprise(ctx, p)
}

// TestKilledFounding kills at every foundingStep-th call while a process founds a company in
// an absent directory, and in an empty one. The next process finds the company whole or
// creates it, and removes what was left.
func TestKilledFounding(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"absent", "empty"} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			f := foundings{t, place}
			kills, there := 0, 0
			for n := 1; !t.Failed(); n += *foundingStep {
				killed, whole := f.at(n)
				if !killed {
					break
				}
				kills++
				if whole {
					there++
				}
			}
			if killed, whole := f.at(placed); !killed || !whole {
				t.Errorf("killed behind the step that puts it in place: %v, %v", killed, whole)
			}
			t.Logf("%d kills, %d companies were there", kills, there)
			if kills < 200 / *foundingStep {
				t.Error("a founding makes more calls")
			}
		})
	}
}

// foundingName is the base name of the companies' folders.
const foundingName = "ws"

// foundings runs the processes for one kind of place.
type foundings struct {
	*testing.T
	place string
}

// folder makes a place for one company.
func (f foundings) folder() (dir string) {
	f.Helper()
	above, err := os.MkdirTemp(f.TempDir(), "above")
	dir = filepath.Join(above, foundingName)
	if err == nil && f.place == "empty" {
		err = os.Mkdir(dir, 0o750)
	}
	if err != nil {
		f.Fatal(err)
	}
	return dir
}

func (f foundings) process(dir string, n int) *exec.Cmd {
	f.Helper()
	executable, err := os.Executable()
	if err != nil {
		f.Fatal(err)
	}
	cmd := exec.Command(executable, foundCommand, dir, strconv.Itoa(n))
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	return cmd
}

// at kills a process at its n-th call. It reports whether that was reached, and whether the
// company existed then.
func (f foundings) at(n int) (killed, there bool) {
	f.Helper()
	dir := f.folder()
	out, err := f.process(dir, n).CombinedOutput()
	ended := (*exec.ExitError)(nil)
	killed = errors.As(err, &ended) && ended.Sys().(syscall.WaitStatus).Signaled() //nolint:forcetypeassert // of this system
	if err != nil && !killed {
		f.Fatalf("call %d: it failed: %v\n%s", n, err, out)
	}
	there = f.whole(n, dir)
	result, err := ensure(f.Context(), workspace.SystemEnv(), dir)
	if err != nil || !result.Ready || result.Bootstrapped == there {
		f.Errorf("call %d: then %+v (%v)", n, result, err)
	}
	if !f.whole(n, dir) {
		f.Errorf("call %d: nothing is there", n)
	}
	if there {
		return killed, there
	}
	beside, err := os.ReadDir(filepath.Dir(dir))
	if err != nil || len(beside) != 1 {
		f.Errorf("call %d: beside it lie %v (%v)", n, beside, err)
	}
	within, err := os.ReadDir(dir)
	if err != nil || len(within) != len(workspace.Roots()) {
		f.Errorf("call %d: within it lie %v (%v)", n, within, err)
	}
	return killed, there
}

// whole reports whether there is a workspace. If so, it must contain the whole company.
func (f foundings) whole(n int, dir string) bool {
	f.Helper()
	w, err := workspace.Open(workspace.SystemEnv(), dir)
	if err != nil {
		return false
	}
	defer func() {
		if err := w.Close(); err != nil {
			f.Error(err)
		}
	}()
	ready, err := enterprise.CheckReadiness(w)
	agents, agentsErr := w.Agents()
	conversations, listErr := workspace.Dirs(w.FS, workspace.ConversationsDir)
	if err = errors.Join(err, agentsErr, listErr); err != nil || !ready.Ready || ready.ProjectCount != 1 || len(agents) != 6 || len(conversations) != 1 {
		f.Errorf("call %d: there is a part of it: %+v, %d agents, conversations %v (%v)", n, ready, len(agents), conversations, err)
	}
	if found := validate.Folder(workspace.SystemEnv(), dir); len(found.Issues)+len(found.Warnings) > 0 {
		f.Errorf("call %d: %+v", n, found)
	}
	return true
}
