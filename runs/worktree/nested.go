package worktree

// A workspace inside a repository. The repository's exclude file ignores it. It is also a
// repository of its own, so that a clean-up of the outer one does not touch it.

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Enclosing returns the root of the git working tree that contains a directory. ok is false if
// there is none, or without git.
func Enclosing(ctx context.Context, environ []string, dir string) (root string, ok bool) {
	g, err := newGit(environ, dir)
	if err != nil {
		return "", false
	}
	root, err = g.line(ctx, "rev-parse", "--show-toplevel")
	return root, err == nil && filepath.IsAbs(root)
}

// Nest isolates a directory at the root of a repository from it. Unless the directory is already
// ignored, Nest adds it to the exclude file of the common git directory. It also creates a
// repository without commits in the directory, which ignores files local to this machine. It
// never overwrites existing files.
func Nest(ctx context.Context, environ []string, root, name string) (excluded bool, err error) {
	g, err := newGit(environ, root)
	if err != nil {
		return false, err
	}
	if _, err := g.run(ctx, lookLimit, maxText, "check-ignore", "--quiet", "--no-index", name+"/"); err != nil {
		if ExitCode(err) != 1 {
			return false, err
		}
		if err := g.exclude(ctx, "/"+name+"/"); err != nil {
			return false, err
		}
		excluded = true
	}
	dir := filepath.Join(root, name)
	if _, err := os.Lstat(filepath.Join(dir, ".git")); errors.Is(err, fs.ErrNotExist) {
		if _, err := g.run(ctx, lookLimit, maxText, "init", "--quiet", dir); err != nil {
			return excluded, err
		}
	}
	ignore := filepath.Join(dir, ".gitignore")
	if _, err := os.Lstat(ignore); errors.Is(err, fs.ErrNotExist) {
		return excluded, os.WriteFile(ignore, []byte("/.local/\n"), 0o644) //nolint:gosec // as git's own files
	}
	return excluded, nil
}

// exclude adds a line to the exclude file of the common git directory.
func (g *git) exclude(ctx context.Context, line string) error {
	common, err := g.line(ctx, "rev-parse", "--git-common-dir")
	if err != nil {
		return err
	}
	if !filepath.IsAbs(common) {
		common = filepath.Join(g.dir, common)
	}
	file := filepath.Join(common, "info", "exclude")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // as git's own folders
		return err
	}
	text, err := os.ReadFile(file) //nolint:gosec // the exclude file of a repository that the caller named
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if slices.Contains(strings.Split(string(text), "\n"), line) {
		return nil
	}
	if len(text) > 0 && !strings.HasSuffix(string(text), "\n") {
		line = "\n" + line
	}
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644) //nolint:gosec // as git's own files
	if err != nil {
		return err
	}
	_, err = out.WriteString(line + "\n")
	return errors.Join(err, out.Close())
}
