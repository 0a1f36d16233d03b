// Package hub is the process on the machine of a workspace that executes sessions on other
// machines: the registry of workers, the placement of sessions, their leases, the ingester
// that seals what workers report into the runs' logs, and the relay of requests to sessions.
//
// Invariants:
//   - A provider is started at most once for an attempt: only the hub grants claims, and a
//     claim is durable before the reply.
//   - Only the newest attempt of a session writes to its log, and only until it is fenced.
//     What others send is kept as evidence.
//   - The hub reports a draft as sealed only when it is durable in the run's log. So the
//     draft is there exactly once, whichever process dies in between.
//   - Decisions are durable in the hub's files before they are sent. The carrier may lose
//     everything.
package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"ac/fleet"
	"ac/fleet/carrier"
	"ac/internal/lock"
	"ac/workspace"
)

// Options are the options of a hub.
type Options struct {
	Workspace *workspace.Workspace
	Version   string // of this program
	// Speaks are the versions that the hub supports; zero means those of this program.
	Speaks fleet.Versions
	// Environ is the environment of git.
	Environ []string
	Log     *slog.Logger
	// Listen and Advertise override the configuration and are saved in it; nil keeps it.
	Listen, Advertise []string
	// NATS is the user's own, in place of a listen address. It is also saved in the
	// configuration.
	NATS *fleet.NATSConfig
	// Settings override the configuration while this hub runs. They are not saved.
	Settings fleet.Settings
	// CertPEM and CertKeyPEM are a certificate that workers verify by host name; nil for a
	// self-signed one.
	CertPEM, CertKeyPEM []byte
	// Elapsed is the clock of the leases. It includes time suspended.
	Elapsed func() time.Duration
}

// carrierClient is the hub's side of the carrier.
type carrierClient interface {
	EnsureWorker(ctx context.Context, worker string) error
	RemoveWorker(ctx context.Context, worker string) error
	PublishOrder(ctx context.Context, worker, attempt string, body []byte) error
	DeleteOrder(ctx context.Context, worker, attempt string) error
	Drafts() <-chan carrier.Draft
	Tell(ctx context.Context, worker, publicKey, attempt, verb string, body []byte) ([]byte, error)
	Notify(worker, verb string, body []byte)
	Put(ctx context.Context, worker, name string, from io.Reader) error
	Get(ctx context.Context, worker, name string, to io.Writer) error
	Delete(ctx context.Context, worker, name string) error
	Counts(ctx context.Context) (fleet.StreamCounts, error)
	Connected() bool
	Close()
}

// Hub is a running hub. Its methods are safe for concurrent use.
type Hub struct {
	o       Options
	w       *workspace.Workspace
	key     fleet.Key
	boot    string
	owner   fleet.Owner
	hold    *lock.Hold
	server  *carrier.Server
	carrier carrierClient
	sockets net.Listener

	ctx    context.Context //nolint:containedctx // of the hub's own goroutines
	cancel context.CancelFunc
	wg     sync.WaitGroup
	loaded chan struct{} // closed once the attempts of the previous hub are loaded
	wake   chan struct{} // requests a check of the queue and the timeouts
	stop   chan struct{} // closed when a socket request asks the hub to stop
	once   sync.Once
	tells  atomic.Int64
	began  time.Duration // by Options.Elapsed

	refused atomic.Int64 // messages without a valid signature

	// mu guards the fields below. Lock order: a launch's lock first, then mu.
	mu         sync.Mutex
	config     fleet.Config
	settings   fleet.Settings
	workers    map[string]*worker
	launches   map[string]*launch              // by their newest attempt
	past       map[string]*fleet.AttemptRecord // attempts that are done or fenced
	evidenceOf map[string]*evidenceCounts      // of past attempts
	taking     map[string]bool                 // past attempts whose late results are being collected
	waiting    []*waiter
	holds      map[string]outcome // picked slots, by hold id
	arrivals   int64
	broken     []string // unreadable files
	fault      error    // why the hub cannot seal
}

// Start takes the workspace's hub lock and recovers the state of the previous hub. It returns
// when workers can connect. Its goroutines do the rest until Close.
func Start(ctx context.Context, o Options) (started *Hub, err error) {
	hold, err := takeLock(ctx, o.Workspace)
	if errors.Is(err, lock.ErrBusy) {
		return nil, running(o.Workspace)
	}
	if err != nil {
		return nil, fmt.Errorf("take the lock of the hub: %w", err)
	}
	if o.Speaks == (fleet.Versions{}) {
		o.Speaks = fleet.Speaks()
	}
	h := &Hub{
		o: o, w: o.Workspace, boot: o.Workspace.Env.IDs.Hex(8), hold: hold, wake: make(chan struct{}, 1), stop: make(chan struct{}), loaded: make(chan struct{}),
		workers: map[string]*worker{}, launches: map[string]*launch{}, past: map[string]*fleet.AttemptRecord{},
		evidenceOf: map[string]*evidenceCounts{}, taking: map[string]bool{}, holds: map[string]outcome{},
	}
	h.ctx, h.cancel = context.WithCancel(context.WithoutCancel(ctx))
	defer func() {
		if err != nil {
			err = errors.Join(err, h.Close())
		}
	}()
	h.began = o.Elapsed()
	if err := h.configure(); err != nil {
		return nil, err
	}
	if err := h.loadWorkers(); err != nil {
		return nil, err
	}
	if err := h.connect(ctx); err != nil {
		return nil, err
	}
	if err := h.openSocket(ctx); err != nil {
		return nil, err
	}
	if err := h.loadAttempts(ctx); err != nil {
		return nil, err
	}
	close(h.loaded)
	h.wg.Go(h.serveSocket)
	h.wg.Go(h.ingest)
	h.wg.Go(h.tick)
	return h, nil
}

// Owner returns the hub's owner record.
func (h *Hub) Owner() fleet.Owner { return h.owner }

// HubID returns the id of the hub.
func (h *Hub) HubID() string { return h.config.HubID }

// Stopped returns a channel that is closed when a socket request asks the hub to stop.
func (h *Hub) Stopped() <-chan struct{} { return h.stop }

// Close stops the hub. Its sessions continue, and the next hub takes them over.
func (h *Hub) Close() error {
	h.cancel()
	var errs []error
	if h.sockets != nil {
		errs = append(errs, h.sockets.Close())
	}
	if h.carrier != nil {
		h.carrier.Close()
	}
	h.mu.Lock()
	launches := make([]*launch, 0, len(h.launches))
	for _, l := range h.launches {
		launches = append(launches, l)
	}
	h.mu.Unlock()
	h.wg.Wait()
	for _, l := range launches {
		errs = append(errs, l.close())
	}
	h.wg.Wait() // for goroutines started meanwhile
	if h.server != nil {
		h.server.Close()
	}
	return errors.Join(append(errs, h.hold.Release())...)
}

// wakeTick requests a check of the queue and the timeouts.
func (h *Hub) wakeTick() {
	select {
	case h.wake <- struct{}{}:
	default: // one is already pending
	}
}

// now returns the wall clock in Unix milliseconds.
func (h *Hub) now() int64 { return h.w.Env.Clock.Now().UnixMilli() }
