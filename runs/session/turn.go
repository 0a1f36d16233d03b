package session

// Sessions of the app server: a turn of a conversation instead of a command
// that ends by itself.

import (
	"context"
	"errors"
	"os"
	"path"

	"ac/events"
	"ac/runs/appserver"
	"ac/runs/provider"
	"ac/runs/usage"
	"ac/workspace"
	"ac/workspace/doc"
)

// Turn is what an app server is asked for.
type Turn struct {
	Prompt string `json:"prompt"`
	Model  string `json:"model,omitempty"`
	Level  string `json:"level"` // of permission
	// Files serves the agent files to read where its level bears no commands.
	Files provider.CodexFiles `json:"files,omitempty"`
	// Version is that of this program, which it introduces itself with.
	Version string `json:"version"`
}

// conversation is a turn under way. It is nil for commands.
type conversation struct {
	client  *appserver.Client
	over    chan struct{} // closed when the turn is over, however
	outcome appserver.Outcome
	err     error
}

// turnExecutingPayload is the payload of run.executing of an app server.
type turnExecutingPayload struct {
	Mode          string  `json:"mode"`
	ProviderBin   string  `json:"provider_bin"`
	PromptRelpath string  `json:"prompt_relpath"`
	Model         *string `json:"model"`
	RepoID        *string `json:"repo_id"`
	WorkdirRel    *string `json:"workdir_rel"`
	TaskID        *string `json:"task_id"`
	MilestoneID   *string `json:"milestone_id"`
}

// turnEndedPayload closes the log of a turn.
type turnEndedPayload struct {
	endedPayload
	CompletionStatus *string `json:"completion_status"`
	CompletionError  *string `json:"completion_error"`
}

// prepareTurn writes the prompt and settles the command line.
func (s *supervisor) prepareTurn(machine doc.Machine, spec *doc.Spec) error {
	s.order.Argv = []string{provider.Binary(machine, s.order.Provider), "app-server"}
	err := s.w.Replace(path.Join(s.outDir, "prompt.txt"), []byte(s.secrets.String(s.order.Turn.Prompt)), 0o644)
	spec.Kind, spec.Model = doc.KindAppServer, s.order.Turn.Model
	spec.Argv, spec.Env = nil, nil
	spec.PromptRelpath = path.Join("runs", s.order.RunID, "outputs", "prompt.txt")
	return err
}

// executing is the event that says what is executed.
func (s *supervisor) executing(spec *doc.Spec) (events.Draft, error) {
	if s.order.Turn == nil {
		return s.draft(events.RunExecuting, executingPayload{
			Argv: spec.Argv, RepoID: spec.RepoID, WorkdirRel: spec.WorkdirRel, TaskID: orNull(spec.TaskID),
			MilestoneID: orNull(spec.MilestoneID), WorktreeRel: orNull(spec.WorktreeRel), WorktreeBranch: orNull(spec.WorktreeBranch),
			StdinRelpath: orNull(spec.StdinRelpath),
		})
	}
	return s.draft(events.RunExecuting, turnExecutingPayload{
		Mode: doc.KindAppServer, ProviderBin: s.safeArgv()[0], PromptRelpath: spec.PromptRelpath, Model: orNull(spec.Model),
		RepoID: orNull(spec.RepoID), WorkdirRel: orNull(spec.WorkdirRel), TaskID: orNull(spec.TaskID), MilestoneID: orNull(spec.MilestoneID),
	})
}

// converse begins the turn with a provider that was started.
func (s *supervisor) converse(ctx context.Context, stdin *os.File) *conversation {
	if s.order.Turn == nil {
		return nil
	}
	c := &conversation{over: make(chan struct{})}
	c.client = appserver.New(ctx, stdin, appserver.Notices{
		Thread: func(id string) {
			s.learn(ctx, func(spec *doc.Spec, record *doc.Session) { spec.ThreadID, record.ThreadID = id, id })
		},
		Turn: func(id string) {
			s.learn(ctx, func(spec *doc.Spec, record *doc.Session) { spec.TurnID, record.TurnID = id, id })
		},
		Usage:  func(r usage.Report) { s.recorder.told([]usage.Report{r}, nil) },
		Cycles: func(found []usage.Cycle) { s.recorder.told(nil, found) },
	})
	go func() { // ends with the turn, or with the provider's output
		defer close(c.over)
		c.outcome, c.err = c.client.Run(ctx, appserver.Spec{
			Version: s.order.Turn.Version, Model: s.order.Turn.Model, Dir: s.workdir, Prompt: s.order.Turn.Prompt,
			Sandbox: provider.Sandbox(s.order.Turn.Level), Without: s.order.Turn.Files.Without(), Files: s.order.Turn.Files,
		})
	}()
	return c
}

// learn writes ids that the provider told into the run and the record. A
// failure costs a report its detail, not the session.
func (s *supervisor) learn(ctx context.Context, change func(*doc.Spec, *doc.Session)) {
	s.mu.Lock()
	change(&doc.Spec{}, &s.record)
	record := s.record
	s.mu.Unlock()
	_ = write(s.w, record)
	_ = s.w.Update(ctx, func(u *workspace.Unit) error {
		file := workspace.RunFile(s.order.ProjectID, s.order.RunID)
		run, err := workspace.LoadIn(u, doc.RunCodec, file)
		if err != nil || run.Spec == nil || doc.Terminal(run.Status) {
			return err
		}
		change(run.Spec, &doc.Session{})
		return workspace.Put(u, doc.RunCodec, file, run, 0o644)
	})
}

// told queues the events of what a notification told.
func (r *recorder) told(reports []usage.Report, found []usage.Cycle) {
	r.mu.Lock()
	defer r.mu.Unlock()
	drafts, err := r.notified(reports, found)
	if err != nil {
		return // a report that cannot be written as JSON tells nothing
	}
	for _, draft := range drafts {
		r.enqueue(draft)
	}
}

// concludeTurn takes the end of a turn into the outcome of its session and writes the
// answer.
func (s *supervisor) concludeTurn(c *conversation, end outcome) outcome {
	answer := s.secrets.String(c.outcome.Answer)
	err := s.w.Replace(path.Join(s.outDir, "last_message.md"), []byte(answer), 0o644)
	end.turn = &c.outcome
	switch {
	case end.stopped || c.outcome.Status == appserver.Interrupted:
		end.status, end.stopped = doc.StatusStopped, true
	case c.outcome.Status == appserver.Completed && end.err == nil && err == nil:
		end.status = doc.StatusEnded
	default:
		end.status = doc.StatusFailed
		if c.outcome.Status == "" {
			end.err = errors.Join(c.err, end.err)
		} else if c.outcome.Error != "" {
			end.err = errors.Join(errors.New(c.outcome.Error), end.err)
		}
	}
	end.err = errors.Join(end.err, err)
	end.exitCode = new(1)
	if end.status == doc.StatusEnded {
		end.exitCode = new(0)
	}
	return end
}

// lastPayload closes the log.
func (o outcome) lastPayload(p endedPayload) any {
	if o.turn == nil {
		return p
	}
	return turnEndedPayload{p, orNull(o.turn.Status), orNull(o.turn.Error)}
}
