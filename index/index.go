// Package index is the SQLite projection of a workspace. It answers lists, snapshots and totals
// at a cost proportional to the answer.
//
// It is a cache: .local/index.sqlite can be deleted at any time and nothing is lost.
// Invariants:
//   - After a sync the index holds what a rebuild would put there, whatever happened to the
//     files. Cache invalidation compares device, inode, size and times, and the content where
//     these are not conclusive.
//   - Readers have snapshot isolation: each view is one read transaction, and sees the old
//     index until a new one is complete. Readers never wait for a writer.
//   - One process writes at a time, under the lock .local/locks/index.lock.
//   - The text of an event is not in the index. It is read from its log, and returned only if
//     it is still the text that was indexed.
package index

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"ac/index/source"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/internal/lock"
	"ac/workspace"
)

// lockTimeout bounds the wait for other writers.
const lockTimeout = 30 * time.Second

// Index is the index of one workspace. It is safe for concurrent use.
type Index struct {
	w      *workspace.Workspace
	writer *lock.Mutex

	mu     sync.Mutex
	db     *sql.DB
	idle   []*dbConn        // of db
	id     durable.Identity // of the file that db has open
	broken bool             // a read met a corrupt page
	next   *sharedPass      // the pass that later callers may share
	closed bool

	known       *fileStates   // guarded by writer
	triedDigest bool          // guarded by writer: a sync has tried the digest shortcut; a long-lived process tries it once
	walkCache   *source.Cache // guarded by writer, except for its Close; nil in a short-lived process

	// private: the index is not a file of the workspace but a database of this process, used by
	// one caller at a time.
	private        bool
	privateMu      sync.Mutex // held by the user of a private index
	privateWriteMu sync.Mutex // held by its writer
	fallback       *Index     // answers if the file cannot be written; nil until then
}

// sharedPass is a pass that several callers wait for.
type sharedPass struct {
	scope  source.Scope
	done   chan struct{}
	synced SyncResult
	err    error
}

// For returns the index of a workspace. It opens and creates nothing yet.
func For(w *workspace.Workspace) *Index {
	return &Index{w: w, writer: lock.NewMutex(w.FS, workspace.LockFile("index"))}
}

// EnableWatch makes the index watch the workspace from the second sync on, so that a sync checks only
// what changed. It is for long-lived processes and must be called before the first use.
func (ix *Index) EnableWatch() { ix.walkCache = source.NewCache(ix.w.Env.Clock, ix.w.FS) }

// Close closes the database. A connection that an open view or a running sync uses closes when
// that ends. No method may be called afterwards.
func (ix *Index) Close() error {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	ix.closed = true
	ix.walkCache.Close()
	failed := ix.closeDB()
	if ix.fallback != nil {
		failed = errors.Join(failed, ix.fallback.Close())
	}
	return failed
}

// RebuildResult has the row counts after a rebuild.
type RebuildResult struct {
	DBPath                string `json:"db_path"`
	RunsIndexed           int    `json:"runs_indexed"`
	EventsIndexed         int    `json:"events_indexed"`
	EventParseErrors      int    `json:"event_parse_errors"`
	ArtifactsIndexed      int    `json:"artifacts_indexed"`
	ReviewsIndexed        int    `json:"reviews_indexed"`
	HelpRequestsIndexed   int    `json:"help_requests_indexed"`
	ConversationsIndexed  int    `json:"conversations_indexed"`
	MessagesIndexed       int    `json:"messages_indexed"`
	TasksIndexed          int    `json:"tasks_indexed"`
	TaskMilestonesIndexed int    `json:"task_milestones_indexed"`
	AgentCountersIndexed  int    `json:"agent_counters_indexed"`
}

// SyncResult is the result of a sync. Upserted rows, messages, milestones and counters are
// totals of the workspace. Events and parse errors are those that this sync added. Deleted rows
// are those that it removed.
type SyncResult struct {
	DBPath                  string `json:"db_path"`
	DBCreated               bool   `json:"db_created"`
	RunsUpserted            int    `json:"runs_upserted"`
	RunsDeleted             int    `json:"runs_deleted"`
	EventsIndexed           int    `json:"events_indexed"`
	EventsDeleted           int    `json:"events_deleted"`
	EventParseErrorsIndexed int    `json:"event_parse_errors_indexed"`
	EventParseErrorsDeleted int    `json:"event_parse_errors_deleted"`
	ArtifactsUpserted       int    `json:"artifacts_upserted"`
	ArtifactsDeleted        int    `json:"artifacts_deleted"`
	ReviewsUpserted         int    `json:"reviews_upserted"`
	ReviewsDeleted          int    `json:"reviews_deleted"`
	HelpRequestsUpserted    int    `json:"help_requests_upserted"`
	HelpRequestsDeleted     int    `json:"help_requests_deleted"`
	ConversationsUpserted   int    `json:"conversations_upserted"`
	ConversationsDeleted    int    `json:"conversations_deleted"`
	MessagesIndexed         int    `json:"messages_indexed"`
	MessagesDeleted         int    `json:"messages_deleted"`
	TasksUpserted           int    `json:"tasks_upserted"`
	TasksDeleted            int    `json:"tasks_deleted"`
	TaskMilestonesIndexed   int    `json:"task_milestones_indexed"`
	TaskMilestonesDeleted   int    `json:"task_milestones_deleted"`
	AgentCountersUpserted   int    `json:"agent_counters_upserted"`
	AgentCountersDeleted    int    `json:"agent_counters_deleted"`
}

// Rebuild rebuilds the whole index. When it returns, all readers see the new one.
func (ix *Index) Rebuild(ctx context.Context) (RebuildResult, error) {
	var built RebuildResult
	err := ix.withLock(ctx, func(ctx context.Context) error {
		var err error
		built, err = ix.rebuild(ctx)
		return err
	})
	return built, err
}

// Sync brings the index up to date with the files as of the call or later. It builds the index
// if there is no usable one.
func (ix *Index) Sync(ctx context.Context) (SyncResult, error) {
	return ix.SyncOnly(ctx, source.Scope{})
}

// SyncOnly is Sync for a part of the workspace. Waiting callers share one pass.
func (ix *Index) SyncOnly(ctx context.Context, scope source.Scope) (SyncResult, error) {
	for {
		turn, leads := ix.join(scope)
		if !leads {
			select {
			case <-turn.done:
			case <-ctx.Done():
				return SyncResult{}, context.Cause(ctx)
			}
			if turn.err != nil && (errors.Is(turn.err, context.Canceled) || errors.Is(turn.err, context.DeadlineExceeded)) && ctx.Err() == nil {
				continue // the leader's context ended, ours did not
			}
			return turn.synced, turn.err
		}
		ix.lead(ctx, turn)
		return turn.synced, turn.err
	}
}

// lead runs the pass that a caller leads. If the pass panics, those who wait for it get an
// error.
func (ix *Index) lead(ctx context.Context, turn *sharedPass) {
	defer close(turn.done)
	defer ix.leave(turn)
	turn.err = fault.New(fault.Internal, "the sync of the index that this one waited for failed with an internal error; try again")
	turn.err = ix.withLock(ctx, func(ctx context.Context) error {
		ix.leave(turn) // a change from here on may be missed, so later callers wait for the next pass
		var err error
		turn.synced, err = ix.sync(ctx, turn.scope)
		return err
	})
}

// join returns the pass that has not begun yet, or a new one that the caller leads.
func (ix *Index) join(scope source.Scope) (turn *sharedPass, leads bool) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if ix.next != nil && ix.next.scope == scope {
		return ix.next, false
	}
	turn = &sharedPass{scope: scope, done: make(chan struct{})}
	if ix.next == nil {
		ix.next = turn
	}
	return turn, true
}

func (ix *Index) leave(turn *sharedPass) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if ix.next == turn {
		ix.next = nil
	}
}

// withLock runs fn as the only writer of the index. It gives up the lock even if fn panics.
func (ix *Index) withLock(ctx context.Context, fn func(context.Context) error) (err error) {
	if ix.private {
		ix.privateWriteMu.Lock()
		defer ix.privateWriteMu.Unlock()
		return fn(ctx)
	}
	waiting, cancel := context.WithTimeoutCause(ctx, lockTimeout, fault.New(fault.Locked, "another process has been writing the index for more than %s", lockTimeout))
	unlock, err := ix.writer.Lock(waiting)
	cancel()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	return fn(ctx)
}

// Freshness is the required state of the index before it is read.
type Freshness int

// The kinds of freshness.
const (
	NoSync      Freshness = iota
	Records               // run records as in UpToDate; logs unchecked, except by View.CheckLogs
	UpToDate              // in step with the files; built if there is no usable one
	FullRebuild           // rebuilt from the files
)

// FreshnessOf returns the freshness for two flags; rebuild wins.
func FreshnessOf(rebuild, sync bool) Freshness {
	switch {
	case rebuild:
		return FullRebuild
	case sync:
		return UpToDate
	}
	return NoSync
}

// EnsureResult reports what Ensure did. Rebuilt and Synced are never both set.
type EnsureResult struct {
	Rebuilt     bool
	Synced      bool
	RecordsOnly bool   // only run records were compared; logs may have changed
	fallback    *Index // the index to read, nil for the index itself
}

// Ensure brings the index to the requested freshness. With NoSync, only the view reports a
// missing index. A missing or corrupt file is never an error, nor is a failure to write it, as
// on a full disk. In that case Ensure brings a private index of this process up to date, and
// ViewOf reads that (fallback).
func (ix *Index) Ensure(ctx context.Context, asked Freshness) (EnsureResult, error) {
	done, err := ix.ensure(ctx, asked)
	if err == nil || ctx.Err() != nil || ix.private {
		return done, err
	}
	fallback, fallbackErr := ix.fallbackIndex()
	if fallbackErr != nil {
		return done, err
	}
	done, fallbackErr = fallback.ensure(ctx, max(asked, UpToDate))
	if fallbackErr != nil {
		return EnsureResult{}, err
	}
	done.fallback = fallback
	return done, nil
}

// fallbackIndex returns the private index that serves as the fallback. It creates it once.
func (ix *Index) fallbackIndex() (*Index, error) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if ix.closed {
		return nil, fault.New(fault.Canceled, "the index is closed")
	}
	if ix.fallback == nil {
		ix.fallback = &Index{w: ix.w, private: true}
	}
	return ix.fallback, nil
}

// ViewOf runs View on the index that Ensure prepared.
func (ix *Index) ViewOf(ctx context.Context, done EnsureResult, fn func(*View) error) error {
	if done.fallback != nil {
		return done.fallback.View(ctx, fn)
	}
	return ix.View(ctx, fn)
}

func (ix *Index) ensure(ctx context.Context, asked Freshness) (EnsureResult, error) {
	switch asked {
	case FullRebuild:
		_, err := ix.Rebuild(ctx)
		return EnsureResult{Rebuilt: err == nil}, err
	case Records:
		if ix.recordsUnchanged(ctx) {
			return EnsureResult{Synced: true, RecordsOnly: true}, nil
		}
		return ix.ensure(ctx, UpToDate)
	case UpToDate:
		synced, err := ix.Sync(ctx)
		return EnsureResult{Rebuilt: err == nil && synced.DBCreated, Synced: err == nil && !synced.DBCreated}, err
	case NoSync:
	}
	return EnsureResult{}, nil
}
