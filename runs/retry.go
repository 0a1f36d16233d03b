package runs

// Retrying a run: starting another one with the same parameters.

import (
	"context"
	"path"

	"ac/internal/durable"
	"ac/internal/fault"
	"ac/internal/redact"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// RetrySpec returns the spec for retrying a finished run. It copies the run's agent, command line or
// prompt, task, place, machine, model, policy, title and budget. A run in a worktree gets a
// fresh one. The environment and stdin were not recorded. If prompt is not nil, it replaces the
// recorded one. The error is fault.PromptMasked if the prompt or the command line contains a
// mask: an agent must never get a mask in place of a secret.
func RetrySpec(ctx context.Context, w *workspace.Workspace, project, runID string, prompt *string) (spec StartSpec, err error) {
	run, _, live, err := LiveSession(ctx, w, project, runID)
	switch {
	case err != nil:
		return spec, err
	case live:
		return spec, fault.New(fault.RunBusy, "run %s has a live session", runID)
	case run.Spec == nil || !doc.Terminal(run.Status):
		return spec, fault.New(fault.NeverRan, "run %s never executed: launch it", runID)
	}
	spec.ProjectID, spec.AgentID, spec.Provider, spec.Title, spec.RetryOf = project, run.AgentID, run.Provider, run.Title, runID
	spec.RepoID, spec.WorkdirRel, spec.TaskID, spec.MilestoneID = run.Spec.RepoID, run.Spec.WorkdirRel, run.Spec.TaskID, run.Spec.MilestoneID
	spec.Budget, spec.Model, spec.ModelProfile = run.Spec.Budget, run.Spec.Model, run.ModelProfile
	spec.Placement = run.Placement
	if spec.RepoID != "" {
		spec.Isolation = IsolationNone
		if run.Spec.WorktreeBranch != "" || !spec.Placement.Local() {
			spec.Isolation = IsolationWorktree
		}
	}
	if run.Live == nil || run.Live.Driver == "" {
		return spec, spec.sameWords(run, prompt)
	}
	rules := run.Live.Policy.Rules
	spec.Live = LiveSpec{
		Driver: run.Live.Driver, Interactive: &run.Live.Interactive, Mode: run.Live.Policy.Mode, Level: run.Live.Policy.PermissionLevel, Rules: &rules,
		KeepOpen: &run.Live.KeepOpen,
	}
	spec.Argv = spec.keptWords(w, run, run.Live.Driver)
	switch {
	case prompt == nil:
		spec.Prompt, err = keptPrompt(w, run)
	case redact.Masked(*prompt): // copied from redacted output
		err = fault.New(fault.PromptMasked, "the given prompt has a masked part, which would reach the agent in place of the secret: write it without")
	default:
		spec.Prompt = prompt
	}
	return spec, err
}

// sameWords copies the command line of a run that executed a command.
func (s *StartSpec) sameWords(run doc.Run, prompt *string) error {
	if prompt != nil {
		return fault.InvalidField("prompt_text", "is for agents that are spoken with")
	}
	for _, word := range run.Spec.Argv {
		if redact.Masked(word) {
			return fault.New(fault.PromptMasked, "the kept words of run %s have a masked part: start it with them", run.ID)
		}
	}
	s.Argv, s.Live.Driver = run.Spec.Argv, session.DriverCommand
	return nil
}

// keptPrompt returns the recorded first prompt of a run.
func keptPrompt(w *workspace.Workspace, run doc.Run) (*string, error) {
	text, err := durable.ReadFile(w.FS, path.Join(workspace.RunDir(run.ProjectID, run.ID), "outputs", "prompt.txt"), MaxPrompt)
	if err != nil {
		return nil, err
	}
	if prompt := string(text); !redact.Masked(prompt) {
		return &prompt, nil
	}
	return nil, fault.New(fault.PromptMasked, "the kept prompt of run %s has a masked part: give the prompt", run.ID)
}
