package supervisor

// The supervisor's part in a live session: the command line, the records, and the host that the
// conversation calls.

import (
	"context"
	"errors"
	"path"
	"path/filepath"
	"slices"

	"ac/events"
	"ac/runs/agent"
	"ac/runs/provider"
	"ac/runs/session"
	"ac/runs/session/live"
	"ac/workspace/doc"
)

// appServerPayload is the payload of run.executing for an app server.
type appServerPayload struct {
	Mode          string   `json:"mode"`
	ProviderBin   string   `json:"provider_bin"`
	PromptRelpath string   `json:"prompt_relpath"`
	Model         *string  `json:"model"`
	RepoID        *string  `json:"repo_id"`
	WorkdirRel    *string  `json:"workdir_rel"`
	TaskID        *string  `json:"task_id"`
	MilestoneID   *string  `json:"milestone_id"`
	Driver        string   `json:"driver"`
	AgentArgv     []string `json:"agent_argv"`
}

// liveEndedPayload is the closing payload of a live session.
type liveEndedPayload struct {
	endedPayload
	CompletionStatus *string `json:"completion_status"`
	CompletionError  *string `json:"completion_error"`
	Reason           string  `json:"reason,omitempty"`
}

// withConversation returns the outcome of a live session, from the state of its conversation.
func (o outcome) withConversation(talk *live.Conversation) outcome {
	v := talk.FinalVerdict(o.stopped, o.exitCode != nil && *o.exitCode == 0)
	if o.err != nil && v.Status == doc.StatusEnded {
		v.Status = doc.StatusFailed
	}
	o.live, o.turn = true, talk.LastTurn()
	o.status, o.stopped, o.reason = v.Status, v.Status == doc.StatusStopped, v.Reason
	o.err = errors.Join(v.Err, o.err)
	o.exitCode = new(1)
	if o.status == doc.StatusEnded {
		o.exitCode = new(0)
	}
	return o
}

// lastPayload returns the payload of the closing event.
func (o outcome) lastPayload(p endedPayload) any {
	if !o.live {
		return p
	}
	return liveEndedPayload{p, orNull(o.turn.Status), orNull(o.turn.Error), o.reason}
}

// prepareLive writes the first prompt and determines the command line.
func (s *supervisor) prepareLive(machine doc.Machine, spec *doc.Spec) error {
	live := s.order.Live
	if s.baseArgv == nil {
		s.baseArgv = append([]string{}, s.order.Argv...)
		if s.order.PerTurn() {
			s.baseArgv = append([]string{}, live.Template...)
		}
		var err error
		if s.config, err = s.serverConfig(); err != nil {
			return err
		}
	}
	if err := s.w.Replace(path.Join(s.outDir, "prompt.txt"), []byte(s.secrets.String(live.Prompt)), 0o644); err != nil {
		return err
	}
	if err := s.buildArgv(machine); err != nil {
		return err
	}
	if spec.Argv = s.safeArgv(); live.Driver != session.DriverCodex {
		return nil
	}
	spec.Kind, spec.Model = doc.KindAppServer, live.Model
	spec.Argv, spec.Env = nil, nil
	spec.PromptRelpath = path.Join("runs", s.order.RunID, "outputs", "prompt.txt")
	return nil
}

// buildArgv determines the command line of a live session's agent, as far as the working directory is
// known.
func (s *supervisor) buildArgv(machine doc.Machine) (err error) {
	live := s.order.Live
	call := provider.LiveCall{
		Provider: s.order.Provider, Driver: live.Driver, Argv: s.baseArgv, Model: live.Model, Mode: string(live.Policy.Mode), Resume: live.Thread,
		Trusted: s.trusted(), Servers: s.config,
	}
	s.order.Argv, err = call.Words(machine)
	s.order.Argv = s.withProfileArgs(s.order.Argv)
	return err
}

// trusted reports whether somebody entitled to do so chose the working directory. That is the
// workspace, a worktree of ours in it, or a repository linked to the project.
func (s *supervisor) trusted() bool {
	if s.workdir == "" {
		return false
	}
	inside := func(dir string) bool {
		resolved, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return false
		}
		work, err := filepath.EvalSymlinks(s.workdir)
		if err != nil {
			return false
		}
		rel, err := filepath.Rel(resolved, work)
		return err == nil && filepath.IsLocal(rel)
	}
	if inside(s.w.Dir()) {
		return true
	}
	links, err := s.w.RepoLinks(s.order.ProjectID)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(links, func(l doc.RepoLink) bool { return l.RepoID == s.order.RepoID })
}

// executingEvent returns the run.executing event.
func (s *supervisor) executingEvent(spec *doc.Spec) (events.Draft, error) {
	live := s.order.Live
	if live != nil && live.Driver == session.DriverCodex {
		return s.draft(events.RunExecuting, appServerPayload{
			Mode: doc.KindAppServer, ProviderBin: s.safeArgv()[0], PromptRelpath: spec.PromptRelpath, Model: orNull(spec.Model),
			RepoID: orNull(spec.RepoID), WorkdirRel: orNull(spec.WorkdirRel), TaskID: orNull(spec.TaskID), MilestoneID: orNull(spec.MilestoneID),
			Driver: live.Driver, AgentArgv: s.safeArgv(),
		})
	}
	p := executingPayload{
		Argv: spec.Argv, RepoID: spec.RepoID, WorkdirRel: spec.WorkdirRel, TaskID: orNull(spec.TaskID),
		MilestoneID: orNull(spec.MilestoneID), WorktreeRel: orNull(spec.WorktreeRel), WorktreeBranch: orNull(spec.WorktreeBranch),
		StdinRelpath: orNull(spec.StdinRelpath),
	}
	if live != nil {
		p.Driver, p.AgentArgv = live.Driver, spec.Argv
	}
	return s.draft(events.RunExecuting, p)
}

// beginLive writes the settings of the newest live session into the run's record.
func (s *supervisor) beginLive(run *doc.Run) {
	live := s.order.Live
	if live == nil {
		return
	}
	if run.Live == nil {
		run.Live = &doc.Live{}
	}
	l := run.Live
	l.Driver, l.Policy, l.Interactive, l.KeepOpen = live.Driver, live.Policy, live.Interactive, live.KeepOpen
	l.ThreadBaseline, l.ThreadSpent, l.IdleTimeoutMS = live.Baseline, nil, nil
	if live.KeepOpen && live.IdleMS > 0 {
		l.IdleTimeoutMS = &live.IdleMS
	}
	l.Sessions = max(l.Sessions, 1)
}

// converse creates the conversation of a live session. It runs before any output is read.
func (s *supervisor) converse(ctx context.Context) {
	if s.order.Live != nil {
		s.talk = live.NewConversation(ctx, live.Session{
			Supervisor: (*talkHost)(s), Workspace: s.w, Order: &s.order, OutDir: s.outDir, Workdir: s.workdir, Secrets: s.secrets,
			Recorder: s.recorder, Reading: s.reading, ProfileEnv: s.profile.Environ, MissingServerErrors: s.missingServerErrors,
		})
	}
	close(s.talkReady)
}

// talkHost is the supervisor as seen by its conversation.
type talkHost supervisor

// Draft returns an event of the session.
func (h *talkHost) Draft(kind string, payload any) (events.Draft, error) {
	return (*supervisor)(h).draft(kind, payload)
}

// Note queues a change of the run's record.
func (h *talkHost) Note(ctx context.Context, change func(*doc.Run)) {
	(*supervisor)(h).note(ctx, change)
}

// Amend changes the session's record.
func (h *talkHost) Amend(durable bool, change func(*doc.Session)) {
	(*supervisor)(h).amend(durable, change)
}

// Snapshot returns a copy of the current record.
func (h *talkHost) Snapshot() doc.Session { return (*supervisor)(h).snapshot() }

// Stop requests the end of the session, as a failure.
func (h *talkHost) Stop() { (*supervisor)(h).requestStop(false) }

// Stopping reports whether anybody requested a stop.
func (h *talkHost) Stopping() bool { return (*supervisor)(h).isStopRequested() }

// StoppedByCaller reports whether a caller requested a stop.
func (h *talkHost) StoppedByCaller() bool { return (*supervisor)(h).isStoppedByCaller() }

// Folders returns a command line with this machine's folders in place of their marks.
func (h *talkHost) Folders(words []string) ([]string, error) {
	return (*supervisor)(h).withFolders(words)
}

// Servers returns the MCP servers that the agent is given.
func (h *talkHost) Servers() []agent.Server { return (*supervisor)(h).serversOf() }
