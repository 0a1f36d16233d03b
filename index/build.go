package index

// Rebuild and sync of the index, under its lock.

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"ac/index/source"
)

// rebuild builds the whole index in one transaction: on the existing file if it is ours, else
// on a new one.
func (ix *Index) rebuild(ctx context.Context) (built RebuildResult, err error) {
	err = ix.retryTransient(func() (err error) {
		if built, err = ix.rebuildOnce(ctx); err != nil && isUnusable(err) {
			if err := ix.discard(); err != nil {
				return err
			}
			built, err = ix.rebuildOnce(ctx)
		}
		if errors.Is(err, fs.ErrNotExist) && ix.isMissing() {
			err = errors.Join(errGone, err)
		}
		return err
	})
	return built, err
}

func (ix *Index) rebuildOnce(ctx context.Context) (built RebuildResult, err error) {
	if ix.isBroken() {
		return built, errUnusable
	}
	k, began := newFileStates(), ix.w.Env.Clock.Now()
	ix.known = nil
	err = ix.withConn(ctx, true, func(conn *dbConn) error {
		if err := ix.prepareDB(ctx, conn); err != nil {
			return err
		}
		w := newWriter(ctx, conn, k)
		if err := w.end(ix.fill(ctx, w, k)); err != nil {
			return err
		}
		var s Stats
		s, err = readStats(context.WithoutCancel(ctx), conn)
		k.stats = &s
		built = s.rebuildResult(Path(ix.w.Dir()))
		return err
	})
	if err == nil {
		ix.known = k
		ix.noteSync(began)
	}
	return built, err
}

// syncedFile has the time of the last whole sync or rebuild as its modification time, and
// digests of what that sync saw as its content (noteSources). A sync without changes writes
// nothing else.
const syncedFile = databaseFile + "-synced"

// noteSync records that the index reflects the workspace at a time. It is best
// effort; the next sync retries.
func (ix *Index) noteSync(at time.Time) {
	if ix.private {
		return
	}
	if err := ix.w.FS.SetModified(syncedFile, at); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	if f, err := ix.w.FS.OpenFile(syncedFile, os.O_CREATE|os.O_WRONLY, 0o644); err == nil {
		_ = f.Close() // created empty, nothing to lose
		_ = ix.w.FS.SetModified(syncedFile, at)
	}
}

// LastSync returns when the whole index was last brought up to date. ok is false if that is
// unknown.
func (ix *Index) LastSync() (at time.Time, ok bool) {
	st, err := ix.w.FS.Lstat(syncedFile)
	if err != nil || !st.Mode().IsRegular() {
		return at, false
	}
	return st.ModTime(), true
}

// prepareDB rejects the database of another program, and prepares one that is empty or ours.
func (ix *Index) prepareDB(ctx context.Context, conn *dbConn) error {
	var application, tables int64
	if err := conn.QueryRowContext(ctx, "PRAGMA application_id").Scan(&application); err != nil {
		return err
	}
	if err := conn.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil {
		return err
	}
	if application != applicationID && (application != 0 || tables > 0) {
		return errUnusable
	}
	if application == applicationID {
		var inode int64
		err := conn.QueryRowContext(ctx, "SELECT inode FROM ac_state").Scan(&inode)
		if err == nil && inode != ix.inode() {
			return errUnusable // its pages may belong to two files
		}
	}
	var mode string
	if err := conn.QueryRowContext(ctx, "PRAGMA journal_mode=wal").Scan(&mode); err != nil {
		return err
	}
	return nil
}

// fill writes a complete new index in the writer's transaction.
func (ix *Index) fill(ctx context.Context, w *writer, k *fileStates) error {
	if err := w.begin(); err != nil {
		return err
	}
	// Generations never repeat, so no process mistakes an old index for this one.
	var last sql.NullInt64
	if err := w.conn.QueryRowContext(w.ctx, "SELECT max(generation) FROM ac_state").Scan(&last); err != nil && !isUnusable(err) {
		return err
	}
	k.generation = max(last.Int64, ix.w.Env.Clock.Now().UnixNano())
	var script strings.Builder
	for _, name := range tableNames() {
		fmt.Fprintf(&script, "DROP TABLE IF EXISTS %s;\n", name)
	}
	fmt.Fprintf(&script, "%sINSERT INTO ac_state VALUES (0, 0, %d);\nPRAGMA application_id=%d;\nPRAGMA user_version=%d;\n", tables, ix.inode(), applicationID, schemaVersion)
	if _, err := w.conn.ExecContext(w.ctx, script.String()); err != nil {
		return err
	}
	if err := newPass(ctx, ix.w, k, ix.walkCache, w, source.Scope{}).run(); err != nil {
		return err
	}
	_, err := w.conn.ExecContext(w.ctx, indexes)
	return err
}

// sync brings the index up to date.
func (ix *Index) sync(ctx context.Context, scope source.Scope) (SyncResult, error) {
	var synced SyncResult
	err := ix.retryTransient(func() (err error) {
		synced, err = ix.syncOnce(ctx, scope)
		return err
	})
	if err == nil || !isUnusable(err) && (!errors.Is(err, fs.ErrNotExist) || !ix.isMissing()) {
		return synced, err
	}
	built, err := ix.rebuild(ctx)
	return built.syncResult(), err
}

func (ix *Index) isMissing() bool {
	_, err := ix.identity()
	return errors.Is(err, fs.ErrNotExist)
}

func (ix *Index) syncOnce(ctx context.Context, scope source.Scope) (synced SyncResult, err error) {
	if ix.isBroken() {
		return synced, errUnusable
	}
	began := ix.w.Env.Clock.Now()
	err = ix.withConn(ctx, false, func(conn *dbConn) error {
		quiet := context.WithoutCancel(ctx)
		generation, err := ix.readGeneration(quiet, conn)
		if err != nil {
			return err
		}
		k, all := ix.known, scope == (source.Scope{})
		var sources []source.File // all of them, if the digest shortcut listed them; else nil
		if k == nil && all && !ix.private && (ix.walkCache == nil || !ix.triedDigest) {
			ix.triedDigest = true
			if sources, err = ix.listSources(ctx); err != nil {
				return err
			}
			if ix.unchanged(generation, sources) {
				s, err := readTotals(quiet, conn)
				s.fillTotals(&synced)
				synced.DBPath = Path(ix.w.Dir())
				ix.noteSync(began)
				return err
			}
		}
		if k == nil || k.generation != generation {
			if k, err = loadFileStates(quiet, conn, generation); err != nil {
				return err
			}
		}
		ix.known = nil
		w := newWriter(ctx, conn, k)
		p := newPass(ctx, ix.w, k, ix.walkCache, w, scope)
		p.sources = sources
		if k.stats == nil {
			s, err := readTotals(quiet, conn)
			if err != nil {
				return err
			}
			k.stats = &s
		}
		before := k.stats.AgentCounters
		if err := w.end(p.run()); err != nil {
			return err
		}
		ix.known = k
		if w.began {
			s, err := readTotals(quiet, conn)
			if err != nil {
				return err
			}
			k.stats = &s
		}
		s := *k.stats
		synced = p.synced
		s.fillTotals(&synced)
		synced.DBPath = Path(ix.w.Dir())
		synced.AgentCountersDeleted = max(0, before-s.AgentCounters)
		if all {
			ix.noteSources(k, sources)
			ix.noteSync(p.now)
		}
		return nil
	})
	return synced, err
}

// loadFileStates reads the file states that the index holds.
func loadFileStates(ctx context.Context, conn *dbConn, generation int64) (*fileStates, error) {
	k := newFileStates()
	k.generation = generation
	rows, err := conn.QueryContext(ctx, "SELECT id, path, state, problem, what FROM ac_files")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var state sql.RawBytes
	var problem, what sql.NullString
	for rows.Next() {
		f := &file{}
		if err := rows.Scan(&f.id, &f.path, &state, &problem, &what); err != nil {
			return nil, err
		}
		if err := f.decode(state); err != nil {
			return nil, err
		}
		f.problem, f.what = problem.String, what.String
		k.add(f)
	}
	return k, rows.Err()
}
