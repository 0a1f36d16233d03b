package company

// Answers to the questions of workflows.

import (
	"context"

	"ac/heartbeat/workflow"
	"ac/runs"
	"ac/runs/interaction"
	"ac/runs/session"
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
