package company

// adapter.status: which agent CLIs this machine has.

import (
	"context"
	"os"
	"time"

	"ac/internal/inflight"
	"ac/runs/provider"
	"ac/workspace"
)

// Adapters checks every adapter. It starts short probes and blocks no other
// request.
func (c *Company) Adapters(ctx context.Context, _ Dir) ([]provider.Adapter, error) {
	w := c.w
	machine, err := w.Machine()
	if err != nil {
		return nil, err
	}
	inflight.Leave(ctx)
	return c.all.prober(w).Status(ctx, machine), nil
}

// How long an answer waits for programs that are probed for the first time,
// some of which need seconds. In a server, slower probes continue after the
// answer.
const (
	patienceStaying = 4 * time.Second
	patienceOnce    = 10 * time.Second
)

// prober probes programs in the background of this process.
func (cs *Host) prober(w *workspace.Workspace) provider.Prober {
	patience := patienceOnce
	if cs.hub != nil {
		patience = patienceStaying
	}
	return provider.Prober{
		Cache: provider.Cache{Workspace: w, Environ: os.Environ()}, Patience: patience,
		Run: func(probe func(context.Context)) { cs.background.Go(func() { probe(cs.ctx) }) },
	}
}
