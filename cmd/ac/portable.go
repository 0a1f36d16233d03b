package main

// workspace:migrate, workspace:export and workspace:import.

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"ac/company"
)

// unlessInterrupted is ask for work that SIGINT or SIGTERM interrupts, which is taken
// back then. It prints the result.
func unlessInterrupted[S company.Target, P, R any](cmd *cobra.Command, a *app, op func(S, context.Context, P) (R, error), p P) (result R, err error) {
	err = interruptible(cmd.Context(), func(ctx context.Context) (err error) {
		if result, err = ask(ctx, a, op, p); err != nil {
			return err
		}
		return a.printJSON(result)
	})
	return result, err
}

// interruptible runs work with a context that SIGINT and SIGTERM end, and gives
// the exit status of that where work failed for it.
func interruptible(ctx context.Context, work func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(signals)
	var caught os.Signal
	done := make(chan struct{})
	go func() { // ends with the work
		defer close(done)
		select {
		case caught = <-signals:
			cancel()
		case <-ctx.Done():
		}
	}()
	err := work(ctx)
	cancel()
	<-done
	if number, ok := caught.(syscall.Signal); ok && err != nil {
		return exitError{exitSignal + int(number)}
	}
	return err
}

func migrateCommand(a *app) *cobra.Command {
	var p company.MigrateParams
	cmd := &cobra.Command{
		Use: "workspace:migrate <dir>", Short: "Seal the events of older programs", Args: args("dir"),
		Long: `Bring the run logs that older programs wrote to the present format, in which each
event is sealed. A log with a seal that does not fit its content is left alone
and counted as skipped, unless --force is given. A log whose seals change is
kept as it was below .local/migrations. Runs may go on meanwhile.`,
		Example: "  ac workspace:migrate ./acme --dry-run\n  ac workspace:migrate ./acme",
		RunE: func(cmd *cobra.Command, given []string) error {
			p.WorkspaceDir = given[0]
			_, err := unlessInterrupted(cmd, a, (*company.Company).Migrate, p)
			return err
		},
	}
	cmd.Flags().BoolVar(&p.DryRun, "dry-run", false, "count what would be done and write nothing")
	cmd.Flags().BoolVar(&p.Force, "force", false, "migrate again, also logs whose seals do not fit")
	return cmd
}

func exportCommand(a *app) *cobra.Command {
	var p company.ExportParams
	cmd := &cobra.Command{
		Use: "workspace:export <dir> <out>", Short: "Copy a workspace to another place", Args: args("dir", "out"),
		Long: `Copy a valid workspace to a directory that is missing or empty. The copy is built
beside it and put in place in one step. With --force the workspace that is
there is replaced as a whole; a folder that is no workspace never is, nor a
workspace in which sessions or jobs run.`,
		Example: "  ac workspace:export ./acme ./backup\n  ac workspace:export ./acme ./backup --include-local --force",
		RunE: func(cmd *cobra.Command, given []string) error {
			p.WorkspaceDir, p.OutDir = given[0], given[1]
			_, err := unlessInterrupted(cmd, a, (*company.Folder).Export, p)
			return err
		},
	}
	cmd.Flags().BoolVar(&p.IncludeLocal, "include-local", false, "take along what is true on this machine")
	cmd.Flags().BoolVar(&p.Force, "force", false, "replace the workspace that is there")
	return cmd
}

func importCommand(a *app) *cobra.Command {
	var p company.ImportParams
	cmd := &cobra.Command{
		Use: "workspace:import <src> <dir>", Short: "Make a workspace from a copy of one", Args: args("src", "dir"),
		Long: `Make a workspace in a directory that is missing or empty from an export, or from
a checkout that has none of what belongs to one machine. --force replaces the
workspace that is there, as workspace:export does. Exit status: 2 when the new
workspace does not validate.`,
		Example: "  ac workspace:import ./backup ./acme",
		RunE: func(cmd *cobra.Command, given []string) error {
			p.SrcDir, p.WorkspaceDir = given[0], given[1]
			imported, err := unlessInterrupted(cmd, a, (*company.Folder).Import, p)
			if err == nil && !imported.ValidationOK {
				return exitError{exitFindings}
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&p.IncludeLocal, "include-local", false, "take along what was true on the other machine")
	cmd.Flags().BoolVar(&p.Force, "force", false, "replace the workspace that is there")
	return cmd
}
