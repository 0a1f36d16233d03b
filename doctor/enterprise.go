package doctor

// Checks that apply only to companies with departments or bills.

import (
	"context"

	"ac/heartbeat"
	"ac/workspace"
)

// statements checks the recorded bills, if there are any.
func (p Target) statements(context.Context) []Check {
	const id = "usage.statements"
	if !p.Workspace.Exists(workspace.StatementsFile) {
		return nil
	}
	for _, warning := range p.findings().Warnings {
		if warning.Path == workspace.StatementsFile {
			return []Check{{
				ID: id, Status: Warn, Message: "the bills cannot be read and are ignored", Details: []string{warning.Message},
				Hint: "Restore the file from a backup, or move it away and record the bills again (ac usage:reconcile:record).",
			}}
		}
	}
	return []Check{pass(id, "the bills can be read")}
}

// hierarchy checks the heartbeat's executive manager, if one is set.
func (p Target) hierarchy(context.Context) []Check {
	const id = "heartbeat.hierarchy"
	config, err := heartbeat.Config(p.Workspace)
	if err != nil || config.ExecutiveManagerAgentID == "" {
		return nil // heartbeat.config reports the problem
	}
	manager := config.ExecutiveManagerAgentID
	if workspace.SafeID(manager) {
		if _, err := p.Workspace.Agent(manager); err == nil {
			return []Check{pass(id, "the executive manager of the heartbeat is an agent")}
		}
	}
	return []Check{{
		ID: id, Status: Warn, Message: "the executive manager of the heartbeat is not an agent: " + manager,
		Hint: "Set executive_manager_agent_id with heartbeat.config.set, or complete the company (ac workspace:bootstrap --org-mode enterprise).",
	}}
}
