package company

// The interface between this package and the parts of the operations, each in a package of its
// own.

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"ac/feed"
	"ac/governance/files"
	"ac/heartbeat/job"
	"ac/index"
	"ac/runs"
	"ac/runs/session"
	"ac/terminal"
	"ac/workspace"
	"ac/workspace/validate"
)

// In is the open workspace that the operations of a part work on. A part defines
//
//	type Operations struct{ company.In }
//
// with its operations as methods. Reach and Do treat them like methods of *Company.
type In struct{ *Company }

// enter sets the workspace.
func (in *In) enter(c *Company) { in.Company = c }

// InFolder is In for operations on any folder, even one that is not a workspace yet. A part
// defines
//
//	type Folder struct{ company.InFolder }
type InFolder struct{ *Folder }

// enter sets the folder.
func (in *InFolder) enter(f *Folder) { in.Folder = f }

// Workspace returns the workspace itself.
func (c *Company) Workspace() *workspace.Workspace { return c.w }

// Index returns the index of the workspace.
func (c *Company) Index() *index.Index { return c.host.indexOf(c.w) }

// Validator returns the validator of the workspace.
func (c *Company) Validator() *validate.Validator { return c.host.entryOf(c.w).validator }

// Admission returns the admission control of the workspace's launches.
func (c *Company) Admission() *runs.Admission { return c.host.Admission(c.w) }

// Env returns the environment that workspaces are opened with.
func (cs *Host) Env() workspace.Env { return cs.env }

// Opened returns the workspaces that requests have opened, sorted by path.
func (cs *Host) Opened() (all []*workspace.Workspace) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for _, o := range cs.open {
		all = append(all, o.ws)
	}
	slices.SortFunc(all, func(a, b *workspace.Workspace) int { return strings.Compare(a.Dir(), b.Dir()) })
	return all
}

// Host returns the process in which the folder was named.
func (p location) Host() *Host { return p.host }

// Given returns the path as the caller spelled it.
func (p location) Given() string { return p.given }

// Path returns the canonical path.
func (p location) Path() string { return p.dir }

// Absolute returns the path as the caller spelled it. If that is relative, it returns the
// canonical path.
func (p location) Absolute() string {
	if filepath.IsAbs(p.given) {
		return p.given
	}
	return p.dir
}

// StartedFrom returns the origin to record for runs that clients of the process start, "" for
// none.
func (cs *Host) StartedFrom() string { return cs.from }

// ProposedFiles returns the process's cache of proposed files.
func (cs *Host) ProposedFiles() *files.Memory { return cs.files }

// RecentChanges returns the cache of results of run.changes.
func (cs *Host) RecentChanges() *Recent { return &cs.changes }

// ForgetChanges invalidates the cached results of run.changes.
func (cs *Host) ForgetChanges() { cs.changes.forget() }

// Launcher returns the launcher of sessions.
func (cs *Host) Launcher() *session.Launcher { return cs.launcher }

// Runners returns the starter of job runners.
func (cs *Host) Runners() *job.Starter { return cs.runners }

// Logs returns the reader of run logs.
func (cs *Host) Logs() *feed.Logs { return cs.logs }

// ForgetTranscripts drops the cached transcripts, which may be large. It is for processes that
// show the end of one transcript and then follow it.
func (cs *Host) ForgetTranscripts() { cs.logs.Forget() }

// Version returns the version of this program.
func (cs *Host) Version() string { return cs.version }

// Hub returns the hub that serves the subscriptions of a long-lived process, nil in others.
func (cs *Host) Hub() *feed.Hub { return cs.hub }

// Terminals returns the consoles of the process, nil if it may have none.
func (cs *Host) Terminals() *terminal.Hub { return cs.terminals }

// Background runs work in the background. Close cancels its context and waits for it.
func (cs *Host) Background(work func(ctx context.Context)) {
	cs.background.Go(func() { work(cs.ctx) })
}

// RememberSession records that this process launched a session.
func (c *Company) RememberSession(ref string) {
	cs := c.host
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.launched = append(cs.launched, sessionKey{c.dir, ref})
}

// BeginLaunch records a launch until end is called with its result. Later requests for
// the session wait for it.
func (c *Company) BeginLaunch(ref string) (end func(error)) {
	return c.host.begin(sessionKey{c.dir, ref})
}

// AbsoluteName returns the path of a file of the workspace, with the workspace spelled as the
// caller spelled it.
func (c *Company) AbsoluteName(name string) string {
	return filepath.Join(c.Absolute(), filepath.FromSlash(name))
}
