package index

// The database file: opening it, detecting whether it is ours, and replacing it if it is not.

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	sqlite "modernc.org/sqlite"

	"ac/internal/durable"
	"ac/internal/fault"
	"ac/workspace"
)

// databaseFile is the index, in workspace.LocalDir.
const (
	databaseFile = workspace.IndexFile
)

// Path returns the path of the index file of a workspace.
func Path(dir string) string { return filepath.Join(dir, filepath.FromSlash(databaseFile)) }

// pageSize is the page size of our files.
const pageSize = 4096

// errUnusable is returned for a file that is not ours or cannot be read.
var errUnusable = errors.New("the index file is unusable")

func noIndex(cause error) error {
	return &fault.Error{Reason: fault.NoIndex, Message: "the workspace has no index: rebuild or sync it first", Cause: cause}
}

// SQLite result codes that concern the file.
const (
	codeError     = 1
	codeCorrupt   = 11
	codeNotADB    = 26
	codeFormat    = 24
	codeCantOpen  = 14
	codeBusy      = 5
	codeIO        = 10
	codeShortRead = 10 | 2<<8
)

// isUnusable reports whether an error means that the file is not a valid index of ours.
func isUnusable(err error) bool {
	if errors.Is(err, errUnusable) || errors.Is(err, errState) {
		return true
	}
	failed, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return false
	}
	switch code := failed.Code(); {
	case code&0xff == codeCorrupt, code&0xff == codeNotADB, code == codeFormat, code == codeShortRead:
		return true
	case code&0xff == codeCantOpen:
		return true
	case code&0xff == codeError:
		text := failed.Error()
		return strings.Contains(text, "no such table") || strings.Contains(text, "no such column") || strings.Contains(text, "has no column") ||
			strings.Contains(text, "values were supplied") || strings.Contains(text, "malformed database schema")
	}
	return false
}

// errGone is returned if the file was deleted while a rebuild wrote it.
var errGone = errors.New("the index file was deleted")

// isTransient reports whether an error is transient: the file was deleted or
// replaced while in use, or another process is rebuilding it. A retry on the
// current file may succeed.
func (ix *Index) isTransient(err error) bool {
	if errors.Is(err, errGone) {
		return true
	}
	failed, ok := errors.AsType[*sqlite.Error](err)
	if !ok || ix.private {
		return false
	}
	if code := failed.Code() & 0xff; code == codeBusy || code == codeIO && failed.Code() != codeShortRead {
		return true
	}
	id, gone := ix.identity()
	ix.mu.Lock()
	defer ix.mu.Unlock()
	return gone != nil || id != ix.id
}

// reopen closes the file, so that the next use opens the file that is there then.
func (ix *Index) reopen() {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	_ = ix.closeDB() // no unsaved changes
}

// retryTransient retries fn a few times while its errors are transient.
func (ix *Index) retryTransient(fn func() error) error {
	for attempt := 1; ; attempt++ {
		err := fn()
		if err == nil || attempt == maxAttempts || !ix.isTransient(err) {
			return err
		}
		ix.reopen()
	}
}

// maxAttempts bounds the tries while the file keeps disappearing.
const maxAttempts = 5

// identity stats the file without opening it: closing a descriptor of ours would release
// SQLite's POSIX locks on the file.
func (ix *Index) identity() (id durable.Identity, err error) {
	if ix.private {
		return id, nil
	}
	st, err := ix.w.FS.Lstat(workspace.LocalDir)
	if err != nil {
		return id, err
	}
	if !st.IsDir() {
		return id, errUnusable // a symlink may leave the workspace
	}
	if st, err = ix.w.FS.Lstat(databaseFile); err != nil {
		return id, err
	}
	if !st.Mode().IsRegular() || st.Size()%pageSize != 0 {
		return id, errUnusable
	}
	return durable.IdentityOf(st), nil
}

func (ix *Index) closeDB() error {
	if ix.db == nil {
		return nil
	}
	var failed error
	for _, l := range ix.idle {
		failed = errors.Join(failed, l.close())
	}
	failed = errors.Join(failed, ix.db.Close())
	ix.idle, ix.db = nil, nil
	return failed
}

// open returns the database of the current file. Without create, a missing file yields
// fs.ErrNotExist.
func (ix *Index) open(create bool) (*sql.DB, error) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if ix.closed {
		return nil, fault.New(fault.Canceled, "the index is closed")
	}
	id, err := ix.identity()
	if ix.db != nil && (err != nil || id != ix.id) {
		// The file was deleted or replaced.
		_ = ix.closeDB() // no unsaved changes
	}
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && (!missing || !create) {
		return nil, err
	}
	if ix.db != nil {
		return ix.db, nil
	}
	if missing {
		if err := durable.MkdirAll(ix.w.FS, workspace.LocalDir, 0o755); err != nil {
			return nil, err
		}
		f, err := ix.w.FS.OpenFile(databaseFile, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err != nil {
			return nil, err
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
		if id, err = ix.identity(); err != nil {
			return nil, err
		}
	}
	at := address(ix.w.Dir())
	if ix.private {
		at = "file:?_pragma=cache_size(-4096)&_pragma=trusted_schema(0)" // temporary: SQLite spills it to disk once it outgrows memory
	}
	db, err := sql.Open("sqlite", at)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(8)
	db.SetMaxIdleConns(2)
	if ix.private {
		db.SetMaxOpenConns(1) // each connection would have a database of its own
	}
	ix.db, ix.id = db, id
	return db, nil
}

func address(dir string) string {
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(Path(dir))}
	query := url.Values{"mode": {"rw"}, "_pragma": {
		"busy_timeout(10000)", "synchronous(normal)", "journal_size_limit(1048576)", "cache_size(-4096)", "page_size(4096)", "trusted_schema(0)",
	}}
	u.RawQuery = query.Encode()
	return u.String()
}

// inode returns the inode of the open file. The index stores it too, to detect a copied file,
// or a file placed next to the WAL of another.
func (ix *Index) inode() int64 {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	return int64(ix.id.Inode)
}

// readGeneration checks that a connection's database is an index of this version, and returns its
// generation.
func (ix *Index) readGeneration(ctx context.Context, conn *dbConn) (generation int64, err error) {
	var application, version int64
	if err := conn.queryRow(ctx, "PRAGMA application_id", nil, &application); err != nil {
		return 0, err
	}
	if err := conn.queryRow(ctx, "PRAGMA user_version", nil, &version); err != nil {
		return 0, err
	}
	if application != applicationID || version != schemaVersion {
		return 0, errUnusable
	}
	var inode int64
	err = conn.queryRow(ctx, "SELECT generation, inode FROM ac_state", nil, &generation, &inode)
	if errors.Is(err, sql.ErrNoRows) || (err == nil && inode != ix.inode()) {
		err = errUnusable
	}
	return generation, err
}

// discard removes the file and its side files. The caller holds the index lock.
func (ix *Index) discard() error {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	_ = ix.closeDB() // it is useless now
	ix.broken = false
	if ix.private {
		return nil
	}
	if st, err := ix.w.FS.Lstat(workspace.LocalDir); err == nil && !st.IsDir() {
		return fault.New(fault.IO, "%s is not a directory of the workspace", workspace.LocalDir)
	}
	var failed error
	for _, suffix := range []string{"-wal", "-shm", "-journal", "-synced", ""} {
		failed = errors.Join(failed, ix.w.FS.RemoveAll(databaseFile+suffix))
	}
	return failed
}

func (ix *Index) markBroken() {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	ix.broken = true
}

func (ix *Index) isBroken() bool {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	return ix.broken
}

// withConn runs fn with exclusive use of a connection. If fn panics, the connection is closed,
// since a transaction may be open in it: that of a writer would keep all others from writing.
func (ix *Index) withConn(ctx context.Context, create bool, fn func(*dbConn) error) error {
	if ix.private {
		ix.privateMu.Lock()
		defer ix.privateMu.Unlock()
	}
	db, err := ix.open(create)
	if err != nil {
		return err
	}
	l, err := ix.acquireConn(ctx, db)
	if err != nil {
		return err
	}
	returned := false
	defer func() {
		if !returned {
			l.discard()
		}
	}()
	err = fn(l)
	returned = true
	return errors.Join(err, ix.releaseConn(l))
}
