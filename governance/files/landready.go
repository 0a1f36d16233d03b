package files

// Whether a run can be landed now: it has work of its own, and is over or idle.

import (
	"path"
	"slices"

	"ac/internal/fault"
	"ac/runs/worktree"
	"ac/workspace"
	"ac/workspace/doc"
)

// checkReady refuses a run that has no work of its own, or is at work.
func (l *landing) checkReady() error {
	_, rel, branch := l.run.Tree()
	switch {
	case rel == "" && branch == "":
		return fault.New(fault.NoWorktree, "run %s has no worktree of its own", l.o.RunID)
	case l.run.WorktreeSnapshot:
		return fault.New(fault.SnapshotBase, "run %s began from uncommitted files; apply its files instead of landing it", l.o.RunID)
	}
	users, err := l.users()
	if err != nil {
		return err
	}
	who, err := l.goesOn(users, false)
	if err == nil && who != "" {
		err = fault.New(fault.RunBusy, "run %s still works; stop it, or wait", who)
	}
	return err
}

// users are the runs that have the worktree, this one among them.
func (l *landing) users() ([]worktree.Run, error) {
	users, err := worktree.RunsIn(l.s.Workspace, l.run)
	if own := (worktree.Run{ProjectID: l.o.ProjectID, RunID: l.o.RunID}); !slices.Contains(users, own) {
		users = append(users, own)
	}
	return users, err
}

// goesOn is a run that may change the worktree: one whose session lives, with idleToo also
// one that waits for its next turn; one of a workflow, whose next task may follow; or of a
// job, whose next attempt may. "" is none.
func (l *landing) goesOn(users []worktree.Run, idleToo bool) (string, error) {
	for _, user := range users {
		record, err := workspace.Load(l.s.Workspace, doc.RunCodec, workspace.RunFile(user.ProjectID, user.RunID))
		switch {
		case err != nil:
			return "", err
		case doc.Terminal(record.Status): // its supervisor may be about to end
		case record.Spec == nil: // of a workflow
			return user.RunID, nil
		case l.s.Alive(user.ProjectID, user.RunID) && (idleToo || l.s.Idle == nil || !l.s.Idle(user.ProjectID, user.RunID)):
			return user.RunID, nil
		}
	}
	return l.jobAtWork()
}

// jobAtWork is the run when the job that its worktree was made for goes on: its next
// attempt uses the same one.
func (l *landing) jobAtWork() (string, error) {
	_, rel, _ := l.run.Tree()
	project, owner, _, err := worktree.Named(rel)
	file := path.Join(workspace.JobDir(project, owner), "job.yaml")
	if err != nil || !l.s.Workspace.Exists(file) {
		return "", nil //nolint:nilerr // it was made for no job
	}
	job, err := workspace.Load(l.s.Workspace, doc.JobCodec, file)
	if err == nil && (job.Status == doc.JobQueued || job.Status == doc.JobRunning) {
		return l.o.RunID, nil
	}
	return "", err
}
