package files

// The work of a run as a commit, before it is merged with anything.

import (
	"context"

	"ac/internal/fault"
	"ac/runs/changes"
	"ac/runs/worktree"
	"ac/workspace/checkpoint"
)

// work returns a commit of the run's work: the content of its worktree, otherwise the tip of its
// branch. If the landing was proposed, the work must be what was proposed.
func (l *landing) work(ctx context.Context) (commit string, err error) {
	s := l.s
	dir, err := worktree.Find(s.Workspace, l.run)
	if err != nil {
		return "", err
	}
	if dir == "" {
		err = l.open(ctx, func(set *changes.Set) error { commit = set.Tip; return nil })
	} else if commit, err = l.snapshot(ctx, dir); err != nil {
		return "", err
	}
	if err == nil && l.proposed != "" {
		var tree string
		if tree, err = l.repo.Tree(ctx, commit); err == nil && tree != l.proposed {
			err = fault.New(fault.FilesRefused, "the work of run %s changed since it was proposed; propose it again", l.o.RunID).With(Refused{[]checkpoint.Problem{}})
		}
	}
	return commit, err
}

// snapshot creates a commit of the content of the worktree.
func (l *landing) snapshot(ctx context.Context, dir string) (string, error) {
	if names, err := worktree.Unmerged(ctx, l.s.Environ, dir); err != nil || len(names) > 0 {
		if err == nil {
			err = fault.New(fault.Conflicts, "nothing was landed: a merge in the worktree of run %s is unfinished, in %s", l.o.RunID, quoted(names)).With(Conflicts{Conflicts: names})
		}
		return "", err
	}
	commit, err := worktree.Snapshot(ctx, l.s.Workspace, l.s.Environ, dir)
	if err != nil {
		return "", err
	}
	names, err := worktree.Unfiltered(ctx, l.s.Environ, dir, commit)
	if err != nil || len(names) == 0 {
		return commit, err
	}
	var problems []checkpoint.Problem
	for _, name := range names {
		problems = append(problems, checkpoint.Problem{Path: name, Reason: Protected, Message: "passes through a filter that only the repository's own configuration names"})
	}
	return "", fault.New(fault.FilesRefused, "nothing was landed: %q %s; commit it in the worktree, or apply the files", names[0], problems[0].Message).With(Refused{problems})
}
