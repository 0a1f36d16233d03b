// Package comma implements the protocol of the comma daemon, so that its terminal program and other
// clients work with a company of ac. It stores nothing: a strategy is a workflow template, its run
// is a workflow run, and an agent's call is a job. Its state in memory (prepared runs that were not
// started, waiting requests) may be lost at any time.
package comma

import (
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"ac/company"
	"ac/company/orchestration"
	"ac/dialect"
	"ac/dialect/ws"
	"ac/internal/ulid"
	"ac/workspace/doc"
)

// Name is the name of the dialect, Address its default address.
const (
	Name    = "comma"
	Address = "127.0.0.1:7422"
)

// origin is the kind of origin of clients' runs.
const origin = "comma"

const (
	maxConnections = 256
	maxHeader      = 64 << 10
	maxAnswers     = 64        // queued answers to a client before it is no longer read (backpressure)
	maxQueued      = 256 << 10 // bytes of events queued for a client
	maxLive        = 32        // active runs that one listener started
	pingEvery      = 30 * time.Second
	pongWithin     = 60 * time.Second
)

// Options are the options of the dialect.
type Options struct {
	dialect.ListenOptions
	// Folders are further folders with strategies, besides the workspace and the linked
	// repositories.
	Folders []string
	// Level is the highest permission level of a strategy's agents, "" for run-commands.
	Level doc.Level
	// Isolation is how a run works in a repository: none (also "") or worktree.
	Isolation string
	// StopRuns makes the listener cancel, at its end, the live runs that it started.
	StopRuns bool
}

// server is a listening daemon.
type server struct {
	*dialect.Company
	opts        Options
	dir         string // absolute path of the workspace
	socket      *dialect.Socket
	began       time.Time
	programs    *dialect.Programs
	connections *dialect.Connections[*connection]
	memory      *memory
	ids         *ulid.Source
	delay       time.Duration // of run_prepared

	work       context.Context //nolint:containedctx // of all requests
	cancelWork context.CancelFunc
}

// Listen starts listening. Serve of the result serves requests, and closes the listener at the end.
func Listen(ctx context.Context, c *dialect.Company, opts Options) (dialect.Listener, error) {
	if opts.Level == "" {
		opts.Level = doc.LevelRunCommands
	}
	if opts.Isolation == "" {
		opts.Isolation = doc.IsolationNone
	}
	if err := check(ctx, c); err != nil {
		return dialect.Listener{}, err
	}
	opts.MaxHeader, opts.Patience = maxHeader, pongWithin
	socket, err := dialect.Listen(ctx, opts.ListenOptions, c.Log)
	if err != nil {
		return dialect.Listener{}, err
	}
	s := newServer(c, opts, socket)
	return dialect.Listener{Name: Name, Addr: "ws://" + socket.Addr() + "/ws", Serve: s.serve}, nil
}

// check refuses an agent or a repository that does not exist.
func check(ctx context.Context, c *dialect.Company) error {
	if c.RepoID != "" {
		if _, _, err := c.Repository(ctx); err != nil {
			return err
		}
	}
	if c.AgentID == "" {
		return nil
	}
	rows, err := dialect.Do(ctx, c, (*company.Folder).Agents, company.AgentsParams{Dir: c.In()})
	if err != nil {
		return err
	}
	if _, ok := dialect.FindAgent(rows, c.AgentID); !ok {
		return fail(codePrepare, "agent %s does not exist in %s", c.AgentID, c.Dir)
	}
	return nil
}

func newServer(c *dialect.Company, opts Options, socket *dialect.Socket) *server {
	s := &server{Company: c, opts: opts, socket: socket, began: c.Clock.Now(), connections: dialect.NewConnections[*connection](maxConnections)}
	s.work, s.cancelWork = context.WithCancel(context.Background())
	s.dir = c.Dir
	if dir, err := filepath.Abs(c.Dir); err == nil {
		s.dir = dir
	}
	s.programs, s.memory = dialect.NewPrograms(s.work, c), newMemory()
	s.ids, s.delay = ulid.NewSource(c.Clock.Now), prepareDelay
	return s
}

// serve serves until ctx is done.
func (s *server) serve(ctx context.Context) error {
	stop, err := s.watch()
	if err == nil {
		err = s.socket.Serve(ctx, s)
	}
	s.socket.Close()
	var stops sync.WaitGroup
	if s.opts.StopRuns {
		stops.Go(s.stopRuns)
	}
	s.connections.Shut((*connection).leave)
	s.cancelWork()
	s.connections.Wait()
	stops.Wait()
	stop()
	s.programs.Wait()
	return err
}

// watch rouses all subscriptions whenever a run or a job of the project changes.
func (s *server) watch() (stop func(), err error) {
	c, err := s.Host.In(s.Dir).Enter(s.work)
	if err != nil {
		return func() {}, err
	}
	stop, err = c.WatchJobs(s.work, s.ProjectID, func() {
		for _, c := range s.connections.All() {
			c.rouse()
		}
	})
	if err != nil {
		return func() {}, err
	}
	return stop, nil
}

// stopPatience bounds the canceling of runs when the listener ends.
const stopPatience = 1500 * time.Millisecond

// stopRuns cancels the live runs that this listener started.
func (s *server) stopRuns() {
	ctx, cancel := context.WithTimeout(context.Background(), stopPatience)
	defer cancel()
	for _, run := range s.memory.startedRuns() {
		if _, err := dialect.Do(ctx, s.Company, orchestration.Operations.CancelWorkflow, s.run(run)); err != nil && !unknown(err) {
			s.Log.Warn("a run was not stopped", "run", run, "error", err)
		}
	}
}

func (s *server) run(id string) orchestration.WorkflowRunParams {
	return orchestration.WorkflowRunParams{Dir: s.In(), ProjectID: s.ProjectID, RunID: id}
}

// ServeHTTP handles the requests of the socket: WebSocket upgrades, and the daemon's health.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case s.socket.Refuses(w, r):
	case r.Method == http.MethodGet && r.URL.Path == "/health":
		s.tellHealth(w, r)
	case r.Method != http.MethodGet || r.URL.Path != "/ws":
		http.Error(w, "Not Found", http.StatusNotFound)
	case !ws.IsUpgrade(r):
		http.Error(w, "WebSocket upgrade failed", http.StatusBadRequest)
	default:
		s.connect(w, r)
	}
}

// health is the answer to /health.
type health struct {
	Status           string `json:"status"`
	Uptime           int64  `json:"uptime"` // in milliseconds
	ActiveRuns       int    `json:"activeRuns"`
	ConnectedClients int    `json:"connectedClients"`
}

func (s *server) tellHealth(w http.ResponseWriter, r *http.Request) {
	h := health{Status: "ok", Uptime: s.Clock.Now().Sub(s.began).Milliseconds(), ConnectedClients: s.connections.Count()}
	records, err := s.records(r.Context())
	if err != nil {
		h.Status = "degraded"
	}
	h.ActiveRuns = len(s.memory.preparedRuns())
	for i := range records {
		if !records[i].Over() {
			h.ActiveRuns++
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(h) // best effort: the client may be gone
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
	conn, err := ws.Accept(w, r, ws.Limits{
		Read: maxMessage, Crowded: 1 << 30, Full: 1 << 30, Ping: pingEvery, Pong: pongWithin, Goodbye: "Server shutting down",
	})
	if err != nil {
		return // the client already has its answer
	}
	c.serve(conn)
}
