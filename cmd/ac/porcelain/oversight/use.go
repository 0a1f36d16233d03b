package oversight

// ac use: showing and choosing the scope of the short commands.

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
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

func useCommand(a *cli.App) *cobra.Command {
	forget := false
	cmd := &cobra.Command{
		Use: "use [project]", Short: "Show or choose the project that short commands are about", Args: cobra.MaximumNArgs(1),
		Long: `Without a project, show the workspace, the project and who acts, each with where it
came from. With one, use it in this workspace from now on.

The workspace is that of -C, of AC_WORKSPACE, the enclosing folder, or the only one
that ac use knows. The project is that of -p, of AC_PROJECT, of ac use, or the only one.`,
		Example: "  ac use\n  ac use Checkout\n  ac use --clear",
	}
	a.Short(cmd, func(c *cli.Call, given []string) error {
		switch {
		case forget && len(given) > 0:
			return cli.UsageError{Message: "--clear takes no project"}
		case forget:
			if err := cli.RememberWorkspace(c.Ctx, c.Dir, ""); err != nil {
				return err
			}
		case len(given) > 0:
			found, err := cli.Lookup("project", given[0], c.Company, c.Projects)
			if err != nil {
				return err
			}
			if err := cli.RememberWorkspace(c.Ctx, c.Dir, found.ID); err != nil {
				return err
			}
		}
		if forget || len(given) > 0 { // show the new scope
			now, err := a.Scope(c.Ctx, c.All, c.ShortFlags)
			if err != nil {
				return err
			}
			c.Scope = now
		}
		return printScope(c)
	})
	cmd.Flags().BoolVar(&forget, "clear", false, "forget the project")
	return cmd
}

func printScope(c *cli.Call) error {
	if c.AsJSON {
		return c.PrintJSON(usedScope{c.Dir, c.DirFrom, orNull(c.Project), orNull(c.ProjectFrom), c.Actor, c.Role, c.ActorFrom})
	}
	who, project := c.Actor, ""
	if c.Project != "" {
		project = "…" + c.Project[max(0, len(c.Project)-9):]
	}
	lines := [][]string{
		{"workspace", c.Company, c.Dir, c.DirFrom},
		{"project", cmp.Or(c.ProjectName, terminal.Unknown), cmp.Or(project, terminal.Unknown), cmp.Or(c.ProjectFrom, terminal.Unknown)},
		{"actor", who, "", c.ActorFrom},
	}
	widths := make([]int, 4)
	for _, line := range lines {
		for i, text := range line {
			line[i] = terminal.Printable(text)
			widths[i] = max(widths[i], terminal.Columns(line[i]))
		}
	}
	for _, line := range lines {
		fmt.Fprintf(c.Stdout, "%s  %s  %s  %s\n",
			terminal.Fit(line[0], widths[0]), terminal.Fit(line[1], widths[1]), terminal.Fit(line[2], widths[2]), line[3])
	}
	return nil
}

// orNull returns nil for an empty text.
func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
