package workflow

// Modes and rules of tasks: which of them a permission level bears, and which nothing
// enforces.

import (
	"ac/internal/fault"
	runpolicy "ac/runs/policy"
	"ac/workspace/doc"
)

// Overreaching are the issues of tasks whose mode is above what their permission level
// bears. Paths begin with "template".
func Overreaching(t *doc.WorkflowTemplate) (issues []fault.Issue) {
	for _, n := range t.Nodes {
		if n.Task != nil && n.Task.Mode != "" && !runpolicy.Bears(doc.Level(t.Level(n.Task)), n.Task.Mode) {
			issues = append(issues, fault.Issue{Path: []any{"template", n.Key(), "mode"}, Code: "custom",
				Message: "is above what permission level " + t.Level(n.Task) + " bears"})
		}
	}
	return issues
}

// unmet are the notices of what a template asks for and does not get, as its agents are
// now.
func (f Flows) unmet(t *doc.WorkflowTemplate) (list []Event, err error) {
	agents, err := f.Workspace.Agents()
	if err != nil {
		return nil, err
	}
	for _, n := range t.Nodes {
		if n.Task == nil || (!n.Task.Interactive && n.Task.Mode == "" && len(n.Task.Rules) == 0) {
			continue
		}
		agent, ok := chosen(agents, n.Task.Agent)
		spoken := ok && doc.ProviderNamed(agent.Provider).Live != ""
		message := ""
		switch {
		case !ok, spoken && n.Task.Interactive:
			continue
		case n.Task.Interactive:
			message = "task " + n.Key() + " is not interactive: provider " + agent.Provider + " has no live session. Its permission level holds."
		default:
			message = "mode and rules of task " + n.Key() + " are not enforced: it is not interactive. Its permission level holds."
		}
		list = append(list, Event{eventNotice, noticePayload{message}})
	}
	return list, nil
}
