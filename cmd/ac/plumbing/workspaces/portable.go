package workspaces

// workspace:migrate, workspace:export and workspace:import.

import (
	"context"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/company/maintenance"
	"ac/company/provisioning"
)

// unlessInterrupted runs an operation and prints its result. SIGINT and SIGTERM cancel the
// operation, which then rolls back.
func unlessInterrupted[S company.Target, P, R any](cmd *cobra.Command, a *cli.App, op func(S, context.Context, P) (R, error), p P) (result R, err error) {
	err = cli.Interruptible(cmd.Context(), func(ctx context.Context) (err error) {
		if result, err = cli.Ask(ctx, a, op, p); err != nil {
			return err
		}
		return a.PrintJSON(result)
	})
	return result, err
}

func migrateCommand(a *cli.App) *cobra.Command {
	var p maintenance.MigrateParams
	cmd := &cobra.Command{
		Use: "workspace:migrate <dir>", Short: "Seal the events of older programs", Args: cli.Args("dir"),
		Long: `Convert run logs of older programs to the current format, in which each event is
sealed. A log whose seals do not match its content is left alone and counted as
skipped, unless --force is given. If seals change, the original log is kept below
.local/migrations. Runs may continue meanwhile.`,
		Example: "  ac workspace:migrate ./acme --dry-run\n  ac workspace:migrate ./acme",
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := unlessInterrupted(cmd, a, maintenance.Operations.Migrate, p)
			return err
		},
	}
	cli.Mirror(cmd, &p,
		"dry-run: count the changes and write nothing",
		"force: migrate again, including logs whose seals do not match")
	return cmd
}

func exportCommand(a *cli.App) *cobra.Command {
	var p provisioning.ExportParams
	cmd := &cobra.Command{
		Use: "workspace:export <dir> <out>", Short: "Copy a workspace to another place", Args: cli.Args("dir", "out"),
		Long: `Copy a valid workspace to a directory that is missing or empty, atomically: the copy
is built beside it and moved into place. --force replaces an existing workspace as a
whole, but never another folder, nor a workspace in which sessions or jobs run.`,
		Example: "  ac workspace:export ./acme ./backup\n  ac workspace:export ./acme ./backup --include-local --force",
		RunE: func(cmd *cobra.Command, given []string) error {
			p.WorkspaceDir, p.OutDir = given[0], given[1]
			_, err := unlessInterrupted(cmd, a, provisioning.Folder.Export, p)
			return err
		},
	}
	cli.Mirror(cmd, &p,
		"include-local: include the files that belong to this machine",
		"force: replace an existing workspace")
	return cmd
}

func importCommand(a *cli.App) *cobra.Command {
	var p provisioning.ImportParams
	cmd := &cobra.Command{
		Use: "workspace:import <src> <dir>", Short: "Make a workspace from a copy of one", Args: cli.Args("src", "dir"),
		Long: `Make a workspace in a directory that is missing or empty, from an export or from a
checkout without machine-specific files. --force replaces an existing workspace, as
workspace:export does. Exit status: 2 if the new workspace is not valid.`,
		Example: "  ac workspace:import ./backup ./acme",
		RunE: func(cmd *cobra.Command, given []string) error {
			p.SrcDir, p.WorkspaceDir = given[0], given[1]
			imported, err := unlessInterrupted(cmd, a, provisioning.Folder.Import, p)
			if err == nil && !imported.ValidationOK {
				return cli.ExitError{Code: cli.ExitFindings}
			}
			return err
		},
	}
	cli.Mirror(cmd, &p,
		"include-local: include the files that belong to the other machine",
		"force: replace an existing workspace")
	return cmd
}
