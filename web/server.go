package web

// The server: listening, serving, and shutting down.

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"ac/company"
	"ac/dialect"
	"ac/feed"
	"ac/internal/fault"
	"ac/internal/httpguard"
	"ac/rpc"
	"ac/snapshot"
	"ac/snapshot/room"
	"ac/workspace"
)

const (
	// headerPatience is how long a client may take to send the header of a
	// request.
	headerPatience = 10 * time.Second
	// readPatience is how long a client may take to read an answer. It does not apply to streams.
	readPatience = 2 * time.Minute
	idlePatience = 2 * time.Minute
	maxHeader    = 64 << 10
	// shutdownGrace is the grace period of running requests at shutdown. abandon is how long the server
	// waits after canceling them.
	shutdownGrace = 900 * time.Millisecond
	cancelGrace   = 500 * time.Millisecond
	// flush is how long the index worker may run at shutdown.
	flush = 300 * time.Millisecond
	// keepaliveEvery is the interval of keepalives on an open stream.
	keepaliveEvery = 15 * time.Second
	// coalesce is how long changes are batched before a screen is read.
	coalesce = 150 * time.Millisecond
)

// cookiePrefix begins the name of the cookie that holds the token. The port follows.
const cookiePrefix = "ac_room_"

// Options configures a server.
type Options struct {
	Env        workspace.Env
	Executable string // the program that implements the hidden session commands
	Version    string
	Stderr     io.Writer // receives the log; must not block

	WorkspaceDir string
	ProjectID    string              // the initial project of the page; "" for all projects
	Actor        company.ActorParams // the actor of all requests
	Limits       company.ScreenLimits
	// RefreshIndex rebuilds the index once at the start. SyncIndex is whether reads sync the index
	// by default.
	RefreshIndex bool
	SyncIndex    bool

	Host string
	Port int // 0 for any free one
	// Token requires a token in every request, on loopback too.
	Token bool
	// AllowRemote allows Host to be an address that other machines can reach. Every request then
	// needs a token.
	AllowRemote bool

	// Dialects opens listeners for other programs' protocols on the server's host. The server runs
	// them for as long as itself. May be nil.
	Dialects func(context.Context, *company.Host) ([]dialect.Listener, error)
	// Terminals allows clients of the other listeners to open consoles.
	Terminals bool
	// AllowLaunch allows the page to start runs.
	AllowLaunch bool
	// QuietAfter is how long a live run must be silent to count as quiet. 0 means one minute.
	QuietAfter time.Duration
	// Heartbeat lets the workspace's heartbeat tick while the server runs.
	Heartbeat bool
}

// Server is a listening server. Serve runs it and closes it.
type Server struct {
	opts      Options
	log       *slog.Logger
	listener  net.Listener
	dialects  []dialect.Listener
	guard     *httpguard.Guard
	document  document
	assets    map[string]asset // vendored files by URL path
	loadables []loadable
	paths     map[string]methods
	table     *rpc.Table
	all       *company.Host
	hub       *feed.Hub
	folder    *company.Folder
	screens   screens
	keepalive time.Duration
	head      time.Duration // time limit of a request's header
	stalled   time.Duration // time limit of a write to a stream
	tabs      atomic.Int64  // open streams of rows

	work       context.Context //nolint:containedctx // of all requests
	cancelWork context.CancelFunc
	live       context.Context //nolint:containedctx // of streams, which end first
	cancelLive context.CancelFunc

	clients atomic.Int64 // open connections

	mu       sync.Mutex
	closing  bool
	requests sync.WaitGroup // none is added once closing
}

// Listen opens the workspace and starts listening, for dialects too. It fails for a folder that is
// not a workspace, for an address in use, and, without AllowRemote, for an address that other
// machines can reach. On failure it leaves nothing open.
func Listen(ctx context.Context, opts Options) (*Server, error) {
	at, err := resolve(ctx, opts)
	if err != nil {
		return nil, err
	}
	s := &Server{opts: opts, log: slog.New(slog.NewTextHandler(opts.Stderr, nil)), table: rpc.NewTable(opts.Version), keepalive: keepaliveEvery, head: headerPatience, stalled: stalled}
	if s.document, err = newDocument(); err != nil {
		return nil, err
	}
	if s.assets, s.loadables, err = newAssets(); err != nil {
		return nil, err
	}
	s.opts.Limits.MonitorLimit = min(opts.Limits.MonitorLimit, maxRows)
	s.opts.Limits.PendingLimit = min(opts.Limits.PendingLimit, maxRows)
	s.opts.Limits.DecisionsLimit = min(opts.Limits.DecisionsLimit, maxRows)
	s.paths = s.routes()
	s.hub = feed.NewHub(nil, opts.Env.Clock, opts.Env.IDs.New)
	s.all = company.New(company.Options{Env: opts.Env, Executable: opts.Executable, Hub: s.hub, Stderr: opts.Stderr, Version: opts.Version, Terminals: opts.Terminals,
		Serves: room.Serves{Launch: opts.AllowLaunch}, QuietAfter: opts.QuietAfter, StartedFrom: "web"})
	s.folder = s.all.In(opts.WorkspaceDir)
	s.work, s.cancelWork = context.WithCancel(context.Background())
	s.live, s.cancelLive = context.WithCancel(s.work)
	err = s.folder.KeepFresh(ctx)
	if err == nil {
		s.listener, err = listen(ctx, at)
	}
	if err == nil && opts.Dialects != nil {
		if s.dialects, err = opts.Dialects(ctx, s.all); err != nil {
			_ = s.listener.Close() // it has served no client
		}
	}
	if err != nil {
		s.cancelWork()
		return nil, errors.Join(err, s.release())
	}
	names := make([]string, len(s.dialects))
	for i, l := range s.dialects {
		names[i] = l.Name
	}
	s.all.SetDialects(names)
	token := ""
	if !at.Addr().IsLoopback() || opts.Token || opts.AllowLaunch && !httpguard.ChecksPeers() {
		token = newToken()
	}
	if opts.Heartbeat {
		s.all.Observe(opts.WorkspaceDir)
	}
	s.guard = httpguard.New(httpguard.Options{Host: opts.Host, At: netip.AddrPortFrom(at.Addr(), portOf(s.listener)), Token: token, Cookie: cookiePrefix + strconv.Itoa(int(portOf(s.listener))), OwnPages: true})
	return s, nil
}

// listen listens on one address, in its address family only.
func listen(ctx context.Context, at netip.AddrPort) (net.Listener, error) {
	network := "tcp6"
	if at.Addr().Is4() {
		network = "tcp4"
	}
	return (&net.ListenConfig{}).Listen(ctx, network, at.String())
}

func portOf(l net.Listener) uint16 {
	bound, _ := netip.ParseAddrPort(l.Addr().String()) // always an address
	return bound.Port()
}

// resolve returns the address to listen on. The server listens on exactly the address that was
// checked, so there is no time-of-check to time-of-use race.
func resolve(ctx context.Context, opts Options) (netip.AddrPort, error) {
	host := httpguard.PlainName(opts.Host)
	addr, err := netip.ParseAddr(host)
	if err != nil {
		found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		if err != nil {
			return netip.AddrPort{}, fmt.Errorf("--host %s: %w", opts.Host, err)
		}
		for _, one := range found {
			if one = one.Unmap(); !addr.IsValid() || (one.Is4() && !addr.Is4()) {
				addr = one
			}
		}
	}
	if !addr.IsLoopback() && !opts.AllowRemote {
		return netip.AddrPort{}, fault.New(fault.Denied, "--host %s is reachable from other machines; add --allow-remote if that is intended", opts.Host)
	}
	return netip.AddrPortFrom(addr, uint16(opts.Port)), nil //nolint:gosec // the command checked the range
}

func newToken() string {
	secret := make([]byte, 24)
	_, _ = rand.Read(secret) // never fails
	return base64.RawURLEncoding.EncodeToString(secret)
}

// Dialects returns the listeners for other programs' protocols.
func (s *Server) Dialects() []dialect.Listener { return s.dialects }

// URL returns the address for browsers, with the token if there is one.
func (s *Server) URL() string { return httpguard.Address(s.opts.Host, s.guard.Port(), s.guard.Token()) }

// Serve serves until ctx is done or a listener fails, which stops the other listeners. When Serve
// returns, the server has released everything. Sessions and jobs continue.
func (s *Server) Serve(ctx context.Context) error {
	server := &http.Server{
		Handler: s, ReadHeaderTimeout: s.head, WriteTimeout: readPatience, IdleTimeout: idlePatience, MaxHeaderBytes: maxHeader,
		DisableGeneralOptionsHandler: true, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
		BaseContext: func(net.Listener) context.Context { return s.work }, ConnContext: httpguard.WithPeer, ConnState: s.trackConn,
	}
	defer s.all.AddListener("web", s.listener.Addr().String(), func() int { return int(s.clients.Load()) })()
	ctx, endDialects := context.WithCancel(ctx)
	defer endDialects()
	var own sync.WaitGroup
	failed := make(chan error, 1+len(s.dialects))
	own.Go(func() { failed <- server.Serve(s.listener) })
	for _, l := range s.dialects {
		own.Go(func() { failed <- l.Serve(ctx) })
	}
	if s.opts.RefreshIndex {
		own.Go(s.rebuild)
	}
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	endDialects()
	s.shutdown(server)
	own.Wait()
	close(failed)
	for late := range failed {
		if !errors.Is(late, http.ErrServerClosed) {
			err = errors.Join(err, late)
		}
	}
	return errors.Join(err, s.release())
}

// trackConn tracks the number of open connections.
func (s *Server) trackConn(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.clients.Add(1)
	case http.StateClosed, http.StateHijacked:
		s.clients.Add(-1)
	case http.StateActive, http.StateIdle:
	}
}

// rebuild rebuilds the index concurrently with the first requests.
func (s *Server) rebuild() {
	p := company.MonitorParams{Dir: s.dir(), IndexStep: company.IndexStep{RefreshIndex: true}, ProjectID: s.opts.ProjectID, Limit: 1}
	if _, err := company.Do(s.work, s.all, (*company.Company).Monitor, p); err != nil && s.work.Err() == nil {
		s.log.Error("the index was not rebuilt", "error", err)
	}
}

// enter admits a request unless the server is shutting down. The request calls
// s.requests.Done when it is answered.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closing {
		s.requests.Add(1)
	}
	return !s.closing
}

// shutdown ends the streams at once, gives other requests a grace period, and
// then closes all connections.
func (s *Server) shutdown(server *http.Server) {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.cancelLive()
	limit, cancel := context.WithTimeout(context.Background(), shutdownGrace)
	_ = server.Shutdown(limit) // server.Close closes the rest
	cancel()
	s.cancelWork()
	_ = server.Close() // as above
	answered := make(chan struct{})
	go func() { // ends with the last request
		s.requests.Wait()
		close(answered)
	}()
	select {
	case <-answered:
	case <-time.After(cancelGrace):
		s.log.Warn("a request did not end in time")
	}
}

// release releases the server's resources.
func (s *Server) release() error {
	limit, cancel := context.WithTimeout(context.Background(), flush)
	defer cancel()
	_ = s.all.CloseWorker(limit) // the next reader syncs what was not flushed
	s.hub.Close()
	return s.all.Close()
}

// screenOf returns the screen of a project, which lives as long as the server.
func (s *Server) screenOf(project string) *screen {
	return s.screens.of(project, func() *screen {
		return newScreen(s.live, screenSource{
			take: func(ctx context.Context) (snapshot.UI, error) {
				return company.Do(ctx, s.all, (*company.Company).UI, s.screenParams(project, company.IndexStep{SyncIndex: s.opts.SyncIndex}))
			},
			watch: func(changed func()) (stop func(), err error) {
				c, err := s.folder.Enter(s.live)
				if err != nil {
					return nil, err
				}
				return c.Watch(s.live, project, changed)
			},
		})
	})
}
