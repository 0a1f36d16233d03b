package main

import (
	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/cmd/ac/demo"
)

func demoCommand(a *cli.App) *cobra.Command {
	remove := false
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch a small company work, end to end",
		Long: `Create a company in a temporary folder and watch it work: a server is spawned as a
desktop app would spawn it, three agents run concurrently, their events are streamed,
the server is killed midway and replaced, one run is stopped, every log is verified,
and a tampered byte is found.

It needs no network and no agent CLI. Exit status: 0 if everything held.`,
		Example: "  ac demo\n  ac demo --remove",
		Args:    cli.Args(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cli.SurviveReaders()
			return demo.Run(cmd.Context(), demo.Options{Executable: a.Executable, Out: a.Stdout, Remove: remove})
		},
	}
	a.Everywhere(cmd, &cli.ShortFlags{})
	cmd.Flags().BoolVar(&remove, "remove", false, "remove the temporary folder at the end")
	return cmd
}
