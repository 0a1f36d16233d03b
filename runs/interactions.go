package runs

// Reading the interactions of one run from its log.

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

// Interaction reads one interaction of a run from its log. If the log leaves it open and its
// session's owner has died, Interaction returns it as cancelled. The error is
// fault.InteractionNotFound for an id that the run does not have.
func Interaction(ctx context.Context, w *workspace.Workspace, project, run, id string) (interaction.Record, error) {
	record, err := Load(w, project, run)
	if err != nil {
		return interaction.Record{}, err
	}
	// Check this before reading the log. Otherwise an interaction that is closed in between
	// would count as lost.
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
	known := false
	_, err = foldInteractions(ctx, w, project, run, func(r *interaction.Record) {
		if r.InteractionID == id {
			found, known = *r, true
		}
	})
	if err == nil && !known {
		err = interaction.NotFound(run, id)
	}
	return found, err
}

// OpenInteractions returns the open interactions of a run, the oldest first. It returns none if
// no live session could receive an answer.
func OpenInteractions(ctx context.Context, w *workspace.Workspace, project, run string) ([]interaction.Record, error) {
	record, err := Load(w, project, run)
	if err != nil || record.Status != doc.StatusRunning || !session.RunAlive(w, project, run) {
		return nil, err
	}
	fold, err := foldInteractions(ctx, w, project, run, func(*interaction.Record) {})
	return fold.Open(), err
}

// foldInteractions reads the interactions in a log and calls visit each time one changes.
func foldInteractions(ctx context.Context, w *workspace.Workspace, project, run string, visit func(*interaction.Record)) (fold interaction.Fold, err error) {
	fold = interaction.Fold{Project: project, Run: run}
	log, err := openLog(w, project, run)
	if err != nil {
		return fold, err
	}
	defer log.Close()
	for lines := events.NewScanner(log, 0, 0); ; {
		line, err := lines.Next()
		switch {
		case errors.Is(err, io.EOF):
			return fold, nil
		case err != nil:
			return fold, fault.New(fault.IO, "%s cannot be read: %w", workspace.LogFile(project, run), err)
		}
		if line.Seq%1024 == 0 && ctx.Err() != nil {
			return fold, context.Cause(ctx)
		}
		if line.Long || !bytes.Contains(line.Raw, []byte("interaction.")) {
			continue // skips the agent's output, which is most of a log
		}
		if r := fold.Apply(line.Raw); r != nil {
			visit(r)
		}
	}
}
