package main

// The root command.

import (
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/cmd/ac/fullscreen"
	"ac/cmd/ac/plumbing/execution"
	"ac/cmd/ac/plumbing/records"
	"ac/cmd/ac/plumbing/workspaces"
	"ac/cmd/ac/porcelain/oversight"
	"ac/cmd/ac/porcelain/work"
	"ac/cmd/ac/servers"
)

// Set by the linker for releases. The facts about the commit are empty if unknown.
var (
	version    = "dev"
	commit     string
	commitTime string
	dirty      string
)

// buildVersion returns the version of this build.
func buildVersion() string {
	if version != "dev" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return version
}

func newRoot(a *cli.App) *cobra.Command {
	root := &cobra.Command{
		Use:           "ac",
		Short:         "A control plane for companies of coding agents",
		Version:       buildVersion(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(root *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.UsageError{Message: "missing command (see: ac --help)"}
			}
			return cli.UnknownCommand(root, args[0])
		},
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if given := cmd.Flags().Args(); !cmd.HasParent() && len(given) > 0 {
			return cli.UnknownCommand(cmd, given[0]) // an unknown command with options
		}
		return cli.UsageError{Message: cli.UnknownFlag(cmd, err.Error())}
	})
	root.AddCommand(slices.Concat(
		execution.Commands(a), records.Commands(a), workspaces.Commands(a), servers.Commands(a),
		work.Commands(a), oversight.Commands(a),
		[]*cobra.Command{demoCommand(a), completionCommand(a), versionCommand(a), fullscreen.Command(a)},
		releaseCommands(a),
	)...)
	takeDecimals(root)
	acceptJSON(root.Commands())
	a.Prepare(root.Commands())
	root.SetHelpCommand(helpCommand(a))
	explain(root)
	return root
}
