package governance

// Which files a memory delta may change.

import (
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"unicode"

	"ac/internal/fault"
	"ac/workspace"
)

// target is a file that a delta changes: its clean name, and its name with symlinks resolved.
type target struct{ name, resolved string }

// findTarget validates a target: it must be an existing Markdown file inside the workspace, and
// not a document with rules of its own.
func findTarget(w *workspace.Workspace, given string) (target, error) {
	refuse := func(why string) (target, error) {
		return target{}, fault.New(fault.Conflict, "target_file %q %s", given, why)
	}
	if strings.ContainsFunc(given, unicode.IsControl) || strings.Contains(given, `\`) {
		return refuse(`must not contain \ or control characters`)
	}
	name := path.Clean(given)
	if path.IsAbs(given) || !filepath.IsLocal(filepath.FromSlash(name)) {
		return refuse("must be relative and inside the workspace")
	}
	resolved, err := resolveLinks(w, name)
	if err != nil {
		return refuse("must not lead out of the workspace")
	}
	for _, at := range []string{name, resolved} {
		if !strings.HasSuffix(at, ".md") {
			return refuse("must end in .md")
		}
		if what := reserved(at); what != "" {
			return refuse("is " + what + ", which deltas do not change")
		}
	}
	st, err := w.FS.Stat(resolved)
	switch {
	case err != nil && !w.Exists(resolved):
		return target{}, fault.New(fault.NotFound, "target_file %s does not exist", name)
	case err != nil:
		return target{}, fault.New(fault.IO, "target_file %s cannot be read: %w", name, err)
	case !st.Mode().IsRegular():
		return refuse("is no regular file")
	}
	return target{name, resolved}, nil
}

// resolveLinks returns a name with its symlinks resolved. They must not leave the workspace.
// Callers still open the result through the root.
func resolveLinks(w *workspace.Workspace, name string) (string, error) {
	linked := false
	for at := name; at != "."; at = path.Dir(at) {
		st, err := w.FS.Lstat(at)
		linked = linked || err == nil && st.Mode()&fs.ModeSymlink != 0
	}
	if !linked {
		return name, nil
	}
	if _, err := w.FS.Stat(name); err != nil {
		return "", err
	}
	found, err := filepath.EvalSymlinks(filepath.Join(w.Dir(), filepath.FromSlash(name)))
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(workspace.Canonical(w.Dir()), found)
	if err != nil || !filepath.IsLocal(rel) {
		return "", fault.New(fault.Conflict, "%s leads out of the workspace", name)
	}
	return filepath.ToSlash(rel), nil
}

// reserved returns what kind of file with its own rules a name is, "" for other files. It ignores
// case, for case-insensitive file systems.
func reserved(name string) string {
	parts := strings.Split(strings.ToLower(name), "/")
	in := func(dirs ...string) bool {
		if len(parts) <= len(dirs) {
			return false
		}
		for i, dir := range dirs {
			if dir != "*" && parts[i] != dir {
				return false
			}
		}
		return true
	}
	switch {
	case in(workspace.LocalDir):
		return "local state"
	case in("work", "projects", "*", "tasks"):
		return "a task"
	case in("work", "projects", "*", "artifacts"):
		return "an artifact"
	case in("inbox", "reviews"):
		return "a review"
	case in("inbox", "help_requests"):
		return "a help request"
	}
	return ""
}
