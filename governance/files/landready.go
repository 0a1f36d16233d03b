package files

// Whether a run can be landed now: it needs work of its own, and must be finished or idle.

import (
	"path"
	"slices"

	"ac/internal/fault"
	"ac/runs/worktree"
	"ac/workspace"
	"ac/workspace/doc"
)

// checkReady returns an error for a run that has no work of its own, or that is working.
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
	who, err := l.activeRun(users, false)
	if err == nil && who != "" {
		err = fault.New(fault.RunBusy, "run %s still works; stop it, or wait", who)
	}
	return err
}

// users returns the runs that use the worktree, including this one.
func (l *landing) users() ([]worktree.Run, error) {
	users, err := worktree.RunsIn(l.s.Workspace, l.run)
	if own := (worktree.Run{ProjectID: l.o.ProjectID, RunID: l.o.RunID}); !slices.Contains(users, own) {
		users = append(users, own)
	}
	return users, err
}

// activeRun returns a run that may still change the worktree, "" for none. These are runs with a
// live session, workflow runs, whose next task may follow, and runs of a job, whose next attempt
// may follow. An idle session counts only with idleToo.
func (l *landing) activeRun(users []worktree.Run, idleToo bool) (string, error) {
	for _, user := range users {
		record, err := workspace.Load(l.s.Workspace, doc.RunCodec, workspace.RunFile(user.ProjectID, user.RunID))
		switch {
		case err != nil:
			return "", err
		case doc.Terminal(record.Status): // its supervisor may be about to exit
		case record.Spec == nil: // a workflow run
			return user.RunID, nil
		case l.s.Alive(user.ProjectID, user.RunID) && (idleToo || l.s.Idle == nil || !l.s.Idle(user.ProjectID, user.RunID)):
			return user.RunID, nil
		}
	}
	return l.jobAtWork()
}

// jobAtWork returns the run if the job that its worktree was created for is unfinished. The job's
// next attempt uses the same worktree.
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
