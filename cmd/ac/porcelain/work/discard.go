package work

// ac discard: ending runs that were created and never launched.

import (
	"fmt"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/company/orchestration"
)

func discardCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "discard <run>...", Short: "End runs that were made and never launched", Args: cobra.ArbitraryArgs,
		Long: `End runs that were made and never launched. One that works is refused: ac stop ends it. One
that is over stays as it is, with its worktree, which worktree:cleanup removes.`,
		Example: "  ac discard 4WKKE6",
	}
	a.Short(cmd, func(c *cli.Call, given []string) error {
		if len(given) == 0 {
			return cli.UsageError{Message: "missing argument <run>"}
		}
		done := make([]cli.DoneRow, len(given))
		for i, word := range given {
			row, err := c.Run(word)
			if err != nil {
				done[i] = cli.FailedRow(word, "run", err)
				continue
			}
			done[i] = discardRun(c, &row)
		}
		return c.PrintDone(done)
	})
	return cmd
}

// discardRun ends a run that was never launched. It refuses a live run, and leaves a finished one
// alone.
func discardRun(c *cli.Call, row *company.RunRow) cli.DoneRow {
	switch {
	case row.Live():
		return cli.FailedRow(row.RunID, "run", fmt.Errorf("run %s was launched; end it with: ac stop %s", cli.ShortID(row.RunID), cli.ShortID(row.RunID)))
	case row.State != company.StateNew:
		return cli.DoneRow{ID: row.RunID, Kind: "run", OK: true, Text: fmt.Sprintf("%s was over (%s)", cli.ShortID(row.RunID), row.State)}
	}
	return discardNew(c, row)
}

// discardNew discards a run.
func discardNew(c *cli.Call, row *company.RunRow) cli.DoneRow {
	result, err := company.Do(c.Ctx, c.All, orchestration.Operations.DiscardRun, orchestration.DiscardRunParams{
		Dir: c.DirParam(), ProjectID: row.ProjectID, RunID: row.RunID, ActorID: c.Actor, ActorRole: c.Role,
	})
	if err != nil {
		return cli.FailedRow(row.RunID, "run", err)
	}
	return cli.DoneRow{ID: row.RunID, Kind: "run", OK: true, Result: result, Text: cli.ShortID(row.RunID) + " " + result.Status}
}
