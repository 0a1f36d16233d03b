package equipment

// The configuration of this machine. Only commands change it.

import (
	"context"

	"ac/company"
	"ac/workspace/doc"
)

// MachineParams map a repository or a provider to a path of this machine.
type MachineParams struct {
	company.Dir
	Name string `json:"name"`
	Path string `json:"path"`
}

// MapRepo maps a repository to a directory of this machine, which need not
// exist.
func (c Operations) MapRepo(ctx context.Context, p MachineParams) (company.OK, error) {
	return c.updateMachine(ctx, func(m *doc.Machine) { m.RepoRoots[p.Name] = p.Path })
}

// SetProviderBin maps a provider to a program of this machine.
func (c Operations) SetProviderBin(ctx context.Context, p MachineParams) (company.OK, error) {
	return c.updateMachine(ctx, func(m *doc.Machine) { m.ProviderBins[p.Name] = p.Path })
}

// AgentCommandParams are the params of machine:set-agent-command.
type AgentCommandParams struct {
	company.Dir
	Provider string   `json:"provider"`
	Argv     []string `json:"argv" is:"optional"`
}

// SetAgentCommand sets the command line that starts a provider's live agent. An empty command
// line removes it.
func (c Operations) SetAgentCommand(ctx context.Context, p AgentCommandParams) (company.OK, error) {
	return c.updateMachine(ctx, func(m *doc.Machine) {
		if m.AgentCommands == nil {
			m.AgentCommands = map[string][]string{}
		}
		if m.AgentCommands[p.Provider] = p.Argv; len(p.Argv) == 0 {
			delete(m.AgentCommands, p.Provider)
		}
	})
}

func (c Operations) updateMachine(ctx context.Context, change func(*doc.Machine)) (company.OK, error) {
	return company.OK{OK: true}, c.Workspace().UpdateMachine(ctx, change)
}
