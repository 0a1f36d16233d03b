package rpc

// Graceful shutdown: within the grace period, requests in flight are answered or canceled.

import (
	"context"
	"time"
)

// shutdown answers what was received and ends everything. After a signal, or if the client has
// disconnected, it allows the grace period. Otherwise it lets bounded work finish.
func (s *Server) shutdown(ctx context.Context) {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.endOfInput()
	limit := time.AfterFunc(grace, func() { s.cancelWait(shuttingDown()) })
	defer limit.Stop()
	answered := make(chan struct{})
	go func() { // ends with the last request
		s.wg.Wait()
		close(answered)
	}()
	select {
	case <-answered:
	case <-s.out.failed:
		s.finishSoon(answered)
	case <-ctx.Done():
		s.finishSoon(answered)
	}
	if s.opts.StopSessions {
		if err := s.all.StopLaunched(context.Background()); err != nil {
			s.opts.Log.Error("stop the sessions of this server", "error", err)
		}
	}
	s.closeWorker(ctx)
	s.hub.Close()
	s.out.flush()
	s.out.close(s.endOfInput(), unread)
	if err := s.all.Close(); err != nil {
		s.opts.Log.Error("close the workspaces", "error", err)
	}
}

// closeWorker brings the indexes up to date while there is time.
func (s *Server) closeWorker(ctx context.Context) {
	left := grace - s.opts.Env.Clock.Since(s.endOfInput())
	select {
	case <-s.out.failed:
	case <-ctx.Done():
	default:
		left = max(left, flushAtLeast)
	}
	limit, cancel := context.WithTimeout(context.Background(), left)
	defer cancel()
	if err := s.all.CloseWorker(limit); err != nil {
		s.opts.Log.Warn("the indexes were not synced in time; the next reader syncs them")
	}
}

func (s *Server) finishSoon(answered <-chan struct{}) {
	limit := time.AfterFunc(grace-waitsEnd, func() { s.cancelWait(shuttingDown()) })
	defer limit.Stop()
	select {
	case <-answered:
	case <-time.After(grace):
		s.cancelWork(shuttingDown())
	}
}

// endOfInput returns when the end of the input was first noticed, which is now on the first call.
func (s *Server) endOfInput() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended.IsZero() {
		s.ended = s.opts.Env.Clock.Now()
	}
	return s.ended
}

// enter admits a request unless the server is shutting down. The request calls
// s.wg.Done when it is answered.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closing {
		s.wg.Add(1)
	}
	return !s.closing
}

// isClosing reports whether the server has stopped reading requests.
func (s *Server) isClosing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing
}

// lineLimit is the data of the error for a line that is too long.
type lineLimit struct {
	MaxLineBytes int `json:"max_line_bytes"`
}
