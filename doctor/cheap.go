package doctor

// The cheap checks, for screens that refresh often.

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"ac/internal/durable"
)

// leastFree is the free space on the workspace's disk below which the check warns, in bytes.
const leastFree = 1 << 30

// RunCheapChecks runs the cheap checks: machine.yaml, locks, the journal, leftovers of killed
// processes in the most used directories, free space, and supervisors of other builds. It
// starts no program and reads no log.
func RunCheapChecks(ctx context.Context, p Target) []Check {
	if p.Workspace == nil {
		p.findings = sync.OnceValue(p.validate)
		return []Check{p.schema(ctx)}
	}
	return append([]Check{p.machineConfig(ctx), p.locks(ctx), p.journal(ctx), p.nearLeftovers(ctx), p.space(ctx)}, p.builds(ctx)...)
}

// space warns if little disk space is left.
func (p Target) space(context.Context) Check {
	const id = "disk.free"
	free, err := durable.Free(p.Dir)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return pass(id, "not known on this system")
	case err != nil:
		return unknown(id, err)
	case free < leastFree:
		return Check{ID: id, Status: Warn, Message: fmt.Sprintf("%d MiB are free", free>>20), Hint: "Free some space: what cannot be written is refused."}
	}
	return pass(id, "%d MiB are free", free>>20)
}
