// Package autonoma speaks the protocol of the Autonoma daemon, so that its editor
// extensions act in a company of ac. It keeps nothing of its own: executions, tasks and
// workflows are jobs and runs, artifacts are proposed files. What it remembers (who waits
// for what, which answers were delivered, what a preview showed) may be lost at any time.
package autonoma

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"ac/company"
	"ac/dialect"
	"ac/dialect/ws"
	"ac/internal/httpguard"
	"ac/workspace/doc"
)

// Name is the name of the dialect, Address where it listens by default.
const (
	Name    = "autonoma"
	Address = "127.0.0.1:9876"
)

// origin marks the jobs of clients.
const origin = "autonoma"

const (
	maxConnections = 32
	maxInFlight    = 64 // requests of a connection
	maxWaiting     = 16 // slow requests of a connection
	maxActive      = 200
	// farewell is how long requests may take to end once the server does.
	farewell = 400 * time.Millisecond
)

// Options are the options of the dialect.
type Options struct {
	Address string
	Origins []string
	// Option is the option of the command that has the address, as errors name it; "" is
	// --listen.
	Option string
	// Level is the permission level of tasks, "" for patch in a git repository and
	// read-only elsewhere.
	Level string
	// AnswerWithin is how long a slow method is waited for.
	AnswerWithin time.Duration
}

// DefaultAnswerWithin is less than the 30 seconds after which clients give up.
const DefaultAnswerWithin = 27 * time.Second

// server is a listening daemon.
type server struct {
	*dialect.Company
	opts    Options
	socket  *dialect.Socket
	methods map[string]method
	began   time.Time
	health  *agentHealth
	watch   *jobWatch
	codes   *codeMemory

	work       context.Context //nolint:containedctx // of all requests
	cancelWork context.CancelFunc

	mu      sync.Mutex
	open    map[*connection]struct{}
	closing bool
	busy    sync.WaitGroup // handlers of connections; none is added once closing
	logged  time.Time      // when a bad frame was last told of
}

// Listen listens. Nothing is served before Serve of the result, which closes it.
func Listen(ctx context.Context, c *dialect.Company, opts Options) (dialect.Listener, error) {
	if _, _, err := c.Repository(ctx); err != nil {
		c.Log.Warn("methods that work in a repository are refused", "why", err)
	}
	socket, err := dialect.Listen(ctx, dialect.Place{Dialect: Name, Address: opts.Address, Origins: opts.Origins, Option: opts.Option}, c.Log)
	if err != nil {
		return dialect.Listener{}, err
	}
	s := newServer(c, opts, socket)
	return dialect.Listener{Name: Name, Addr: "ws://" + socket.Addr() + "/ws", Serve: s.serve}, nil
}

func newServer(c *dialect.Company, opts Options, socket *dialect.Socket) *server {
	s := &server{Company: c, opts: opts, socket: socket, began: c.Clock.Now(), open: map[*connection]struct{}{}}
	s.work, s.cancelWork = context.WithCancel(context.Background())
	s.methods = methods()
	s.health = &agentHealth{server: s}
	s.watch = newJobWatch(s)
	s.codes = newCodeMemory()
	return s
}

// serve serves until ctx is done.
func (s *server) serve(ctx context.Context) error {
	defer s.Host.Listening(Name, s.socket.Addr(), s.connected)()
	stop, err := s.watch.start()
	if err == nil {
		err = s.socket.Serve(ctx, s)
	}
	s.socket.Close()
	s.shutdown()
	s.cancelWork()
	s.busy.Wait()
	stop()
	s.health.wait()
	return err
}

// shutdown ends the connections: what waits is answered, what was sent is written.
func (s *server) shutdown() {
	s.mu.Lock()
	s.closing = true
	left := make([]*connection, 0, len(s.open))
	for c := range s.open {
		left = append(left, c)
	}
	s.mu.Unlock()
	var wg sync.WaitGroup
	for _, c := range left {
		wg.Go(c.leave)
	}
	wg.Wait()
}

// ServeHTTP answers the requests of the socket: the upgrade of clients, and a look at the
// daemon's health. A refusal is final: clients do not try again after another answer than
// 101.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	guard := s.socket.Guard()
	for _, check := range []func(*http.Request) *httpguard.Refusal{guard.CheckHost, guard.CheckOrigin, guard.CheckPeer} {
		if refused := check(r); refused != nil {
			http.Error(w, refused.Message, refused.Status)
			return
		}
	}
	switch {
	case r.URL.Path != "/ws" && r.URL.Path != "/health":
		http.NotFound(w, r)
	case r.Method != http.MethodGet:
		w.Header().Set("Allow", "GET")
		http.Error(w, "only GET is served", http.StatusMethodNotAllowed)
	case r.URL.Path == "/health":
		s.tellHealth(w)
	case !ws.IsUpgrade(r):
		w.Header().Set("Upgrade", "websocket")
		http.Error(w, "this is a WebSocket", http.StatusUpgradeRequired)
	default:
		s.connect(w, r)
	}
}

// health is the answer of /health.
type health struct {
	Status      string `json:"status"`
	Dialect     string `json:"dialect"`
	Protocol    string `json:"protocol"`
	Version     string `json:"version"`
	Clients     int    `json:"clients"`
	PeerChecked bool   `json:"peer_checked"`
}

// connected counts the clients.
func (s *server) connected() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}

func (s *server) tellHealth(w http.ResponseWriter) {
	clients := s.connected()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(health{"ok", Name, "1.0", s.Version, clients, httpguard.ChecksPeers()}) // the client may be gone
}

// connect serves a connection to its end.
func (s *server) connect(w http.ResponseWriter, r *http.Request) {
	c := newConnection(s)
	s.mu.Lock()
	full := s.closing || len(s.open) >= maxConnections
	if !full {
		s.open[c] = struct{}{}
		s.busy.Add(1)
	}
	s.mu.Unlock()
	if full {
		http.Error(w, "too many clients are connected", http.StatusServiceUnavailable)
		return
	}
	defer s.busy.Done()
	defer func() {
		s.mu.Lock()
		delete(s.open, c)
		s.mu.Unlock()
	}()
	conn, err := ws.Accept(w, r, ws.Limits{Read: maxFrame, Crowded: 1 << 20, Full: 32 << 20})
	if err != nil {
		return // the client has its answer
	}
	c.serve(conn)
}

// clients are the open connections.
func (s *server) clients() []*connection {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*connection, 0, len(s.open))
	for c := range s.open {
		list = append(list, c)
	}
	return list
}

// badFrame tells of a frame that is ignored, once a second at most.
func (s *server) badFrame(err error) {
	now := s.Clock.Now()
	s.mu.Lock()
	quiet := now.Sub(s.logged) < time.Second
	if !quiet {
		s.logged = now
	}
	s.mu.Unlock()
	if !quiet {
		s.Log.Warn("a frame was ignored", "why", err)
	}
}

// record is the record of a job.
func (s *server) record(ctx context.Context, id string) (doc.Job, error) {
	return dialect.Do(ctx, s.Company, (*company.Company).JobRecord, s.named(id))
}

func (s *server) named(id string) company.JobParams {
	return company.JobParams{Dir: s.In(), ProjectID: s.ProjectID, JobID: id}
}
