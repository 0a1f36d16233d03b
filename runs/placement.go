package runs

// Launches on other machines: what one cannot ask for, and the commit that it begins with.

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"ac/internal/fault"
	"ac/internal/redact"
	"ac/runs/modelprofile"
	"ac/runs/session"
	"ac/runs/worktree"
	"ac/workspace"
	"ac/workspace/doc"
)

// placeable refuses what a session on another machine could not have or must not be given:
// secrets in words, the repository as it stands, what only this machine has. Placement any
// is held to the same, since it may mean another machine. inPlace is isolation none.
func (s LaunchSpec) placeable(ctx context.Context, w *workspace.Workspace, inPlace bool) error {
	if s.Placement.Local() {
		return nil
	}
	var issues []fault.Issue
	refuse := func(why string, path ...any) {
		issues = append(issues, fault.Issue{Path: path, Code: "custom", Message: why})
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		if redact.SecretName(name) {
			refuse("does not travel to another machine; name a secret of the worker in placement.secret_refs", "env", name)
		}
	}
	if s.RepoID != "" && inPlace {
		refuse("a session on another machine works in a worktree", "isolation")
	}
	if isTrue(s.Live.LaunchJobs) {
		refuse("jobs are launched on this machine alone", "mcp_launch_jobs")
	}
	if record, err := session.Read(w, s.SessionRef); err == nil && record.Remote() && !doc.Terminal(record.Status) {
		refuse("is of a session that lives on another machine", "session_ref")
	}
	machine, err := w.Machine()
	if err != nil {
		return err
	}
	if s.ModelProfile != "" {
		_, profile, err := modelprofile.Find(machine, s.ModelProfile)
		if err != nil {
			return err
		}
		if modelprofile.Stored(profile) {
			refuse("has a key or a header that is stored here; give it by {env:NAME}, and name a secret of the worker in placement.secret_refs", "model_profile")
		}
	}
	if s.RepoID != "" {
		root, err := worktree.Root(machine, s.RepoID)
		if err != nil || !worktree.IsRepository(ctx, s.Environ, root) {
			refuse("is no git repository of this machine", "repo_id")
		}
	}
	if len(issues) > 0 {
		return fault.Invalid(issues...)
	}
	return nil
}

// sourced is the worktree of a launch on another machine, with the commit that it begins
// with; what is not committed stays here. It is nil for a launch without a repository, and
// the one that was asked for on this machine.
func (s LaunchSpec) sourced(ctx context.Context, w *workspace.Workspace) (*session.Worktree, error) {
	if s.Placement.Local() || s.RepoID == "" {
		return s.Worktree, nil
	}
	tree := &session.Worktree{Owner: cmp.Or(s.TaskID, s.RunID), Run: s.RunID}
	if s.Worktree != nil {
		*tree = *s.Worktree
	}
	if tree.From != "" {
		return tree, nil // it goes on from what is settled
	}
	machine, err := w.Machine()
	if err != nil {
		return nil, err
	}
	root, err := worktree.Root(machine, s.RepoID)
	if err == nil {
		tree.Base, err = s.commit(ctx, root, tree.Base)
	}
	return tree, err
}

// commit is the commit that a launch in a repository begins with: the one that its
// placement names, else one that is settled already, else HEAD.
func (s LaunchSpec) commit(ctx context.Context, root, settled string) (string, error) {
	if s.Placement.Local() || s.Placement.Source == nil || s.Placement.Source.Ref == "" {
		if settled != "" {
			return settled, nil
		}
		return worktree.Head(ctx, s.Environ, root)
	}
	commit, err := worktree.Commit(ctx, s.Environ, root, s.Placement.Source.Ref)
	if err != nil {
		return "", fault.Invalid(fault.Issue{
			Path: []any{"placement", "source", "ref"}, Code: "custom", Message: s.Placement.Source.Ref + " is no commit of repository " + s.RepoID,
		})
	}
	return commit, nil
}

// resumed is the worktree that a run goes on in where it has none here: one that begins
// with what it left on another machine, or that another machine makes. It is nil for a run
// that goes on where it was.
func (s LaunchSpec) resumed(ctx context.Context, w *workspace.Workspace, run doc.Run) (*session.Worktree, error) {
	repo, rel, branch := run.Tree()
	away := branch != "" && rel == ""
	if repo == "" || s.Placement.Local() && !away {
		return nil, nil //nolint:nilnil // it goes on where it was
	}
	machine, err := w.Machine()
	if err != nil {
		return nil, err
	}
	root, err := worktree.Root(machine, repo)
	if err != nil {
		return nil, err
	}
	tree := &session.Worktree{Owner: cmp.Or(run.Spec.TaskID, run.ID), Run: run.ID, Base: run.WorktreeBase, Snapshot: run.WorktreeSnapshot}
	if branch == "" {
		tree.From, err = s.commit(ctx, root, "")
	} else {
		tree.From, err = worktree.Left(ctx, s.Environ, root, run.ID, branch)
	}
	if err != nil {
		return nil, fault.New(fault.NoWorktree, "what run %s left is not in repository %s yet: %w", run.ID, repo, err)
	}
	tree.Base = cmp.Or(tree.Base, tree.From)
	return tree, nil
}
