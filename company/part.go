package company

// The interface between this package and the parts of the operations, which are packages of
// their own.

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

// In is the opened workspace on which the operations of a part work. A part defines
//
//	type Operations struct{ company.In }
//
// with its operations as methods. Reach and Do treat them like methods of *Company.
type In struct{ *Company }

// enter sets the workspace.
func (in *In) enter(c *Company) { in.Company = c }

// InFolder is In for operations on any folder, which may be no workspace yet. A part defines
//
//	type Folder struct{ company.InFolder }
type InFolder struct{ *Folder }

// enter sets the folder.
func (in *InFolder) enter(f *Folder) { in.Folder = f }

// Workspace is the workspace itself.
func (c *Company) Workspace() *workspace.Workspace { return c.w }

// Index is the index of the workspace.
func (c *Company) Index() *index.Index { return c.all.indexOf(c.w) }

// Validator validates the workspace.
func (c *Company) Validator() *validate.Validator { return c.all.openedAs(c.w).validator }

// Admission is the admission control of the workspace's launches.
func (c *Company) Admission() *runs.Admission { return c.all.Admission(c.w) }

// Env is what workspaces are opened with.
func (cs *Host) Env() workspace.Env { return cs.env }

// Opened are the workspaces that requests have opened.
func (cs *Host) Opened() (all []*workspace.Workspace) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for _, o := range cs.open {
		all = append(all, o.ws)
	}
	slices.SortFunc(all, func(a, b *workspace.Workspace) int { return strings.Compare(a.Dir(), b.Dir()) })
	return all
}

// Host is the process in which the folder was named.
func (p location) Host() *Host { return p.all }

// Given is the path as the caller spelled it, Path the canonical one.
func (p location) Given() string { return p.given }

// Path is the canonical path.
func (p location) Path() string { return p.dir }

// Absolute is the path as the caller spelled it, or its full path if that was relative.
func (p location) Absolute() string {
	if filepath.IsAbs(p.given) {
		return p.given
	}
	return p.dir
}

// StartedFrom is recorded as the origin of runs that clients of the process start, "" for
// none.
func (cs *Host) StartedFrom() string { return cs.from }

// ProposedFiles is the process's cache of proposed files.
func (cs *Host) ProposedFiles() *files.Memory { return cs.files }

// RecentChanges is the cache of results of run.changes.
func (cs *Host) RecentChanges() *Recent { return &cs.changes }

// ForgetChanges invalidates the cached results of run.changes.
func (cs *Host) ForgetChanges() { cs.changes.forget() }

// Launcher starts the sessions of runs.
func (cs *Host) Launcher() *session.Launcher { return cs.launcher }

// Runners starts the runners of jobs.
func (cs *Host) Runners() *job.Starter { return cs.runners }

// Logs reads the logs of runs.
func (cs *Host) Logs() *feed.Logs { return cs.logs }

// ForgetTranscripts drops the cached transcripts, which may be large. It is for processes that
// show the end of one transcript and then follow it.
func (cs *Host) ForgetTranscripts() { cs.logs.Forget() }

// Version is the version of this program.
func (cs *Host) Version() string { return cs.version }

// Hub serves the subscriptions of a long-lived process. It is nil in others.
func (cs *Host) Hub() *feed.Hub { return cs.hub }

// Terminals has the consoles of the process. It is nil if there are none.
func (cs *Host) Terminals() *terminal.Hub { return cs.terminals }

// Background runs work in the background. Close cancels its context and waits for it.
func (cs *Host) Background(work func(ctx context.Context)) {
	cs.background.Go(func() { work(cs.ctx) })
}

// RememberSession records that this process launched a session.
func (c *Company) RememberSession(ref string) {
	cs := c.all
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.launched = append(cs.launched, launched{c.dir, ref})
}

// BeginLaunch records a launch until end is called with its result. Later requests for
// the session wait for it.
func (c *Company) BeginLaunch(ref string) (end func(error)) {
	return c.all.begin(launched{c.dir, ref})
}

// AbsoluteName is the path of a file of the workspace, as the caller spelled
// the workspace.
func (c *Company) AbsoluteName(name string) string {
	return filepath.Join(c.Absolute(), filepath.FromSlash(name))
}
