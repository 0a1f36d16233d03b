package files

// Landing: turning the work of a run into one commit on a branch.

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"ac/governance"
	"ac/governance/policy"
	"ac/internal/fault"
	"ac/runs/changes"
	"ac/runs/worktree"
	"ac/workspace"
	"ac/workspace/checkpoint"
	"ac/workspace/doc"
)

// LandOrder is a request to land a run.
type LandOrder struct {
	ProjectID string
	RunID     string
	Message   string // of the commit
	Into      string // branch, "" for the one that is checked out
	Keep      bool   // keep the worktree
	DryRun    bool
	Actor     policy.Actor
}

// Landing is what was landed. Commit is null if there was nothing to land, and in a dry run.
type Landing struct {
	Commit    *string  `json:"commit"`
	Branch    string   `json:"branch"`
	Files     int      `json:"files"`
	Added     int      `json:"added"`
	Removed   int      `json:"removed"`
	Conflicts []string `json:"conflicts"`
	Already   bool     `json:"already"`
	DryRun    bool     `json:"dry_run"`
	// Notes is information for people, such as hooks that were not run.
	Notes []string `json:"notes,omitempty"`
}

// Conflicts is the data of fault.Conflicts: the files, and the branch on which they changed.
// Branch is "" if a merge in the worktree itself is unfinished.
type Conflicts struct {
	Conflicts []string `json:"conflicts"`
	Branch    string   `json:"branch,omitempty"`
}

// Land lands the work of a run as one commit on a branch of its repository, on top of the
// branch's tip, and records it in the log of the run. Commit, branch and event are durable on
// return. If the process is killed at any time, the branch is at the old or the new commit, and
// the next call finishes the rest. The same run is never landed twice.
//
// The errors are fault.RunBusy, NoWorktree, SnapshotBase, Conflicts, TargetBusy, NoTarget,
// Denied, ApprovalRequired, FilesRefused and GitFailed. After an error, nothing has changed
// unless the message says so.
func (s *Service) Land(ctx context.Context, o LandOrder) (Landing, error) {
	l := &landing{s: s, o: o}
	if err := l.load(); err != nil {
		return Landing{}, err
	}
	if l.run.Landed == nil {
		if err := l.checkReady(); err != nil {
			return Landing{}, err
		}
		if _, err := governance.Enforce(ctx, s.Workspace, o.ProjectID, l.question()); err != nil {
			return Landing{}, err
		}
		if due, err := s.needsHuman(o.ProjectID, o.Actor); err != nil {
			return Landing{}, err
		} else if due && !o.DryRun {
			return Landing{}, l.propose(ctx)
		}
	}
	return l.land(ctx)
}

// landing is the state of one order in progress.
type landing struct {
	s   *Service
	o   LandOrder
	run doc.Run
	// ruling is the decision that the order carries out. It is nil if landing is itself the
	// decision. proposed is the tree that the ruling is about.
	ruling   *governance.Ruling
	proposed string
	review   string

	repoID, base string
	root         string
	repo         *worktree.Repository
}

func (l *landing) load() (err error) {
	file := workspace.RunFile(l.o.ProjectID, l.o.RunID)
	l.run, err = workspace.Load(l.s.Workspace, doc.RunCodec, file)
	if fault.Is(err, fault.NotFound) {
		return fault.New(fault.NotFound, "run %s does not exist in project %s", l.o.RunID, l.o.ProjectID)
	}
	if err == nil {
		err = workspace.CheckID(file, l.o.RunID, l.run.ID)
	}
	return err
}

func (l *landing) question() policy.Question {
	resource := policy.Resource{ID: l.o.RunID, Kind: Kind, Visibility: "team"}
	if l.ruling != nil {
		resource.Approvers = policy.HumansApprove
	}
	return policy.Question{Action: policy.Approve, Resource: resource, Actor: l.o.Actor, RunID: l.o.RunID}
}

// land carries out the order. It locks the repository while git works in it, and unlocks it
// before it writes the run's record, because applying files takes the two locks in the opposite
// order.
func (l *landing) land(ctx context.Context) (result Landing, err error) {
	if l.run.Landed != nil {
		return l.again(ctx)
	}
	if err := l.open(ctx, func(*changes.Set) error { return nil }); err != nil {
		return result, err
	}
	err = l.locked(ctx, func() error {
		if err := l.load(); err != nil {
			return err
		}
		if l.run.Landed != nil { // another process landed it just now
			result = landed(*l.run.Landed)
			result.Already = true
			return nil
		}
		result, err = l.landLocked(ctx)
		return err
	})
	if err != nil || l.o.DryRun || result.Commit == nil {
		return result, err
	}
	return l.conclude(ctx, result)
}

// again returns the result of a run that was landed before, and finishes any remaining work.
func (l *landing) again(ctx context.Context) (result Landing, err error) {
	result = landed(*l.run.Landed)
	result.Already, result.DryRun = true, l.o.DryRun
	unfinished := l.s.Workspace.Exists(intentName(l.o.RunID))
	if l.o.DryRun || !unfinished && l.ruling == nil {
		return result, nil
	}
	l.repoID = l.run.Landed.RepoID
	if err := l.locked(ctx, func() error { _, err := l.settle(ctx); return gitFailed(err) }); err != nil {
		return result, err
	}
	return l.conclude(ctx, result)
}

// open finds the repository and the base commit of the run's work.
func (l *landing) open(ctx context.Context, use func(*changes.Set) error) (err error) {
	set, err := l.s.changesOf().Open(ctx, l.o.ProjectID, l.o.RunID)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	l.repoID, l.base = set.RepoID, set.Base
	return use(set)
}

// locked calls fn while it holds the lock of the repository, which excludes other landings and
// applications of files.
func (l *landing) locked(ctx context.Context, fn func() error) (err error) {
	if l.root, err = worktree.Root(l.s.Machine, l.repoID); err != nil {
		return fault.New(fault.NoTarget, "%w", err)
	}
	root, err := l.s.Workspace.LockTarget(ctx, l.root)
	if err != nil {
		if fault.Is(err, fault.TargetBusy) {
			return err
		}
		return fault.New(fault.NoTarget, "%w", err)
	}
	defer func() {
		if l.repo != nil {
			l.repo.Unshare()
		}
		err = errors.Join(err, root.Close())
	}()
	if l.repo, err = worktree.OpenRepository(ctx, l.s.Workspace, l.s.Environ, l.root, root.Held().File); err != nil {
		return gitFailed(err)
	}
	return fn()
}

// gitFailed converts an error of git to fault.GitFailed.
func gitFailed(err error) error {
	if _, ok := errors.AsType[*fault.Error](err); ok || err == nil {
		return err
	}
	return fault.New(fault.GitFailed, "%w", err)
}

// landLocked creates the commit and moves the branch.
func (l *landing) landLocked(ctx context.Context) (result Landing, err error) {
	begun, err := l.settle(ctx)
	if err != nil {
		return result, gitFailed(err)
	}
	into := l.o.Into
	if begun != nil { // an earlier attempt fixed the branch
		into = begun.Branch
	}
	target, err := l.repo.Target(ctx, into)
	if err != nil && begun != nil {
		target, err = l.repo.Target(ctx, l.o.Into)
	}
	if err != nil {
		return result, gitFailed(err)
	}
	if commit, err := l.repo.Landed(ctx, l.base, target.Tip, l.o.RunID); err != nil || commit != "" {
		return l.found(ctx, target, commit, err)
	}
	if begun != nil && into != l.o.Into { // the earlier attempt did not move that branch
		if target, err = l.repo.Target(ctx, l.o.Into); err != nil {
			return result, gitFailed(err)
		}
	}
	result, err = l.merged(ctx, target)
	return result, gitFailed(err)
}

// found returns the result for a run that is on the branch although its record does not say so.
func (l *landing) found(ctx context.Context, target worktree.Target, commit string, err error) (Landing, error) {
	if err != nil {
		return Landing{}, gitFailed(err)
	}
	parent, err := l.repo.Parent(ctx, commit)
	if err != nil {
		return Landing{}, gitFailed(err)
	}
	change, err := l.repo.Change(ctx, parent, commit)
	l.run.Landed = l.record(target.Branch, commit, parent, change)
	result := landed(*l.run.Landed)
	result.Already, result.DryRun = true, l.o.DryRun
	return result, gitFailed(err)
}

// merged merges the work with the branch, and moves the branch unless this is a dry run.
func (l *landing) merged(ctx context.Context, target worktree.Target) (result Landing, err error) {
	result = Landing{Branch: target.Branch, Conflicts: []string{}, DryRun: l.o.DryRun}
	work, err := l.work(ctx)
	if err != nil {
		return result, err
	}
	tree, conflicts, err := l.repo.Merge(ctx, target, work)
	switch {
	case err != nil:
		return result, err
	case len(conflicts) > 0 && l.o.DryRun:
		result.Conflicts = conflicts
		return result, nil
	case len(conflicts) > 0:
		return result, fault.New(fault.Conflicts, "nothing was landed: %s and the run changed the same lines of %s", target.Branch, quoted(conflicts)).
			With(Conflicts{conflicts, target.Branch})
	}
	change, err := l.repo.Change(ctx, target.Tip, tree)
	if err != nil {
		return result, err
	}
	problems, err := l.problems(target, change)
	if err != nil {
		return result, err
	}
	if len(problems) > 0 {
		return result, fault.New(fault.FilesRefused, "nothing was landed: %q %s", problems[0].Path, problems[0].Message).With(Refused{problems})
	}
	result.Files, result.Added, result.Removed = change.Files, change.Added, change.Removed
	if names := l.repo.HooksPassedOver(ctx); len(names) > 0 && change.Files > 0 {
		result.Notes = append(result.Notes, "the hooks of the repository were not run: "+strings.Join(names, ", "))
	}
	if change.Files == 0 || l.o.DryRun {
		return result, nil
	}
	return l.move(ctx, target, tree, change, result)
}

// problems returns the files of a change that cannot be landed. If the branch is checked out,
// files of a workspace or of git are also problems, as when files are applied.
func (l *landing) problems(target worktree.Target, change worktree.Change) (list []checkpoint.Problem, err error) {
	for _, r := range change.Refused {
		list = append(list, checkpoint.Problem{Path: r.Path, Reason: NotAFile, Message: r.Why})
	}
	if !target.Here {
		return list, nil
	}
	fsys, err := l.s.Workspace.Env.FS(l.repo.Top())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, fsys.Close()) }()
	g := newTargetRoot(fsys, l.repo.Top())
	for _, name := range change.Paths {
		if _, refused := g.locate(name); refused != nil && refused.code == Protected {
			list = append(list, checkpoint.Problem{Path: name, Reason: Protected, Message: refused.message})
		}
	}
	return list, nil
}

// quoted formats names for a sentence.
func quoted(names []string) string {
	const most = 10
	var list []string
	for i, name := range names {
		if i == most {
			list = append(list, fmt.Sprintf("%d more", len(names)-most))
			break
		}
		list = append(list, fmt.Sprintf("%q", name))
	}
	return strings.Join(list, ", ")
}

// move creates the commit and moves the branch to it. It first writes a write-ahead record, which
// lets the next call repair the working tree if git is killed.
func (l *landing) move(ctx context.Context, target worktree.Target, tree string, change worktree.Change, result Landing) (Landing, error) {
	commit, err := l.repo.Commit(ctx, target, tree, l.message())
	if err != nil {
		return result, err
	}
	if err := l.writeIntent(landingIntent{RunID: l.o.RunID, ProjectID: l.o.ProjectID, RepoID: l.repoID, Root: l.root, Branch: target.Branch, Old: target.Tip, New: commit}); err != nil {
		return result, err
	}
	if err := l.repo.Move(ctx, target, commit, l.o.RunID); err != nil {
		settleErr := l.repo.Settle(context.WithoutCancel(ctx), target.Branch, target.Tip, commit)
		if refused := worktree.ExitCode(err) > 0; refused || settleErr == nil { // git was not killed
			err = errors.Join(err, l.removeIntent())
		}
		return Landing{}, err
	}
	l.run.Landed = l.record(target.Branch, commit, target.Tip, change)
	notes := result.Notes
	result = landed(*l.run.Landed)
	result.Notes = notes
	return result, nil
}

// message returns the commit message.
func (l *landing) message() string {
	agent := l.run.AgentID
	if found, err := l.s.Workspace.Agent(agent); err == nil && found.Name != "" {
		agent = found.Name
	}
	text := strings.TrimSpace(strings.ToValidUTF8(l.o.Message, "\uFFFD"))
	if text == "" {
		text = "Land run " + l.o.RunID
	}
	return fmt.Sprintf("%s\n\n%s: %s\nAc-Agent: %s\n", text, worktree.RunTrailer, l.o.RunID, strings.Join(strings.Fields(agent), " "))
}
