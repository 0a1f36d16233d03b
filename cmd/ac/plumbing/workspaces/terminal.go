package workspaces

// terminal:shells: the shells available to consoles.

import (
	"fmt"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/company/equipment"
)

func terminalShellsCommand(a *cli.App) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use: "terminal:shells <dir>", Short: "List the shells that consoles are offered", Args: cli.Args("dir"),
		Long: `List the shells that consoles are offered, the default first. A console belongs to the
server that made it (ac server:start --terminals), so that no command types into one.`,
		Example: "  ac terminal:shells ./acme",
		RunE: func(cmd *cobra.Command, given []string) error {
			list, err := cli.Ask(cmd.Context(), a, equipment.Operations.Shells, company.Dir{WorkspaceDir: given[0]})
			if err != nil {
				return err
			}
			if asJSON {
				return a.PrintJSON(list)
			}
			for _, s := range list.Shells {
				if s.Available {
					fmt.Fprintf(a.Stdout, "%s\t%s\n", s.ID, s.Path)
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
