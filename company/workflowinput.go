package company

// Acts on runs of workflows that other runs know, too: answers, continuing.

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"ac/heartbeat/workflow"
	"ac/internal/fault"
	"ac/runs"
	"ac/runs/interaction"
	"ac/runs/session"
	"ac/runs/transcript"
	"ac/workspace"
	"ac/workspace/doc"
)

// answerWorkflow answers a question of a run of a workflow, which has no session.
func (c *Company) answerWorkflow(ctx context.Context, p RespondParams) (session.AnswerResult, error) {
	// Whatever the id names, only those who may decide learn of it.
	verdict, err := runs.MayDecide(ctx, c.w, p.act())
	if err != nil {
		return session.AnswerResult{}, err
	}
	done, at, err := c.flows().Answer(ctx, p.ProjectID, p.RunID, p.InteractionID, interaction.Answer{
		OptionID: p.OptionID, Decision: p.Decision, Scope: p.Scope, Text: p.Text, Answers: p.Answers, Note: p.Note,
		By: verdict.Actor.ID, ByRole: verdict.Actor.Role,
	})
	if err != nil {
		return session.AnswerResult{}, workflow.Unfit(err, "text")
	}
	return session.AnswerResult{
		InteractionID: done.InteractionID, State: done.State, ResolvedAt: at, Scope: done.Scope, HandedOver: true,
	}, nil
}

// keepForWorkflow keeps what was answered for the session in an attempt of a workflow for
// the rest of its run.
func (c *Company) keepForWorkflow(ctx context.Context, p RespondParams) error {
	asked, err := runs.Interaction(ctx, c.w, p.ProjectID, p.RunID, p.InteractionID)
	if err != nil || asked.Workflow == nil || !workflow.Is(c.w, p.ProjectID, asked.Workflow.RunID) {
		return err
	}
	act := p.act()
	act.RunID = asked.Workflow.RunID
	return c.flows().KeepAnswer(ctx, act, p.RunID)
}

// continueWorkflow runs the flow of a run that is over again, as run.continue.
func (c *Company) continueWorkflow(ctx context.Context, p ContinueParams) (runs.ContinueResult, error) {
	none := runs.ContinueResult{}
	if field := p.beyondPrompt(); field != "" {
		return none, fault.InvalidField(field, "is not for a run of a workflow")
	}
	input := ""
	if p.PromptText != nil {
		input = *p.PromptText
	}
	record, err := c.flows().Continue(ctx, workflow.Again{ProjectID: p.ProjectID, RunID: p.RunID, Input: input, Actor: p.act().Actor})
	if err != nil {
		return none, err
	}
	return runs.ContinueResult{SessionRef: session.LocalRef(p.RunID), Session: record.Round().Round, Resumed: "no"}, nil
}

// beyondPrompt names a param that says more than what the flow is run with.
func (p ContinueParams) beyondPrompt() string {
	for name, given := range map[string]bool{
		"model": p.Model != "", "model_profile": p.ModelProfile != "", "budget": p.Budget != nil, "env": len(p.Env) > 0, "session_ref": p.SessionRef != "", "driver": p.Driver != "",
		"client_message_id": p.ClientMessageID != "", "interactive": p.Interactive != nil, "mode": p.Mode != "", "rules": p.Rules != nil,
		"permission_level": p.Level != "", "keep_open": p.KeepOpen != nil, "idle_timeout_ms": p.IdleMS > 0,
	} {
		if given {
			return name
		}
	}
	return ""
}

// stopWorkflowAnywhere cancels the run of a workflow in the workspaces that this process
// has open, where no workspace is named.
func (cs *Host) stopWorkflowAnywhere(ctx context.Context, p SessionParams, missing error) (Poll, error) {
	if p.WorkspaceDir != "" || !fault.Is(missing, fault.NotFound) {
		return Poll{}, missing
	}
	cs.mu.Lock()
	dirs := slices.Sorted(maps.Keys(cs.open))
	cs.mu.Unlock()
	for _, dir := range dirs {
		w, err := cs.In(dir).workspace(ctx)
		if err != nil {
			continue // it is gone
		}
		poll, err := cs.stopWorkflow(ctx, w, p.SessionRef, missing)
		if !errors.Is(err, missing) {
			return poll, err
		}
	}
	return Poll{}, missing
}

// stopWorkflow cancels the run of a workflow that a session_ref stands for. missing is
// the error of one that stands for none.
func (cs *Host) stopWorkflow(ctx context.Context, w *workspace.Workspace, ref string, missing error) (Poll, error) {
	projects, err := workspace.Dirs(w.FS, workspace.ProjectsDir)
	if err != nil {
		return Poll{}, err
	}
	run, _ := strings.CutPrefix(ref, session.LocalRef(""))
	for _, project := range projects {
		if !workspace.SafeID(run) || session.LocalRef(run) != ref || !workflow.Is(w, project, run) {
			continue
		}
		if _, err := (workflow.Flows{Workspace: w, Starter: cs.runners}).Cancel(ctx, project, run); err != nil {
			return Poll{}, err
		}
		record, err := runs.Load(w, project, run)
		return Poll{SessionRef: ref, ProjectID: project, RunID: run, Status: record.Status}, err
	}
	return Poll{}, missing
}

// asWorkflow completes the state of a run of a workflow, which has no session: now says
// that it is asked for as it is now. Its activity is that of its attempts, unless it waits
// for a person itself.
func (c *Company) asWorkflow(ctx context.Context, result *TranscriptResult, now bool) error {
	record, err := workflow.Load(c.w, result.ProjectID, result.RunID)
	if err != nil {
		return err
	}
	result.Continuable = Continuable{OK: record.Over(), Resume: resumeDigest}
	if !record.Over() {
		result.Continuable.Reason = fault.RunBusy
	}
	if !now || record.Over() {
		return nil
	}
	if slices.ContainsFunc(record.Steps, func(s doc.FlowStep) bool { return s.Status == doc.StepWaiting }) {
		result.Activity = transcript.ActivityWaiting + interaction.Input
		return nil
	}
	for _, run := range c.flows().Attempts(record) {
		activity := ""
		err := c.all.logs.Brief(ctx, c.w, result.ProjectID, run, func(f *transcript.Fold) { activity = f.State().Activity })
		if err != nil {
			return err
		}
		if strings.HasPrefix(activity, transcript.ActivityWaiting) || result.Activity == "" {
			result.Activity = activity
		}
	}
	return nil
}
