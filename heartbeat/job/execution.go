package job

// The session of an attempt: in this process, or on another machine, where it outlives this
// process.

import (
	"context"
	"errors"
	"time"

	"ac/fleet"
	"ac/internal/clock"
	"ac/runs"
	"ac/runs/session"
	"ac/runs/session/supervisor"
	"ac/workspace"
	"ac/workspace/doc"
)

// execution is a session that can be stopped. Launch is called once, then Wait.
type execution interface {
	runs.Starter
	launched() bool
	// Done is closed when the session has ended.
	Done() <-chan struct{}
	// Wait waits for the end of the session and returns its record.
	Wait() (doc.Session, error)
	// stop stops the session. It is not safe for concurrent use.
	stop()
	// outlives reports whether the session continues without this process.
	outlives() bool
}

// localSession is a session in this process.
type localSession struct {
	supervisor.HostedSession
	interrupt chan struct{}
	stopped   bool
}

func (r *runner) newHosting() *localSession {
	h := &localSession{interrupt: make(chan struct{})}
	h.Workspace, h.Host, h.Environ = r.w, r.host, r.order.Environ
	h.Host.Interrupt = h.interrupt
	return h
}

func (h *localSession) launched() bool { return h.Done() != nil }
func (*localSession) outlives() bool   { return false }

func (h *localSession) stop() {
	if !h.stopped {
		h.stopped = true
		close(h.interrupt)
	}
}

// remoteSession is a session on another machine.
type remoteSession struct {
	w       *workspace.Workspace
	starter fleet.Starter
	order   session.Order

	done    chan struct{} // closed at the end
	record  doc.Session
	err     error
	stopped bool
}

const (
	// launchFateTimeout bounds the wait for the fate of a launch whose answer was lost.
	launchFateTimeout = 10 * time.Second
	// launchPollInterval is the polling interval during such a wait.
	launchPollInterval = 50 * time.Millisecond
	// stopEvery is the retry interval of a stop that reached no hub.
	stopEvery = time.Second
)

// Launch has the hub start the session. An error means that the hub did not accept it.
func (s *remoteSession) Launch(ctx context.Context, order session.Order) error {
	s.order = order
	if err := s.starter.Launch(ctx, order); err != nil && !s.placed() {
		return err
	}
	s.follow()
	return nil
}

// placed reports whether the hub accepted the session although its answer was lost. While a process
// holds the run's locks, the record may still be about to be written.
func (s *remoteSession) placed() bool {
	for elapsed := clock.Stopwatch(); ; time.Sleep(launchPollInterval) {
		alive := session.RunAlive(s.w, s.order.ProjectID, s.order.RunID)
		if _, err := session.Read(s.w, s.order.SessionRef); err == nil {
			return true
		}
		if !alive || elapsed() > launchFateTimeout {
			return false
		}
	}
}

// follow waits in the background for the end of the session, even if the hub restarts.
func (s *remoteSession) follow() {
	s.done = make(chan struct{})
	go func() { // ends with the session, or this process
		defer close(s.done)
		for {
			s.record, s.err = session.Collect(context.Background(), s.w, s.order.SessionRef)
			if s.err != nil || doc.Terminal(s.record.Status) {
				return
			}
			time.Sleep(launchPollInterval)
		}
	}()
}

func (s *remoteSession) launched() bool        { return s.done != nil }
func (s *remoteSession) Done() <-chan struct{} { return s.done }
func (*remoteSession) outlives() bool          { return true }

func (s *remoteSession) Wait() (doc.Session, error) {
	if s.done == nil {
		return doc.Session{}, nil
	}
	<-s.done
	return s.record, s.err
}

// stop asks the hub to stop the session, and retries until a hub answers.
func (s *remoteSession) stop() {
	if s.stopped {
		return
	}
	s.stopped = true
	go func() { // ends with the session, or this process
		for {
			if _, err := session.Stop(context.Background(), s.w, s.order.SessionRef); err == nil {
				return
			}
			select {
			case <-s.done:
				return
			case <-time.After(stopEvery):
			}
		}
	}()
}

// errOwned means that the attempt's run is executing although its launch seemed to fail.
var errOwned = errors.New("the run of the attempt is being executed")
