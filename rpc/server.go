package rpc

// The server: it reads requests, runs each in its order, and shuts down.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"ac/audit"
	"ac/company"
	"ac/company/maintenance"
	"ac/feed"
	"ac/internal/canonjson"
	"ac/internal/fault"
	"ac/internal/inflight"
	"ac/internal/pipe"
	"ac/snapshot/room"
	"ac/workspace"
)

const (
	maxInFlight = 1024
	maxWaiting  = 1000
	maxDepth    = canonjson.MaxDepth
	// grace is the grace period of waiting requests at shutdown.
	grace = 2 * time.Second
	// waitsEnd is the part of grace in which canceled waits record their state
	// and answer.
	waitsEnd = 500 * time.Millisecond
	// unread is how long the last answers wait, once the input has ended, for a client that accepts
	// nothing. It must be less than grace, even with the time to notice the end.
	unread = 1500 * time.Millisecond
	// flushAtLeast is the minimum time for syncing the indexes after the end of the input, however
	// long the last requests took.
	flushAtLeast = 500 * time.Millisecond
	// hangupEvery is how often a paused input is checked for its end.
	hangupEvery = 200 * time.Millisecond
)

// Options configures a server.
type Options struct {
	In         io.Reader
	Out        io.Writer
	Log        *slog.Logger
	Stderr     io.Writer // for lines that are not log records; must not block
	Env        workspace.Env
	Executable string // the program that implements the hidden session commands
	// Terminals allows the client to open consoles.
	Terminals bool
	// SearchPatience is how long a query waits for the search index, 0 for 300 ms.
	SearchPatience time.Duration
	Version        string
	// StopSessions stops the sessions that this server launched when the server
	// ends.
	StopSessions bool
	// SealEvery is the interval between seals of the history of every workspace that a request has
	// named. The private key is in SealKeyFile. 0 means never.
	SealEvery   time.Duration
	SealKeyFile string
	// OnInputDrained is called by the reader whenever it has received every complete line that the client
	// has sent so far. It may be nil.
	OnInputDrained func()
}

// Server serves one client.
type Server struct {
	opts  Options
	table *Table
	all   *company.Host
	hub   *feed.Hub
	in    *frameReader
	out   *output
	order *order

	slots   chan struct{} // in flight
	waiting chan struct{}

	mu      sync.Mutex
	closing bool
	ended   time.Time      // when the input ended; zero before
	wg      sync.WaitGroup // requests; none is added once closing

	waits      context.Context //nolint:containedctx // of waiting requests
	cancelWait context.CancelCauseFunc
	work       context.Context //nolint:containedctx // of all requests
	cancelWork context.CancelCauseFunc
}

// Serve serves a client until its input ends, its output fails, or ctx is done. It answers
// everything it has received, within the bounds that the package comment states.
func Serve(ctx context.Context, opts Options) error { return newServer(opts).serve(ctx) }

// newServer makes a server; the caller then calls serve.
func newServer(opts Options) *Server {
	s := &Server{
		opts: opts, table: NewTable(opts.Version), in: newFrameReader(opts.In), out: newOutput(opts.Out), order: newOrder(),
		slots: make(chan struct{}, maxInFlight), waiting: make(chan struct{}, maxWaiting),
	}
	s.work, s.cancelWork = context.WithCancelCause(context.Background())
	s.waits, s.cancelWait = context.WithCancelCause(s.work)
	if s.opts.Stderr == nil {
		s.opts.Stderr = io.Discard
	}
	if s.opts.OnInputDrained == nil {
		s.opts.OnInputDrained = func() {}
	}
	s.hub = feed.NewHub(s.out, opts.Env.Clock, opts.Env.IDs.New)
	s.all = company.New(company.Options{Env: opts.Env, Executable: opts.Executable, Hub: s.hub, Stderr: s.opts.Stderr, Version: opts.Version, Serves: room.Serves{Launch: true}, Terminals: opts.Terminals, SearchPatience: opts.SearchPatience})
	return s
}

func (s *Server) serve(ctx context.Context) error {
	defer s.cancelWork(nil)
	defer s.sealing(ctx)()
	ended := make(chan error, 1)
	go func() { ended <- s.read() }() // ends with the input
	var err error
	select {
	case err = <-ended:
	case <-s.out.failed:
	case <-ctx.Done():
	}
	s.shutdown(ctx)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read requests: %w", err)
	}
	return nil
}

// sealing seals on a schedule, if enabled, until stop is called.
func (s *Server) sealing(ctx context.Context) (stop func()) {
	if s.opts.SealEvery <= 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		maintenance.SealEvery(ctx, s.all, s.opts.SealEvery, s.opts.SealKeyFile, func(dir string, sealed audit.SealResult, err error) {
			switch {
			case err != nil:
				s.opts.Log.Error("seal", "workspace", dir, "error", err)
			case len(sealed.Refused) > 0:
				s.opts.Log.Error("seal: logs differ from what was sealed", "workspace", dir, "logs", len(sealed.Refused), "first", sealed.Refused[0].Log)
			case sealed.Added > 0:
				s.opts.Log.Info("sealed", "workspace", dir, "records", sealed.Added, "checkpoint", sealed.File)
			}
		})
	}()
	return func() {
		cancel()
		<-done
	}
}

// read reads requests until the input or the server ends.
func (s *Server) read() error {
	for !s.isClosing() {
		if err := s.makeRoom(); err != nil {
			return err
		}
		line, err := s.in.next()
		switch {
		case errors.Is(err, errLong):
			s.out.answer(nullID, nil, &WireError{Code: CodeInvalidRequest, Message: errRequest.Message, Data: lineLimit{s.in.max}})
		case err != nil:
			s.endOfInput()
			s.out.flush()
			return err
		default:
			s.receive(line)
		}
		if !s.in.ready() {
			s.out.flush()
			s.opts.OnInputDrained()
		}
	}
	return nil
}

// makeRoom waits while too much output is unread. It returns an error if the input has ended in the
// meantime and the client accepts nothing.
func (s *Server) makeRoom() error {
	for room := s.out.full(); room != nil; room = s.out.full() {
		s.out.flush()
		if err := s.pause(room); err != nil {
			return err
		}
	}
	return nil
}

// pause waits for signal. It returns io.EOF if the input has ended in the meantime and the client
// accepts nothing.
func (s *Server) pause(signal <-chan struct{}) error {
	ticker := time.NewTicker(hangupEvery)
	defer ticker.Stop()
	for {
		select {
		case <-signal:
			return nil
		case <-s.out.failed:
			return nil
		case <-ticker.C:
			if f, ok := s.opts.In.(*os.File); ok && pipe.HungUp(f) && s.out.stalled(s.endOfInput()) > unread {
				return io.EOF
			}
		}
	}
}

// receive handles one line.
func (s *Server) receive(line []byte) {
	r, wireErr := parse(line)
	if wireErr != nil {
		s.out.answer(r.id, nil, wireErr)
		return
	}
	if r.id == nil {
		return // a notification: reserved
	}
	m := s.table.byName[r.method]
	if m == nil {
		s.out.answer(r.id, nil, unknownMethod(r.method))
		s.observeLater(r.params)
		return
	}
	scope, run, err := m.prepare(m.params(), r.params)
	if err != nil {
		s.out.answer(r.id, nil, err)
		s.observeLater(r.params)
		return
	}
	c := call{request: r, method: m, run: run, arrived: s.opts.Env.Clock.Now(), leave: func() {}, ctx: s.work}
	if m.Access == Inline && scope.dir == "" && scope.subscription == "" {
		s.serveNow(c)
		return
	}
	s.schedule(c, scope)
}

// call is one request being served.
type call struct {
	request
	method  *Method
	run     runner
	arrived time.Time
	leave   func()
	slots   *chan struct{}  // the semaphore it holds: in flight, or waiting
	ctx     context.Context //nolint:containedctx // a call is the scope of its context
}

// serveNow serves a request before the next one is read.
func (s *Server) serveNow(c call) {
	if !s.enter() {
		s.out.answer(c.id, nil, shuttingDown())
		return
	}
	defer s.wg.Done()
	s.answer(c)
}

// schedule queues a request in the order and serves it concurrently.
func (s *Server) schedule(c call, scope requestScope) {
	slots := s.slots
	if c.method.Access == Wait {
		c.ctx, slots = s.waits, s.waiting
	}
	select {
	case slots <- struct{}{}:
	default:
		if c.method.Access == Wait {
			s.out.answer(c.id, nil, tooManyWaiting())
			return
		}
		s.out.flush()
		slots <- struct{}{} // full: backpressure, stop reading input
	}
	c.slots = &slots
	if !s.enter() {
		<-slots
		s.out.answer(c.id, nil, shuttingDown())
		return
	}
	before, built := s.enqueue(&c, scope)
	go func() { // s.wg waits for it
		defer s.wg.Done()
		defer func() { <-*c.slots }()
		defer built()
		defer c.leave()
		await(before)
		if c.method.Access == Wait {
			s.observe(scope, c.params) // the request may take long
		}
		s.answer(c)
		s.out.flush()
		if c.method.Access != Wait {
			s.observe(scope, c.params) // the request may have created the workspace
		}
	}()
}

// enqueue adds a request to its chains. A request stays in the chain of the index until it is
// answered; the caller then calls built.
func (s *Server) enqueue(c *call, scope requestScope) (before []<-chan struct{}, built func()) {
	before, c.leave = s.order.admit(c.method.Access, scope.keys(), scope.dependsOn())
	if c.method.Index == "" {
		return before, func() {}
	}
	jobs, built := s.order.admit(c.method.Index, []string{indexKey + scope.canonical}, nil)
	return append(before, jobs...), built
}

func await(before []<-chan struct{}) {
	for _, done := range before {
		<-done
	}
}

// answer serves a request and queues its answer.
func (s *Server) answer(c call) {
	var after []func()
	hooks := &inflight.Hooks{Leave: c.leave, After: func(fn func()) { after = append(after, fn) }, ArrivedAt: c.arrived}
	hooks.Wait = func(ctx context.Context) (context.Context, func(), error) { return s.wait(ctx, c, hooks) }
	result, err := s.runWithRecover(inflight.With(c.ctx, hooks), c.method, c.run)
	s.out.answer(c.id, result, err)
	for _, fn := range after {
		fn()
	}
}

// runWithRecover turns a panic into an error of this request.
func (s *Server) runWithRecover(ctx context.Context, m *Method, run runner) (result any, err error) {
	defer func() {
		if r := recover(); r != nil {
			s.opts.Log.Error("a request panicked", "method", m.Name, "panic", r, "stack", string(debug.Stack()))
			err = fault.New(fault.Internal, "%s failed with an internal error; see the server's log", m.Name)
		}
	}()
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	result, err = run(ctx, s.all)
	if cause := context.Cause(ctx); err != nil && cause != nil && errors.Is(err, context.Canceled) {
		err = cause
	}
	return result, err
}
