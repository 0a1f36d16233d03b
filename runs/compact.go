package runs

// Compacting the conversation of a run.

import (
	"context"

	"ac/internal/fault"
	"ac/runs/session"
	"ac/workspace"
)

// Compact makes the conversation of a run smaller: that of a live session after its turn,
// any other by a digest that its next session begins with. Nothing leaves the log. The
// wish is durable when it returns.
func Compact(ctx context.Context, w *workspace.Workspace, a Act) (session.CompactResult, error) {
	var none session.CompactResult
	run, record, live, err := Living(ctx, w, a.ProjectID, a.RunID)
	if err != nil {
		return none, err
	}
	if run.Spec == nil {
		return none, fault.New(fault.RunNotResumable, "run %s never executed", run.ID)
	}
	if err := mayAct(ctx, w, run, a.Actor); err != nil {
		return none, err
	}
	if live && record.Driver != "" {
		return session.Compact(ctx, w, record, session.CompactRequest{Actor: a.Actor.ID})
	}
	told, err := session.CompactedLater(w.Events, run.ID, a.Actor.ID)
	if err != nil {
		return none, err
	}
	log := workspace.LogFile(run.ProjectID, run.ID)
	if err := w.Append(ctx, log, told...); err != nil {
		return none, err
	}
	w.NotifyAppend(log)
	return session.CompactResult{Accepted: true, How: session.CompactDigest}, nil
}
