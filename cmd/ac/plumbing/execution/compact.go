package execution

// run:compact: shortening the conversation of an agent.

import (
	"fmt"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company/orchestration"
)

func runCompactCommand(a *cli.App) *cobra.Command {
	var on onRun
	var p orchestration.CompactParams
	cmd := &cobra.Command{
		Use: "run:compact <dir> <run>", Short: "Make the conversation of a run's agent smaller", Args: cli.Args("dir", "run"),
		Long: `Make the conversation of a run's agent smaller, after its turn and what waits before.
It prints how: by the provider's own means, or by a digest that the agent's next
conversation begins with. The run may be "last".`,
		Example: "  ac run:compact ./acme last",
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := on.find(cmd.Context(), a, given); err != nil {
				return err
			}
			p.Act(on.dir, on.project, on.run, on.actor, on.role, on.team)
			done, err := cli.Ask(cmd.Context(), a, orchestration.Operations.Compact, p)
			if err != nil {
				return err
			}
			if on.asJSON {
				return a.PrintJSON(done)
			}
			fmt.Fprintf(a.Stdout, "compacting (%s)\n", done.How)
			return nil
		},
	}
	on.flags(cmd)
	return cmd
}
