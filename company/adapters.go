package company

// adapter.status: which agent CLIs this machine has.

import (
	"context"
	"os"
	"time"

	"ac/internal/inflight"
	"ac/runs/provider"
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
	return c.prober().Status(ctx, machine), nil
}

// How long an answer waits for programs that are probed for the first time,
// some of which need seconds. In a server, slower probes continue after the
// answer.
const (
	patienceStaying = 4 * time.Second
	patienceOnce    = 10 * time.Second
)

// prober probes programs in the background of this process.
func (c *Company) prober() provider.Prober {
	patience := patienceOnce
	if c.all.Stays() {
		patience = patienceStaying
	}
	return provider.Prober{
		Cache: provider.Cache{Workspace: c.w, Environ: os.Environ()}, Patience: patience,
		Run: c.all.Background,
	}
}
