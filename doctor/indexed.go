package doctor

// The check of the index, in each of its three modes.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"ac/index"
	"ac/internal/durable"
	"ac/workspace"
)

// indexState is the state of an index, determined without changing the index.
type indexState struct {
	missing bool  // there is none
	readErr error // why it is unreadable, nil if it is readable
	holds   index.Stats
	// syncedMS is the time of the last sync, 0 if unknown. newestMS is the newest change
	// among the indexed files. Both are in Unix ms.
	syncedMS, newestMS int64
}

const indexFile = workspace.IndexFile

func inspectIndex(ctx context.Context, w *workspace.Workspace, ix *index.Index) (state indexState) {
	if _, err := w.FS.Lstat(indexFile); errors.Is(err, fs.ErrNotExist) {
		state.missing = true
		return state
	}
	state.readErr = ix.View(ctx, func(v *index.View) (err error) {
		state.holds, err = v.Stats()
		return err
	})
	if at, ok := ix.LastSync(); ok {
		state.syncedMS = at.UnixMilli()
	}
	for _, dir := range []string{workspace.ProjectsDir, workspace.ReviewsDir, workspace.HelpRequestsDir} {
		state.newestMS = max(state.newestMS, newestChange(w.FS, dir))
	}
	return state
}

// newestChange returns the newest change below a directory in Unix ms, 0 if there is none.
func newestChange(fsys durable.FS, dir string) (at int64) {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return 0
	}
	for _, entry := range entries {
		name := path.Join(dir, entry.Name())
		if st, err := fsys.Lstat(name); err == nil {
			at = max(at, st.ModTime().UnixMilli())
		}
		if entry.IsDir() {
			at = max(at, newestChange(fsys, name))
		}
	}
	return at
}

// IndexCheck returns the check of an index, for the requested freshness.
func IndexCheck(w *workspace.Workspace, ix *index.Index, asked index.Freshness, given string) func(context.Context) Check {
	return func(ctx context.Context) Check {
		switch asked {
		case index.FullRebuild:
			r, err := ix.Rebuild(ctx)
			return passed("index.rebuild", "rebuilt", given, err, r.EventParseErrors, []string{
				detail("db_path", index.Path(given)), detail("runs_indexed", r.RunsIndexed), detail("events_indexed", r.EventsIndexed),
				detail("artifacts_indexed", r.ArtifactsIndexed), detail("reviews_indexed", r.ReviewsIndexed), detail("help_requests_indexed", r.HelpRequestsIndexed),
			})
		case index.UpToDate:
			s, err := ix.Sync(ctx)
			now := inspectIndex(ctx, w, ix)
			return passed("index.sync", "brought up to date", given, err, now.holds.EventParseErrors, []string{
				detail("db_path", index.Path(given)), detail("db_created", s.DBCreated),
				detail("runs_upserted", s.RunsUpserted), detail("runs_deleted", s.RunsDeleted),
				detail("events_indexed", s.EventsIndexed), detail("events_deleted", s.EventsDeleted),
				detail("event_parse_errors_indexed", s.EventParseErrorsIndexed), detail("event_parse_errors_deleted", s.EventParseErrorsDeleted),
				detail("artifacts_upserted", s.ArtifactsUpserted), detail("artifacts_deleted", s.ArtifactsDeleted),
				detail("reviews_upserted", s.ReviewsUpserted), detail("reviews_deleted", s.ReviewsDeleted),
				detail("help_requests_upserted", s.HelpRequestsUpserted), detail("help_requests_deleted", s.HelpRequestsDeleted),
			})
		case index.NoSync, index.Records:
		}
		return inspectIndex(ctx, w, ix).check(given)
	}
}

func passed(id, what, given string, err error, parseErrors int, details []string) Check {
	if err != nil {
		return Check{ID: id, Status: Fail, Message: "the index could not be " + what + ": " + err.Error(), Hint: "Nothing is lost: the index is derived from the files. Repair what the message names and try again."}
	}
	c := pass(id, "the index was %s", what)
	c.Details = details
	if parseErrors > 0 {
		c.Status, c.Message = Warn, fmt.Sprintf("the index was %s; %s of the logs cannot be read", what, plural(parseErrors, "line"))
		c.Hint = "See which with: ac log:verify " + given
	}
	return c
}

func detail(name string, value any) string { return fmt.Sprintf("%s: %v", name, value) }

// tolerance is how much newer than the last sync a file may be, in ms, since file systems
// round timestamps.
const tolerance = 1

func (s indexState) check(given string) Check {
	const id = "index.rebuild"
	mend := "Lists build it when they need it; to build it now: ac workspace:doctor " + given + " --rebuild-index"
	switch {
	case s.missing:
		return Check{ID: id, Status: Warn, Message: "there is no index yet", Hint: mend}
	case s.readErr != nil:
		return Check{
			ID: id, Status: Warn, Message: "the index cannot be read: " + s.readErr.Error(),
			Hint: "Nothing is lost: it is derived from the files. Rebuild it with: ac workspace:doctor " + given + " --rebuild-index",
		}
	}
	c := pass(id, "the index is up to date")
	c.Details = []string{
		detail("runs", s.holds.Runs), detail("events", s.holds.Events), detail("event_parse_errors", s.holds.EventParseErrors),
		detail("artifacts", s.holds.Artifacts), detail("reviews", s.holds.Reviews), detail("help_requests", s.holds.HelpRequests),
		detail("index_mtime_ms", s.syncedMS), detail("canonical_latest_mtime_ms", s.newestMS),
	}
	switch {
	case s.newestMS > s.syncedMS+tolerance:
		c.Status, c.Message = Warn, "files changed since the last sync of the index"
		c.Hint = "Lists sync it when they need it; to sync it now: ac workspace:doctor " + given + " --sync-index"
	case s.holds.EventParseErrors > 0:
		c.Status, c.Message = Warn, plural(s.holds.EventParseErrors, "line")+" of the logs cannot be read"
		c.Hint = "See which with: ac log:verify " + given
	}
	return c
}

// RepairIndex returns the repair of an index: it rebuilds an unreadable one.
func RepairIndex(w *workspace.Workspace, ix *index.Index) func(ctx context.Context, dryRun bool) []Repair {
	return func(ctx context.Context, dryRun bool) []Repair {
		state := inspectIndex(ctx, w, ix)
		if state.missing || state.readErr == nil {
			return nil
		}
		m := Repair{Kind: "index", Path: indexFile, Outcome: Planned, What: "rebuild it from the files, since it cannot be read: " + state.readErr.Error()}
		if dryRun {
			return []Repair{m}
		}
		m.Outcome, m.What = Done, "rebuilt from the files, since it could not be read: "+state.readErr.Error()
		if _, err := ix.Rebuild(ctx); err != nil {
			m.Outcome, m.What = Failed, err.Error()
		}
		return []Repair{m}
	}
}
