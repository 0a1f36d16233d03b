package cli

// Terminal links from ids and paths to the folders and files that they name.

import (
	"os"
	"path/filepath"

	"ac/company"
	"ac/internal/terminal"
	"ac/workspace"
)

// FileLink returns the URL of a file or folder. It returns "" if links are off or the file does not
// exist.
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

// InDir returns the path of a file from its name within the workspace.
func (c *Call) InDir(name string) string { return filepath.Join(c.Dir, filepath.FromSlash(name)) }

// RunLink returns the URL of a run's folder.
func (c *Call) RunLink(project, run string) string {
	return c.FileLink(c.InDir(workspace.RunDir(project, run)))
}

// ChangedLink returns the URL of a file that a run changed, in its worktree.
func (c *Call) ChangedLink(row *company.RunRow, path string) string {
	if row.Worktree == nil {
		return ""
	}
	return c.FileLink(filepath.Join(c.InDir(*row.Worktree), filepath.FromSlash(path)))
}

// Tilde abbreviates the home directory in a path to ~.
func Tilde(dir string) string {
	if home, err := os.UserHomeDir(); err == nil && home != "" {
		if rel, err := filepath.Rel(home, dir); err == nil && filepath.IsLocal(rel) {
			return filepath.Join("~", rel)
		}
	}
	return dir
}
