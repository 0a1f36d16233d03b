package doctor

// What only companies with departments or bills have; others get none of these
// checks.

import (
	"context"

	"ac/heartbeat"
	"ac/workspace"
)

// statements looks at the bills, where there are any.
func (p Patient) statements(context.Context) []Check {
	const id = "usage.statements"
	if !p.Workspace.Exists(workspace.StatementsFile) {
		return nil
	}
	for _, warning := range p.findings().Warnings {
		if warning.Path == workspace.StatementsFile {
			return []Check{{
				ID: id, Status: Warn, Message: "the bills cannot be read and count as none", Details: []string{warning.Message},
				Hint: "Restore the file from a copy, or move it away and record the bills again (ac usage:reconcile:record).",
			}}
		}
	}
	return []Check{pass(id, "the bills can be read")}
}

// hierarchy looks at the executive manager of the heartbeat, where one is named.
func (p Patient) hierarchy(context.Context) []Check {
	const id = "heartbeat.hierarchy"
	config, err := heartbeat.Config(p.Workspace)
	if err != nil || config.ExecutiveManagerAgentID == "" {
		return nil // heartbeat.config says what is wrong
	}
	manager := config.ExecutiveManagerAgentID
	if workspace.SafeID(manager) {
		if _, err := p.Workspace.Agent(manager); err == nil {
			return []Check{pass(id, "the executive manager of the heartbeat is an agent")}
		}
	}
	return []Check{{
		ID: id, Status: Warn, Message: "the executive manager of the heartbeat is no agent: " + manager,
		Hint: "Set executive_manager_agent_id by heartbeat.config.set, or make the company complete (ac workspace:bootstrap --org-mode enterprise).",
	}}
}
