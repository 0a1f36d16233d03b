// Package filetools provides read-only file tools for agents. An agent that may not run commands
// has no other way to read files (docs/adr/0012).
//
// Directories are opened as os.Root, which prevents path traversal through names and symlinks.
package filetools

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ac/internal/durable"
	"ac/internal/fault"
)

// answerBytes bounds one answer. Agents silently cut the middle out of longer answers. A
// truncated answer therefore ends with how to continue.
const answerBytes = 32 << 10

// Dirs is the set of directories that the tools may read. Relative paths are relative to the
// first. Dirs is safe for concurrent use.
type Dirs struct {
	dirs []string // absolute, symlinks resolved
}

// New returns the Dirs of existing directories.
func New(dirs ...string) (*Dirs, error) {
	d := &Dirs{}
	for _, dir := range dirs {
		found, err := filepath.Abs(dir)
		if err == nil {
			found, err = filepath.EvalSymlinks(found)
		}
		if err != nil {
			return nil, err
		}
		d.dirs = append(d.dirs, found)
	}
	return d, nil
}

// rootedPath is a path inside one of the directories.
type rootedPath struct {
	root *durable.Root
	dir  string
	name string // slash-separated; "." for the directory itself
}

// open opens the directory that contains a path. The caller closes its root.
func (d *Dirs) open(name string) (rootedPath, error) {
	if !filepath.IsAbs(name) {
		return openIn(d.dirs[0], name)
	}
	for _, spelled := range resolvedPaths(name) {
		for _, dir := range d.dirs {
			if rel, err := filepath.Rel(dir, spelled); err == nil && filepath.IsLocal(rel) {
				return openIn(dir, rel)
			}
		}
	}
	return rootedPath{}, fault.InvalidField("path", "%s is in none of %s", name, strings.Join(d.dirs, ", "))
}

func openIn(dir, rel string) (rootedPath, error) {
	root, err := durable.OpenRoot(dir)
	return rootedPath{root, dir, filepath.ToSlash(filepath.Clean(rel))}, err
}

// resolvedPaths returns an absolute path as given, with the symlinks in its directory resolved, and
// with all symlinks resolved. They only select the directory. Its root confines the actual open,
// so a symlink that changes in between (a TOCTOU race) has no effect.
func resolvedPaths(name string) []string {
	all := []string{name}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(name)); err == nil {
		all = append(all, filepath.Join(dir, filepath.Base(name)))
	}
	if whole, err := filepath.EvalSymlinks(name); err == nil {
		all = append(all, whole)
	}
	return all
}

// full returns a name in p in the form that the agent uses.
func (p rootedPath) full(d *Dirs, name string) string {
	if p.dir == d.dirs[0] {
		return name
	}
	return filepath.Join(p.dir, filepath.FromSlash(name))
}

// plain converts a file error to one that reveals no path except name.
func plain(name string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return fault.New(fault.NotFound, "there is no %s", name)
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return fault.New(fault.IO, "%s: %w", name, err)
}

// walk visits the files below a path in name order, down to a depth, 0 for unlimited. It visits
// symlinks without following them. It does not enter .git, and skips directories that it cannot
// read.
func (p rootedPath) walk(ctx context.Context, depth int, visit func(name string, entry fs.DirEntry) error) error {
	root, err := os.OpenRoot(p.dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // opened for reading only
	return fs.WalkDir(root.FS(), p.name, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && name == p.name:
			return err
		case err != nil || name == p.name && entry.IsDir():
			return nil //nolint:nilerr // what cannot be read is skipped
		}
		if err := visit(name, entry); err != nil || !entry.IsDir() {
			return err
		}
		if entry.Name() == ".git" || depth > 0 && p.level(name) >= depth {
			return fs.SkipDir
		}
		return nil
	})
}

// level returns the depth of a name below p.
func (p rootedPath) level(name string) int {
	if p.name != "." {
		name = strings.TrimPrefix(name, p.name+"/")
	}
	return strings.Count(name, "/") + 1
}
