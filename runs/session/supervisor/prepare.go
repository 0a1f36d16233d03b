package supervisor

// Before the start: the records of an execution, and the provider's environment.

import (
	"context"
	"os"
	"path"
	"slices"
	"strings"

	"ac/events"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/doc"
)

// prepare creates the output files, determines the working directory, and writes the spec and its
// run.executing event.
func (s *supervisor) prepare(ctx context.Context) error {
	s.outDir = path.Join(workspace.RunDir(s.order.ProjectID, s.order.RunID), "outputs")
	if err := durable.MkdirAll(s.w.FS, s.outDir, 0o755); err != nil {
		return err
	}
	machine, err := s.w.Machine()
	if err != nil {
		return err
	}
	open := s.create
	if s.continues() {
		open = s.openAppend
	}
	if s.stdout, err = open("stdout.txt"); err != nil {
		return err
	}
	if s.stderr, err = open("stderr.txt"); err != nil {
		return err
	}
	spec := &doc.Spec{
		Kind: doc.KindCommand, Argv: s.safeArgv(), RepoID: s.order.RepoID, WorkdirRel: s.order.WorkdirRel,
		TaskID: s.order.TaskID, MilestoneID: s.order.MilestoneID, Budget: s.order.Budget, Env: masked(s.order.Env),
	}
	if s.order.Live != nil {
		if err := s.prepareLive(machine, spec); err != nil {
			return err
		}
	} else if s.order.Stdin != nil {
		name := path.Join(s.outDir, "stdin.txt")
		if err := s.w.Replace(name, []byte(s.secrets.String(*s.order.Stdin)), 0o644); err != nil {
			return err
		}
		spec.StdinRelpath = path.Join("runs", s.order.RunID, "outputs", "stdin.txt")
	}
	if s.workdir = s.w.Dir(); s.order.Worker != nil {
		s.workdir = s.order.Worker.Dir
	}
	switch {
	case s.continues() && s.order.Worktree == nil && !s.order.Live.Fresh:
		err = s.restoreWorkdir(machine, spec)
	case s.order.RepoID != "":
		err = s.enterRepo(ctx, machine, spec)
	}
	if err != nil {
		return err
	}
	if s.spec = spec; s.order.Live != nil && spec.Kind == doc.KindCommand {
		if err := s.buildArgv(machine); err != nil { // now that the working directory is known
			return err
		}
		spec.Argv = s.safeArgv()
	}
	return s.announce(ctx, spec)
}

// prepareAgain is prepare for another process of the same session.
func (s *supervisor) prepareAgain(ctx context.Context) error {
	machine, err := s.w.Machine()
	if err == nil {
		err = s.buildArgv(machine)
	}
	if err != nil {
		return err
	}
	if s.spec.Kind == doc.KindCommand {
		s.spec.Argv = s.safeArgv()
	}
	draft, err := s.executingEvent(s.spec)
	if err != nil {
		return err
	}
	if err := s.recorder.Commit(draft); err != nil {
		return err
	}
	s.note(ctx, func(run *doc.Run) {
		if run.Spec != nil {
			run.Spec.Argv = s.spec.Argv
		}
	})
	return nil
}

// safeArgv returns the command line with its secrets masked.
func (s *supervisor) safeArgv() []string {
	argv := make([]string, len(s.order.Argv))
	for i, word := range s.order.Argv {
		argv[i] = s.secrets.String(word)
	}
	return argv
}

func (s *supervisor) create(name string) (durable.File, error) {
	return s.w.FS.OpenFile(path.Join(s.outDir, name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
}

// executingPayload is the payload of run.executing.
type executingPayload struct {
	Argv           []string `json:"argv"`
	RepoID         string   `json:"repo_id,omitempty"`
	WorkdirRel     string   `json:"workdir_rel,omitempty"`
	TaskID         *string  `json:"task_id"`
	MilestoneID    *string  `json:"milestone_id"`
	WorktreeRel    *string  `json:"worktree_relpath"`
	WorktreeBranch *string  `json:"worktree_branch"`
	StdinRelpath   *string  `json:"stdin_relpath"`
	Driver         string   `json:"driver,omitempty"`
	AgentArgv      []string `json:"agent_argv,omitempty"`
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// announce writes the spec and the run.executing event as one unit.
func (s *supervisor) announce(ctx context.Context, spec *doc.Spec) error {
	draft, err := s.executingEvent(spec)
	if err != nil {
		return err
	}
	return s.commitSpec(ctx, spec, draft)
}

// commitSpec writes the spec into the run's record together with an event.
func (s *supervisor) commitSpec(ctx context.Context, spec *doc.Spec, draft events.Draft) error {
	return s.w.Update(ctx, func(u *workspace.Unit) error {
		file := workspace.RunFile(s.order.ProjectID, s.order.RunID)
		run, err := workspace.LoadIn(u, doc.RunCodec, file)
		if err != nil {
			return err
		}
		if doc.Terminal(run.Status) {
			return fault.New(fault.Conflict, "run %s is %s already", s.order.RunID, run.Status)
		}
		run.Spec, run.ModelProfile = spec, s.order.ModelProfile
		s.beginLive(&run)
		if err := workspace.Put(u, doc.RunCodec, file, run, 0o644); err != nil {
			return err
		}
		u.Append(workspace.LogFile(s.order.ProjectID, s.order.RunID), draft)
		return nil
	})
}

func (s *supervisor) draft(kind string, payload any) (events.Draft, error) {
	return s.w.Events.Draft(events.Draft{
		RunID: s.order.RunID, SessionRef: s.order.SessionRef, Actor: events.ActorSystem, Visibility: events.VisibilityOrg, Type: kind,
	}, payload)
}

// withPWD returns the environment with PWD set to the working directory. Some agents trust
// PWD over the kernel.
func withPWD(environ []string, dir string) []string {
	environ = slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		return strings.HasPrefix(entry, "PWD=") || strings.HasPrefix(entry, "OLDPWD=")
	})
	return append(environ, "PWD="+dir)
}
