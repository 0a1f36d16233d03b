package supervisor

import (
	"context"
	"errors"
	"fmt"
	"path"
	"syscall"
	"time"

	"ac/events"
	"ac/internal/guard"
	"ac/internal/signame"
	"ac/runs/session"
	"ac/runs/session/output"
	"ac/workspace"
	"ac/workspace/doc"
)

// Following a provider from its first output until its processes and pipes have ended.

// follow records the output until the provider and its pipes have ended. It restarts the provider
// while the conversation goes on.
func (s *supervisor) follow(ctx context.Context, pipes *pipes) outcome {
	s.openRecorder(ctx)
	defer s.budget.close()
	for {
		exit, err := s.process(ctx, pipes)
		if s.talk == nil || !s.talk.PrepareRestart() {
			return s.conclude(exit, err)
		}
		if pipes, err = s.startProcess(ctx, s.prepareAgain); err != nil {
			return s.conclude(nil, err)
		}
	}
}

// openRecorder creates the output recorder, the conversation, and the budget watch. The caller
// closes the watch at the end.
func (s *supervisor) openRecorder(ctx context.Context) {
	logFile := workspace.LogFile(s.order.ProjectID, s.order.RunID)
	base := events.Draft{
		RunID: s.order.RunID, SessionRef: s.order.SessionRef, Actor: s.order.AgentID, Visibility: events.VisibilityTeam,
	}
	s.budget = s.watchBudget()
	s.reading = s.newReading(ctx)
	log := events.OpenLog(s.w.FS, logFile)
	s.watch(ctx, log, logFile)
	with := output.RecorderConfig{
		Log: log, Source: s.w.Events, Base: base,
		Secrets: s.secrets, Read: s.reading.Line, News: s.lineEvents, Notified: s.notificationEvents, Failed: func() { s.requestStop(false) },
	}
	if s.order.Live != nil && !s.order.PerTurn() {
		with.Divert = func(line []byte) { s.talk.Line(line) }
	}
	s.recorder = output.NewRecorder(with)
	s.converse(ctx)
}

// process follows one provider process to its end.
func (s *supervisor) process(ctx context.Context, pipes *pipes) (exit *guard.Exit, err error) {
	talk, input := s.talk, s.order.Stdin
	if s.order.PerTurn() {
		talk = nil // the conversation sends nothing to a turn's process
	}
	switch {
	case talk != nil:
		talk.Begin(pipes.stdin)
	case pipes.stdin != nil:
		go feed(pipes.stdin, textOf(input)) // ends with the pipe, which closeOurs closes
	}
	drained := make(chan error, 2)
	go func() { // ends with the pipe
		err := s.recorder.Pump("stdout", pipes.stdout, s.stdout)
		if talk != nil {
			talk.OutputEnded()
		}
		drained <- err
	}()
	go func() { drained <- s.recorder.Pump("stderr", pipes.stderr, s.stderr) }()

	unmarked := s.watchMarker(ctx)
	exit, guardDied := s.awaitExit(talk, pipes.stdin)
	unmarked()
	var left []int
	if guardDied {
		left = s.guard.SweepDead(s.provider()) // at once: nobody else controls the provider now
		err = errors.New("the guard of the provider died; the provider was killed with all of its group")
		if len(left) > 0 {
			err = errors.New("the guard of the provider died")
		}
	}
	err = errors.Join(err, s.drain(pipes, drained))
	if !guardDied {
		left = s.guard.Sweep()
	}
	return exit, errors.Join(err, session.LeftError(left))
}

// conclude finishes the recording after the provider has exited.
func (s *supervisor) conclude(exit *guard.Exit, err error) outcome {
	talk := s.talk
	if talk != nil {
		talk.Finish()
	}
	err = errors.Join(err, s.recorder.Finish(), s.maskWritten())
	s.facts = s.reading.End()
	s.noteWrites.Wait()
	if s.overdue {
		err = errors.Join(fmt.Errorf(session.OverLimit+" of %s and was ended", s.order.Limit()), err)
	}
	end := s.outcome(exit, err)
	if talk != nil {
		end.err = errors.Join(end.err, talk.WriteLast(s.facts.Answer))
		end = end.withConversation(talk)
	}
	return end
}

// drain waits for the pipes to close, but only for a limited time: another process than the
// provider may hold them open.
func (s *supervisor) drain(pipes *pipes, drained <-chan error) error {
	patience := drainAfter
	if s.isStoppedByCaller() {
		patience = drainStopped
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	var err error
	for open := 2; open > 0; {
		select {
		case e := <-drained:
			err = errors.Join(err, e)
			open--
		case <-timer.C:
			err = errors.Join(err, pipes.expire())
		}
	}
	return errors.Join(err, pipes.closeOurs(), s.stdout.SyncData(), s.stderr.SyncData())
}

func (s *supervisor) outcome(exit *guard.Exit, err error) outcome {
	end := outcome{status: doc.StatusFailed, err: err}
	if exit != nil && exit.Signal != 0 {
		end.signal = new(signame.Of(syscall.Signal(exit.Signal)))
	} else if exit != nil {
		end.exitCode = &exit.Code
	}
	marker := path.Join(workspace.ProjectDir(s.order.ProjectID), session.StopMarker(s.order.RunID))
	switch {
	case s.isStoppedByCaller() || s.w.Exists(marker):
		end.status, end.stopped = doc.StatusStopped, true
	case end.exitCode != nil && *end.exitCode == 0 && err == nil:
		end.status = doc.StatusEnded
	}
	return end
}
