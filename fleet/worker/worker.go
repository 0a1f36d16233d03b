// Package worker executes sessions for the hub of a workspace on another machine.
//
// The worker's spool is a separate workspace in its folder. The usual supervisor and guard
// execute a session there, and the session outlives the worker's process. The worker claims
// attempts, creates their runs in the spool, ships their logs to the hub, and returns the files
// that the provider left.
//
// Invariants:
//   - A provider is started only for an attempt that the hub granted to this worker. An
//     attempt that was given up never starts: its permit is removed first, under the lock
//     of its run.
//   - A line of the spool is durable before it is published, so that the hub never has more
//     than the worker.
//   - A draft is kept until the hub reports it as sealed. Acknowledgements of the carrier do
//     not count.
//   - The numbers of an attempt's drafts are a function of the spool's log alone.
//   - Leases use a clock that continues while the machine sleeps.
package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"ac/fleet"
	"ac/fleet/parcel"
	"ac/internal/fault"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// Starter starts the session of an order, as session.Launcher does.
type Starter interface {
	Launch(ctx context.Context, order session.Order) error
}

// Host is what a worker needs from its process.
type Host struct {
	// Connect connects to the hub. The worker calls it again after a failure.
	Connect func(ctx context.Context, link fleet.WorkerLink) (fleet.WorkerCarrier, error)
	Starter Starter
	// Environ is the environment of the process.
	Environ []string
	Version string
	// Speaks are the versions that the worker offers; zero means those of this program.
	Speaks fleet.Versions
	// Elapsed returns the time since the machine started, including time suspended.
	Elapsed func() time.Duration
	// Free returns the available bytes of a directory's file system.
	Free func(dir string) (uint64, error)
	// Probe detects the machine's agents. It may take a while.
	Probe func(ctx context.Context, machine doc.Machine) map[string]fleet.ProviderProbe
	// Judge judges one agent's program, for a session in the given environment.
	Judge func(ctx context.Context, spool *workspace.Workspace, machine doc.Machine, ask fleet.Probe, environ []string) fleet.ProviderProbe
	// Connected is called after the first accepted hello; it may be nil.
	Connected func()
	Log       *slog.Logger
	// MinFree overrides the hub's setting, in bytes; 0 does not.
	MinFree int64
	// StopAtExit makes Run stop the sessions before it returns.
	StopAtExit bool
}

// Worker is a running worker. Run is called once.
type Worker struct {
	host    Host
	folder  *Folder
	spool   *workspace.Workspace
	mirrors parcel.Mirrors
	carrier fleet.WorkerCarrier
	boot    string // of this process
	seq     sequence
	shipCtx context.Context //nolint:containedctx // outlives the one of Run by the time for shipping
	work    sync.WaitGroup  // attempts

	mu        sync.Mutex
	attempts  map[string]*attempt
	settings  fleet.Settings
	providers map[string]fleet.ProviderProbe
	drained   bool // the hub wants no new orders here
	leaving   bool // the process is ending
	greeted   bool // the hub answered a hello since the last connection
	welcomed  bool // the hub answered a hello
	lowDisk   bool
	slots     int
	rtt       time.Duration
	replays   replayFilter
	helloOver chan struct{} // closed at the end of the hello in progress, nil if there is none
	changed   chan struct{} // holds a value when a slot, the disk or the connection changed
	fatal     chan error    // holds the error that ends the worker
}

// Open creates the worker of a folder that has joined a hub.
func Open(folder *Folder, host Host) (*Worker, error) {
	if host.Speaks == (fleet.Versions{}) {
		host.Speaks = fleet.Speaks()
	}
	w := &Worker{
		host: host, folder: folder, spool: folder.Spool, attempts: map[string]*attempt{}, settings: folder.Config.settings(),
		boot: folder.Spool.Env.IDs.Hex(8), slots: folder.Config.Slots, changed: make(chan struct{}, 1), fatal: make(chan error, 1),
	}
	w.mirrors = parcel.Mirrors{FS: folder.Mirrors, Dir: folder.MirrorsDir(), Environ: host.Environ}
	return w, w.load()
}

// load reads the attempts in the folder.
func (w *Worker) load() error {
	records, err := w.folder.attempts()
	for _, record := range records {
		a := newAttempt(w, record)
		a.recovered = true
		w.attempts[a.id] = a
	}
	return err
}

// Run serves the hub until ctx ends or the hub dismisses the worker. It first adopts live
// sessions, even if the hub is unreachable. When ctx ends, it accepts no more orders and ships
// logs for up to two more seconds. The sessions continue, unless Host.StopAtExit is set.
func (w *Worker) Run(ctx context.Context) error {
	stays, leave := context.WithCancel(context.WithoutCancel(ctx))
	defer leave()
	w.shipCtx = stays
	var serving sync.WaitGroup
	w.mu.Lock()
	for _, a := range w.attempts {
		w.work.Go(func() { a.run(stays) })
	}
	w.mu.Unlock()
	serving.Go(func() { w.watchLeases(stays) })
	serving.Go(func() { w.serve(stays) })
	var err error
	select {
	case <-ctx.Done():
	case err = <-w.fatal:
	}
	w.mu.Lock()
	w.leaving = true
	w.mu.Unlock()
	w.wake()
	if err == nil {
		w.finish()
	}
	leave()
	serving.Wait()
	w.work.Wait()
	return err
}

// shipAtExit is how long a worker continues shipping when it exits.
const shipAtExit = 2 * time.Second

// stopAtExit is how long an exiting worker waits for the sessions that it stops.
const stopAtExit = 15 * time.Second

// finish stops the sessions if Host.StopAtExit is set, and ships what remains.
func (w *Worker) finish() {
	if w.host.StopAtExit {
		ctx, cancel := context.WithTimeout(w.shipCtx, stopAtExit)
		var stopping sync.WaitGroup
		for _, a := range w.all() {
			stopping.Go(func() { a.stopAndWait(ctx) })
		}
		stopping.Wait()
		cancel()
	}
	ctx, cancel := context.WithTimeout(w.shipCtx, shipAtExit)
	defer cancel()
	for _, a := range w.all() {
		a.awaitSealed(ctx)
	}
}

// all returns the worker's attempts, sorted by id.
func (w *Worker) all() []*attempt {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := slices.Collect(maps.Values(w.attempts))
	slices.SortFunc(list, func(a, b *attempt) int {
		if a.id < b.id {
			return -1
		}
		return 1
	})
	return list
}

// find returns an attempt of the worker, nil if the worker does not know it.
func (w *Worker) find(id string) *attempt {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.attempts[id]
}

// forget drops an attempt that is over.
func (w *Worker) forget(a *attempt) {
	w.mu.Lock()
	delete(w.attempts, a.id)
	w.mu.Unlock()
	w.wake()
}

// wake makes takeOrders check again for a free slot.
func (w *Worker) wake() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// end ends the worker with an error.
func (w *Worker) end(err error) {
	select {
	case w.fatal <- err:
	default: // an earlier error takes precedence
	}
}

// serve connects to the hub and serves it until the context ends.
func (w *Worker) serve(ctx context.Context) {
	w.probe(ctx)
	if !w.connect(ctx) {
		return
	}
	defer w.carrier.Close()
	var loops sync.WaitGroup
	defer loops.Wait()
	loops.Go(func() { w.takeOrders(ctx) })
	loops.Go(func() { w.beat(ctx) })
	for {
		select {
		case <-ctx.Done():
			return
		case _, ok := <-w.carrier.Connections():
			if !ok {
				return
			}
			w.greet(ctx)
		}
	}
}

// Pauses between attempts to connect.
const (
	firstPause   = 200 * time.Millisecond
	maxPause     = 5 * time.Second
	refusedPause = time.Minute // maximum while the worker's key is refused
	joinWithin   = 10 * time.Second
)

// connect connects to the hub. It retries until ctx ends, and reports whether it succeeded.
func (w *Worker) connect(ctx context.Context) bool {
	link, was := w.folder.link(w.handleTell), false
	link.Log = w.host.Log
	for pause := firstPause; ; {
		within, cancel := context.WithTimeout(ctx, joinWithin)
		carrier, err := w.host.Connect(within, link)
		cancel()
		if err == nil {
			w.mu.Lock()
			w.carrier = carrier
			w.mu.Unlock()
			for _, a := range w.all() {
				a.poke()
			}
			return true
		}
		refused := errors.Is(err, fleet.ErrKeyRefused)
		if !refused || !was { // log repeated refusals once
			w.host.Log.Warn("the hub cannot be reached", "error", err)
		}
		if !sleep(ctx, pause) {
			return false
		}
		latest := maxPause
		if refused {
			latest = refusedPause
		}
		was, pause = refused, min(2*pause, latest)
	}
}

// connection returns the carrier, nil before the first connection.
func (w *Worker) connection() fleet.WorkerCarrier {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.carrier
}

// sleep waits and reports whether ctx is still active.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// errUnconnected reports a request before the first connection.
var errUnconnected = errors.New("there is no connection to the hub yet")

// isDismissal reports whether a refusal by the hub ends the worker.
func isDismissal(err error) bool {
	for _, reason := range []fault.Reason{fleet.DuplicateWorker, fleet.UnknownWorker} {
		if fault.Is(err, reason) {
			return true
		}
	}
	return false
}

// describe prefixes an error with what failed. It returns nil for nil.
func describe(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
