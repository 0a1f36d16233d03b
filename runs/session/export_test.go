package session

import (
	"os"
	"syscall"

	"ac/internal/guard"
	"ac/internal/lock"
	"ac/workspace"
)

// RunBareGuard is a guard on a system that neither gives it its descendants nor ends
// them with it.
func RunBareGuard() error {
	return guard.RunWith(func() error { return nil }, func(path string, argv, env []string, dir string, files [3]*os.File) (int, error) {
		fds := make([]uintptr, len(files))
		for i, f := range files {
			fds[i] = f.Fd()
		}
		return syscall.ForkExec(path, argv, &syscall.ProcAttr{Dir: dir, Env: env, Files: fds, Sys: &syscall.SysProcAttr{Setpgid: true}})
	})
}

// HoldRun takes the lock of a run, as a supervisor that has not let go of it yet.
func HoldRun(w *workspace.Workspace, project, run string) (release func() error, err error) {
	held, err := lock.Try(w.FS, runLock(project, run))
	if err != nil {
		return nil, err
	}
	return held.Retire, nil
}
