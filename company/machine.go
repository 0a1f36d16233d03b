package company

// What is true on this machine only, which commands set.

import (
	"context"

	"ac/workspace/doc"
)

// MapRepo says where a repository lies on this machine. The directory need not be
// there yet.
func (c *Company) MapRepo(ctx context.Context, repo, dir string) error {
	return c.updateMachine(ctx, func(m *doc.Machine) { m.RepoRoots[repo] = dir })
}

// SetProviderBin says which program a provider is on this machine.
func (c *Company) SetProviderBin(ctx context.Context, provider, program string) error {
	return c.updateMachine(ctx, func(m *doc.Machine) { m.ProviderBins[provider] = program })
}

func (c *Company) updateMachine(ctx context.Context, change func(*doc.Machine)) error {
	w, err := c.workspace(ctx)
	if err != nil {
		return err
	}
	return w.UpdateMachine(ctx, change)
}
