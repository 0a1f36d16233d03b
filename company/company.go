// Package company implements the operations of ac: one method per request, shared by the server,
// one-shot calls and commands. A Company is an open workspace, a Folder any directory, and a Host
// everything that a process has opened.
package company

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"ac/feed"
	"ac/governance/files"
	"ac/heartbeat"
	"ac/heartbeat/job"
	"ac/heartbeat/workflow"
	"ac/index"
	"ac/index/search"
	"ac/index/worker"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/runs"
	"ac/runs/lane"
	"ac/runs/session"
	"ac/snapshot/room"
	"ac/terminal"
	"ac/workspace"
	"ac/workspace/validate"
)

// Host holds the workspaces of a process, each opened once. It is safe for concurrent use.
type Host struct {
	env      workspace.Env
	launcher *session.Launcher
	runners  *job.Starter
	hub      *feed.Hub // nil in processes without subscriptions
	logs     *feed.Logs
	worker   *worker.Worker // nil without a hub
	stderr   io.Writer
	version  string
	limits   lane.Limits
	files    *files.Memory
	changes  Recent // cached results of run.changes
	serves   room.Serves
	from     string        // the origin of runs started by this process
	quiet    time.Duration // how long a live run must print nothing to count as quiet
	patience time.Duration // how long a query waits for the search index

	terminals *terminal.Hub // nil in a process without consoles

	serverID  string // a UUID
	started   time.Time
	listeners listeners

	// ctx ends when the process stops using the Host. Background work ends with it.
	ctx        context.Context //nolint:containedctx // of background work
	cancel     context.CancelFunc
	background sync.WaitGroup

	mu       sync.Mutex
	open     map[string]*workspaceEntry
	retired  []*workspaceEntry // replaced directories; requests may still use them
	launched []sessionKey
	// submitted are the jobs whose runners this process started.
	submitted []jobKey
	// rooms have readers, or had one recently.
	rooms map[*workspace.Workspace]*liveRoom
	// diagnoses are the latest ones of folders, by path.
	diagnoses map[string]room.Doctor
	// loops are the heartbeats of the observed workspaces; sightings records,
	// for each spelling of a path, when it was last observed.
	loops     map[string]*heartbeat.Loop
	sightings map[string]*sighting
	// launching are the launches in progress, which may wait in the lane.
	launching map[sessionKey][]*pendingLaunch
}

type workspaceEntry struct {
	ws        *workspace.Workspace
	id        durable.Identity
	index     *index.Index
	search    *search.Store
	validator *validate.Validator
	admission *runs.Admission
	searched  atomic.Int64 // last update of the search index, in Unix milliseconds
}

func (o *workspaceEntry) close() error {
	return errors.Join(o.index.Close(), o.search.Close(), o.ws.Close())
}

// sessionKey is a session that this process started.
type sessionKey struct{ dir, ref string }

// Options are the options of a Host.
type Options struct {
	Env workspace.Env
	// Executable is the path of the program that implements the hidden session commands.
	Executable string
	// Hub serves subscriptions in a long-lived process, which also keeps the indexes up to date.
	// It is nil in other processes.
	Hub *feed.Hub
	// Stderr receives the messages of the index worker. It must not block.
	Stderr io.Writer
	// Version is the version of this program.
	Version string
	// Serves lists the features that the room reports to clients.
	Serves room.Serves
	// StartedFrom is recorded as the origin of runs that clients of the process start, "" for
	// none.
	StartedFrom string
	// QuietAfter is how long a live run must print nothing to count as quiet, 0 for a minute.
	QuietAfter time.Duration
	// SearchPatience is how long a query waits for the search index, 0 for 300 ms.
	SearchPatience time.Duration
	// Terminals allows clients of the process to open consoles.
	Terminals bool
}

// New creates the Host of a process.
func New(opts Options) *Host {
	ctx, cancel := context.WithCancel(context.Background())
	cs := &Host{
		ctx: ctx, cancel: cancel,
		serves: opts.Serves, from: opts.StartedFrom, quiet: cmp.Or(opts.QuietAfter, quietAfter), patience: cmp.Or(opts.SearchPatience, searchPatience), diagnoses: map[string]room.Doctor{},
		stderr: opts.Stderr, env: opts.Env, hub: opts.Hub, version: opts.Version, open: map[string]*workspaceEntry{}, launching: map[sessionKey][]*pendingLaunch{},
		loops: map[string]*heartbeat.Loop{}, sightings: map[string]*sighting{},
		limits: lane.LimitsFrom(os.LookupEnv), files: files.NewMemory(),
		launcher: &session.Launcher{Executable: opts.Executable, Environ: os.Environ()},
		runners:  &job.Starter{Executable: opts.Executable, Environ: os.Environ(), Version: opts.Version},
	}
	cs.serverID, cs.started = newServerID(opts.Env.IDs.Hex), opts.Env.Clock.Now()
	if cs.serves.Dialects == nil {
		cs.serves.Dialects = []string{}
	}
	if opts.Terminals && ptysHere {
		cs.serves.Terminals = true
		cs.terminals = terminal.New(terminal.Options{Executable: opts.Executable, RandomText: drawLetters(opts.Env.IDs.Hex), OnEnd: cs.consoleEnded})
	}
	if cs.logs = feed.NewLogs(); cs.hub != nil {
		cs.logs = cs.hub.Logs()
		cs.worker = cs.newWorker()
		cs.hub.OnGrowth(cs.notify)
	}
	return cs
}

// Close cancels background work and closes all workspaces. No other method may be running.
func (cs *Host) Close() error {
	cs.CloseTerminals()
	cs.cancel()
	cs.closeLoops()
	cs.background.Wait()
	_ = cs.CloseWorker(cs.ctx) // the next reader syncs what was not flushed
	cs.mu.Lock()
	defer cs.mu.Unlock()
	var failed error
	for _, o := range cs.open {
		failed = errors.Join(failed, o.close())
	}
	for _, o := range cs.retired {
		failed = errors.Join(failed, o.close())
	}
	return failed
}

// QuietAfter is how long a live run must print nothing to count as quiet.
func (cs *Host) QuietAfter() time.Duration { return cs.quiet }

// NewID returns a new id with a prefix.
func (cs *Host) NewID(prefix string) string { return cs.env.IDs.New(prefix) }

// Now returns the time of the host's clock.
func (cs *Host) Now() time.Time { return cs.env.Clock.Now() }

// entryOf returns the open entry of a workspace.
func (cs *Host) entryOf(w *workspace.Workspace) *workspaceEntry {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for _, o := range cs.retired {
		if o.ws == w {
			return o
		}
	}
	return cs.open[w.Dir()]
}

// indexOf returns the index of an open workspace.
func (cs *Host) indexOf(w *workspace.Workspace) *index.Index { return cs.entryOf(w).index }

// location is the directory that a request names, both as spelled and canonical.
type location struct {
	host  *Host
	given string
	dir   string
}

// Folder is a directory that is, or may become, a workspace. It is immutable
// and safe for concurrent use.
type Folder struct{ location }

// Company is an open workspace. It is safe for concurrent use, but only during one operation:
// afterward, the directory may hold another workspace.
type Company struct {
	location
	w *workspace.Workspace
}

// Folder returns the Folder of the location.
func (p location) Folder() *Folder { return &Folder{p} }

// In returns the Folder of a path. It opens nothing.
func (cs *Host) In(dir string) *Folder { return cs.At(dir, workspace.Canonical(dir)) }

// At is In for a caller that already knows the canonical path.
func (cs *Host) At(dir, at string) *Folder {
	return &Folder{location{host: cs, given: dir, dir: at}}
}

// Enter opens the workspace in the folder. It returns fault.NotAWorkspace for any other folder.
func (c *Folder) Enter(ctx context.Context) (*Company, error) {
	w, err := c.workspace(ctx)
	return &Company{c.location, w}, err
}

// workspace opens the workspace. It returns the one already open if the directory at its path is
// still the same.
func (c *Folder) workspace(ctx context.Context) (*workspace.Workspace, error) {
	cs := c.host
	id, err := workspace.Identity(c.dir)
	if err != nil {
		why := err
		if failed, ok := errors.AsType[*fs.PathError](err); ok {
			why = failed.Err
		}
		return nil, &fault.Error{Reason: fault.NotAWorkspace, Message: c.given + " is not a workspace: " + why.Error(), Cause: err}
	}
	w, fresh, err := cs.opening(c.dir, id)
	if fresh && cs.hub != nil {
		if w.NeedsRecovery() {
			// When a server first opens a workspace, it finishes interrupted units. If it cannot
			// lock the workspace now, the next writer finishes them.
			_ = w.Recover(ctx)
		}
		// Best effort: restart jobs whose runners died. The next reader of a job reports what
		// failed.
		cs.background.Go(func() {
			_ = job.ReconcileOwned(cs.ctx, w, cs.runners)
			_ = workflow.Flows{Workspace: w, Starter: cs.runners}.AdvanceAll(cs.ctx)
		})
	}
	return w, err
}

func (cs *Host) opening(dir string, id durable.Identity) (w *workspace.Workspace, fresh bool, err error) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if o := cs.open[dir]; o != nil {
		if o.id == id && workspace.IsWorkspace(o.ws.FS) {
			return o.ws, false, nil
		}
		delete(cs.open, dir)
		cs.retired = append(cs.retired, o)
	}
	if w, err = workspace.Open(cs.env, dir); err != nil {
		return nil, false, err
	}
	cs.open[dir] = &workspaceEntry{ws: w, id: id, index: index.For(w), search: search.For(w), validator: validate.New(w), admission: runs.NewAdmission(w, cs.limits)}
	if cs.hub != nil {
		cs.open[dir].index.EnableWatch()
		w.OnAppend(func(log string) { cs.hub.LogAppended(w.Dir(), log) })
		cs.hub.Register(w)
	}
	return w, true, nil
}

// Dir is the param that names the workspace of a request.
type Dir struct {
	WorkspaceDir string `json:"workspace_dir" is:"path"`
}

// InWorkspace returns the workspace that a request names.
func (d Dir) InWorkspace() string { return d.WorkspaceDir }

// MaybeDir is an optional Dir.
type MaybeDir struct {
	WorkspaceDir string `json:"workspace_dir" is:"optional,path"`
}

// InWorkspace returns the workspace that a request names, "" for none.
func (d MaybeDir) InWorkspace() string { return d.WorkspaceDir }

// isNotAWorkspace reports whether an error means that there is no workspace. List operations then return
// empty lists.
func isNotAWorkspace(err error) bool { return fault.Is(err, fault.NotAWorkspace) }
