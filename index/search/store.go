// Package search maintains the full-text index of a workspace: what people read of runs, tasks,
// people, artifacts and conversations, in .local/search.sqlite. It is a cache: it can be
// deleted at any time and is filled again.
//
// Invariants:
//   - Titles and bodies are redacted before they are written, so that the file holds no secret.
//   - Each chunk of a source is written in one transaction. A source whose chunks are not all
//     written counts as behind.
//   - No query text can cause an SQLite error.
package search

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"modernc.org/sqlite"

	"ac/internal/durable"
	"ac/internal/fault"
	"ac/internal/lock"
	"ac/workspace"
)

const (
	// applicationID and version distinguish our files from others and from older ones.
	applicationID = 0x61637365
	version       = 1
	// sourceShift composes row IDs: the source's ID is above it, the row's number below.
	sourceShift = 32
)

const schema = `
CREATE TABLE sources(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, version TEXT NOT NULL, seq INTEGER NOT NULL,
  kind TEXT NOT NULL, ref TEXT NOT NULL, project TEXT NOT NULL, agent TEXT NOT NULL, status TEXT NOT NULL, guard TEXT NOT NULL);
CREATE INDEX sources_by_ref ON sources(ref);
CREATE INDEX sources_by_ending ON sources(lower(substr(ref,-6)));
CREATE VIRTUAL TABLE hits USING fts5(title, body, kind UNINDEXED, ref UNINDEXED, project UNINDEXED, run UNINDEXED, seq UNINDEXED, at UNINDEXED,
  tokenize="unicode61 remove_diacritics 2 tokenchars '_'", prefix='2 3');
`

// Store is the search index of one workspace. It is safe for concurrent use by goroutines and
// processes.
type Store struct {
	w      *workspace.Workspace
	writer *lock.Mutex

	mu sync.Mutex
	db *sql.DB // nil until first used
	id durable.Identity
}

// For returns the store of a workspace. It opens and creates nothing yet; Close closes it.
func For(w *workspace.Workspace) *Store {
	return &Store{w: w, writer: lock.NewMutex(w.FS, workspace.LockFile("search"))}
}

// Close closes the file. No method may be called afterwards.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.close()
}

func (s *Store) close() error {
	if s.db == nil {
		return nil
	}
	err := s.db.Close()
	s.db = nil
	return err
}

// open returns the database. It creates a missing one, and recreates one that is damaged or not
// ours.
func (s *Store) open(ctx context.Context) (*sql.DB, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, err := s.identity()
	if s.db != nil && err == nil && id == s.id {
		return s.db, nil
	}
	_ = s.close() // the file was deleted or replaced
	for attempt := 0; ; attempt++ {
		if s.db, err = s.begin(ctx); err == nil {
			return s.db, nil
		}
		if attempt > 0 || !isUnusable(err) {
			return nil, err
		}
		if err := s.remove(); err != nil {
			return nil, err
		}
	}
}

// identity stats the file. It rejects a link, which could lead out of the workspace.
func (s *Store) identity() (id durable.Identity, err error) {
	for _, name := range []string{workspace.LocalDir, workspace.SearchFile} {
		st, err := s.w.FS.Lstat(name)
		if err != nil {
			return id, err
		}
		if st.Mode()&fs.ModeSymlink != 0 {
			return id, fault.New(fault.IO, "%s is a link: it is not followed", name)
		}
		id = durable.IdentityOf(st)
	}
	return id, nil
}

// errNotOurs is the error for a database of another application or version.
var errNotOurs = errors.New("the search index is of another version")

// isUnusable reports whether an error means that the file is unusable and must be recreated.
func isUnusable(err error) bool {
	if errors.Is(err, errNotOurs) {
		return true
	}
	failed, ok := errors.AsType[*sqlite.Error](err)
	const corrupt, notADatabase, cantOpen = 11, 26, 14
	return ok && (failed.Code()&0xff == corrupt || failed.Code()&0xff == notADatabase || failed.Code()&0xff == cantOpen)
}

func (s *Store) begin(ctx context.Context) (*sql.DB, error) {
	if _, err := s.identity(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := durable.MkdirAll(s.w.FS, workspace.LocalDir, 0o755); err != nil {
		return nil, err
	}
	f, err := s.w.FS.OpenFile(workspace.SearchFile, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Join(s.w.Dir(), filepath.FromSlash(workspace.SearchFile)))}
	u.RawQuery = url.Values{"mode": {"rw"}, "_pragma": {
		"busy_timeout(5000)", "journal_mode(wal)", "synchronous(off)", "cache_size(-8192)", "trusted_schema(0)", "journal_size_limit(1048576)",
	}}.Encode()
	db, err := sql.Open("sqlite", u.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(4)
	if err = s.prepare(ctx, db); err == nil {
		s.id, err = s.identity()
	}
	if err != nil {
		_ = db.Close() // the file is unusable
		return nil, err
	}
	return db, nil
}

// prepare creates the tables in an empty file. It rejects a file that is not ours.
func (s *Store) prepare(ctx context.Context, db *sql.DB) error {
	unlock, err := s.writer.Lock(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = unlock() }() // nothing to lose
	var application, have, tables int
	if err := errors.Join(
		db.QueryRowContext(ctx, "PRAGMA application_id").Scan(&application), db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have),
		db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables),
	); err != nil {
		return err
	}
	switch {
	case application == applicationID && have == version:
		return nil
	case tables > 0:
		return errNotOurs
	}
	_, err = db.ExecContext(ctx, schema+"PRAGMA application_id="+strconv.Itoa(applicationID)+"; PRAGMA user_version="+strconv.Itoa(version))
	return err
}

func (s *Store) remove() (failed error) {
	for _, suffix := range []string{"-wal", "-shm", "-journal", ""} {
		failed = errors.Join(failed, s.w.FS.RemoveAll(workspace.SearchFile+suffix))
	}
	return failed
}
