// Package filetools lets agents without a tool for it read files: those of some
// directories, and nothing but read. An agent that may run no command has no
// other eyes (docs/adr/0012).
//
// Paths lead nowhere else, by links neither: directories are opened as os.Root.
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

// answerBytes is how much one answer holds. Agents cut what is longer in its
// middle, where nobody sees what is missing; every answer says how to go on.
const answerBytes = 32 << 10

// Dirs are the directories that may be read. Paths that are not absolute are of
// the first. It is safe for concurrent use.
type Dirs struct {
	dirs []string // absolute, links resolved
}

// New takes directories that exist.
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

// rootedPath is a path in one of the directories.
type rootedPath struct {
	root *durable.Root
	dir  string
	name string // slashes; "." for the directory itself
}

// open finds the directory of a path. The caller closes it.
func (d *Dirs) open(name string) (p rootedPath, err error) {
	for i, dir := range d.dirs {
		rel := name
		if filepath.IsAbs(name) {
			if rel, err = filepath.Rel(dir, name); err != nil || !filepath.IsLocal(rel) {
				continue
			}
		} else if i > 0 {
			break
		}
		root, err := durable.OpenRoot(dir)
		return rootedPath{root, dir, filepath.ToSlash(filepath.Clean(rel))}, err
	}
	return p, fault.InvalidField("path", "%s lies in none of %s", name, strings.Join(d.dirs, ", "))
}

// full is a name below as the agent would write it.
func (p rootedPath) full(d *Dirs, name string) string {
	if p.dir == d.dirs[0] {
		return name
	}
	return filepath.Join(p.dir, filepath.FromSlash(name))
}

// plain is an error of a file in words that tell nothing but the path as given.
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

// walk visits the files below a path in the order of their names, down to a depth, 0
// for any. It visits links and does not follow them, skips the inside of .git, and
// passes over directories that it cannot read.
func (p rootedPath) walk(ctx context.Context, depth int, visit func(name string, entry fs.DirEntry) error) error {
	root, err := os.OpenRoot(p.dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // it was only read
	return fs.WalkDir(root.FS(), p.name, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && name == p.name:
			return err
		case err != nil || name == p.name && entry.IsDir():
			return nil //nolint:nilerr // what cannot be read is passed over
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

// level is how far a name lies below.
func (p rootedPath) level(name string) int {
	if p.name != "." {
		name = strings.TrimPrefix(name, p.name+"/")
	}
	return strings.Count(name, "/") + 1
}
