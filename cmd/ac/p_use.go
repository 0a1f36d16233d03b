package main

// ac use: which workspace and project the short commands are about.

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"ac/internal/terminal"
)

// usedScope is the JSON output of ac use.
type usedScope struct {
	WorkspaceDir  string  `json:"workspace_dir"`
	WorkspaceFrom string  `json:"workspace_from"`
	ProjectID     *string `json:"project_id"`
	ProjectFrom   *string `json:"project_from"`
	ActorID       string  `json:"actor_id"`
	ActorRole     string  `json:"actor_role"`
	ActorFrom     string  `json:"actor_from"`
}

func useCommand(a *app) *cobra.Command {
	forget := false
	cmd := &cobra.Command{
		Use: "use [project]", Short: "Show or choose the project that short commands are about", Args: cobra.MaximumNArgs(1),
		Long: `Without a project, show the workspace, the project and who acts, each with where it
came from. With one, use it in this workspace from now on.

The workspace is that of -C, of AC_WORKSPACE, the enclosing folder, or the only one
that ac use knows. The project is that of -p, of AC_PROJECT, of ac use, or the only one.`,
		Example: "  ac use\n  ac use Checkout\n  ac use --clear",
	}
	a.short(cmd, func(c *call, given []string) error {
		switch {
		case forget && len(given) > 0:
			return usageError{"--clear takes no project"}
		case forget:
			if err := rememberWorkspace(c.ctx, c.dir, ""); err != nil {
				return err
			}
		case len(given) > 0:
			found, err := lookup("project", given[0], c.company, c.projects)
			if err != nil {
				return err
			}
			if err := rememberWorkspace(c.ctx, c.dir, found.id); err != nil {
				return err
			}
		}
		if forget || len(given) > 0 { // what holds from now on
			now, err := a.scope(c.ctx, c.all, c.shortFlags)
			if err != nil {
				return err
			}
			c.scope = now
		}
		return c.printScope()
	})
	cmd.Flags().BoolVar(&forget, "clear", false, "forget the project")
	return cmd
}

func (c *call) printScope() error {
	if c.asJSON {
		return c.printJSON(usedScope{c.dir, c.dirFrom, orNull(c.project), orNull(c.projectFrom), c.actor, c.role, c.actorFrom})
	}
	who, project := c.actor, ""
	if c.project != "" {
		project = "…" + c.project[max(0, len(c.project)-9):]
	}
	lines := [][]string{
		{"workspace", c.company, c.dir, c.dirFrom},
		{"project", cmp.Or(c.projectName, terminal.Unknown), cmp.Or(project, terminal.Unknown), cmp.Or(c.projectFrom, terminal.Unknown)},
		{"actor", who, "", c.actorFrom},
	}
	widths := make([]int, 4)
	for _, line := range lines {
		for i, text := range line {
			line[i] = terminal.Printable(text)
			widths[i] = max(widths[i], terminal.Columns(line[i]))
		}
	}
	for _, line := range lines {
		fmt.Fprintf(c.stdout, "%s  %s  %s  %s\n",
			terminal.Fit(line[0], widths[0]), terminal.Fit(line[1], widths[1]), terminal.Fit(line[2], widths[2]), line[3])
	}
	return nil
}

// orNull is null for an empty text.
func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
