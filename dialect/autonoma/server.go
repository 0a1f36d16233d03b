// Package autonoma implements the protocol of the Autonoma daemon, so that its editor extensions
// work with a company of ac. It stores nothing: executions, tasks and workflows are jobs and runs,
// and artifacts are proposed files. Its state in memory (waiting requests, delivered answers, shown
// previews) may be lost at any time.
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

// Name is the name of the dialect, Address its default address.
const (
	Name    = "autonoma"
	Address = "127.0.0.1:9876"
)

// origin is the kind of origin of clients' jobs.
const origin = "autonoma"

const (
	maxConnections = 32
	maxInFlight    = 64 // per connection
	maxWaiting     = 16 // slow requests per connection
	maxActive      = 200
	// farewell is how long requests may take to end when the server shuts down.
	farewell = 400 * time.Millisecond
)

// Options are the options of the dialect.
type Options struct {
	dialect.ListenOptions
	// Level is the permission level of tasks, "" for patch in a git repository and
	// read-only elsewhere.
	Level string
	// AnswerWithin is how long a slow method waits for its answer.
	AnswerWithin time.Duration
}

// DefaultAnswerWithin is less than the 30 seconds after which clients give up.
const DefaultAnswerWithin = 27 * time.Second

// server is a listening daemon.
type server struct {
	*dialect.Company
	opts     Options
	socket   *dialect.Socket
	methods  map[string]method
	began    time.Time
	programs *dialect.Programs
	watch    *jobWatch
	codes    *codeMemory

	work       context.Context //nolint:containedctx // of all requests
	cancelWork context.CancelFunc

	connections *dialect.Connections[*connection]

	mu     sync.Mutex
	logged time.Time // when a bad frame was last logged
}

// Listen starts listening. Serve of the result serves requests, and closes the listener at the end.
func Listen(ctx context.Context, c *dialect.Company, opts Options) (dialect.Listener, error) {
	if _, _, err := c.Repository(ctx); err != nil {
		c.Log.Warn("methods that work in a repository are refused", "why", err)
	}
	socket, err := dialect.Listen(ctx, opts.ListenOptions, c.Log)
	if err != nil {
		return dialect.Listener{}, err
	}
	s := newServer(c, opts, socket)
	return dialect.Listener{Name: Name, Addr: "ws://" + socket.Addr() + "/ws", Serve: s.serve}, nil
}

func newServer(c *dialect.Company, opts Options, socket *dialect.Socket) *server {
	s := &server{Company: c, opts: opts, socket: socket, began: c.Clock.Now(), connections: dialect.NewConnections[*connection](maxConnections)}
	s.work, s.cancelWork = context.WithCancel(context.Background())
	s.methods = methods()
	s.programs = dialect.NewPrograms(s.work, c)
	s.watch = newJobWatch(s)
	s.codes = newCodeMemory(s.began)
	return s
}

// serve serves until ctx is done.
func (s *server) serve(ctx context.Context) error {
	defer s.Host.AddListener(Name, s.socket.Addr(), s.connections.Count)()
	stop, err := s.watch.start()
	if err == nil {
		err = s.socket.Serve(ctx, s)
	}
	s.socket.Close()
	s.connections.Shut((*connection).leave) // answers waiting requests and writes what is queued
	s.cancelWork()
	s.connections.Wait()
	stop()
	s.programs.Wait()
	return err
}

// ServeHTTP handles the requests of the socket: WebSocket upgrades, and the daemon's health. A
// refusal is final: clients do not retry after a status other than 101.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case s.socket.Refuses(w, r):
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

// health is the answer to /health.
type health struct {
	Status      string `json:"status"`
	Dialect     string `json:"dialect"`
	Protocol    string `json:"protocol"`
	Version     string `json:"version"`
	Clients     int    `json:"clients"`
	PeerChecked bool   `json:"peer_checked"`
}

func (s *server) tellHealth(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(health{"ok", Name, "1.0", s.Version, s.connections.Count(), httpguard.ChecksPeers()}) // best effort: the client may be gone
}

// connect serves a connection until it ends.
func (s *server) connect(w http.ResponseWriter, r *http.Request) {
	c := newConnection(s)
	leave, ok := s.connections.Enter(c)
	if !ok {
		http.Error(w, "too many clients are connected", http.StatusServiceUnavailable)
		return
	}
	defer leave()
	conn, err := ws.Accept(w, r, ws.Limits{Read: maxFrame, Crowded: 1 << 20, Full: 32 << 20})
	if err != nil {
		return // the client already has its answer
	}
	c.serve(conn)
}

// badFrame logs an ignored frame, at most once a second.
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

// record returns the record of a job.
func (s *server) record(ctx context.Context, id string) (doc.Job, error) {
	return dialect.Do(ctx, s.Company, (*company.Company).JobRecord, s.named(id))
}

func (s *server) named(id string) company.JobParams {
	return company.JobParams{Dir: s.In(), ProjectID: s.ProjectID, JobID: id}
}
