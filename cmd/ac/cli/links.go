package cli

// Links from ids and paths on a terminal to the folders and files that they name.

import (
	"os"
	"path/filepath"

	"ac/company"
	"ac/internal/terminal"
	"ac/workspace"
)

// FileLink is the address of a file or folder, "" where links are not shown or it is not
// there.
func (c *Call) FileLink(path string) string {
	if !terminal.UseLinks(c.Colours(), c.OnTerminal(), os.Getenv) || !filepath.IsAbs(path) {
		return ""
	}
	if _, err := os.Lstat(path); err != nil {
		return ""
	}
	host, err := os.Hostname()
	if err != nil {
		return ""
	}
	return terminal.FileURL(host, filepath.ToSlash(path))
}

// InDir is the path of a file by its place in the workspace.
func (c *Call) InDir(name string) string { return filepath.Join(c.Dir, filepath.FromSlash(name)) }

// RunLink is the address of the folder of a run.
func (c *Call) RunLink(project, run string) string {
	return c.FileLink(c.InDir(workspace.RunDir(project, run)))
}

// ChangedLink is the address of a file that a run changed, in its worktree.
func (c *Call) ChangedLink(row *company.RunRow, path string) string {
	if row.Worktree == nil {
		return ""
	}
	return c.FileLink(filepath.Join(c.InDir(*row.Worktree), filepath.FromSlash(path)))
}

// Tilde is a folder as people write it.
func Tilde(dir string) string {
	if home, err := os.UserHomeDir(); err == nil && home != "" {
		if rel, err := filepath.Rel(home, dir); err == nil && filepath.IsLocal(rel) {
			return filepath.Join("~", rel)
		}
	}
	return dir
}
