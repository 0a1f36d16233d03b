package doctor

// Live sessions whose supervisor runs another build of this program, started before an
// upgrade. They continue unchanged until they end.

import (
	"context"
	"errors"
	"fmt"

	"ac/internal/proc"
	"ac/runs/session"
)

// builds returns no check if every live supervisor that can be inspected runs this build.
func (p Target) builds(context.Context) []Check {
	const id = "sessions.build"
	records, err := session.LivingRecords(p.Workspace)
	if err != nil {
		return []Check{unknown(id, err)}
	}
	var details []string
	var programs proc.Programs
	for _, r := range records {
		if r.OwnerPID == nil || r.Remote() {
			continue
		}
		same, err := programs.Same(*r.OwnerPID)
		if errors.Is(err, errors.ErrUnsupported) {
			return nil
		}
		if err == nil && !same { // a process that cannot be inspected has just ended, or is another user's
			details = append(details, fmt.Sprintf("%s: run %s of %s, process %d", r.Ref, r.RunID, r.ProjectID, *r.OwnerPID))
		}
	}
	if len(details) == 0 {
		return nil
	}
	return []Check{{
		ID: id, Status: Warn, Message: plural(len(details), "live session") + " of another build of ac", Details: shortened(details),
		Hint: "They go on as they are, and are understood. What they do next, they do as that build does, until they end.",
	}}
}
