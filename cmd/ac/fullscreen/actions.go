package fullscreen

// The actions of ac top's keys.

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"strings"

	"ac/cmd/ac/cli"
	"ac/cmd/ac/porcelain/oversight"
	"ac/cmd/ac/porcelain/work"
	"ac/company"
	"ac/company/orchestration"
	"ac/company/workforce"
	"ac/internal/fault"
)

// Decide approves or denies a need that was shown. It fails if the proposal has changed since.
func (t *topSource) Decide(ctx context.Context, id string, approve bool, note, hash string) (string, error) {
	seen, err := t.shown(ctx, id)
	if err != nil {
		return "", err
	}
	if seen.Proof.Delta != nil && hash != "" && hash != seen.Proof.Delta.Hash {
		return "", fault.New(fault.PreviewChanged, "it changed meanwhile; look again")
	}
	if why := oversight.Undecidable(seen.Need); why != "" {
		return "", errors.New(why)
	}
	row, err := oversight.CarryOut(t.call(ctx, io.Discard), oversight.Decision{Approve: approve, Note: note}, seen)
	t.forget(id)
	return row.Text, err
}

// forget drops the cached need, so that it is read again the next time.
func (t *topSource) forget(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.seen, id)
}

// Answer answers a question, a help request, or a permission request, in words.
func (t *topSource) Answer(ctx context.Context, id, words string) (string, error) {
	seen, err := t.shown(ctx, id)
	if err != nil {
		return "", err
	}
	t.forget(id)
	return said(oversight.Answer(t.call(ctx, io.Discard), seen.Need, words))
}

func said(row cli.DoneRow) (string, error) {
	if row.Error != nil {
		return "", errors.New(*row.Error)
	}
	return row.Text, nil
}

// Say sends a message to a run. A run that is over continues with the message.
func (t *topSource) Say(ctx context.Context, id, text string) (string, error) {
	c := t.call(ctx, io.Discard)
	row, err := c.Run(id)
	if err != nil {
		return "", err
	}
	if !row.Live() {
		p := work.Continuation(c, &row, text)
		gone, err := company.Do(ctx, c.All, orchestration.Operations.Continue, p)
		return "run " + cli.ShortID(row.RunID) + " goes on: " + gone.SessionRef, err
	}
	steered, err := work.Steer(ctx, c, &row, text, false)
	return "said (" + work.Arrival(steered) + ")", err
}

// Send sends a message to a conversation.
func (t *topSource) Send(ctx context.Context, id, text string) (string, error) {
	c := t.call(ctx, io.Discard)
	_, err := company.Do(ctx, c.All, workforce.Operations.Send, workforce.SendParams{
		Dir: c.DirParam(), Scope: t.scopeOfTalk(id), ConversationID: id, AuthorID: c.Actor, AuthorRole: c.Role, Body: text, Kind: "text",
	})
	return "said", err
}

// Stop stops a run and waits for its end.
func (t *topSource) Stop(ctx context.Context, id string) (string, error) {
	c := t.call(ctx, io.Discard)
	row, err := c.Run(id)
	if err != nil {
		return "", err
	}
	return said(work.StopRun(c, &row))
}

// Land lands the work of a run in the branch that is checked out.
func (t *topSource) Land(ctx context.Context, id string) (string, error) {
	var out bytes.Buffer
	c := t.call(ctx, &out)
	row, err := c.Run(id)
	if err == nil {
		err = work.Land(c, &row, work.Landing{Yes: true})
	}
	return "landed " + strings.ReplaceAll(strings.TrimSpace(out.String()), "\t", " "), err
}

// Start starts a run of an agent with a prompt.
func (t *topSource) Start(ctx context.Context, agent, text string) (string, error) {
	c := t.call(ctx, io.Discard)
	if err := c.RequireProject(); err != nil {
		return "", err
	}
	found, err := c.Agent(agent)
	if err != nil {
		return "", err
	}
	var o work.RunFlags
	var p orchestration.StartRunParams
	p.Dir, p.ProjectID, p.From, p.PromptText, p.AgentID = c.DirParam(), c.Project, "cli", &text, found.ID
	if err := errors.Join(work.Shape(c, &p, &o), work.PlaceRun(c, &p, &o)); err != nil {
		return "", err
	}
	made, err := company.Do(ctx, c.All, orchestration.Operations.StartRun, p)
	return "started " + cli.ShortID(cmp.Or(made.RunID, " ")), err
}
