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
	err = ix.patient(func() (err error) {
		if built, err = ix.rebuildHere(ctx); err != nil && spoilt(err) {
			if err := ix.discard(); err != nil {
				return err
			}
			built, err = ix.rebuildHere(ctx)
		}
		if errors.Is(err, fs.ErrNotExist) && ix.missing() {
			err = errors.Join(errGone, err)
		}
		return err
	})
	return built, err
}

func (ix *Index) rebuildHere(ctx context.Context) (built RebuildResult, err error) {
	if ix.isBroken() {
		return built, errUnusable
	}
	k, began := newKnown(), ix.w.Env.Clock.Now()
	ix.known = nil
	err = ix.connected(ctx, true, func(conn *link) error {
		if err := ix.acceptable(ctx, conn); err != nil {
			return err
		}
		w := newWriter(ctx, conn, k)
		if err := w.end(ix.fill(ctx, w, k)); err != nil {
			return err
		}
		var s Stats
		s, err = readStats(context.WithoutCancel(ctx), conn)
		k.stats = &s
		built = s.rebuilt(Path(ix.w.Dir()))
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

// acceptable rejects the database of another program, and prepares one that is empty or ours.
func (ix *Index) acceptable(ctx context.Context, conn *link) error {
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
func (ix *Index) fill(ctx context.Context, w *writer, k *known) error {
	if err := w.begin(); err != nil {
		return err
	}
	// Generations never repeat, so no process mistakes an old index for this one.
	var last sql.NullInt64
	if err := w.conn.QueryRowContext(w.ctx, "SELECT max(generation) FROM ac_state").Scan(&last); err != nil && !spoilt(err) {
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
	if err := newPass(ctx, ix.w, k, ix.seen, w, source.Scope{}).run(); err != nil {
		return err
	}
	_, err := w.conn.ExecContext(w.ctx, indexes)
	return err
}

// sync brings the index up to date.
func (ix *Index) sync(ctx context.Context, scope source.Scope) (SyncResult, error) {
	var synced SyncResult
	err := ix.patient(func() (err error) {
		synced, err = ix.syncHere(ctx, scope)
		return err
	})
	if err == nil || !spoilt(err) && (!errors.Is(err, fs.ErrNotExist) || !ix.missing()) {
		return synced, err
	}
	built, err := ix.rebuild(ctx)
	return built.synced(), err
}

func (ix *Index) missing() bool {
	_, err := ix.identity()
	return errors.Is(err, fs.ErrNotExist)
}

func (ix *Index) syncHere(ctx context.Context, scope source.Scope) (synced SyncResult, err error) {
	if ix.isBroken() {
		return synced, errUnusable
	}
	began := ix.w.Env.Clock.Now()
	err = ix.connected(ctx, false, func(conn *link) error {
		quiet := context.WithoutCancel(ctx)
		generation, err := ix.ours(quiet, conn)
		if err != nil {
			return err
		}
		k, all := ix.known, scope == (source.Scope{})
		var sources []source.File // all of them, if the digest shortcut listed them; else nil
		if k == nil && all && !ix.private && (ix.seen == nil || !ix.glanced) {
			ix.glanced = true
			if sources, err = ix.listed(ctx); err != nil {
				return err
			}
			if ix.unchanged(generation, sources) {
				s, err := readSeen(quiet, conn)
				s.seen(&synced)
				synced.DBPath = Path(ix.w.Dir())
				ix.noteSync(began)
				return err
			}
		}
		if k == nil || k.generation != generation {
			if k, err = loadKnown(quiet, conn, generation); err != nil {
				return err
			}
		}
		ix.known = nil
		w := newWriter(ctx, conn, k)
		p := newPass(ctx, ix.w, k, ix.seen, w, scope)
		p.sources = sources
		if k.stats == nil {
			s, err := readSeen(quiet, conn)
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
			s, err := readSeen(quiet, conn)
			if err != nil {
				return err
			}
			k.stats = &s
		}
		s := *k.stats
		synced = p.synced
		s.seen(&synced)
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

// loadKnown reads the file states that the index holds.
func loadKnown(ctx context.Context, conn *link, generation int64) (*known, error) {
	k := newKnown()
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
