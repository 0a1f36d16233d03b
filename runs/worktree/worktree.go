// Package worktree runs git for runs. It decides which runs get their own worktree, creates
// worktrees, records the state of a repository, lands work on a branch, and removes the
// worktrees of finished runs.
//
// Invariants:
//   - git is started by argv, without prompts, hooks, or transports that start programs, and with
//     limits on time and output.
//   - Reading a repository runs no program that its own configuration names.
//   - A path from a document is used only after a check that it stays in its place (path traversal).
//   - Nothing is removed that may contain the only copy of some work.
//
// git 2.31 or newer is required, and 2.38 for landing.
package worktree

import (
	"os"
	"path"
	"path/filepath"
	"strings"

	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/doc"
)

// Area is the directory of all worktrees, relative to the workspace.
const Area = workspace.WorktreesDir

// Location is the directory and the branch of a run's worktree.
type Location struct {
	Rel    string // relative to the workspace, slash-separated
	Branch string
}

// LocationOf returns the location of a run's worktree. The error is fault.Denied for an id that
// cannot be a path segment.
func LocationOf(project, task, run string) (Location, error) {
	for _, id := range []string{project, task, run} {
		if !workspace.SafeID(id) {
			return Location{}, fault.New(fault.Denied, "%q cannot name a worktree", id)
		}
	}
	return Location{Rel: path.Join(Area, project, task, run), Branch: path.Join("ac", project, task, run)}, nil
}

// NeedsWorktree reports whether a launch for a task needs its own worktree. The task's setting
// decides, else whether the milestone is a coding one. It fails for a missing or invalid task
// and for an unknown milestone.
func NeedsWorktree(w *workspace.Workspace, project, task, milestone string) (bool, error) {
	if !workspace.SafeID(task) {
		return false, fault.New(fault.Denied, "%q cannot name a task", task)
	}
	file := path.Join(workspace.TasksDir(project), task+".md")
	record, err := workspace.LoadHead(w, doc.TaskCodec, file)
	if err == nil {
		err = workspace.CheckID(file, task, record.ID)
	}
	if err != nil {
		return false, err
	}
	coding := false
	if milestone != "" {
		found := find(record.Milestones, milestone)
		if found == nil {
			return false, fault.New(fault.NotFound, "task %s has no milestone %s", task, milestone)
		}
		coding = found.Kind == "coding"
	}
	if record.Scope != nil && record.Scope.RequiresWorktreeIsolation != nil {
		return *record.Scope.RequiresWorktreeIsolation, nil
	}
	return coding, nil
}

func find(milestones []doc.Milestone, id string) *doc.Milestone {
	for i := range milestones {
		if milestones[i].ID == id {
			return &milestones[i]
		}
	}
	return nil
}

// Root returns the directory to which this machine maps a repository, with symlinks resolved.
func Root(machine doc.Machine, repo string) (string, error) {
	mapped, ok := machine.RepoRoots[repo]
	if !ok {
		return "", fault.New(fault.NotFound, "repository %s is not mapped on this machine (map it with workspace.repo_root.set)", repo)
	}
	if !filepath.IsAbs(mapped) {
		return "", fault.New(fault.InvalidFile, "the root of repository %s is not an absolute path: %s", repo, mapped)
	}
	root, err := filepath.EvalSymlinks(mapped)
	if err != nil {
		return "", fault.New(fault.NotFound, "the root of repository %s: %w", repo, err)
	}
	return root, nil
}

// Confine resolves a directory below root, including symlinks. The error is fault.Denied if the
// directory is outside root, fault.NotFound if it does not exist.
func Confine(root, rel string) (string, error) {
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		return "", fault.New(fault.NotFound, "%w", err)
	}
	if rel != "" && !filepath.IsLocal(filepath.FromSlash(rel)) {
		return "", fault.New(fault.Denied, "workdir_rel %s is outside %s", rel, root)
	}
	dir, err := filepath.EvalSymlinks(filepath.Join(root, filepath.FromSlash(rel)))
	if err != nil {
		return "", fault.New(fault.NotFound, "workdir_rel: %w", err)
	}
	if dir != root && !strings.HasPrefix(dir, strings.TrimSuffix(root, string(filepath.Separator))+string(filepath.Separator)) {
		return "", fault.New(fault.Denied, "workdir_rel %s is outside %s", rel, root)
	}
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return "", fault.New(fault.NotFound, "%s is not a directory", dir)
	}
	return dir, nil
}

// Named splits the path of a worktree, as LocationOf built it: its project, the task, job or
// workflow that owns it, and the run for which it was created.
func Named(rel string) (project, owner, run string, err error) {
	parts := strings.Split(strings.TrimPrefix(path.Clean(rel), Area+"/"), "/")
	if !strings.HasPrefix(path.Clean(rel), Area+"/") || len(parts) != 3 {
		return "", "", "", fault.New(fault.InvalidFile, "%q is not the name of a worktree", rel)
	}
	place, err := LocationOf(parts[0], parts[1], parts[2])
	if err == nil && place.Rel != path.Clean(rel) {
		err = fault.New(fault.InvalidFile, "%q is not the name of a worktree", rel)
	}
	return parts[0], parts[1], parts[2], err
}
