package supervisor

// Continuing a run that was over: its record, and what the new session inherits.

import (
	"context"
	"os"
	"path"
	"path/filepath"

	"ac/events"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/runs/session"
	"ac/runs/worktree"
	"ac/workspace"
	"ac/workspace/doc"
)

// continuedPayload is the payload of run.continued.
type continuedPayload struct {
	SessionRef  string `json:"session_ref"`
	Session     int    `json:"session"`
	FromStatus  string `json:"from_status"`
	ThreadID    string `json:"thread_id,omitempty"`
	WorktreeRel string `json:"worktree_relpath,omitempty"`
}

// continues reports whether the session continues a run that was over.
func (s *supervisor) continues() bool { return s.order.Continues() }

// reopen sets the run to running and writes this session's record as one unit. From then on, the
// run has an owner.
func (s *supervisor) reopen(ctx context.Context) error {
	text, err := doc.SessionCodec.Encode(s.record)
	if err != nil {
		return err
	}
	return s.w.Update(ctx, func(u *workspace.Unit) error {
		file := workspace.RunFile(s.order.ProjectID, s.order.RunID)
		run, err := workspace.LoadIn(u, doc.RunCodec, file)
		if err != nil {
			return err
		}
		if !doc.Terminal(run.Status) {
			return fault.New(fault.RunBusy, "run %s is being continued already", s.order.RunID)
		}
		live := s.order.Live
		p := continuedPayload{SessionRef: s.order.SessionRef, FromStatus: run.Status, ThreadID: live.Thread, WorktreeRel: live.WorktreeRel}
		if run.Live == nil {
			run.Live = &doc.Live{Policy: live.Policy}
		}
		// The first session of a command's run was not counted.
		run.Live.Sessions = max(run.Live.Sessions, 1) + 1
		run.Live.PriorUsage, s.prior = run.Usage, run.Usage
		run.Status, run.EndedAt, run.Error, run.ErrorKind = doc.StatusRunning, "", "", ""
		p.Session = run.Live.Sessions
		d, err := s.draft(events.RunContinued, p)
		if err != nil {
			return err
		}
		d.Actor, d.Visibility = live.ActorID, events.VisibilityTeam
		if err := workspace.Put(u, doc.RunCodec, file, run, 0o644); err != nil {
			return err
		}
		if err := u.Write(workspace.SessionFile(s.record.Ref), text, 0o600); err != nil {
			return err
		}
		marker := path.Join(workspace.ProjectDir(s.order.ProjectID), session.StopMarker(s.order.RunID))
		if err := s.w.FS.Remove(marker); err != nil && !os.IsNotExist(err) {
			return err
		}
		u.Append(workspace.LogFile(s.order.ProjectID, s.order.RunID), append([]events.Draft{d}, s.placed...)...)
		return nil
	})
}

// restoreWorkdir determines the directory where the continued run was, for use by this session.
func (s *supervisor) restoreWorkdir(machine doc.Machine, spec *doc.Spec) (err error) {
	live := s.order.Live
	var place string
	switch {
	case live.WorktreeRel != "":
		place = filepath.Join(s.w.Dir(), filepath.FromSlash(live.WorktreeRel))
		spec.WorktreeRel, spec.WorktreeBranch = live.WorktreeRel, live.WorktreeBranch
	case s.order.RepoID != "":
		if place, err = worktree.Root(machine, s.order.RepoID); err != nil {
			return err
		}
	default:
		return nil
	}
	s.workdir, err = worktree.Confine(place, s.order.WorkdirRel)
	return err
}

// openAppend opens an output file for appending to what earlier sessions left.
func (s *supervisor) openAppend(name string) (durable.File, error) {
	return s.w.FS.OpenFile(path.Join(s.outDir, name), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
}
