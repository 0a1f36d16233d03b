// Package acecode implements the protocol of the ACECode daemon: HTTP, a WebSocket with the events
// of sessions, and consoles. A session is a conversation with an agent, which is a run of ac. This
// package stores nothing durable about it. Its ids are those of runs and interactions, and event
// numbers are computed from the lines of the log.
package acecode

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"path"
	"path/filepath"
	"strconv"
	"time"

	"ac/company"
	"ac/dialect"
	"ac/dialect/acecode/frames"
	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/doc"
)

// Name is the name of the dialect, Address its default address.
const (
	Name    = "acecode"
	Address = "127.0.0.1:28080"
)

// Limits of the listener.
const (
	maxConnections = 256
	maxSockets     = 64
	maxHeader      = 64 << 10
	headerPatience = 10 * time.Second
	answerWithin   = 20 * time.Second
	bodyPatience   = 30 * time.Second
	readPatience   = 30 * time.Second // for a client that stops reading
)

// Options are the options of the dialect.
type Options struct {
	Place dialect.ListenOptions
	// Level is the permission level of new sessions. Isolation defines where they work: none or
	// worktree.
	Level     doc.Level
	Isolation string
	// Dangerous makes yolo the default mode for this process.
	Dangerous bool
	// AllowOpen lets clients open directories in the file manager.
	AllowOpen bool
	// AllRuns also lists runs that are not conversations.
	AllRuns bool
	// Terminals serves consoles.
	Terminals bool
	// Shape is auto, wire or document.
	Shape string
}

// server is a listening daemon.
type server struct {
	*dialect.Company
	opts       Options
	socket     *dialect.Socket
	routes     *http.ServeMux
	began      time.Time
	cwd, hash  string
	repo       string // where sessions work, "" for the workspace
	agent      string // agent of new sessions, "" for the first suitable one
	onLoopback bool
	port       int
	kept       histories
	facts      summaryCache
	state      memory

	work       context.Context //nolint:containedctx // of all requests
	cancelWork context.CancelFunc

	open *dialect.Connections[leaver]
}

// leaver is a connection that outlives its HTTP request.
type leaver interface{ goAway() }

// Listen starts listening. Serve of the result serves requests, and closes the listener at the end.
// An address that other machines can reach requires Place.Token.
func Listen(ctx context.Context, c *dialect.Company, opts Options) (dialect.Listener, error) {
	_, listener, err := listen(ctx, c, opts)
	return listener, err
}

func listen(ctx context.Context, c *dialect.Company, opts Options) (*server, dialect.Listener, error) {
	var none dialect.Listener
	opts.Place.Dialect, opts.Place.Anywhere = Name, true
	opts.Place.MaxHeader, opts.Place.HeaderPatience, opts.Place.MaxConnections = maxHeader, headerPatience, maxConnections
	opts.Place.Patience = cmp.Or(opts.Place.Patience, readPatience)
	s := &server{Company: c, opts: opts, began: c.Clock.Now(), open: dialect.NewConnections[leaver](maxSockets)}
	if err := s.settle(ctx); err != nil {
		return nil, none, err
	}
	if opts.Dangerous && !isLoopback(opts.Place.Address) {
		return nil, none, fault.New(fault.Denied, "%s is not an address of loopback: --dangerous is for those only", opts.Place.Address)
	}
	socket, err := dialect.Listen(ctx, opts.Place, c.Log)
	if err != nil {
		return nil, none, err
	}
	s.socket, s.onLoopback = socket, isLoopback(socket.Addr())
	if s.port, err = strconv.Atoi(socket.Guard().Port()); err != nil {
		return nil, none, fmt.Errorf("the port of the listener: %w", err)
	}
	s.work, s.cancelWork = context.WithCancel(context.Background())
	s.routes = s.allRoutes()
	address := "http://" + socket.Addr() + "/"
	if !s.onLoopback {
		address += "?token=" + opts.Place.Token
	}
	return s, dialect.Listener{Name: Name, Addr: address, Serve: s.serve}, nil
}

// isLoopback reports whether an address is on loopback. Of names, it accepts only localhost: it
// does not resolve others.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	at, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && at.IsLoopback()
}

// settle determines where sessions work: in the repository, else in the workspace.
func (s *server) settle(ctx context.Context) error {
	repo, _, err := s.Repository(ctx)
	switch {
	case err == nil:
		s.repo, s.cwd = repo.RepoID, workspace.Canonical(repo.Root)
	case fault.Is(err, fault.NoTarget) && s.RepoID == "" || fault.Is(err, fault.TargetAmbiguous):
		if s.cwd, err = filepath.Abs(s.Dir); err != nil {
			return err
		}
		s.cwd = workspace.Canonical(s.cwd)
	default:
		return err
	}
	s.hash = hashOf(s.cwd)
	s.state = newMemory()
	return s.choosePartner(ctx)
}

// choosePartner finds the agent that is configured by its id or name.
func (s *server) choosePartner(ctx context.Context) error {
	if s.AgentID == "" {
		return nil
	}
	rows, err := dialect.Do(ctx, s.Company, (*company.Folder).Agents, company.AgentsParams{Dir: s.In()})
	if err != nil {
		return err
	}
	partner, ok := dialect.FindAgent(rows, s.AgentID)
	if !ok {
		return fault.New(fault.NoTarget, "agent %s does not exist in %s", s.AgentID, s.Dir)
	}
	s.agent = partner.AgentID
	return nil
}

// hashOf returns the name of a directory in URLs.
func hashOf(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:8])
}

// placeOf returns the part of every payload that identifies the session.
func (s *server) placeOf(id string) frames.Place {
	return frames.Place{SessionID: id, WorkspaceHash: s.hash, Cwd: s.cwd}
}

// serve serves until ctx is done.
func (s *server) serve(ctx context.Context) error {
	defer s.Host.AddListener(Name, s.socket.Addr(), s.open.Count)()
	stop := s.takeUp()
	err := s.socket.Serve(ctx, s)
	s.socket.Close()
	s.open.Shut(leaver.goAway)
	s.cancelWork()
	s.open.Wait()
	stop()
	return err
}

// ServeHTTP handles the requests of the listener.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := s.admit(w, r); err != nil {
		s.answer(w, nil, err)
		return
	}
	if r.Method == http.MethodOptions {
		s.answer(w, nil, nil)
		return
	}
	_ = http.NewResponseController(w).SetReadDeadline(s.Clock.Now().Add(bodyPatience)) // a connection supports deadlines
	if p := r.URL.EscapedPath(); path.Clean(p) != p {                                  // the mux would redirect to the cleaned path
		s.answer(w, nil, unknownRoute())
		return
	}
	s.routes.ServeHTTP(w, r)
}

// act sets the run and the listener's actor in params.
func (s *server) act(p interface {
	Act(dir, project, run, actor, role, team string)
}, run string) {
	p.Act(s.Dir, s.ProjectID, run, s.Actor.ActorID, s.Actor.ActorRole, s.Actor.ActorTeamID)
}

// person returns the listener's actor in the form that changes of settings need.
func (s *server) person() company.PersonParams {
	return company.PersonParams{ActorID: s.Actor.ActorID, ActorRole: s.Actor.ActorRole, ActorTeamID: s.Actor.ActorTeamID}
}

// level returns the permission level of new sessions.
func (s *server) level() doc.Level { return cmp.Or(s.opts.Level, doc.LevelRunCommands) }
