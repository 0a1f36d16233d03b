package runs

// The interactions of one run, from its log.

import (
	"bytes"
	"context"
	"errors"
	"io"

	"ac/events"
	"ac/internal/fault"
	"ac/runs/interaction"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// Interaction reads one interaction of a run from its log. One that the log leaves
// open and whose owner is gone is cancelled. The error is
// fault.InteractionNotFound for an id that the run does not have.
func Interaction(ctx context.Context, w *workspace.Workspace, project, run, id string) (interaction.Record, error) {
	record, err := Load(w, project, run)
	if err != nil {
		return interaction.Record{}, err
	}
	// Before the log is read: what is closed meanwhile is not lost.
	waits := record.Status == doc.StatusRunning
	alive := waits && session.RunAlive(w, project, run)
	found, err := interactionIn(ctx, w, project, run, id)
	if err != nil {
		return interaction.Record{}, err
	}
	if !waits || found.SessionRef != "" && !alive {
		return found.Lost(), nil
	}
	return found, nil
}

func interactionIn(ctx context.Context, w *workspace.Workspace, project, run, id string) (found interaction.Record, err error) {
	log, err := openLog(w, project, run)
	if err != nil {
		return found, err
	}
	defer log.Close()
	fold := interaction.Fold{Project: project, Run: run}
	known := false
	for lines := events.NewScanner(log, 0, 0); ; {
		line, err := lines.Next()
		switch {
		case errors.Is(err, io.EOF) && known:
			return found, nil
		case errors.Is(err, io.EOF):
			return found, interaction.NotFound(run, id)
		case err != nil:
			return found, fault.New(fault.IO, "%s cannot be read: %w", workspace.LogFile(project, run), err)
		}
		if line.Seq%1024 == 0 && ctx.Err() != nil {
			return found, context.Cause(ctx)
		}
		if line.Long || !bytes.Contains(line.Raw, []byte("interaction.")) {
			continue // most lines of a log are what the agent printed
		}
		if r := fold.Apply(line.Raw); r != nil && r.InteractionID == id {
			found, known = *r, true
		}
	}
}
