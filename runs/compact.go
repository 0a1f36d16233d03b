package runs

// Compacting the conversation of a run.

import (
	"context"

	"ac/internal/fault"
	"ac/runs/session"
	"ac/workspace"
)

// Compact shrinks the conversation of a run. A live session compacts its conversation after the
// current turn. For any other run, the next session starts from a digest. Nothing is removed
// from the log. The request is durable on return.
func Compact(ctx context.Context, w *workspace.Workspace, a Act) (session.CompactResult, error) {
	var none session.CompactResult
	run, record, live, err := LiveSession(ctx, w, a.ProjectID, a.RunID)
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
	told, err := session.CompactionEvents(w.Events, run.ID, a.Actor.ID)
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
