package orchestration

// Where a run works that a person starts from a folder.

import (
	"context"
	"path/filepath"

	"ac/company"
	"ac/internal/fault"
	"ac/runs"
	"ac/runs/worktree"
	"ac/workspace"
)

// RunPlaceParams identify the folder from which a person starts a run.
type RunPlaceParams struct {
	company.Dir
	ProjectID string `json:"project_id" is:"id"`
	Folder    string `json:"folder" is:"optional,path"`
	RepoID    string `json:"repo_id" is:"optional"` // the requested repository, "" for any
}

// RunPlace is where a run works: a folder of a repository, or the workspace.
type RunPlace struct {
	RepoID     string
	WorkdirRel string // in the repository
	Folder     string
}

// RunPlace returns the given folder if it is in a repository of the project. Otherwise it returns
// the root of the requested repository, or of the only one on this machine. Without either, it
// returns the workspace.
func (c Operations) RunPlace(_ context.Context, p RunPlaceParams) (RunPlace, error) {
	links, err := c.Workspace().RepoLinks(p.ProjectID)
	if err != nil {
		return RunPlace{}, err
	}
	machine, err := c.Workspace().Machine()
	if err != nil {
		return RunPlace{}, err
	}
	var mapped []RunPlace
	best, deepest := RunPlace{Folder: c.Workspace().Dir()}, ""
	for _, link := range links {
		root, err := worktree.Root(machine, link.RepoID)
		if err != nil {
			if p.RepoID == link.RepoID {
				return RunPlace{}, err
			}
			continue // not on this machine
		}
		if p.RepoID != "" && p.RepoID != link.RepoID {
			continue
		}
		mapped = append(mapped, RunPlace{RepoID: link.RepoID, Folder: root})
		rel, inside := relativeIn(root, p.Folder)
		if inside && !c.owns(p.Folder) && len(root) > len(deepest) {
			best, deepest = RunPlace{link.RepoID, rel, filepath.Join(root, filepath.FromSlash(rel))}, root
		}
	}
	switch {
	case deepest != "":
		return best, nil
	case len(mapped) == 1:
		return mapped[0], nil
	case p.RepoID != "":
		return RunPlace{}, fault.New(fault.NotFound, "repository %s is not linked to the project", p.RepoID)
	}
	return best, nil
}

// WorkedInParams identify a run.
type WorkedInParams struct {
	company.Dir
	ProjectID string `json:"project_id" is:"id"`
	RunID     string `json:"run_id" is:"id"`
}

// WorkedIn returns the folder in which a run without a worktree worked. It returns "" if the run
// was never launched, has a worktree, or the folder is not on this machine.
func (c Operations) WorkedIn(_ context.Context, p WorkedInParams) (string, error) {
	run, err := runs.Load(c.Workspace(), p.ProjectID, p.RunID)
	if err != nil || run.Spec == nil || run.Spec.WorktreeRel != "" {
		return "", err
	}
	if run.Spec.RepoID == "" {
		return c.Workspace().Dir(), nil
	}
	machine, err := c.Workspace().Machine()
	if err != nil {
		return "", err
	}
	root, err := worktree.Root(machine, run.Spec.RepoID)
	if err != nil {
		return "", nil //nolint:nilerr // it is elsewhere
	}
	return filepath.Join(root, filepath.FromSlash(run.Spec.WorkdirRel)), nil
}

// relativeIn returns the relative path of a folder inside root, "" for root itself. ok is false for
// other folders.
func relativeIn(root, folder string) (rel string, ok bool) {
	if folder == "" {
		return "", false
	}
	rel, err := filepath.Rel(root, workspace.Canonical(folder))
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	if rel == "." {
		rel = ""
	}
	return filepath.ToSlash(rel), true
}

// owns reports whether a folder is inside the workspace. Such a folder, even a worktree, is not a
// folder of a repository that contains the workspace.
func (c Operations) owns(folder string) bool {
	_, ok := relativeIn(c.Workspace().Dir(), folder)
	return ok
}
