package job

// Starting runners.

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"ac/internal/fault"
	"ac/internal/proc"
	"ac/runs/session"
	"ac/workspace"
)

// RunCommand is the hidden command of a runner process.
const RunCommand = "job:run"

// OrderVersion is the version of orders that a runner accepts.
const OrderVersion = 1

// Order is the input of a runner: one JSON value on its stdin, never on a command line or in a
// file.
type Order struct {
	Version      int      `json:"version"`
	WorkspaceDir string   `json:"workspace_dir"` // absolute
	ProjectID    string   `json:"project_id"`
	JobID        string   `json:"job_id"`
	Environ      []string `json:"environ"` // of workers
	Program      string   `json:"program"` // the version of this program
	MonotonicMS  int64    `json:"monotonic_ms"`
}

// phase is a line from a runner to the process that started it.
type phase struct {
	Phase   string `json:"phase"` // owned, busy or refused
	Message string `json:"message,omitempty"`
}

const (
	phaseOwned   = "owned"
	phaseBusy    = "busy"
	phaseRefused = "refused"
)

// ownWithin bounds how long a runner may take to own its job.
const ownWithin = 30 * time.Second

// Starter starts runners. It is safe for concurrent use.
type Starter struct {
	// Executable is the program with the hidden commands.
	Executable string
	// Environ is the environment that workers inherit.
	Environ []string
	// Version is the version of this program.
	Version string
	// Attached keeps runners in the kernel session of this process, which ends processes that it
	// adopts from other sessions.
	Attached bool
}

// starts bounds how often a runner is started. Only one that exited before it owned its job is
// started again: it has done nothing yet.
const starts = 3

// errEnded means that a runner exited before it owned its job.
var errEnded = errors.New("the runner exited before it accepted the job")

// start starts a runner for a job. It returns once the runner owns the job or has found another
// owner. The runner outlives this process.
func (s *Starter) start(ctx context.Context, w *workspace.Workspace, p jobRef) (err error) {
	for range starts {
		if err = s.startOnce(ctx, w, p); !errors.Is(err, errEnded) {
			return err
		}
	}
	return err
}

func (s *Starter) startOnce(ctx context.Context, w *workspace.Workspace, p jobRef) error {
	text, err := json.Marshal(Order{
		Version: OrderVersion, WorkspaceDir: w.Dir(), ProjectID: p.project, JobID: p.id, Environ: s.Environ, Program: s.Version,
		MonotonicMS: w.Env.Clock.MonotonicMS(),
	})
	if err != nil {
		return err
	}
	cmd := exec.Command(s.Executable, RunCommand) //nolint:noctx // a runner outlives the request, and the server
	cmd.Dir, cmd.Env, cmd.SysProcAttr = "/", session.SupervisorEnv(), proc.NewSession()
	if s.Attached {
		cmd.SysProcAttr = proc.NewGroup()
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, outChild, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd.Stdout = outChild
	if err := errors.Join(cmd.Start(), outChild.Close()); err != nil {
		return errors.Join(fmt.Errorf("start the runner: %w", err), out.Close())
	}
	go func() { _ = cmd.Wait() }() // reaps it if we live that long; its record has the result
	if err := proc.SendOrder(stdin, text); err != nil {
		return errors.Join(fmt.Errorf("send the job to the runner: %w", err), out.Close())
	}
	return await(ctx, out)
}

// await reads the first phase of a runner.
func await(ctx context.Context, out *os.File) error {
	ctx, cancel := context.WithTimeoutCause(ctx, ownWithin, fault.New(fault.Internal, "the runner did not accept the job within %s", ownWithin))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = out.SetReadDeadline(time.Unix(1, 0)) }) // ends the read below
	defer stop()
	var said phase
	err := json.NewDecoder(bufio.NewReader(out)).Decode(&said)
	closeErr := out.Close()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fault.New(fault.Internal, "%w", errEnded)
	case said.Phase == phaseRefused:
		return fault.New(fault.Internal, "the runner refused the job: %s", said.Message)
	}
	return closeErr
}
