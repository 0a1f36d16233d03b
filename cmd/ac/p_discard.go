package main

// ac discard: runs that were made and never launched.

import (
	"fmt"

	"github.com/spf13/cobra"

	"ac/company"
	"ac/company/orchestration"
)

func discardCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "discard <run>...", Short: "End runs that were made and never launched", Args: cobra.ArbitraryArgs,
		Long: `End runs that were made and never launched. One that works is refused: ac stop ends it. One
that is over stays as it is, with its worktree, which worktree:cleanup removes.`,
		Example: "  ac discard 4WKKE6",
	}
	a.short(cmd, func(c *call, given []string) error {
		if len(given) == 0 {
			return usageError{"missing argument <run>"}
		}
		done := make([]doneRow, len(given))
		for i, word := range given {
			row, err := c.run(word)
			if err != nil {
				done[i] = failedRow(word, "run", err)
				continue
			}
			done[i] = c.discardRun(&row)
		}
		return c.printDone(done)
	})
	return cmd
}

// discardRun ends a run that was never launched.
func (c *call) discardRun(row *company.RunRow) doneRow {
	switch {
	case row.Live():
		return failedRow(row.RunID, "run", fmt.Errorf("run %s was launched; end it with: ac stop %s", shortID(row.RunID), shortID(row.RunID)))
	case row.State != company.StateNew:
		return doneRow{ID: row.RunID, Kind: "run", OK: true, text: fmt.Sprintf("%s was over (%s)", shortID(row.RunID), row.State)}
	}
	return c.discardNew(row)
}

// discardNew discards a run.
func (c *call) discardNew(row *company.RunRow) doneRow {
	result, err := company.Do(c.ctx, c.all, orchestration.Operations.DiscardRun, orchestration.DiscardRunParams{
		Dir: c.dirParam(), ProjectID: row.ProjectID, RunID: row.RunID, ActorID: c.actor, ActorRole: c.role,
	})
	if err != nil {
		return failedRow(row.RunID, "run", err)
	}
	return doneRow{ID: row.RunID, Kind: "run", OK: true, Result: result, text: shortID(row.RunID) + " " + result.Status}
}
