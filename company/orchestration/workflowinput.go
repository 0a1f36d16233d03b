package orchestration

// Actions that workflow runs share with other runs: answering and continuing.

import (
	"context"
	"slices"
	"strings"

	"ac/heartbeat/workflow"
	"ac/internal/fault"
	"ac/runs"
	"ac/runs/interaction"
	"ac/runs/session"
	"ac/runs/transcript"
	"ac/workspace/doc"
)

// answerWorkflow answers a question of a workflow run, which has no session.
func (c Operations) answerWorkflow(ctx context.Context, p RespondParams) (session.AnswerResult, error) {
	// Enforce the policy first: only actors who may decide learn whether the id exists.
	verdict, err := runs.MayDecide(ctx, c.Workspace(), p.act())
	if err != nil {
		return session.AnswerResult{}, err
	}
	done, at, err := c.Flows().Answer(ctx, p.ProjectID, p.RunID, p.InteractionID, interaction.Answer{
		OptionID: p.OptionID, Decision: p.Decision, Scope: p.Scope, Text: p.Text, Answers: p.Answers, Note: p.Note,
		By: verdict.Actor.ID, ByRole: verdict.Actor.Role,
	})
	if err != nil {
		return session.AnswerResult{}, workflow.ParamError(err, "text")
	}
	return session.AnswerResult{
		InteractionID: done.InteractionID, State: done.State, ResolvedAt: at, Scope: done.Scope, HandedOver: true,
	}, nil
}

// keepForWorkflow extends an answer with scope session, given in an attempt of a workflow, to the
// rest of the workflow run.
func (c Operations) keepForWorkflow(ctx context.Context, p RespondParams) error {
	asked, err := runs.Interaction(ctx, c.Workspace(), p.ProjectID, p.RunID, p.InteractionID)
	if err != nil || asked.Workflow == nil || !workflow.IsWorkflowRun(c.Workspace(), p.ProjectID, asked.Workflow.RunID) {
		return err
	}
	act := p.act()
	act.RunID = asked.Workflow.RunID
	return c.Flows().KeepAnswer(ctx, act, p.RunID)
}

// continueWorkflow runs the flow of a finished workflow run again, for run.continue.
func (c Operations) continueWorkflow(ctx context.Context, p ContinueParams) (runs.ContinueResult, error) {
	none := runs.ContinueResult{}
	if field := p.beyondPrompt(); field != "" {
		return none, fault.InvalidField(field, "is not for a run of a workflow")
	}
	input := ""
	if p.PromptText != nil {
		input = *p.PromptText
	}
	record, err := c.Flows().Continue(ctx, workflow.ContinueRequest{ProjectID: p.ProjectID, RunID: p.RunID, Input: input, Actor: p.act().Actor})
	if err != nil {
		return none, err
	}
	return runs.ContinueResult{SessionRef: session.LocalRef(p.RunID), Session: record.Round().Round, Resumed: "no"}, nil
}

// beyondPrompt returns the name of a param that a workflow run does not support, "" if there is
// none.
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

// asWorkflow completes the state of a workflow run, which has no session. now is set if the
// caller wants the current state. The activity is that of the run's attempts, unless the run
// itself waits for a person.
func (c Operations) asWorkflow(ctx context.Context, result *TranscriptResult, now bool) error {
	record, err := workflow.Load(c.Workspace(), result.ProjectID, result.RunID)
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
	for _, run := range c.Flows().Attempts(record) {
		activity := ""
		err := c.Host().Logs().RunState(ctx, c.Workspace(), result.ProjectID, run, func(f *transcript.Fold) { activity = f.State().Activity })
		if err != nil {
			return err
		}
		if strings.HasPrefix(activity, transcript.ActivityWaiting) || result.Activity == "" {
			result.Activity = activity
		}
	}
	return nil
}
