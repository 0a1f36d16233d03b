package workforce

// The repositories of a project on this machine, for code of this binary.

import (
	"context"
	"os"

	"ac/company"
	"ac/runs/worktree"
)

// Repository is a repository that is linked to a project and has a root on this machine.
type Repository struct {
	RepoID string
	Root   string // an absolute path
	// Git reports whether the root is inside a git repository.
	Git bool
}

// Repositories lists the linked repositories of a project that are on this machine, in
// the order of the links.
func (c Operations) Repositories(ctx context.Context, p company.ProjectParams) (list []Repository, err error) {
	machine, err := c.Workspace().Machine()
	if err != nil {
		return nil, err
	}
	links, err := c.Workspace().RepoLinks(p.ProjectID)
	for _, link := range links {
		if root, err := worktree.Root(machine, link.RepoID); err == nil {
			list = append(list, Repository{link.RepoID, root, worktree.IsRepository(ctx, os.Environ(), root)})
		}
	}
	return list, err
}
