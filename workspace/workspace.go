// Package workspace stores a company on disk. It defines the layout of the documents,
// reads and writes them, and defines what makes a folder a workspace.
//
// Invariants:
//   - A write of several documents and events is atomic, across crashes (Unit).
//   - No path leaves the workspace's folder: no path traversal.
//   - A document found by id contains that id.
//   - Programs that follow the lock protocol never overwrite each other's changes:
//     neither others ours nor we theirs.
package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"ac/events"
	"ac/internal/clock"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/internal/filecache"
	"ac/internal/lock"
	"ac/internal/proc"
	"ac/internal/ulid"
	"ac/internal/watch"
	"ac/internal/yamldoc"
)

// Env holds what a workspace depends on: the clock, ids, the file system, and this process's
// identity. It is immutable.
type Env struct {
	Clock *clock.Clock
	IDs   *ulid.Source
	// OpenFS opens the tree of a directory. If nil, the real file system is used.
	OpenFS func(dir string) (durable.FS, error)
	// LockPatience bounds the wait for the write lock; 0 means five seconds.
	LockPatience time.Duration
	PID          int
	Host         string
}

// SystemEnv returns the environment of a real process on this machine.
func SystemEnv() Env { return EnvAt(clock.System()) }

// EnvAt is SystemEnv with the caller's clock.
func EnvAt(c *clock.Clock) Env {
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	return Env{Clock: c, IDs: ulid.NewSource(c.Now), PID: os.Getpid(), Host: host}
}

// FS opens the tree of any directory. The caller closes it.
func (e Env) FS(dir string) (durable.FS, error) {
	if e.OpenFS != nil {
		return e.OpenFS(dir)
	}
	return durable.OpenRoot(dir)
}

const defaultLockPatience = 5 * time.Second

// Workspace is an open workspace. It is safe for concurrent use.
type Workspace struct {
	FS     durable.FS
	Env    Env
	Events events.Source
	// Listings caches directory listings for the whole process.
	Listings *filecache.Listings

	dir      string
	namer    durable.Namer
	write    *lock.Mutex
	shared   *lock.SharedFile
	docs     *filecache.Cache[any]
	appended func(log string)
	logs     openLogs
	watched  *watch.Tree
	gaveUp   atomic.Int64 // when a wait for the write lock last timed out; 0 once it was acquired
}

// IsWorkspace reports whether a directory is a workspace: company/company.yaml must be a
// regular file.
func IsWorkspace(fsys durable.FS) bool {
	st, err := fsys.Stat(CompanyFile)
	return err == nil && st.Mode().IsRegular()
}

// Open opens the workspace in a directory. It returns fault.NotAWorkspace for any other
// directory. It creates nothing.
func Open(env Env, dir string) (*Workspace, error) {
	for {
		fsys, err := env.FS(dir)
		if err != nil {
			return nil, notAWorkspace(dir, err)
		}
		if IsWorkspace(fsys) {
			return newWorkspace(env, dir, fsys), nil
		}
		replaced := replacedAt(dir, fsys)
		if err := fsys.Close(); err != nil || !replaced {
			return nil, notAWorkspace(dir, err)
		}
	}
}

// Replaced reports whether the path of the workspace now leads to another directory than the
// one opened.
func (w *Workspace) Replaced() bool { return replacedAt(w.dir, w.FS) }

func replacedAt(dir string, fsys durable.FS) bool {
	opened, err := fsys.Stat(".")
	if err != nil {
		return false
	}
	now, err := os.Stat(dir)
	return err == nil && !durable.SameFile(opened, now)
}

func newWorkspace(env Env, dir string, fsys durable.FS) *Workspace {
	w := &Workspace{
		FS: fsys, Env: env, dir: dir,
		Events: events.Source{Clock: env.Clock, NewID: env.IDs.New},
		namer:  durable.Namer{PID: env.PID, UnixMS: func() int64 { return env.Clock.Now().UnixMilli() }, Random: env.IDs.Hex},
		write:  lock.NewMutex(fsys, writeKernelLock),
		docs:   filecache.New[any](nil), Listings: filecache.NewListings(),
		watched: watch.NewTree(dir),
	}
	w.shared = &lock.SharedFile{
		FS: fsys, Name: writeLockFile, PID: env.PID, Host: env.Host, Clock: env.Clock,
		Random: env.IDs.Hex, Alive: proc.Exists,
	}
	return w
}

func notAWorkspace(dir string, cause error) error {
	return &fault.Error{
		Reason:  fault.NotAWorkspace,
		Message: fmt.Sprintf("%s is not a workspace: it has no %s (make one with: ac workspace:init %s)", dir, CompanyFile, dir),
		Cause:   cause,
	}
}

// Dir returns the path with which the workspace was opened.
func (w *Workspace) Dir() string { return w.dir }

// Watched returns this process's shared watch on the workspace's files. Close ends it.
func (w *Workspace) Watched() *watch.Tree { return w.watched }

// Close closes the directory and ends its watch.
func (w *Workspace) Close() error { return errors.Join(w.watched.Close(), w.FS.Close()) }

// OnAppend sets the listener. It is called with a log's name after an append by this process
// has become durable. Set it before using the workspace.
func (w *Workspace) OnAppend(told func(log string)) { w.appended = told }

// NotifyAppend notifies the listener that a log grew.
func (w *Workspace) NotifyAppend(log string) {
	if w.appended != nil {
		w.appended(log)
	}
}

// Append appends events to one log and returns once they are durable. It does not take the
// write lock.
func (w *Workspace) Append(ctx context.Context, log string, drafts ...events.Draft) error {
	l := w.logs.open(w.FS, log)
	err := errors.Join(l.Append(ctx, drafts...), w.logs.close(log))
	if err == nil {
		w.NotifyAppend(log)
	}
	return err
}

// Read reads a whole document. It returns fault.NotFound if there is none.
func (w *Workspace) Read(name string) ([]byte, error) { return readDocument(w.FS, name) }

func readDocument(fsys durable.FS, name string) ([]byte, error) {
	text, _, err := readDocumentInfo(fsys, name)
	return text, err
}

func readDocumentInfo(fsys durable.FS, name string) ([]byte, fs.FileInfo, error) {
	text, st, err := durable.ReadFileInfo(fsys, name, yamldoc.MaxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fault.New(fault.NotFound, "%s does not exist", name)
	}
	if err != nil {
		return nil, nil, fault.New(fault.InvalidFile, "%s cannot be read: %w", name, err)
	}
	return text, st, nil
}

// Exists reports whether a name resolves to something inside the workspace.
func (w *Workspace) Exists(name string) bool { return durable.Exists(w.FS, name) }

// Replace durably replaces one document. For read-modify-write use Update, which prevents
// lost updates.
func (w *Workspace) Replace(name string, content []byte, perm fs.FileMode) error {
	return w.namer.Write(w.FS, name, content, perm)
}

// ReplaceUnsynced is Replace without the sync to disk: after a crash the document may have its earlier
// content.
func (w *Workspace) ReplaceUnsynced(name string, content []byte, perm fs.FileMode) error {
	return w.namer.WriteUnsynced(w.FS, name, content, perm)
}

// TempName returns a free name beside a document, which readers ignore.
func (w *Workspace) TempName(name string) string { return w.namer.TempName(name) }

// Identity returns the device and inode of a directory. A swap of the tree at this path
// changes it.
func Identity(dir string) (durable.Identity, error) {
	st, err := os.Stat(dir)
	if err != nil {
		return durable.Identity{}, err
	}
	return durable.IdentityOf(st), nil
}

// Canonical returns the canonical path of a directory: absolute, clean, with the symlinks of
// its existing part resolved. The directory need not exist.
func Canonical(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil || len(abs) > maxPath {
		return filepath.Clean(dir) // no file can have this name
	}
	// Find the longest existing prefix by binary search.
	ends := []int{}
	for i := 1; i < len(abs); i++ {
		if os.IsPathSeparator(abs[i]) {
			ends = append(ends, i)
		}
	}
	ends = append(ends, len(abs))
	n, _ := slices.BinarySearchFunc(ends, true, func(end int, _ bool) int {
		if _, err := os.Stat(abs[:end]); err != nil {
			return 1
		}
		return -1
	})
	if n == 0 {
		return abs
	}
	found, err := filepath.EvalSymlinks(abs[:ends[n-1]])
	if err != nil {
		return abs
	}
	return filepath.Join(found, abs[ends[n-1]:])
}

// maxPath is the longest path that a system accepts, in bytes.
const maxPath = 4096
