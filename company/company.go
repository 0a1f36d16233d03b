// Package company is the operations of ac: one method for each request, the
// same for the server, for one-shot calls and for commands. A Company is one
// workspace as one request names it; Companies is all that this process has
// seen.
package company

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"

	"ac/feed"
	"ac/heartbeat"
	"ac/heartbeat/job"
	"ac/heartbeat/workflow"
	"ac/index"
	"ac/index/worker"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/runs"
	"ac/runs/lane"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/validate"
)

// Host is the workspaces of a process, opened once each. It is safe for
// concurrent use.
type Host struct {
	env      workspace.Env
	launcher *session.Launcher
	runners  *job.Starter
	hub      *feed.Hub      // nil in processes without subscriptions
	worker   *worker.Worker // nil with the hub
	stderr   io.Writer
	version  string
	limits   lane.Limits

	// ctx ends with the process's use of its companies, and what it does for them
	// in the background with that.
	ctx        context.Context //nolint:containedctx // of what runs behind the requests
	cancel     context.CancelFunc
	background sync.WaitGroup

	mu       sync.Mutex
	open     map[string]*opened
	retired  []*opened // trees that were swapped away; requests may still use them
	launched []launched
	// submitted are the jobs whose runners this process started.
	submitted []submitted
	// loops are the heartbeats of the workspaces that were observed, sightings the
	// spellings by which.
	loops     map[string]*heartbeat.Loop
	sightings map[string]*sighting
	// launching are the launches under way, which may wait in the lane.
	launching map[launched][]*launching
}

type opened struct {
	ws        *workspace.Workspace
	id        durable.Identity
	index     *index.Index
	validator *validate.Validator
	admission *runs.Admission
}

func (o *opened) close() error { return errors.Join(o.index.Close(), o.ws.Close()) }

// launched is a session that this process started.
type launched struct{ dir, ref string }

// Options are what a process gives its companies.
type Options struct {
	Env workspace.Env
	// Executable is the program with the hidden commands of sessions.
	Executable string
	// Hub serves subscriptions, for a process that stays and keeps the indexes
	// fresh meanwhile; nil where there are none.
	Hub *feed.Hub
	// Stderr takes what the worker of the indexes has to say. It must not block.
	Stderr io.Writer
	// Version is that of this program.
	Version string
}

// New makes the companies of a process.
func New(opts Options) *Host {
	ctx, cancel := context.WithCancel(context.Background())
	cs := &Host{
		ctx: ctx, cancel: cancel,
		stderr: opts.Stderr, env: opts.Env, hub: opts.Hub, version: opts.Version, open: map[string]*opened{}, launching: map[launched][]*launching{},
		loops: map[string]*heartbeat.Loop{}, sightings: map[string]*sighting{},
		limits:   lane.LimitsFrom(os.LookupEnv),
		launcher: &session.Launcher{Executable: opts.Executable, Environ: os.Environ()},
		runners:  &job.Starter{Executable: opts.Executable, Environ: os.Environ(), Version: opts.Version},
	}
	if cs.hub != nil {
		cs.worker = cs.newWorker()
		cs.hub.OnGrowth(cs.notify)
	}
	return cs
}

// Close calls off what the worker does and releases all directories. No method
// runs any more.
func (cs *Host) Close() error {
	cs.cancel()
	cs.closeLoops()
	cs.background.Wait()
	_ = cs.CloseWorker(cs.ctx) // what is not flushed is synced by the next reader
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

// openedAs is what goes with a workspace that this process opened.
func (cs *Host) openedAs(w *workspace.Workspace) *opened {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for _, o := range cs.retired {
		if o.ws == w {
			return o
		}
	}
	return cs.open[w.Dir()]
}

// indexOf is the index of an opened workspace.
func (cs *Host) indexOf(w *workspace.Workspace) *index.Index { return cs.openedAs(w).index }

// place is what a request names: as it spelled it, and the directory that this leads to.
type place struct {
	all   *Host
	given string
	dir   string
}

// Folder is a place: a workspace, or where one may come to be. It is immutable and safe
// for concurrent use.
type Folder struct{ place }

// Company is the workspace at a place, opened. It is safe for concurrent use, and for
// one operation: the folder may be another one by the next.
type Company struct {
	place
	w *workspace.Workspace
}

// folder is where the company lies.
func (p place) folder() *Folder { return &Folder{p} }

// In names a folder. Nothing is opened yet.
func (cs *Host) In(dir string) *Folder { return cs.At(dir, workspace.Canonical(dir)) }

// At is In where the directory that dir leads to is known.
func (cs *Host) At(dir, at string) *Folder {
	return &Folder{place{all: cs, given: dir, dir: at}}
}

// Enter opens the workspace in the folder. One that is none is
// fault.NotAWorkspace.
func (c *Folder) Enter(ctx context.Context) (*Company, error) {
	w, err := c.workspace(ctx)
	return &Company{c.place, w}, err
}

// workspace opens the workspace, or gives it again while the directory at its
// name is the same one.
func (c *Folder) workspace(ctx context.Context) (*workspace.Workspace, error) {
	cs := c.all
	id, err := workspace.Identity(c.dir)
	if err != nil {
		return nil, &fault.Error{Reason: fault.NotAWorkspace, Message: c.given + " is not a workspace: " + err.Error(), Cause: err}
	}
	w, fresh, err := cs.opening(c.dir, id)
	if fresh && cs.hub != nil {
		if w.Unsettled() {
			// The first sight of a server finishes what was interrupted. A workspace
			// that cannot be locked now is settled by its next writer.
			_ = w.Settle(ctx)
		}
		// Jobs that lost their runners while nobody looked; nobody waits for that,
		// and the next who looks at one of them finds what is wrong with it.
		cs.background.Go(func() {
			_ = job.TakeUp(cs.ctx, w, cs.runners)
			_ = workflow.Flows{Workspace: w, Starter: cs.runners}.TakeUp(cs.ctx)
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
	cs.open[dir] = &opened{ws: w, id: id, index: index.For(w), validator: validate.New(w), admission: runs.NewAdmission(w, cs.limits)}
	if cs.hub != nil {
		cs.open[dir].index.Stay()
		w.OnAppend(func(log string) { cs.hub.Appended(w.Dir(), log) })
		cs.hub.Know(w)
	}
	return w, true, nil
}

// Dir is the parameter that names the workspace of a request.
type Dir struct {
	WorkspaceDir string `json:"workspace_dir" is:"path"`
}

// InWorkspace is the workspace that a request names.
func (d Dir) InWorkspace() string { return d.WorkspaceDir }

// MaybeDir is Dir where the workspace may be left out.
type MaybeDir struct {
	WorkspaceDir string `json:"workspace_dir" is:"optional,path"`
}

// InWorkspace is the workspace that a request names, "" for none.
func (d MaybeDir) InWorkspace() string { return d.WorkspaceDir }

// none reports whether an error says that there is no workspace, which lists
// answer with nothing.
func none(err error) bool { return fault.Is(err, fault.NotAWorkspace) }
