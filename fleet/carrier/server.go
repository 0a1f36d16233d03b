package carrier

// The embedded server, which runs in the hub's process. It listens only on the given addresses.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"ac/fleet"
)

// ServerOptions are the options of an embedded server.
type ServerOptions struct {
	HubID     string
	HubKey    string   // public key of the hub, which has all permissions
	Listen    []string // host:port; port 0 picks a free one
	StoreDir  string
	Cert, Key []byte // PEM
	Users     []User
	Log       *slog.Logger
}

// Server is a running embedded server. It is safe for concurrent use.
type Server struct {
	options        ServerOptions
	nats           *server.Server
	extraListeners []net.Listener // listeners of the further addresses; the server owns the first
	broken         failedStores
	wg             sync.WaitGroup

	mu    sync.Mutex // serializes reloads
	users []User
}

// startWithin is how long an embedded server may take to listen.
const startWithin = 30 * time.Second

// StartServer starts the server and returns when it listens.
func StartServer(ctx context.Context, o ServerOptions) (*Server, error) {
	if len(o.Listen) == 0 {
		return nil, errors.New("the hub has no address to listen at")
	}
	if err := free(ctx, o.Listen[0]); err != nil {
		return nil, err
	}
	s := &Server{options: o, users: o.Users, broken: failedStores{news: make(chan struct{}, 1), streams: map[string]bool{}}}
	config, err := s.config(o.Users)
	if err != nil {
		return nil, err
	}
	if s.nats, err = server.NewServer(config); err != nil {
		return nil, fmt.Errorf("configure the carrier: %w", err)
	}
	s.nats.SetLoggerV2(warnings{o.Log, &s.broken}, false, false, false)
	s.nats.Start()
	if !s.nats.ReadyForConnections(startWithin) {
		s.Close()
		return nil, fmt.Errorf("the hub cannot listen at %s, or keep %s", o.Listen[0], o.StoreDir)
	}
	if err := s.listenExtra(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// free fails at once if an address cannot be bound. The server itself would fail only after
// startWithin.
func free(ctx context.Context, address string) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("the hub cannot listen at %s: %w", address, err)
	}
	return l.Close()
}

func (s *Server) config(users []User) (*server.Options, error) {
	host, port, err := hostPort(s.options.Listen[0])
	if err != nil {
		return nil, err
	}
	if s.nats != nil { // a reload keeps the assigned port
		port = s.port()
	}
	secured, err := serverTLS(s.options.Cert, s.options.Key)
	if err != nil {
		return nil, err
	}
	config := &server.Options{
		ServerName: "ac-hub-" + s.options.HubID, Host: host, Port: port, NoSigs: true, MaxPayload: fleet.MaxMessage,
		TLSConfig: secured, TLS: true, TLSTimeout: 10, AuthTimeout: 10,
		PingInterval: pingEvery, MaxPingsOut: pingsOut,
		JetStream: true, StoreDir: s.options.StoreDir, SyncAlways: true,
		JetStreamMaxStore: maxStore, JetStreamMaxMemory: maxMemory,
		Nkeys: []*server.NkeyUser{{Nkey: s.options.HubKey}},
	}
	for _, u := range users {
		config.Nkeys = append(config.Nkeys, nkeyUser(s.options.HubID, u))
	}
	return config, nil
}

// hostPort splits an address. It replaces port 0 by the server's constant for a free port.
func hostPort(address string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, fmt.Errorf("--listen %s: %w", address, err)
	}
	port, err = strconv.Atoi(text)
	if err != nil || port < 0 || port > 65535 {
		return "", 0, fmt.Errorf("--listen %s: %q is no port", address, text)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	return host, port, nil
}

func (s *Server) port() int {
	if address, ok := s.nats.Addr().(*net.TCPAddr); ok {
		return address.Port
	}
	return 0
}

// Addresses returns the addresses on which the server listens, with the actual ports.
func (s *Server) Addresses() []string {
	host, _, err := hostPort(s.options.Listen[0])
	if err != nil {
		return nil
	}
	list := []string{net.JoinHostPort(host, strconv.Itoa(s.port()))}
	for _, door := range s.extraListeners {
		list = append(list, door.Addr().String())
	}
	return list
}

// SetUsers replaces the users that may connect. It closes the connections of removed users.
func (s *Server) SetUsers(users []User) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Equal(users, s.users) {
		return nil
	}
	config, err := s.config(users)
	if err != nil {
		return err
	}
	if err := s.nats.ReloadOptions(config); err != nil {
		return fmt.Errorf("change the users of the carrier: %w", err)
	}
	s.users = slices.Clone(users)
	return nil
}

// InProcessConn returns a connection for the hub that uses no port.
func (s *Server) InProcessConn() (net.Conn, error) { return s.nats.InProcessConn() }

// Close shuts the server down and waits for it.
func (s *Server) Close() {
	for _, door := range s.extraListeners {
		_ = door.Close() // it is not used again
	}
	s.nats.Shutdown()
	s.nats.WaitForShutdown()
	s.wg.Wait()
}

// listenExtra listens on the further addresses. It forwards connections unchanged, including TLS,
// to the server's own listener.
func (s *Server) listenExtra(ctx context.Context) error {
	var config net.ListenConfig
	for _, address := range s.options.Listen[1:] {
		door, err := config.Listen(ctx, "tcp", address)
		if err != nil {
			return fmt.Errorf("--listen %s: %w", address, err)
		}
		s.extraListeners = append(s.extraListeners, door)
		s.wg.Go(func() { s.admit(door) })
	}
	return nil
}

func (s *Server) admit(door net.Listener) {
	for {
		from, err := door.Accept()
		if err != nil {
			return
		}
		s.wg.Go(func() {
			to, err := net.Dial("tcp", s.nats.Addr().String()) //nolint:noctx // ends with the server
			if err != nil {
				_ = from.Close() // the server is gone
				return
			}
			join(from, to)
		})
	}
}

// join copies bytes in both directions until one side ends.
func join(a, b net.Conn) {
	var wg sync.WaitGroup
	pass := func(to, from net.Conn) {
		_, _ = io.Copy(to, from) // an error also means that a side ended
		_, _ = to.Close(), from.Close()
	}
	wg.Go(func() { pass(a, b) })
	wg.Go(func() { pass(b, a) })
	wg.Wait()
}
