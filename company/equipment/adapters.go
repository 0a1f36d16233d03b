package equipment

// adapter.status: the agent CLIs of this machine.

import (
	"context"
	"os"
	"time"

	"ac/company"
	"ac/internal/inflight"
	"ac/runs/provider"
)

// Adapters checks every adapter. It starts short probes and does not block other requests.
func (c Operations) Adapters(ctx context.Context, _ company.Dir) ([]provider.Adapter, error) {
	w := c.Workspace()
	machine, err := w.Machine()
	if err != nil {
		return nil, err
	}
	inflight.Leave(ctx)
	return c.prober().Status(ctx, machine), nil
}

// How long a reply waits for programs that are probed for the first time. Some probes take
// seconds. In a server, slower probes continue after the reply.
const (
	patienceStaying = 4 * time.Second
	patienceOnce    = 10 * time.Second
)

// prober returns a prober that probes programs in the background of this process.
func (c Operations) prober() provider.Prober {
	patience := patienceOnce
	if c.Host().Hub() != nil {
		patience = patienceStaying
	}
	return provider.Prober{
		Cache: provider.Cache{Workspace: c.Workspace(), Environ: os.Environ()}, Patience: patience,
		Run: c.Host().Background,
	}
}
