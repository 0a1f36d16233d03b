package execution

// interaction:list: requests of agents to people.

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company/orchestration"
	"ac/internal/terminal"
	"ac/runs/interaction"
	"ac/snapshot"
	"ac/workspace"
)

func interactionListCommand(a *cli.App) *cobra.Command {
	p := orchestration.ListInteractionsParams{State: snapshot.InteractionsOpen}
	all, asJSON := false, false
	cmd := &cobra.Command{
		Use: "interaction:list <dir>", Short: "List the requests of agents that wait for an answer", Args: cli.Args("dir"),
		Long: `List the requests of agents that wait for an answer, oldest first: permissions,
questions, plans and inputs. Each line has the id, the kind, the age, the run, the
agent and the title. With --all the answered ones follow, newest first.

With --json the result is that of interaction.list.`,
		Example: "  ac interaction:list ./acme\n  ac interaction:list ./acme --run run_01M7WQGTR95SV6EDMA61E1XR8M --all",
		RunE: func(cmd *cobra.Command, given []string) error {
			p.WorkspaceDir = given[0]
			if all {
				p.State = snapshot.InteractionsAll
			}
			found, err := cli.Ask(cmd.Context(), a, orchestration.Operations.ListInteractions, p)
			if err != nil {
				return err
			}
			if asJSON {
				return a.PrintJSON(found)
			}
			writeInteractions(a.Stdout, found.Interactions, workspace.SystemEnv().Clock.Now())
			return nil
		},
	}
	cli.SomeProjectFlag(cmd, &p.ProjectID)
	cmd.Flags().StringVar(&p.RunID, "run", "", "only of this run")
	cmd.Flags().BoolVar(&all, "all", false, "also what was answered")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// writeInteractions writes one line for each interaction. The outcome follows the title.
func writeInteractions(out io.Writer, list []interaction.Record, now time.Time) {
	for _, r := range list {
		line := fmt.Sprintf("%s  %s  %s  %s  %s  %s", r.InteractionID, r.Kind, cli.Age(r.RequestedAt, now), r.RunID, r.AgentID, r.Title)
		if r.State != interaction.Open {
			line += fmt.Sprintf("  (%s by %s)", r.State, r.By)
		}
		fmt.Fprintln(out, terminal.Quote(line))
	}
}
