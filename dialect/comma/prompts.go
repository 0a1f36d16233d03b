package comma

// Requests to people during a run (inputs, permissions, questions), and their answers.

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ac/company/orchestration"
	"ac/dialect"
	"ac/internal/fault"
	"ac/internal/shape"
	"ac/runs/interaction"
	"ac/workspace/doc"
)

// prompt sends a request, once per connection. name is the agent that asks, "" for the run itself.
func (f *subscription) prompt(r interaction.Record, name string) {
	if f.quiet {
		return
	}
	id := r.InteractionID
	if r.Kind == interaction.Question {
		if at := f.server.memory.answered(id); len(r.Questions) > 1 && at < len(r.Questions) {
			id = partID(id, at)
		}
	}
	if !f.once(id) {
		return
	}
	kind, body := promptOf(f.run, r, name, id)
	f.say(nil, kind, body)
}

// partID returns the id of one question of an interaction with several.
func partID(id string, at int) string { return id + "." + strconv.Itoa(at+1) }

// promptOf returns the message for a request.
func promptOf(run string, r interaction.Record, name, id string) (kind string, body any) {
	switch r.Kind {
	case interaction.Input:
		if r.Workflow != nil {
			name = r.Workflow.Name
		}
		return "request_input", requestInput{run, name, r.Prompt}
	case interaction.Permission:
		return "request_permission", permissionOf(run, r, name)
	}
	return "request_question", requestQuestion{run, id, name, "ask_question", questionOf(r, id)}
}

func permissionOf(run string, r interaction.Record, name string) requestPermission {
	operation := map[doc.Operation]string{doc.OpRead: "fs.read", doc.OpWrite: "fs.write"}[doc.Operation(r.Operation)]
	if operation == "" {
		operation = "fs.exec"
	}
	resource := r.Resource
	if resource == "" {
		resource = r.Title
	}
	details := &permissionDetails{r.Title, r.Operation, r.ArgsPreview, r.Diff, r.ExpiresAt}
	if *details == (permissionDetails{}) {
		details = nil
	}
	return requestPermission{run, r.InteractionID, name, r.Tool, operation, resource, "policy-ask", details}
}

// questionOf returns a question as text, with its choices as numbered lines.
func questionOf(r interaction.Record, id string) string {
	text, labels := r.Prompt, []string{}
	if r.Kind == interaction.Plan || len(r.Questions) == 0 {
		if text == "" {
			text = r.Title
		}
		for _, o := range r.Options {
			labels = append(labels, o.Label)
		}
	} else {
		q := r.Questions[partOf(r, id)]
		text = q.Question
		for _, o := range q.Options {
			labels = append(labels, o.Label)
		}
	}
	lines := append(make([]string, 0, 1+len(labels)), text)
	for i, label := range labels {
		lines = append(lines, fmt.Sprintf("%d. %s", i+1, label))
	}
	return strings.Join(lines, "\n")
}

// partOf returns the index of the question that an id names.
func partOf(r interaction.Record, id string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(id, r.InteractionID+"."))
	if err != nil || n < 1 || n > len(r.Questions) {
		return 0
	}
	return n - 1
}

// pending returns the open requests of a run and of its running agents, in the order of the steps,
// with the names of those who ask.
func (s *server) pending(ctx context.Context, run string) (list []pendingPrompt, err error) {
	record, err := s.record(ctx, run)
	if unknown(err) || err == nil && record.Over() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	view, err := show(record.Templates[record.Round().Template])
	if err != nil {
		return nil, err
	}
	for _, step := range record.Steps {
		if step.Over() {
			continue
		}
		if step.InteractionID != "" {
			r := interaction.Record{RunID: run, State: interaction.Open, Request: interaction.Request{InteractionID: step.InteractionID, Kind: interaction.Input}}
			list = append(list, pendingPrompt{r, view.label(step.Path)})
			continue
		}
		attempts, err := dialect.Do(ctx, s.Company, orchestration.Operations.StepAttempts, orchestration.StepAttemptsParams{Dir: s.In(), ProjectID: s.ProjectID, JobID: step.JobID})
		if err != nil {
			return nil, err
		}
		for _, a := range attempts {
			open, err := s.openIn(ctx, a.RunID)
			if err != nil {
				return nil, err
			}
			for _, r := range open {
				list = append(list, pendingPrompt{r, view.label(step.Path)})
			}
		}
	}
	return list, nil
}

type pendingPrompt struct {
	interaction.Record
	name string
}

// openIn returns the open requests of an attempt's agent.
func (s *server) openIn(ctx context.Context, run string) ([]interaction.Record, error) {
	found, err := dialect.Do(ctx, s.Company, orchestration.Operations.OpenInteractions, orchestration.RunPolicyParams{Dir: s.In(), ProjectID: s.ProjectID, RunID: run})
	if unknown(err) {
		return nil, nil
	}
	return found, err
}

// waiting finds an open request of a run.
func (s *server) waiting(ctx context.Context, run string, is func(pendingPrompt) bool) (pendingPrompt, bool, error) {
	if shape.CheckID(run) != "" {
		return pendingPrompt{}, false, nil
	}
	list, err := s.pending(ctx, run)
	i := slices.IndexFunc(list, is)
	if err != nil || i < 0 {
		return pendingPrompt{}, false, err
	}
	return list[i], true, nil
}

// respond answers a request. If the request is closed by now, it returns none.
func (s *server) respond(ctx context.Context, r interaction.Record, p orchestration.RespondParams, none *failed) error {
	s.act(&p, r.RunID)
	p.InteractionID = r.InteractionID
	_, err := dialect.Do(ctx, s.Company, orchestration.Operations.Respond, p)
	if fault.Is(err, fault.InteractionClosed) || fault.Is(err, fault.InteractionNotFound) || unknown(err) {
		return none
	}
	return refusal(err, none.code)
}

// userInput answers the first open input request of an agent.
func (c *connection) userInput(ctx context.Context, r *request) error {
	if err := c.join(ctx, r.RunID); err != nil {
		return err
	}
	none := fail("NO_PENDING_INPUT", "No pending input request for run %s agent %s", r.RunID, r.AgentName)
	found, ok, err := c.server.waiting(ctx, r.RunID, func(p pendingPrompt) bool { return p.Kind == interaction.Input && p.name == r.AgentName })
	if err != nil {
		return err
	}
	if !ok {
		return none
	}
	return c.server.respond(ctx, found.Record, orchestration.RespondParams{Text: &r.Text}, none)
}

// decide answers a permission request.
func (c *connection) decide(ctx context.Context, r *request) error {
	if err := c.join(ctx, r.RunID); err != nil {
		return err
	}
	none := fail("NO_PENDING_PERMISSION", "No pending permission request %s for run %s", r.PermissionRequestID, r.RunID)
	found, ok, err := c.server.waiting(ctx, r.RunID, func(p pendingPrompt) bool {
		return p.Kind == interaction.Permission && p.InteractionID == r.PermissionRequestID
	})
	if err != nil {
		return err
	}
	if !ok {
		return none
	}
	p := orchestration.RespondParams{Decision: interaction.Allow, Scope: interaction.Once}
	if strings.HasPrefix(r.Decision, "deny") {
		p.Decision = interaction.Deny
	}
	if strings.HasSuffix(r.Decision, "-session") {
		p.Scope = interaction.Session
	}
	return c.server.respond(ctx, found.Record, p, none)
}

// answerQuestion answers a question, one of several questions, or a plan.
func (c *connection) answerQuestion(ctx context.Context, r *request) error {
	s := c.server
	if err := c.join(ctx, r.RunID); err != nil {
		return err
	}
	none := fail("NO_PENDING_QUESTION", "No pending question request %s for run %s", r.QuestionRequestID, r.RunID)
	found, ok, err := s.waiting(ctx, r.RunID, func(p pendingPrompt) bool {
		if p.Kind != interaction.Question && p.Kind != interaction.Plan {
			return false
		}
		if len(p.Questions) < 2 {
			return p.InteractionID == r.QuestionRequestID
		}
		return partID(p.InteractionID, s.memory.answered(p.InteractionID)) == r.QuestionRequestID
	})
	if err != nil {
		return err
	}
	if !ok {
		return none
	}
	if found.Kind == interaction.Plan {
		return s.respond(ctx, found.Record, planAnswer(found.Record, r.Response), none)
	}
	if len(found.Questions) == 0 {
		return s.respond(ctx, found.Record, orchestration.RespondParams{Text: &r.Response}, none)
	}
	at := partOf(found.Record, r.QuestionRequestID)
	q := found.Questions[at]
	answers, fits := answersTo(q, r.Response)
	if !fits {
		kind, body := promptOf(r.RunID, found.Record, found.name, r.QuestionRequestID)
		c.answer(nil, frame{kind, body})
		return nil
	}
	all := s.memory.part(found.InteractionID, q.QuestionID, answers)
	if at+1 < len(found.Questions) {
		next := partID(found.InteractionID, at+1)
		kind, body := promptOf(r.RunID, found.Record, found.name, next)
		s.prompt(r.RunID, next, frame{kind, body})
		return nil
	}
	s.memory.forget(found.InteractionID)
	return s.respond(ctx, found.Record, orchestration.RespondParams{Answers: all}, none)
}

// prompt sends a request to all connections that are subscribed to a run and do not have it yet.
func (s *server) prompt(run, id string, f frame) {
	for _, c := range s.connections.All() {
		if c.subscribed(run) && c.once(id) {
			c.answer(nil, f)
		}
	}
}

// answersTo returns the answers that a text gives to a question: choices by number or label, else
// free text. If the question allows several choices, commas separate them. fits is false if the
// text is no valid answer.
func answersTo(q interaction.QuestionPart, text string) (answers []string, fits bool) {
	parts := []string{text}
	if q.Multi {
		parts = strings.Split(text, ",")
	}
	for _, part := range parts {
		if label, i := choice(len(q.Options), func(i int) string { return q.Options[i].Label }, part); i >= 0 {
			answers = append(answers, label)
		}
	}
	if len(answers) == len(parts) {
		return answers, true
	}
	return []string{text}, q.FreeText && strings.TrimSpace(text) != ""
}

// choice returns the label and the index of the choice that a text names, -1 if it names none.
func choice(n int, label func(int) string, text string) (string, int) {
	text = strings.TrimSpace(text)
	for i := range n {
		if strings.EqualFold(label(i), text) || strconv.Itoa(i+1) == text {
			return label(i), i
		}
	}
	return "", -1
}

// planAnswer returns the response to a plan that a text expresses.
func planAnswer(r interaction.Record, text string) orchestration.RespondParams {
	if _, i := choice(len(r.Options), func(i int) string { return r.Options[i].Label }, text); i >= 0 {
		return orchestration.RespondParams{OptionID: r.Options[i].OptionID}
	}
	if slices.Contains([]string{"yes", "y", "ok", "approve"}, strings.ToLower(strings.TrimSpace(text))) {
		return orchestration.RespondParams{Decision: interaction.Allow}
	}
	return orchestration.RespondParams{Decision: interaction.Deny, Text: &text}
}

// updatePolicy adds rules to a run.
func (c *connection) updatePolicy(ctx context.Context, r *request) error {
	s := c.server
	if err := c.join(ctx, r.RunID); err != nil {
		return err
	}
	none := fail("RUN_NOT_FOUND", "No active run found for runId %s", r.RunID)
	record, err := s.record(ctx, r.RunID)
	if err != nil && !unknown(err) {
		return err
	}
	if err != nil || record.Over() {
		return none
	}
	rules := append(slices.Clone(record.Rules), rulesOf(r)...)
	p := orchestration.SetRunPolicyParams{Dir: s.In(), ProjectID: s.ProjectID, RunID: r.RunID, Rules: rules}
	p.ActorID, p.ActorRole, p.ActorTeamID = s.Actor.ActorID, s.Actor.ActorRole, s.Actor.ActorTeamID
	done, err := dialect.Do(ctx, s.Company, orchestration.Operations.SetRunPolicy, p)
	if err != nil {
		return refusal(err, none.code)
	}
	if len(done.Policy.Rules) == len(record.Rules) { // nothing changed, so no event reports it
		s.broadcast(r.RunID, nil, frame{"policy_updated", policyUpdated{r.RunID, "*", namesOf(done.Policy.Rules)}})
	}
	return nil
}

// rulesOf returns the rules that a request adds.
func rulesOf(r *request) (rules []doc.PolicyRule) {
	operations := []doc.Operation{doc.OpRead}
	if r.Mode == "write" {
		operations = []doc.Operation{doc.OpWrite, doc.OpExec}
	}
	add := func(effect doc.Effect, globs ...string) {
		for _, op := range operations {
			for _, glob := range globs {
				rules = append(rules, doc.PolicyRule{Operation: op, Effect: effect, Glob: glob})
			}
		}
	}
	add(doc.Deny, r.Deny...) // before the allow rules
	add(doc.Allow, r.Allow...)
	if r.Default != "" {
		add(doc.Effect(r.Default), "**")
	}
	return rules
}

// namesOf returns rules in the form for clients.
func namesOf(rules []doc.PolicyRule) []policyName {
	names := make([]policyName, len(rules))
	for i, r := range rules {
		names[i] = policyName{fmt.Sprintf("%s %s %s", r.Effect, r.Operation, r.Glob)}
	}
	return names
}
