package files

// The records of a landing: the write-ahead record while it is in progress, and the run's record
// and log once the branch has moved.

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

// landingIntent is the write-ahead record of a landing whose branch may have moved. It is kept until the
// run's record says that the branch has moved.
type landingIntent struct {
	RunID     string `json:"run_id"`
	ProjectID string `json:"project_id"`
	RepoID    string `json:"repo_id"`
	Root      string `json:"root"`
	Branch    string `json:"branch"`
	Old       string `json:"old"`
	New       string `json:"new"`
}

const (
	intentPrefix = "landing_"
	maxIntent    = 64 << 10
)

func intentName(run string) string { return path.Join(workspace.TempDir, intentPrefix+run+".json") }

// writeIntent writes the write-ahead record. It is durable on return.
func (l *landing) writeIntent(b landingIntent) error {
	w := l.s.Workspace
	text, err := json.Marshal(b)
	if err == nil {
		err = durable.MkdirAll(w.FS, workspace.TempDir, 0o755)
	}
	if err == nil {
		err = w.Replace(intentName(b.RunID), append(text, '\n'), 0o600)
	}
	return err
}

// removeIntent removes the write-ahead record.
func (l *landing) removeIntent() error {
	err := l.s.Workspace.FS.Remove(intentName(l.o.RunID))
	if durable.IsAbsent(err) {
		return nil
	}
	return err
}

// settle repairs the working tree of the repository if git was killed in it during a landing. It
// returns the unfinished landing of this run, nil for none.
func (l *landing) settle(ctx context.Context) (own *landingIntent, err error) {
	w := l.s.Workspace
	names, err := workspace.Files(w.FS, workspace.TempDir, ".json")
	if err != nil && !durable.IsAbsent(err) {
		return nil, err
	}
	for _, name := range names {
		if !strings.HasPrefix(name, intentPrefix) {
			continue
		}
		text, err := durable.ReadFile(w.FS, path.Join(workspace.TempDir, name), maxIntent)
		if err != nil {
			return nil, err
		}
		var b landingIntent
		if json.Unmarshal(text, &b) != nil || b.Root != l.root {
			continue // not about this repository
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

// record returns a landing as stored in the run's record.
func (l *landing) record(branch, commit, base string, change worktree.Change) *doc.Landed {
	return &doc.Landed{
		RepoID: l.repoID, Branch: branch, Commit: commit, Base: base, Files: change.Files, Added: change.Added, Removed: change.Removed,
		Actor: l.o.Actor.ID, At: clock.Stamp(l.s.Workspace.Env.Clock.Now()),
	}
}

// landed converts the run's record of a landing to a result.
func landed(r doc.Landed) Landing {
	return Landing{Commit: &r.Commit, Branch: r.Branch, Files: r.Files, Added: r.Added, Removed: r.Removed, Conflicts: []string{}}
}

// landedPayload is the payload of run.landed.
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

// conclude records a landing whose branch has moved, and removes the worktree. It continues even
// if ctx is canceled.
func (l *landing) conclude(ctx context.Context, result Landing) (Landing, error) {
	ctx = context.WithoutCancel(ctx)
	if err := l.tell(ctx); err != nil {
		reason := fault.ReasonOf(err)
		return result, fault.New(reason, "run %s is on %s as %s, and its record does not say so yet; land it again to finish: %w", l.o.RunID, result.Branch, *result.Commit, err)
	}
	if why := l.tidy(ctx); why != "" {
		result.Notes = append(result.Notes, why)
	}
	return result, l.removeIntent()
}

// tell writes the run's record and the event, once.
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

// tidy removes the worktree if everything in it was landed and nobody uses it. Otherwise it
// returns why the worktree stays, as a text for people. It returns "" if the order keeps it.
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

// supervisorExitTimeout is how long the supervisor of a finished session may take to exit.
const supervisorExitTimeout = 5 * time.Second

// reserve prevents the runs that use the worktree from continuing. It fails if one of them
// continues, or may.
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
	if who, err := l.activeRun(users, true); err != nil || who != "" {
		return release, errors.Join(err, fmt.Errorf("run %s goes on", who))
	}
	ctx, cancel := context.WithTimeout(ctx, supervisorExitTimeout)
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

// holds reports whether the commit contains everything in the worktree: merging it again would
// change nothing.
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
