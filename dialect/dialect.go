// Package dialect is the common part of the protocols of other programs: the company in which they
// act, listeners on loopback, and caches. Each dialect is a package below this one, which
// implements its protocol with the operations of ac.
package dialect

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ac/company"
	"ac/company/equipment"
	"ac/company/workforce"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/runs/provider"
	"ac/workspace/doc"
)

// Company is what a dialect acts on: a project of a workspace, as one actor.
type Company struct {
	Host      *company.Host
	Dir       string
	ProjectID string
	Actor     company.ActorParams
	// RepoID is the repository where agents work, "" for the only linked one.
	RepoID string
	// AgentID is the agent for requests that name none, "" for the first suitable one.
	AgentID string
	Version string
	Clock   *clock.Clock
	Log     *slog.Logger
}

// Listener is a dialect that is listening.
type Listener struct {
	Name, Addr string
	// Serve serves until ctx is done, and returns when all its goroutines have ended. Jobs
	// continue.
	Serve func(ctx context.Context) error
}

// In returns the workspace as a param of operations.
func (c *Company) In() company.Dir { return company.Dir{WorkspaceDir: c.Dir} }

// Do runs an operation.
func Do[S company.Target, P, R any](ctx context.Context, c *Company, op func(S, context.Context, P) (R, error), p P) (R, error) {
	return company.Do(ctx, c.Host, op, p)
}

// Check returns an error if the workspace or the project is missing. From then on it keeps the
// index of the workspace up to date.
func (c *Company) Check(ctx context.Context) error {
	if err := c.Host.In(c.Dir).KeepFresh(ctx); err != nil {
		return err
	}
	return c.Exists(ctx)
}

// Exists returns an error if the workspace or the project is missing. It writes nothing.
func (c *Company) Exists(ctx context.Context) error {
	projects, err := Do(ctx, c, workforce.Operations.ProjectNames, c.In())
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(projects, func(p doc.Project) bool { return p.ID == c.ProjectID }) {
		return fault.New(fault.NotFound, "project %s does not exist in %s", c.ProjectID, c.Dir)
	}
	return nil
}

// Repository returns where agents work and files are written: the chosen repository, or the only
// one linked on this machine. ids are all candidates. If there is not exactly one, the error is
// fault.NoTarget or fault.TargetAmbiguous.
func (c *Company) Repository(ctx context.Context) (repo workforce.Repository, ids []string, err error) {
	list, err := Do(ctx, c, workforce.Operations.Repositories, company.ProjectParams{Dir: c.In(), ProjectID: c.ProjectID})
	if err != nil {
		return repo, nil, err
	}
	for _, r := range list {
		ids = append(ids, r.RepoID)
	}
	if c.RepoID != "" {
		if i := slices.Index(ids, c.RepoID); i >= 0 {
			return list[i], ids, nil
		}
		return repo, ids, fault.New(fault.NoTarget, "repository %s is not linked to the project, or has no root on this machine", c.RepoID)
	}
	switch len(list) {
	case 0:
		return repo, nil, fault.New(fault.NoTarget, "no repository is linked to the project on this machine; link one with ac, or give --repo")
	case 1:
		return list[0], ids, nil
	}
	return repo, ids, fault.New(fault.TargetAmbiguous, "several repositories are linked (%s); start the daemon with --repo", strings.Join(ids, ", "))
}

// Within returns a path relative to the root of a repository, with slashes. ok is false if it
// is not below the root.
func Within(root, path string) (rel string, ok bool) {
	if filepath.IsAbs(path) {
		below, err := filepath.Rel(root, filepath.Clean(path))
		if err != nil {
			return "", false
		}
		path = below
	}
	if path = filepath.Clean(filepath.FromSlash(path)); !filepath.IsLocal(path) || path == "." {
		return "", false
	}
	return filepath.ToSlash(path), true
}

// Adapters returns the agent programs of this machine.
func (c *Company) Adapters(ctx context.Context) ([]provider.Adapter, error) {
	return Do(ctx, c, equipment.Operations.Adapters, c.In())
}

// Pause waits, and reports whether ctx is still alive afterwards.
func Pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
