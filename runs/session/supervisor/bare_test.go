package supervisor_test

// Sessions on a system without subreapers and parent-death signals, and sessions whose
// supervisor panics.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ac/internal/guard"
	"ac/internal/proc"
	"ac/runs/session"
	"ac/runs/session/supervisor"
	"ac/workspace"
)

const (
	// bareGuard is the program name under which the test binary is a guard of such a system.
	bareGuard = "bare-guard"
	// bareCommand makes the test binary host a session with such a guard, and kill the guard.
	// panicCommand makes it host a session whose supervisor panics. The order comes on standard
	// input.
	bareCommand  = "bare"
	panicCommand = "panic"
)

// bareMain hosts a session, and prints how it ended and whether its provider is alive.
func bareMain(how string) error {
	var order session.Order
	if err := json.NewDecoder(os.Stdin).Decode(&order); err != nil {
		return err
	}
	w, err := workspace.Open(workspace.SystemEnv(), order.WorkspaceDir)
	if err != nil {
		return err
	}
	order.Version, order.Environ = session.OrderVersion, os.Environ()
	host := supervisor.Host{Executable: os.Getenv("BARE_GUARD"), Tell: func(phase, _, _ string) {
		switch {
		case phase != "running":
		case how == panicCommand:
			panic("a fault within")
		default:
			guards, err := proc.Children(os.Getpid())
			for _, pid := range guards {
				err = errors.Join(err, proc.Kill(pid))
			}
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		}
	}}
	record, err := supervisor.Supervise(context.Background(), w, host, order)
	if record.PID == nil {
		return errors.Join(err, errors.New("no provider was started"))
	}
	id := proc.Identity{PID: *record.PID, Start: record.PIDStart}
	why, _, _ := strings.Cut(record.Error, "\n")
	fmt.Printf("%s alive=%v %s\n", record.Status, id.Alive(), why)
	return errors.Join(err, w.Close())
}

// TestWithoutSubreaper checks that the provider of a killed guard is killed and confirmed dead,
// on a system without subreapers and parent-death signals. A session that panics must not leave
// a process behind either.
func TestWithoutSubreaper(t *testing.T) {
	t.Parallel()
	for how, want := range map[string]string{
		bareCommand:  "failed alive=false the guard of the provider died; the provider was killed with all of its group\n",
		panicCommand: "failed alive=false internal fault: a fault within\n",
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			order := s.run("stubborn")
			input, err := json.Marshal(order)
			if err != nil {
				t.Fatal(err)
			}
			guard := filepath.Join(t.TempDir(), bareGuard)
			if err := os.Symlink(s.launcher.Executable, guard); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(s.ctx, patience)
			defer cancel()
			cmd := exec.CommandContext(ctx, s.launcher.Executable, how)
			cmd.Env = append(slices.Clone(s.launcher.Environ), "BARE_GUARD="+guard)
			cmd.Stdin, cmd.Stderr = strings.NewReader(string(input)), os.Stderr
			cmd.WaitDelay = time.Second
			out, err := cmd.Output()
			if err != nil || string(out) != want {
				t.Errorf("%q (%v)", out, err)
			}
		})
	}
}

// runBareGuard is a guard on a system without subreapers and parent-death signals.
func runBareGuard() error {
	return guard.RunWith(func() error { return nil }, func(path string, argv, env []string, dir string, files [3]*os.File) (int, error) {
		fds := make([]uintptr, len(files))
		for i, f := range files {
			fds[i] = f.Fd()
		}
		return syscall.ForkExec(path, argv, &syscall.ProcAttr{Dir: dir, Env: env, Files: fds, Sys: &syscall.SysProcAttr{Setpgid: true}})
	})
}
