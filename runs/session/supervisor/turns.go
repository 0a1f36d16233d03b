package supervisor

// Sessions with a per-turn agent: one process for each turn.

import (
	"context"

	"ac/internal/guard"
)

// executeTurns executes a per-turn agent. The text of a turn is durable before its process
// starts.
func (s *supervisor) executeTurns(ctx context.Context) (outcome, error) {
	if err := s.prepare(ctx); err != nil {
		return outcome{}, err
	}
	s.openRecorder(ctx)
	defer s.budget.close()
	for {
		s.talk.Begin(nil)
		exit, err := s.executeTurn(ctx)
		if !s.talk.HandleTurnExit(exit, err) {
			if !s.isStopRequested() {
				err = nil // the turn records it
			}
			return s.conclude(exit, err), nil
		}
		if err := s.prepareAgain(ctx); err != nil {
			return s.conclude(nil, err), nil
		}
	}
}

// executeTurn starts a turn's process and follows it to its end. It returns nil, nil if no turn
// began.
func (s *supervisor) executeTurn(ctx context.Context) (*guard.Exit, error) {
	call := s.talk.TakeProgram()
	if call == nil {
		return nil, nil //nolint:nilnil // neither ran nor failed
	}
	s.order.Argv, s.order.Stdin = call.Argv, call.Stdin
	pipes, err := s.startProcess(ctx, func(context.Context) error { return nil })
	if err != nil {
		return nil, err
	}
	return s.process(ctx, pipes)
}

// textOf returns *text, "" for nil.
func textOf(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
