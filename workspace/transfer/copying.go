package transfer

// Copying a tree that may be written meanwhile: first everything without a lock, then the
// changes while writers are locked out.

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"ac/internal/durable"
	"ac/internal/fault"
	"ac/workspace"
)

// copying is a copy in progress.
type copying struct {
	from, into durable.FS
	source     string // the path of from
	local      bool
	forbidden  map[durable.Identity]bool // the target and its parent directories

	entries []string
	skipped []string
	dirs    []directory                // in order of creation
	done    map[string]durable.Version // versions of copied files
	seen    map[string]bool            // in the current pass
}

type directory struct {
	name string
	info fs.FileInfo
}

// billing is the only part of .local that is not specific to one machine.
const billing = workspace.BillingDir

// tops returns the top-level directories to copy.
func (c *copying) tops() []string {
	if c.local || durable.Exists(c.from, billing) {
		return workspace.Roots()
	}
	return workspace.Portable()
}

// excluded reports whether a name is not copied. Unless local is set, nothing in .local but
// billing is copied. Names that are not workspace.IsExportable are never copied.
func (c *copying) excluded(name string) bool {
	if !c.local && strings.HasPrefix(name, workspace.LocalDir+"/") && name != billing && !strings.HasPrefix(name, billing+"/") {
		return true
	}
	return !workspace.IsExportable(name)
}

// all copies everything in two passes. The second has little to do, and runs while the source
// is locked, if it can be locked.
func (c *copying) all(ctx context.Context, from *workspace.Workspace) error {
	if err := c.pass(ctx); err != nil {
		return err
	}
	if !durable.Exists(c.from, workspace.LocksDir) {
		return c.pass(ctx) // an inactive copy: creating a lock would change it
	}
	locked := false
	err := from.Update(ctx, func(*workspace.Unit) error {
		locked = true
		return c.pass(ctx)
	})
	if err != nil && !locked && readOnly(err) {
		return c.pass(ctx) // other processes cannot write there either
	}
	return err
}

func readOnly(err error) bool {
	return errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrPermission)
}

// pass copies what is new or changed since the last pass, and removes what has disappeared.
func (c *copying) pass(ctx context.Context) error {
	c.entries, c.skipped, c.dirs, c.seen = nil, nil, nil, map[string]bool{}
	for _, top := range c.tops() {
		st, err := c.from.Lstat(top)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = c.entry(ctx, top, st)
		}
		if err != nil {
			return failed(top, err)
		}
		if c.seen[top] {
			c.entries = append(c.entries, top)
		}
	}
	for name := range c.done {
		if !c.seen[name] {
			if err := c.into.RemoveAll(name); err != nil {
				return failed(name, err)
			}
			delete(c.done, name)
		}
	}
	return nil
}

func failed(name string, err error) error {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f
	}
	return fault.New(fault.IO, "cannot copy %s: %w", name, err)
}

func (c *copying) entry(ctx context.Context, name string, st fs.FileInfo) error {
	if err := interrupted(ctx); err != nil {
		return err
	}
	switch {
	case c.excluded(name) || (durable.IsTempName(path.Base(name)) && !st.IsDir()):
		return nil
	case st.IsDir():
		return c.directory(ctx, name, st)
	case st.Mode().IsRegular():
		return c.copyChanged(name, st, func(name string, st fs.FileInfo) error { return c.file(ctx, name, st) })
	case st.Mode()&fs.ModeSymlink != 0:
		return c.link(name, st)
	}
	c.skipped = append(c.skipped, name)
	return nil
}

// copyChanged copies an entry unless it has not changed since the last pass.
func (c *copying) copyChanged(name string, st fs.FileInfo, copyAnew func(name string, st fs.FileInfo) error) error {
	c.seen[name] = true
	version := durable.VersionOf(st)
	old, known := c.done[name]
	if known && old == version {
		return nil
	}
	if known {
		if err := c.into.RemoveAll(name); err != nil {
			return err
		}
	}
	c.done[name] = version
	return copyAnew(name, st)
}

func (c *copying) directory(ctx context.Context, name string, st fs.FileInfo) error {
	if c.forbidden[durable.IdentityOf(st)] {
		return overlap(path.Join(c.source, name), "the target")
	}
	c.seen[name] = true
	c.dirs = append(c.dirs, directory{name, st})
	version, known := c.done[name]
	if known && version != (durable.Version{}) { // it was a file before
		known = false
		if err := c.into.RemoveAll(name); err != nil {
			return err
		}
	}
	if !known {
		// seal sets its real permissions at the end, since they may be read-only.
		if err := c.into.Mkdir(name, 0o700); err != nil {
			return err
		}
		c.done[name] = durable.Version{}
	}
	children, err := c.from.ReadDir(name)
	if err != nil {
		return err
	}
	for _, child := range children {
		full := path.Join(name, child.Name())
		info, err := c.from.Lstat(full)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed meanwhile
		}
		if err == nil {
			err = c.entry(ctx, full, info)
		}
		if errors.Is(err, errGone) {
			delete(c.seen, full)
			continue
		}
		if err != nil {
			return failed(full, err)
		}
	}
	return nil
}

// errGone reports a file that was removed before it could be opened.
var errGone = errors.New("deleted meanwhile")

// file copies a file at its current length. Logs may grow meanwhile; documents are replaced.
func (c *copying) file(ctx context.Context, name string, st fs.FileInfo) error {
	in, err := c.from.OpenFile(name, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return errGone
	}
	if err != nil {
		return err
	}
	defer in.Close()
	size, err := wholeLines(in, name, st.Size())
	if err != nil {
		return err
	}
	out, err := c.into.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(out, sum), io.LimitReader(untilDone{ctx, in}, size))
	if err == nil && n < size {
		c.done[name] = durable.Version{} // it shrank: copy it again in the next pass
	}
	if err == nil {
		err = out.SyncData()
	}
	if err == nil {
		err = verify(out, name, n, sum.Sum(nil))
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	return errors.Join(c.into.Chmod(name, st.Mode().Perm()), c.into.SetModified(name, st.ModTime()))
}

// untilDone is a reader that stops when its context ends, since files may be large.
type untilDone struct {
	ctx context.Context //nolint:containedctx // io.Reader has no context
	in  io.Reader
}

func (r untilDone) Read(b []byte) (int, error) {
	if err := interrupted(r.ctx); err != nil {
		return 0, err
	}
	return r.in.Read(b)
}

func interrupted(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return fault.New(fault.Canceled, "the copy was interrupted; the target is as before: %w", context.Cause(ctx))
}

// wholeLines adjusts the size of a log to whole lines, since a long line may become visible
// in parts while it is written.
func wholeLines(in durable.File, name string, size int64) (int64, error) {
	if path.Ext(name) != ".jsonl" {
		return size, nil
	}
	for range 100 {
		last := []byte{'\n'}
		if size > 0 {
			if _, err := in.ReadAt(last, size-1); err != nil && !errors.Is(err, io.EOF) {
				return 0, err
			}
		}
		st, err := in.Stat()
		if err != nil || last[0] == '\n' || st.Size() <= size {
			return size, err // copy a torn tail unchanged
		}
		size = st.Size()
	}
	return size, nil
}

// verify reads a copy back and compares its hash.
func verify(out durable.File, name string, size int64, want []byte) error {
	if _, err := out.Seek(0, io.SeekStart); err != nil {
		return err
	}
	sum := sha256.New()
	n, err := io.Copy(sum, out)
	if err != nil {
		return err
	}
	if n != size || !bytes.Equal(sum.Sum(nil), want) {
		return fmt.Errorf("the copy of %s differs from the original", name)
	}
	return nil
}

// link copies a symlink as a relative one, if its target is copied too.
func (c *copying) link(name string, st fs.FileInfo) error {
	found, err := filepath.EvalSymlinks(filepath.Join(c.source, filepath.FromSlash(name)))
	if err != nil {
		c.skipped = append(c.skipped, name)
		return nil //nolint:nilerr // a dangling link is omitted
	}
	rel, err := filepath.Rel(c.source, found)
	rel = filepath.ToSlash(rel)
	if err != nil || !c.copied(rel) {
		c.skipped = append(c.skipped, name)
		return nil //nolint:nilerr // so is one that leaves the workspace
	}
	target, err := filepath.Rel(filepath.FromSlash(path.Dir(name)), filepath.FromSlash(rel))
	if err != nil {
		return err
	}
	return c.copyChanged(name, st, func(name string, _ fs.FileInfo) error {
		return c.into.Symlink(filepath.ToSlash(target), name)
	})
}

// copied reports whether a name of the source is copied.
func (c *copying) copied(name string) bool {
	parts := strings.Split(name, "/")
	if !slices.Contains(c.tops(), parts[0]) {
		return false
	}
	for i := range parts {
		if c.excluded(strings.Join(parts[:i+1], "/")) {
			return false
		}
	}
	return true
}

// seal sets the permissions and times of directories, deepest first, and makes all names
// durable.
func (c *copying) seal() error {
	for _, d := range slices.Backward(c.dirs) {
		err := c.into.SyncDir(d.name)
		if err == nil {
			err = c.into.Chmod(d.name, d.info.Mode().Perm())
		}
		if err == nil {
			err = c.into.SetModified(d.name, d.info.ModTime())
		}
		if err != nil {
			return failed(d.name, err)
		}
	}
	return c.into.SyncDir(".")
}
