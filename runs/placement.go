package runs

// Launches on other machines: validation, and the commit from which they start.

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

// placeable refuses parameters that a session on another machine cannot use or must not receive:
// plaintext secrets, the repository's working tree, and anything that only this machine has. The
// same rules apply to placement "any", which may select another machine. inPlace is isolation
// "none".
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

// launchWorktree returns the worktree of a launch on another machine, with its base commit. Uncommitted
// changes stay on this machine. For a launch on this machine or without a repository, it returns
// the requested worktree.
func (s LaunchSpec) launchWorktree(ctx context.Context, w *workspace.Workspace) (*session.Worktree, error) {
	if s.Placement.Local() || s.RepoID == "" {
		return s.Worktree, nil
	}
	tree := &session.Worktree{Owner: cmp.Or(s.TaskID, s.RunID), Run: s.RunID}
	if s.Worktree != nil {
		*tree = *s.Worktree
	}
	if tree.From != "" {
		return tree, nil // it already has a fixed starting commit
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

// commit returns the base commit of a launch in a repository: the one that its placement names,
// else settled, else HEAD.
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

// resumeWorktree returns the worktree for continuing a run that has none on this machine. It starts
// from the work that the run left on another machine, or is created on another machine. resumed
// returns nil if the run continues in its existing place.
func (s LaunchSpec) resumeWorktree(ctx context.Context, w *workspace.Workspace, run doc.Run) (*session.Worktree, error) {
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
		tree.From, err = worktree.WorkCommit(ctx, s.Environ, root, run.ID, branch)
	}
	if err != nil {
		return nil, fault.New(fault.NoWorktree, "what run %s left is not in repository %s yet: %w", run.ID, repo, err)
	}
	tree.Base = cmp.Or(tree.Base, tree.From)
	return tree, nil
}
