package workflow

// The policy of a run, which takes precedence over that of its tasks, and the parts of a task's own
// policy that nothing grants or enforces.

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"ac/events"
	"ac/internal/fault"
	"ac/runs"
	runpolicy "ac/runs/policy"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// ModeIssues returns the issues of tasks whose mode exceeds their permission level. Paths begin
// with "template".
func ModeIssues(t *doc.WorkflowTemplate) (issues []fault.Issue) {
	for _, n := range t.Nodes {
		if n.Task != nil && n.Task.Mode != "" && !runpolicy.Permits(doc.Level(t.Level(n.Task)), n.Task.Mode) {
			issues = append(issues, fault.Issue{Path: []any{"template", n.Key(), "mode"}, Code: "custom",
				Message: "is above what permission level " + t.Level(n.Task) + " bears"})
		}
	}
	return issues
}

// unmet returns notices of a template's requests that are not enforced with the current agents.
func (f Flows) unmet(t *doc.WorkflowTemplate) (list []Event, err error) {
	agents, err := f.Workspace.Agents()
	if err != nil {
		return nil, err
	}
	for _, n := range t.Nodes {
		if n.Task == nil || (!n.Task.Interactive && n.Task.Mode == "" && len(n.Task.Rules) == 0) {
			continue
		}
		agent, ok := chooseAgent(agents, n.Task.Agent)
		spoken := ok && doc.ProviderNamed(agent.Provider).Live != ""
		message := "mode and rules of task " + n.Key() + " are not enforced: it is not interactive. Its permission level holds."
		switch {
		case !ok, spoken && n.Task.Interactive:
			continue
		case n.Task.Interactive:
			message = "task " + n.Key() + " is not interactive: provider " + agent.Provider + " has no live session. Its permission level holds."
		}
		list = append(list, Event{eventNotice, noticePayload{message}})
	}
	return list, nil
}

// PolicyOf returns the policy of a run. Its permission level applies to tasks that set none.
func PolicyOf(record doc.WorkflowRun) (p doc.RunPolicy, err error) {
	templates, err := Templates(record)
	if err != nil {
		return p, err
	}
	return doc.RunPolicy{
		Mode: cmp.Or(record.Mode, doc.ModeDefault), Rules: append([]doc.PolicyRule{}, record.Rules...),
		PermissionLevel: doc.Level(templates[record.Round().Template].PermissionLevel),
	}, nil
}

// SetPolicy changes the mode and the rules of a run, for the running attempts and all later ones.
// The change is durable on return. A task whose level does not permit the mode keeps its own.
func (f Flows) SetPolicy(ctx context.Context, a runs.Act, change runpolicy.Change) (result session.PolicyResult, err error) {
	if change.Level != "" {
		return result, fault.InvalidField("permission_level", "does not change in a run of a workflow: each task has its own")
	}
	verdict, err := runs.MayDecide(ctx, f.Workspace, a)
	if err != nil {
		return result, err
	}
	record, err := f.changePolicy(ctx, a, verdict.Actor.ID, runpolicy.BySetting, func(r *doc.WorkflowRun) (err error) {
		r.Mode = cmp.Or(change.Mode, r.Mode)
		if change.Rules != nil {
			r.Rules, err = runpolicy.NumberWorkflowRules(r.Rules, *change.Rules)
		}
		return err
	})
	if err != nil {
		return result, err
	}
	if result.Policy, err = PolicyOf(record); err != nil {
		return result, err
	}
	result.Resolved, err = f.pushPolicy(ctx, a, record, change.Mode)
	return result, err
}

// KeepAnswer copies the rules of a person's answer in an attempt's session to the run, so that they
// apply to the rest of the run.
func (f Flows) KeepAnswer(ctx context.Context, a runs.Act, attempt string) error {
	answered, _, err := runs.PolicyOf(ctx, f.Workspace, a.ProjectID, attempt)
	if err != nil {
		return err
	}
	record, err := f.changePolicy(ctx, a, a.Actor.ID, runpolicy.ByAnswer, func(r *doc.WorkflowRun) error {
		r.Rules = runpolicy.FromAnswers(r.Rules, answered)
		return nil
	})
	if err != nil {
		return err
	}
	_, err = f.pushPolicy(ctx, a, record, "")
	return err
}

func (f Flows) changePolicy(ctx context.Context, a runs.Act, by, cause string, fn func(*doc.WorkflowRun) error) (doc.WorkflowRun, error) {
	return f.change(ctx, a.ProjectID, a.RunID, func(_ *workspace.Unit, r *doc.WorkflowRun) ([]Event, error) {
		before, err := PolicyOf(*r)
		if err != nil {
			return nil, err
		}
		if err := fn(r); err != nil {
			return nil, err
		}
		after, err := PolicyOf(*r)
		if err != nil {
			return nil, err
		}
		if runpolicy.Equal(before, after) {
			return nil, errUnchanged
		}
		d, err := f.Workspace.Events.Draft(events.Draft{
			RunID: a.RunID, SessionRef: localRef(a.RunID), Actor: by, Visibility: events.VisibilityTeam, Type: events.RunPolicyChanged,
		}, runpolicy.ChangeEvent{By: by, Before: before, After: after, Cause: cause})
		return []Event{{"", d}}, err
	})
}

// pushPolicy applies the changed policy of a run to its running attempts, and returns the questions
// that this resolved.
func (f Flows) pushPolicy(ctx context.Context, a runs.Act, record doc.WorkflowRun, mode doc.Mode) (resolved []string, err error) {
	resolved = []string{}
	for _, at := range f.attempts(ctx, record) {
		p, _, readErr := runs.PolicyOf(ctx, f.Workspace, a.ProjectID, at.run)
		change := runpolicy.Change{First: &record.Rules}
		if runpolicy.Permits(p.PermissionLevel, mode) {
			change.Mode = mode
		}
		done, setErr := runs.SetPolicy(ctx, f.Workspace, runs.Act{ProjectID: a.ProjectID, RunID: at.run, Actor: a.Actor}, change)
		if fault.Is(setErr, fault.RunNotLive) {
			continue // its session is over: the next one starts with the change
		}
		err = errors.Join(err, readErr, setErr)
		resolved = slices.Concat(resolved, done.Resolved)
	}
	return resolved, err
}
