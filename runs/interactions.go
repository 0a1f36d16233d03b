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

// OpenInteractions are what the agent of a run asks and waits for, the oldest first: none
// where nobody could hear the answer.
func OpenInteractions(ctx context.Context, w *workspace.Workspace, project, run string) ([]interaction.Record, error) {
	record, err := Load(w, project, run)
	if err != nil || record.Status != doc.StatusRunning || !session.RunAlive(w, project, run) {
		return nil, err
	}
	fold, err := foldInteractions(ctx, w, project, run, func(*interaction.Record) {})
	return fold.Open(), err
}

// foldInteractions goes over the interactions of a log, each time that one changes.
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
			continue // most lines of a log are what the agent printed
		}
		if r := fold.Apply(line.Raw); r != nil {
			visit(r)
		}
	}
}
