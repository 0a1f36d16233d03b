package main

// Links from ids and paths on a terminal to the folders and files that they name.

import (
	"os"
	"path/filepath"

	"ac/company"
	"ac/governance/needs"
	"ac/internal/terminal"
	"ac/workspace"
)

// fileLink is the address of a file or folder, "" where links are not shown or it is not
// there.
func (c *call) fileLink(path string) string {
	if !terminal.UseLinks(c.colours(), c.onTerminal(), os.Getenv) || !filepath.IsAbs(path) {
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

// inDir is the path of a file by its place in the workspace.
func (c *call) inDir(name string) string { return filepath.Join(c.dir, filepath.FromSlash(name)) }

// runLink is the address of the folder of a run.
func (c *call) runLink(project, run string) string {
	return c.fileLink(c.inDir(workspace.RunDir(project, run)))
}

// needLink is the address of what a need is about: an artifact, a help request, or a run.
func (c *call) needLink(r *inboxRow) string {
	switch project := orEmpty(r.ProjectID); r.Kind {
	case needs.Memory, needs.Milestone, needs.Action, needs.Files:
		return c.fileLink(c.inDir(workspace.ArtifactsDir(project) + "/" + r.ID + ".md"))
	case needs.Help:
		return c.fileLink(c.inDir(workspace.HelpRequestsDir + "/" + r.ID + ".md"))
	default:
		if r.RunID == nil {
			return ""
		}
		return c.runLink(project, *r.RunID)
	}
}

// changedLink is the address of a file that a run changed, in its worktree.
func (c *call) changedLink(row *company.RunRow, path string) string {
	if row.Worktree == nil {
		return ""
	}
	return c.fileLink(filepath.Join(c.inDir(*row.Worktree), filepath.FromSlash(path)))
}
