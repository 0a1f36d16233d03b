package dialect

// Listening on loopback.

import (
	"cmp"
	"context"
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
	"syscall"
	"time"

	"ac/dialect/ws"
	"ac/internal/fault"
	"ac/internal/httpguard"
)

const (
	headerPatience = 5 * time.Second // for the whole header of a request
	idlePatience   = 2 * time.Minute
	maxHeader      = 16 << 10
	keepAlive      = 15 * time.Second
	readPatience   = 20 * time.Second // for a client that stops reading
)

// Socket is a listener on a port of 127.0.0.1 and, if possible, on the same port of ::1, to
// which some programs resolve localhost.
type Socket struct {
	host      string
	listeners []net.Listener
	guard     *httpguard.Guard
	place     ListenOptions
	log       *slog.Logger
	open      atomic.Int64 // connections
}

// ListenOptions defines where and how a dialect listens.
type ListenOptions struct {
	Dialect, Address string
	// Origins are the web origins that may connect.
	Origins []string
	// Option is the command line option with the address, for error messages; "" is --listen.
	Option string
	// Token is required in every request, "" for none.
	Token string
	// MaxHeader bounds the header of a request in bytes, 0 for 16 KiB.
	MaxHeader int
	// HeaderPatience bounds the time to read the whole header of a request, 0 for 5 seconds.
	HeaderPatience time.Duration
	// Anywhere allows addresses that other machines can reach. The dialect must authenticate its
	// clients.
	Anywhere bool
	// Names are further host names of the listener.
	Names []string
	// MaxConnections bounds the open connections, 0 for no bound. Requests on connections beyond it
	// get status 503.
	MaxConnections int
	// Patience is how long a client may stop reading before its connection is cut, 0 for 20
	// seconds.
	Patience time.Duration
}

// Listen listens for a dialect. It returns fault.Denied for an address that is not loopback, unless
// Anywhere is set, and fault.InvalidParams for an invalid address. The error for a port in use
// names the option that changes it.
func Listen(ctx context.Context, p ListenOptions, log *slog.Logger) (*Socket, error) {
	p.Option = cmp.Or(p.Option, "--listen")
	host, port, err := net.SplitHostPort(p.Address)
	if err != nil {
		return nil, fault.New(fault.InvalidParams, "%s %s: %v", p.Option, p.Address, err)
	}
	at, err := p.loopback(ctx, host)
	if err != nil {
		return nil, err
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, fault.New(fault.InvalidParams, "%s %s: the port must be an integer from 0 to 65535", p.Option, p.Address)
	}
	config := net.ListenConfig{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: keepAlive, Interval: keepAlive}}
	first, err := config.Listen(ctx, "tcp", netip.AddrPortFrom(at, uint16(number)).String())
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s is in use; give another with %s", p.Address, p.Option)
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", p.Option, p.Address, err)
	}
	bound, _ := netip.ParseAddrPort(first.Addr().String()) // always an address
	patience := cmp.Or(p.Patience, readPatience)
	s := &Socket{host: host, listeners: []net.Listener{ws.Patient(first, patience)}, place: p, log: log}
	s.guard = httpguard.New(httpguard.Options{Host: host, At: bound, Origins: p.Origins, Token: p.Token, NeedPort: true, Names: p.Names})
	if at == netip.MustParseAddr("127.0.0.1") {
		other := netip.AddrPortFrom(netip.IPv6Loopback(), bound.Port())
		if second, err := config.Listen(ctx, "tcp6", other.String()); err == nil {
			s.listeners = append(s.listeners, ws.Patient(second, patience))
		} else {
			log.Info("listening on IPv4 only", "dialect", p.Dialect, "error", err)
		}
	}
	return s, nil
}

// loopback resolves a host name or address. It refuses one that is not loopback, unless Anywhere is
// set.
func (p ListenOptions) loopback(ctx context.Context, host string) (netip.Addr, error) {
	refused := fault.New(fault.Denied, "%s has no authentication: it listens on loopback only", p.Dialect)
	if at, err := netip.ParseAddr(host); err == nil {
		if !at.IsLoopback() && !p.Anywhere {
			return at, refused
		}
		return at, nil
	}
	if host == "" && p.Anywhere {
		return netip.IPv4Unspecified(), nil
	}
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("%s %s: %w", p.Option, p.Address, err)
	}
	var chosen netip.Addr
	for _, at := range found {
		if at = at.Unmap(); !at.IsLoopback() && !p.Anywhere {
			return at, refused
		}
		if !chosen.IsValid() || at.Is4() && !chosen.Is4() {
			chosen = at
		}
	}
	return chosen, nil
}

// Guard returns the guard that checks the requests of the socket.
func (s *Socket) Guard() *httpguard.Guard { return s.guard }

// Refuses answers a request that the guard refuses. It reports whether it did.
func (s *Socket) Refuses(w http.ResponseWriter, r *http.Request) bool {
	for _, check := range []func(*http.Request) *httpguard.Refusal{s.guard.CheckHost, s.guard.CheckPeer, s.guard.CheckOrigin} {
		if refused := check(r); refused != nil {
			http.Error(w, refused.Message, refused.Status)
			return true
		}
	}
	return false
}

// Addr returns the address of the listener, with its port.
func (s *Socket) Addr() string { return net.JoinHostPort(s.host, s.guard.Port()) }

// Close stops listening.
func (s *Socket) Close() {
	for _, l := range s.listeners {
		_ = l.Close() // nothing was written
	}
}

// Serve serves requests until ctx is done. The handler itself must end requests that hijacked their
// connection.
func (s *Socket) Serve(ctx context.Context, handler http.Handler) error {
	server := &http.Server{
		Handler: s.bounded(handler), ReadHeaderTimeout: cmp.Or(s.place.HeaderPatience, headerPatience), IdleTimeout: idlePatience,
		MaxHeaderBytes: cmp.Or(s.place.MaxHeader, maxHeader), ConnState: s.count,
		DisableGeneralOptionsHandler: true, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return ws.ConnContext(httpguard.WithPeer(ctx, c), c)
		},
	}
	failed := make(chan error, len(s.listeners))
	var wg sync.WaitGroup
	for _, l := range s.listeners {
		wg.Go(func() { failed <- server.Serve(l) })
	}
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	_ = server.Close() // requests in progress are not worth waiting for
	wg.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return err
}

// count counts the open connections. Hijacked ones count until they are closed.
func (s *Socket) count(c net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.open.Add(1)
	case http.StateClosed:
		s.open.Add(-1)
	case http.StateHijacked:
		ws.OnClose(c, func() { s.open.Add(-1) })
	case http.StateActive, http.StateIdle:
	}
}

// bounded answers requests on connections beyond the limit with status 503.
func (s *Socket) bounded(handler http.Handler) http.Handler {
	if s.place.MaxConnections == 0 {
		return handler
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.open.Load() > int64(s.place.MaxConnections) {
			w.Header().Set("Connection", "close")
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, `{"error":"too many connections"}`+"\n") // best effort: the client may be gone
			return
		}
		handler.ServeHTTP(w, r)
	})
}
