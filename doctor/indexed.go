package doctor

// The check of the index, whichever of the three ways it is asked for.

import (
	"context"
	"fmt"
)

// Counted is what an index holds, or what a pass over it did.
type Counted struct {
	Runs, Events, ParseErrors, Artifacts, Reviews, HelpRequests int64
}

// IndexPass is what a rebuild or a sync came to.
type IndexPass struct {
	Path    string
	Created bool
	Seen    Counted // of a rebuild: the rows there are now
	Deleted Counted
	// ParseErrors are the unreadable lines that the index holds now.
	ParseErrors int64
}

// IndexState is what can be told of an index without changing it.
type IndexState struct {
	// Missing says that there is none; Spoilt, why it cannot be read.
	Missing bool
	Spoilt  error
	Holds   Counted
	// SyncedMS is when it was last brought up to date, NewestMS the newest
	// change of what it is made from, in Unix ms.
	SyncedMS, NewestMS int64
}

// Index is the index as the doctor needs it.
type Index interface {
	Rebuild(ctx context.Context) (IndexPass, error)
	Sync(ctx context.Context) (IndexPass, error)
	State(ctx context.Context) (IndexState, error)
	// Discard removes a spoilt index, so that the next use makes a new one.
	Discard(ctx context.Context) error
}

// How the index is looked at.
const (
	LookAtIndex = iota
	SyncIndex
	RebuildIndex
)

// IndexCheck makes the check of an index.
func IndexCheck(index Index, how int, given string) func(context.Context) Check {
	return func(ctx context.Context) Check {
		switch how {
		case RebuildIndex:
			pass, err := index.Rebuild(ctx)
			return passed("index.rebuild", "rebuilt", err, pass, pass.rebuilt())
		case SyncIndex:
			pass, err := index.Sync(ctx)
			return passed("index.sync", "brought up to date", err, pass, pass.synced())
		}
		state, err := index.State(ctx)
		if err != nil {
			return unknown("index.rebuild", err)
		}
		return state.check(given)
	}
}

func passed(id, what string, err error, p IndexPass, details []string) Check {
	if err != nil {
		return Check{ID: id, Status: Fail, Message: "the index could not be " + what + ": " + err.Error(), Hint: "Nothing is lost: the index is made from the files. Mend what the message names and try again."}
	}
	c := pass(id, "the index was %s", what)
	c.Details = details
	if p.ParseErrors > 0 {
		c.Status, c.Message = Warn, fmt.Sprintf("the index was %s; %s of the logs cannot be read", what, plural(int(p.ParseErrors), "line"))
		c.Hint = "See where with: ac log:verify DIR"
	}
	return c
}

func detail(name string, value any) string { return fmt.Sprintf("%s: %v", name, value) }

func (p IndexPass) rebuilt() []string {
	return []string{
		detail("db_path", p.Path), detail("runs_indexed", p.Seen.Runs), detail("events_indexed", p.Seen.Events),
		detail("artifacts_indexed", p.Seen.Artifacts), detail("reviews_indexed", p.Seen.Reviews), detail("help_requests_indexed", p.Seen.HelpRequests),
	}
}

func (p IndexPass) synced() []string {
	return []string{
		detail("db_path", p.Path), detail("db_created", p.Created),
		detail("runs_upserted", p.Seen.Runs), detail("runs_deleted", p.Deleted.Runs),
		detail("events_indexed", p.Seen.Events), detail("events_deleted", p.Deleted.Events),
		detail("event_parse_errors_indexed", p.Seen.ParseErrors), detail("event_parse_errors_deleted", p.Deleted.ParseErrors),
		detail("artifacts_upserted", p.Seen.Artifacts), detail("artifacts_deleted", p.Deleted.Artifacts),
		detail("reviews_upserted", p.Seen.Reviews), detail("reviews_deleted", p.Deleted.Reviews),
		detail("help_requests_upserted", p.Seen.HelpRequests), detail("help_requests_deleted", p.Deleted.HelpRequests),
	}
}

// tolerance is how much newer a file may be than the last sync, in ms: file
// systems round.
const tolerance = 1

func (s IndexState) check(given string) Check {
	const id = "index.rebuild"
	mend := "Lists make it when they need it, or now: ac workspace:doctor " + given + " --rebuild-index"
	switch {
	case s.Missing:
		return Check{ID: id, Status: Warn, Message: "there is no index yet", Hint: mend}
	case s.Spoilt != nil:
		return Check{
			ID: id, Status: Warn, Message: "the index cannot be read: " + s.Spoilt.Error(),
			Hint: "Nothing is lost: it is made from the files. Make it anew: ac workspace:doctor " + given + " --rebuild-index",
		}
	}
	c := pass(id, "the index is up to date")
	c.Details = []string{
		detail("runs", s.Holds.Runs), detail("events", s.Holds.Events), detail("event_parse_errors", s.Holds.ParseErrors),
		detail("artifacts", s.Holds.Artifacts), detail("reviews", s.Holds.Reviews), detail("help_requests", s.Holds.HelpRequests),
		detail("index_mtime_ms", s.SyncedMS), detail("canonical_latest_mtime_ms", s.NewestMS),
	}
	switch {
	case s.NewestMS > s.SyncedMS+tolerance:
		c.Status, c.Message = Warn, "files changed since the index was last brought up to date"
		c.Hint = "Lists bring it up to date when they need it, or now: ac workspace:doctor " + given + " --sync-index"
	case s.Holds.ParseErrors > 0:
		c.Status, c.Message = Warn, plural(int(s.Holds.ParseErrors), "line")+" of the logs cannot be read"
		c.Hint = "See where with: ac log:verify " + given
	}
	return c
}

// MendIndex makes the repair of an index: one that cannot be read goes and is made
// anew.
func MendIndex(index Index) func(ctx context.Context, dryRun bool) []Mend {
	return func(ctx context.Context, dryRun bool) []Mend {
		const name = ".local/index.sqlite"
		state, err := index.State(ctx)
		switch {
		case err != nil:
			return []Mend{{Kind: "index", Path: name, Outcome: Failed, What: err.Error()}}
		case state.Spoilt == nil:
			return nil
		case dryRun:
			return []Mend{{Kind: "index", Path: name, Outcome: Would, What: "make it anew from the files, since it cannot be read: " + state.Spoilt.Error()}}
		}
		if err = index.Discard(ctx); err == nil {
			_, err = index.Rebuild(ctx)
		}
		if err != nil {
			return []Mend{{Kind: "index", Path: name, Outcome: Failed, What: err.Error()}}
		}
		return []Mend{{Kind: "index", Path: name, Outcome: Done, What: "made anew from the files, since it could not be read: " + state.Spoilt.Error()}}
	}
}
