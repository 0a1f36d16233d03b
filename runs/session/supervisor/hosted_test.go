package supervisor_test

// Several sessions hosted in one process that also has other children.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"ac/internal/proc"
	"ac/runs/session"
	"ac/runs/session/supervisor"
	"ac/workspace"
)

// hostCommand makes the test binary host sessions. It reads their orders from standard input,
// and kills the guard of the first one.
const hostCommand = "host"

// hostMain hosts a session and kills its guard. It hosts another session beside it, and a third
// one afterwards. The process also has an unrelated child. It prints the outcome.
func hostMain() error {
	executable, err := os.Executable()
	if err != nil {
		return err
	}
	var orders []session.Order
	if err := json.NewDecoder(os.Stdin).Decode(&orders); err != nil {
		return err
	}
	if err := proc.BecomeSubreaper(); err != nil {
		return err
	}
	w, err := workspace.Open(workspace.SystemEnv(), orders[0].WorkspaceDir)
	if err != nil {
		return err
	}
	other := exec.Command(executable, providerCommand, "stubborn")
	if err := other.Start(); err != nil {
		return err
	}
	guards := &session.GuardSet{}
	host := func(order session.Order) *supervisor.HostedSession {
		h := &supervisor.HostedSession{Workspace: w, Host: supervisor.Host{Executable: executable, Guards: guards}, Environ: os.Environ()}
		err = errors.Join(err, h.Launch(context.Background(), order))
		return h
	}
	doomed := host(orders[0])
	children, childrenErr := proc.Children(os.Getpid())
	for _, pid := range children {
		if pid != other.Process.Pid {
			err = errors.Join(err, proc.Kill(pid)) // the guard
		}
	}
	beside := host(orders[1])
	first, firstErr := doomed.Wait()
	second, secondErr := beside.Wait()
	_, alive := proc.Lookup(other.Process.Pid)
	third, thirdErr := host(orders[2]).Wait()
	err = errors.Join(err, childrenErr, firstErr, secondErr, thirdErr, other.Process.Kill())
	waited := other.Wait() // nobody else may have reaped it
	left, leftErr := proc.Children(os.Getpid())
	fmt.Println(first.Status, second.Status, third.Status, "other:", alive, waited, "left:", len(left))
	return errors.Join(err, leftErr, w.Close())
}

func TestHostedBesideOthers(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	orders := []session.Order{s.run("family"), s.run("print", "a", "b"), s.run("exit", "0")}
	input, err := json.Marshal(orders)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.launcher.Executable, hostCommand)
	cmd.Env, cmd.Stdin, cmd.Stderr = s.launcher.Environ, strings.NewReader(string(input)), os.Stderr
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil || string(out[strings.LastIndex(strings.TrimSpace(string(out)), "\n")+1:]) != "failed ended ended other: true signal: killed left: 0\n" {
		t.Errorf("%q (%v)", out, err)
	}
	for _, order := range orders {
		s.collect(order)
	}
}
