package execution

// sharepack:*: creating and replaying share packs.

import (
	"strconv"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company/workforce"
)

func sharePackCreateCommand(a *cli.App) *cobra.Command {
	p := workforce.CreateSharePackParams{CreatedBy: "human"}
	asJSON := false
	cmd := &cobra.Command{
		Use: "sharepack:create <dir>", Short: "Create a share pack of a project, without secrets", Args: cli.Args("dir"),
		Long: `Create a share pack: copies of a project's artifacts with the visibilities managers and
org, of its memory, and of the logs of the runs behind these artifacts. Print its
contents as JSON.

Apparent secrets are redacted everywhere (API keys, tokens, private keys, passwords,
values of names such as api_key), and so are the values of this process's
environment variables with secret-looking names. Review a pack nevertheless before
you pass it on: a secret without a known shape or a telling name is not recognized.
An invalid artifact is an error that names it, and leaves nothing behind.`,
		Example: "  ac sharepack:create ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S\n  ac sharepack:create ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S --by ann",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cli.PrintLine(cmd.Context(), a, workforce.Operations.CreateSharePack, p)
		},
	}
	cli.Mirror(cmd, &p,
		"project: id of the project",
		"by=created_by: id of the creator")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON (always the case)")
	return cmd
}

func sharePackReplayCommand(a *cli.App) *cobra.Command {
	var p workforce.ReplaySharePackParams
	tail, asJSON := "", false
	cmd := &cobra.Command{
		Use: "sharepack:replay <dir>", Short: "Print the logs in a share pack", Args: cli.Args("dir"),
		Long: `Print the logs in a share pack as JSON, on one line.

Modes: raw prints the events; verified and deterministic also verify the hash chain.
Verification shows redaction and omissions, because the hashes are those of the
original log. Exit status: 0, even if the logs have faults.`,
		Example: "  ac sharepack:replay ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S --share share_01M7WQY5HX6BG7GX1TX7Y6KRG4 --mode verified --tail 20",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if n, err := strconv.Atoi(tail); err == nil && n > 0 {
				p.Tail = n
			}
			return cli.PrintLine(cmd.Context(), a, workforce.Operations.ReplaySharePack, p)
		},
	}
	cli.Mirror(cmd, &p,
		"project: id of the project",
		"share=share_pack_id: id of the share pack",
		"run: only the log of this run",
		"mode: how")
	cmd.Flags().StringVar(&tail, "tail", "", "only the last N events of each log")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON (always the case)")
	cli.CompleteFlag(cmd, "run", a.SharedRunIDs)
	return cmd
}
