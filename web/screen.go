package web

// The current screen, shared by all clients. It is read once for each change, however many clients
// watch it (fan-out).

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	"ac/rpc"
	"ac/snapshot"
)

// retryInterval is the retry interval for a screen that could not be read, or whose index is being
// synced.
const retryInterval = 2 * time.Second

// screenSource reads screens and watches for changes.
type screenSource struct {
	take func(context.Context) (snapshot.UI, error)
	// watch calls changed after each change until stop is called.
	watch func(changed func()) (stop func(), err error)
}

// screen is the newest frame of a stream of screens. It watches only while it has clients. It is
// safe for concurrent use.
type screen struct {
	source screenSource
	delay  time.Duration
	ctx    context.Context //nolint:containedctx // of the server

	taking sync.Mutex    // serializes take
	retry  chan struct{} // requests another frame without a change

	mu      sync.Mutex
	readers int
	end     func() // stops watching; nil without clients
	latest  *frame
}

// screens holds the screens of the projects that clients asked for.
type screens struct {
	mu    sync.Mutex
	known map[string]*screen
}

// of returns the screen of a project. It calls begin to make it on first use.
func (s *screens) of(project string, begin func() *screen) *screen {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.known[project]
	if found == nil {
		if s.known == nil {
			s.known = map[string]*screen{}
		}
		found = begin()
		s.known[project] = found
	}
	return found
}

// frame is one event of the stream. next is closed when there is a newer frame.
type frame struct {
	key  string // identifies the content
	text []byte
	next chan struct{}
}

func newScreen(ctx context.Context, source screenSource) *screen {
	return &screen{source: source, delay: coalesce, ctx: ctx, retry: make(chan struct{}, 1), latest: &frame{next: make(chan struct{})}}
}

// join adds a client. leave removes it. For the last client, leave waits until watching has
// stopped.
func (s *screen) join() (leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.readers == 0 {
		if s.end, err = s.follow(); err != nil {
			return nil, err
		}
	}
	s.readers++
	return s.leave, nil
}

func (s *screen) leave() {
	s.mu.Lock()
	var end func()
	if s.readers--; s.readers == 0 {
		end, s.end = s.end, nil
	}
	s.mu.Unlock()
	if end != nil {
		end()
	}
}

// follow starts reading a screen after each change.
func (s *screen) follow() (end func(), err error) {
	changed := make(chan struct{}, 1)
	stop, err := s.source.watch(func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(s.ctx)
	var wg sync.WaitGroup
	wg.Go(func() { s.retake(ctx, changed) })
	return func() {
		cancel()
		stop()
		wg.Wait()
	}, nil
}

func (s *screen) retake(ctx context.Context, changed <-chan struct{}) {
	var again <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.retry:
			again = time.After(retryInterval)
			continue
		case <-again:
			again = nil
		case <-changed:
			if !pause(ctx, s.delay) {
				return
			}
			select {
			case <-changed: // the next screen covers it
			default:
			}
		}
		s.take(ctx)
	}
}

// pause waits for d, and reports whether ctx is still alive.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// newest returns the current frame.
func (s *screen) newest() *frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.latest
}

// take reads a screen and returns the newest frame. That is the previous one if nothing changed.
func (s *screen) take(ctx context.Context) *frame {
	s.taking.Lock()
	defer s.taking.Unlock()
	taken, err := s.source.take(ctx)
	if ctx.Err() != nil {
		return s.newest()
	}
	fresh := frameOf(taken, err)
	if err != nil || taken.SyncWorker.PendingWorkspaces > 0 || taken.SyncWorker.Running {
		select {
		case s.retry <- struct{}{}:
		default:
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if fresh.key != s.latest.key {
		close(s.latest.next)
		s.latest = fresh
	}
	return s.latest
}

// streamError is the event for a stream that failed.
type streamError struct {
	Message string `json:"message"`
}

func frameOf(taken snapshot.UI, err error) *frame {
	f := &frame{next: make(chan struct{})}
	var body []byte
	if err == nil {
		body, err = rpc.Encode(taken)
	}
	name := "snapshot"
	if err != nil {
		name = "error"
		body, _ = rpc.Encode(streamError{fullMessage(err)}) // a string always encodes
	}
	stamp := fmt.Appendf(nil, `"generated_at":%q`, taken.GeneratedAt)
	sum := sha256.Sum256(bytes.ReplaceAll(body, stamp, nil))
	f.key = fmt.Sprintf("%s-%x", name, sum[:8])
	f.text = event(name, f.key, body)
	return f
}

// event returns the text of an event. A log may contain line ends between JSON tokens, which would
// end the event. event replaces them with blanks.
func event(name, id string, body []byte) []byte {
	for _, end := range []string{"\r", "\n"} {
		body = bytes.ReplaceAll(body, []byte(end), []byte(" "))
	}
	return fmt.Appendf(nil, "event: %s\nid: %s\ndata: %s\n\n", name, id, body)
}
