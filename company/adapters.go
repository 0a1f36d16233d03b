package company

// adapter.status: which agent CLIs this machine has.

import (
	"context"

	"ac/internal/turn"
	"ac/runs/provider"
)

// Adapters looks for every adapter. It starts short probes and holds nobody up.
func (c *Company) Adapters(ctx context.Context, _ Dir) ([]provider.Adapter, error) {
	w, err := c.workspace(ctx)
	if err != nil {
		return nil, err
	}
	machine, err := w.Machine()
	if err != nil {
		return nil, err
	}
	turn.Leave(ctx)
	return provider.Status(ctx, machine), nil
}
