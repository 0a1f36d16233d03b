package main

// What the keys of ac top do.

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"strings"

	"ac/company"
	"ac/company/orchestration"
	"ac/company/workforce"
	"ac/internal/fault"
)

// Decide decides on what was shown.
func (t *topSource) Decide(ctx context.Context, id string, approve bool, note, hash string) (string, error) {
	seen, err := t.shown(ctx, id)
	if err != nil {
		return "", err
	}
	if seen.Proof.Delta != nil && hash != "" && hash != seen.Proof.Delta.Hash {
		return "", fault.New(fault.PreviewChanged, "it changed meanwhile; look again")
	}
	if why := undecidable(seen.Need); why != "" {
		return "", errors.New(why)
	}
	row, err := t.call(ctx, io.Discard).carryOut(decision{approve: approve, note: note}, seen)
	t.forget(id)
	return row.text, err
}

// forget has a need read again the next time.
func (t *topSource) forget(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.seen, id)
}

// Answer answers a question, a request for help, or a permission in words.
func (t *topSource) Answer(ctx context.Context, id, words string) (string, error) {
	seen, err := t.shown(ctx, id)
	if err != nil {
		return "", err
	}
	t.forget(id)
	return said(t.call(ctx, io.Discard).answer(seen.Need, words))
}

func said(row doneRow) (string, error) {
	if row.Error != nil {
		return "", errors.New(*row.Error)
	}
	return row.text, nil
}

// Say says something to a run; one that is over goes on with it.
func (t *topSource) Say(ctx context.Context, id, text string) (string, error) {
	c := t.call(ctx, io.Discard)
	row, err := c.run(id)
	if err != nil {
		return "", err
	}
	if !row.Live() {
		p := c.continuation(&row, text)
		gone, err := company.Do(ctx, c.all, orchestration.Operations.Continue, p)
		return "run " + shortID(row.RunID) + " goes on: " + gone.SessionRef, err
	}
	steered, err := c.steered(ctx, &row, text, false)
	return "said (" + arrival(steered) + ")", err
}

// Send sends a message to a conversation.
func (t *topSource) Send(ctx context.Context, id, text string) (string, error) {
	c := t.call(ctx, io.Discard)
	_, err := company.Do(ctx, c.all, workforce.Operations.Send, workforce.SendParams{
		Dir: c.dirParam(), Scope: t.scopeOfTalk(id), ConversationID: id, AuthorID: c.actor, AuthorRole: c.role, Body: text, Kind: "text",
	})
	return "said", err
}

// Stop stops a run and waits for its end.
func (t *topSource) Stop(ctx context.Context, id string) (string, error) {
	c := t.call(ctx, io.Discard)
	row, err := c.run(id)
	if err != nil {
		return "", err
	}
	return said(c.stopRun(&row))
}

// Land brings the work of a run into the branch that is checked out.
func (t *topSource) Land(ctx context.Context, id string) (string, error) {
	var out bytes.Buffer
	c := t.call(ctx, &out)
	row, err := c.run(id)
	if err == nil {
		err = c.land(&row, landing{yes: true})
	}
	return "landed " + strings.ReplaceAll(strings.TrimSpace(out.String()), "\t", " "), err
}

// Start starts a run of an agent with a prompt.
func (t *topSource) Start(ctx context.Context, agent, text string) (string, error) {
	c := t.call(ctx, io.Discard)
	if err := c.requireProject(); err != nil {
		return "", err
	}
	found, err := c.agent(agent)
	if err != nil {
		return "", err
	}
	var o runFlags
	var p orchestration.StartRunParams
	p.Dir, p.ProjectID, p.From, p.PromptText, p.AgentID = c.dirParam(), c.project, "cli", &text, found.id
	if err := errors.Join(c.shape(&p, &o), c.placeRun(&p, &o)); err != nil {
		return "", err
	}
	made, err := company.Do(ctx, c.all, orchestration.Operations.StartRun, p)
	return "started " + shortID(cmp.Or(made.RunID, " ")), err
}
