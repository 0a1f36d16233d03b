package files

// What is kept of a landing: while it goes on, and in the run's record and log when the
// branch has moved.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"ac/events"
	"ac/governance"
	"ac/internal/clock"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/internal/lock"
	"ac/runs/session"
	"ac/runs/worktree"
	"ac/workspace"
	"ac/workspace/doc"
)

// begun is a landing whose branch may have moved, as it is kept until the run's record
// says that it has.
type begun struct {
	RunID     string `json:"run_id"`
	ProjectID string `json:"project_id"`
	RepoID    string `json:"repo_id"`
	Root      string `json:"root"`
	Branch    string `json:"branch"`
	Old       string `json:"old"`
	New       string `json:"new"`
}

const (
	begunPrefix = "landing_"
	maxBegun    = 64 << 10
)

func begunName(run string) string { return path.Join(workspace.TempDir, begunPrefix+run+".json") }

// begin keeps what is about to happen; it is durable on return.
func (l *landing) begin(b begun) error {
	w := l.s.Workspace
	text, err := json.Marshal(b)
	if err == nil {
		err = durable.MkdirAll(w.FS, workspace.TempDir, 0o755)
	}
	if err == nil {
		err = w.Replace(begunName(b.RunID), append(text, '\n'), 0o600)
	}
	return err
}

// end forgets it.
func (l *landing) end() error {
	err := l.s.Workspace.FS.Remove(begunName(l.o.RunID))
	if durable.Absent(err) {
		return nil
	}
	return err
}

// settle mends the working tree of the repository where git was killed in it during a
// landing. It returns the landing of this run that was begun, nil for none.
func (l *landing) settle(ctx context.Context) (own *begun, err error) {
	w := l.s.Workspace
	names, err := workspace.Files(w.FS, workspace.TempDir, ".json")
	if err != nil && !durable.Absent(err) {
		return nil, err
	}
	for _, name := range names {
		if !strings.HasPrefix(name, begunPrefix) {
			continue
		}
		text, err := durable.ReadFile(w.FS, path.Join(workspace.TempDir, name), maxBegun)
		if err != nil {
			return nil, err
		}
		var b begun
		if json.Unmarshal(text, &b) != nil || b.Root != l.root {
			continue // it says nothing about this repository
		}
		if err := l.repo.Settle(ctx, b.Branch, b.Old, b.New); err != nil {
			return nil, err
		}
		if b.RunID == l.o.RunID && b.ProjectID == l.o.ProjectID {
			own = &b
		}
	}
	return own, nil
}

// record is what the run's record says of a landing.
func (l *landing) record(branch, commit, base string, change worktree.Change) *doc.Landed {
	return &doc.Landed{
		RepoID: l.repoID, Branch: branch, Commit: commit, Base: base, Files: change.Files, Added: change.Added, Removed: change.Removed,
		Actor: l.o.Actor.ID, At: clock.Stamp(l.s.Workspace.Env.Clock.Now()),
	}
}

// landed is a record as a result.
func landed(r doc.Landed) Landing {
	return Landing{Commit: &r.Commit, Branch: r.Branch, Files: r.Files, Added: r.Added, Removed: r.Removed, Conflicts: []string{}}
}

// landedPayload is that of run.landed.
type landedPayload struct {
	RepoID  string `json:"repo_id"`
	Branch  string `json:"branch"`
	Commit  string `json:"commit"`
	Base    string `json:"base"`
	Files   int    `json:"files"`
	Added   int    `json:"added"`
	Removed int    `json:"removed"`
	Actor   string `json:"actor"`
}

// conclude records a landing whose branch has moved, and removes the worktree. It goes on
// when the caller does not wait for it any more.
func (l *landing) conclude(ctx context.Context, result Landing) (Landing, error) {
	ctx = context.WithoutCancel(ctx)
	if err := l.tell(ctx); err != nil {
		reason := fault.ReasonOf(err)
		return result, fault.New(reason, "run %s is on %s as %s, and its record does not say so yet; land it again to finish: %w", l.o.RunID, result.Branch, *result.Commit, err)
	}
	if why := l.tidy(ctx); why != "" {
		result.Notes = append(result.Notes, why)
	}
	return result, l.end()
}

// tell writes record and event, once.
func (l *landing) tell(ctx context.Context) error {
	w := l.s.Workspace
	file := workspace.RunFile(l.o.ProjectID, l.o.RunID)
	err := governance.Govern(ctx, w, func(g *governance.PolicyUnit) error {
		run, err := workspace.LoadIn(g.Unit, doc.RunCodec, file)
		if err != nil {
			return err
		}
		if run.Landed == nil {
			run.Landed = l.run.Landed
			if err := workspace.Put(g.Unit, doc.RunCodec, file, run, 0o644); err != nil {
				return err
			}
			r := run.Landed
			payload := landedPayload{r.RepoID, r.Branch, r.Commit, r.Base, r.Files, r.Added, r.Removed, r.Actor}
			draft := events.Draft{Type: events.RunLanded, Actor: l.o.Actor.ID, Visibility: events.VisibilityTeam}
			if err := g.Emit(l.o.ProjectID, l.o.RunID, draft, payload); err != nil {
				return err
			}
		}
		return l.decide(g)
	})
	if err == nil {
		w.NotifyAppend(workspace.LogFile(l.o.ProjectID, l.o.RunID))
	}
	return err
}

// tidy removes the worktree when all that it holds was landed and nobody uses it. It
// returns why it stays, for people; "" where that was asked for.
func (l *landing) tidy(ctx context.Context) string {
	dir, err := worktree.Find(l.s.Workspace, l.run)
	if l.o.Keep || err != nil || dir == "" {
		return ""
	}
	release, err := l.reserve(ctx)
	defer release()
	if err != nil {
		return "the worktree stays, since the run may go on in it"
	}
	if whole, err := l.holds(ctx, dir); err != nil || !whole {
		return "the worktree stays, since it holds what was not landed"
	}
	_, rel, branch := l.run.Tree()
	if err := worktree.Discard(ctx, l.s.Workspace, l.s.Environ, l.root, worktree.Location{Rel: path.Clean(rel), Branch: branch}); err != nil {
		return "the worktree stays: " + err.Error()
	}
	return ""
}

// supervisorsEnd is how long the supervisor of a session that is over may take to end.
const supervisorsEnd = 5 * time.Second

// reserve keeps the runs that use the worktree from going on. It fails when one of them
// does, or may.
func (l *landing) reserve(ctx context.Context) (release func(), err error) {
	var held []*lock.Hold
	release = func() {
		for _, h := range held {
			_ = h.Release() // the lock ends with this process at the latest
		}
	}
	users, err := l.users()
	if err != nil {
		return release, err
	}
	if who, err := l.goesOn(users, true); err != nil || who != "" {
		return release, errors.Join(err, fmt.Errorf("run %s goes on", who))
	}
	ctx, cancel := context.WithTimeout(ctx, supervisorsEnd)
	defer cancel()
	for _, user := range users {
		h, err := session.Reserve(ctx, l.s.Workspace, user.ProjectID, user.RunID)
		if err != nil {
			return release, err
		}
		held = append(held, h)
	}
	return release, nil
}

// holds reports whether the commit has all that lies in the worktree: to merge it once
// more changes nothing.
func (l *landing) holds(ctx context.Context, dir string) (bool, error) {
	commit := l.run.Landed.Commit
	work, err := l.snapshot(ctx, dir)
	if err != nil {
		return false, err
	}
	tree, conflicts, err := l.repo.Merge(ctx, worktree.Target{Tip: commit}, work)
	if err != nil || len(conflicts) > 0 {
		return false, err
	}
	has, err := l.repo.Tree(ctx, commit)
	return err == nil && tree == has, err
}
