package files

// The location of a proposed file: confined to its root, and never inside git's own files or a
// workspace.

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"ac/internal/durable"
	"ac/workspace"
	"ac/workspace/checkpoint"
)

// Bounds of a path and of a name in it, in bytes, and of the number of symlinks on the way.
const (
	maxPath  = 4096
	maxName  = 255
	maxLinks = 40
)

// problem is why a path is refused.
type problem struct{ code, message string }

// location is where a path leads.
type location struct {
	path  string // cleaned, relative
	place string // with the symlinks of its parents resolved
	// parent is the identity of its directory, zero while the directory does not exist.
	parent durable.Identity
}

// targetRoot is the root of a target, in which paths are checked.
type targetRoot struct {
	fsys durable.FS
	dir  string // canonical
	// owned reports that the root itself is part of a workspace.
	owned bool
	// guarded caches, for each directory that was checked, whether nothing below it may be
	// touched.
	guarded map[string]bool
	folded  *bool
}

// newTargetRoot prepares the checks in a root. dir is the path of the root.
func newTargetRoot(fsys durable.FS, dir string) *targetRoot {
	g := &targetRoot{fsys: fsys, dir: workspace.Canonical(dir), guarded: map[string]bool{}}
	g.owned = partOfWorkspace(g.dir)
	return g
}

// partOfWorkspace reports whether a directory belongs to an enclosing workspace. The worktrees of
// runs do not, and neither does anything that is not part of the company.
func partOfWorkspace(dir string) bool {
	for above := filepath.Dir(dir); ; above = filepath.Dir(above) {
		if fsys, err := durable.OpenRoot(above); err == nil {
			found := workspace.IsWorkspace(fsys)
			_ = fsys.Close() // nothing was written
			if rel, err := filepath.Rel(above, dir); found && err == nil && workspace.IsCompanyPath(filepath.ToSlash(rel)) {
				return true
			}
		}
		if above == filepath.Dir(above) {
			return false
		}
	}
}

// locate returns where a path leads, or why it is refused.
func (g *targetRoot) locate(name string) (at location, refused *problem) {
	if refused = invalid(name); refused != nil {
		return at, refused
	}
	outside := &problem{OutsideRoot, "the path leads out of the target"}
	if name = path.Clean(name); path.IsAbs(name) {
		rel, err := filepath.Rel(g.dir, filepath.Join(workspace.Canonical(path.Dir(name)), path.Base(name)))
		if err != nil {
			return at, outside
		}
		name = path.Clean(filepath.ToSlash(rel))
	}
	at.path = name
	if at.path == ".." || strings.HasPrefix(at.path, "../") {
		return at, outside
	}
	parents, file, err := g.resolve(path.Dir(at.path))
	switch {
	case errors.Is(err, errOutside):
		return at, outside
	case err != nil:
		return at, unreadable(err)
	}
	at.place = path.Join(parents, path.Base(at.path))
	if st, err := g.fsys.Lstat(at.place); !file && err == nil && st.Mode()&fs.ModeSymlink != 0 {
		if _, _, err := g.resolve(at.place); errors.Is(err, errOutside) {
			return at, outside
		}
	}
	if refused = g.protected(at); refused != nil {
		return at, refused
	}
	if file || at.path == "." {
		return at, &problem{NotAFile, "a part of the path is no directory, or the whole of it is one"}
	}
	if id, err := checkpoint.Identify(g.fsys, parents); err == nil {
		at.parent = id
	}
	return at, nil
}

// unreadable returns the problem of a file that the operating system does not let us inspect.
func unreadable(err error) *problem {
	if errors.Is(err, syscall.ENAMETOOLONG) {
		return &problem{PathInvalid, "the path is too long"}
	}
	return &problem{NotAFile, "it cannot be looked at: " + durable.Cause(err)}
}

// invalid rejects texts that are not valid paths anywhere.
func invalid(name string) *problem {
	switch {
	case name == "":
		return &problem{PathInvalid, "the path is empty"}
	case len(name) > maxPath:
		return &problem{PathInvalid, "the path is too long"}
	case !utf8.ValidString(name):
		return &problem{PathInvalid, "the path is no UTF-8"}
	case strings.ContainsRune(name, '\\'):
		return &problem{PathInvalid, `the path has a \; separate directories by /`}
	case strings.ContainsFunc(name, unicode.IsControl):
		return &problem{PathInvalid, "the path has a control character"}
	}
	for part := range strings.SplitSeq(name, "/") {
		if len(part) > maxName {
			return &problem{PathInvalid, "a name in the path is too long"}
		}
	}
	return nil
}

var errOutside = errors.New("leads out of the root")

// resolve follows the symlinks of a directory's path as far as it exists. file reports that a
// part of the path exists but is not a directory.
func (g *targetRoot) resolve(dir string) (place string, file bool, err error) {
	var found []string
	left := split(dir)
	for links := 0; len(left) > 0; {
		part := left[0]
		left = left[1:]
		if part == ".." {
			if len(found) == 0 {
				return "", false, errOutside
			}
			found = found[:len(found)-1]
			continue
		}
		here := path.Join(append(append([]string{}, found...), part)...)
		st, err := g.fsys.Lstat(here)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			found = append(found, part) // nothing exists below a missing directory
		case errors.Is(err, syscall.ENOTDIR):
			return path.Join(append(found, part)...), true, nil
		case err != nil:
			return "", false, err
		case st.Mode()&fs.ModeSymlink != 0:
			if links++; links > maxLinks {
				return "", false, errOutside
			}
			target, err := g.fsys.Readlink(here)
			if err != nil {
				return "", false, err
			}
			if path.IsAbs(target) {
				rel, err := filepath.Rel(g.dir, workspace.Canonical(target))
				if err != nil {
					return "", false, errOutside
				}
				target, found = filepath.ToSlash(rel), nil
			}
			left = append(split(target), left...)
		case !st.IsDir():
			return path.Join(append(append(found, part), left...)...), true, nil
		default:
			found = append(found, part)
		}
	}
	return path.Join(append([]string{"."}, found...)...), false, nil
}

// split splits a path into its parts, without empty ones and dots.
func split(name string) (parts []string) {
	for part := range strings.SplitSeq(name, "/") {
		if part != "" && part != "." {
			parts = append(parts, part)
		}
	}
	return parts
}

// protected rejects git's own files, workspaces, and files inside other repositories.
func (g *targetRoot) protected(at location) *problem {
	refused := func(why string) *problem { return &problem{Protected, why} }
	if g.owned {
		return refused("the target is a part of a workspace")
	}
	for _, name := range []string{at.path, at.place} {
		for _, part := range split(name) {
			if gitName(part) {
				return refused("the path leads into the files of git")
			}
		}
	}
	above := []string{"."}
	for dir := path.Dir(at.place); dir != "."; dir = path.Dir(dir) {
		above = append(above, dir)
	}
	for _, dir := range above {
		guarded, known := g.guarded[dir]
		if !known {
			guarded = g.guards(dir)
			g.guarded[dir] = guarded
		}
		if guarded {
			return refused("the path leads into a workspace, or into a repository of its own")
		}
	}
	if g.isGit(at.place) {
		return refused("the path leads into the files of git")
	}
	return nil
}

// guards reports whether nothing below a directory may be touched.
func (g *targetRoot) guards(dir string) bool {
	if st, err := g.fsys.Stat(path.Join(dir, workspace.CompanyFile)); err == nil && st.Mode().IsRegular() {
		return true
	}
	if dir == "." {
		return false
	}
	_, err := g.fsys.Lstat(path.Join(dir, ".git"))
	return err == nil || g.isGit(dir)
}

// isGit reports whether a name is another spelling of the .git next to it.
func (g *targetRoot) isGit(name string) bool {
	st, err := g.fsys.Lstat(name)
	if err != nil {
		return false
	}
	git, err := g.fsys.Lstat(path.Join(path.Dir(name), ".git"))
	return err == nil && durable.SameFile(st, git)
}

// gitName reports whether any file system treats a name as .git. Some ignore case, format
// characters, everything after a colon, or dots and spaces at the end.
func gitName(part string) bool {
	part = strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf) {
			return -1
		}
		return r
	}, part)
	part, _, _ = strings.Cut(part, ":")
	part = strings.TrimRight(part, ". ")
	return strings.EqualFold(part, ".git") || strings.EqualFold(part, "git~1")
}

// key returns a text that is equal for two names of the same file: the name itself, in lower case
// if the file system ignores case.
func (g *targetRoot) key(place string) string {
	if g.folded == nil {
		ignores := g.ignoresCase()
		g.folded = &ignores
	}
	if *g.folded {
		return strings.ToLower(place)
	}
	return place
}

// ignoresCase checks whether the file system ignores case, by looking up an entry of the root in
// another case.
func (g *targetRoot) ignoresCase() bool {
	names, err := g.fsys.ReadNames(".")
	if err != nil {
		return false
	}
	for _, name := range names {
		other := strings.ToUpper(name)
		if other == name {
			other = strings.ToLower(name)
		}
		if other == name {
			continue
		}
		a, errA := g.fsys.Lstat(name)
		b, errB := g.fsys.Lstat(other)
		return errA == nil && errB == nil && durable.SameFile(a, b)
	}
	return false
}

// state is the current state of a file in the target.
type state struct {
	Side
	hash string // "" for an absent file
}

// read reads the file at a place. Otherwise it returns why the file cannot be changed.
func (g *targetRoot) read(place string) (now state, refused *problem) {
	st, err := g.fsys.Lstat(place)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		return now, nil
	case err != nil:
		return now, unreadable(err)
	case st.Mode()&fs.ModeSymlink != 0:
		return now, &problem{IsLink, "it is a symlink"}
	case !st.Mode().IsRegular():
		return now, &problem{NotAFile, "it is no regular file"}
	case st.Size() > MaxFile:
		return now, &problem{TooLarge, "the file has more than 1 MiB"}
	}
	content, err := durable.ReadFile(g.fsys, place, 2*MaxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return now, nil
	}
	if err != nil {
		return now, unreadable(err)
	}
	if content == nil {
		content = []byte{}
	}
	return state{Side{true, content, st.Mode().Perm()}, checkpoint.Hash(content)}, nil
}
