package oversight

// ac cost: usage and its cost.

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/cmd/ac/plumbing/workspaces"
	"ac/company"
	"ac/company/workforce"
	"ac/internal/terminal"
	"ac/snapshot"
)

func costCommand(a *cli.App) *cobra.Command {
	by, days := "day", 30
	cmd := &cobra.Command{
		Use: "cost", Short: "Show what was used, and what it cost", Args: cli.Args(),
		Long: `Show the runs, the tokens and the cost of the last days: by day, agent, model, project or
provider. Days are those of this time zone; days without runs are left out. What has no
price is counted as unpriced, never as free. With --json the result of usage.report.`,
		Example: "  ac cost\n  ac cost --by agent --days 7",
	}
	a.Listing(cmd, func(c *cli.Call, _ []string) error {
		if !slices.Contains(workspaces.CostBy(), by) {
			return cli.UsageError{Message: "--by must be one of " + strings.Join(workspaces.CostBy(), ", ")}
		}
		if days < 1 || days > 366 {
			return cli.UsageError{Message: "--days must be from 1 to 366"}
		}
		report, err := Usage(c, days)
		if err != nil {
			return err
		}
		if c.AsJSON {
			return c.PrintJSON(report)
		}
		return printCost(c, by, workspaces.CostRows(&report, by), &report)
	})
	cmd.Flags().StringVar(&by, "by", by, strings.Join(workspaces.CostBy(), ", "))
	cmd.Flags().IntVar(&days, "days", days, "how many days, today included")
	cli.CompleteFlag(cmd, "by", cli.Words(workspaces.CostBy()...))
	return cmd
}

// Usage returns the usage of the last days. Days are those of the local time zone.
func Usage(c *cli.Call, days int) (snapshot.UsageReport, error) {
	_, ahead := c.Now.Local().Zone()
	p := workforce.UsageReportParams{Dir: c.DirParam(), ProjectID: c.Project, Days: days, Timezone: -ahead / 60}
	p.SyncIndex = true
	return company.Do(c.Ctx, c.All, workforce.Operations.UsageReport, p)
}

func printCost(c *cli.Call, by string, rows []workspaces.CostRow, report *snapshot.UsageReport) error {
	switch {
	case c.Quiet:
		for _, r := range rows {
			fmt.Fprintln(c.Stdout, r.ID)
		}
		return nil
	case len(rows) == 0 && c.OnTerminal():
		c.Note("Nothing was used in the last %d days.", report.Metadata.Days)
		return nil
	}
	lines := make([][]string, len(rows))
	for i, r := range rows {
		lines[i] = []string{r.ID, r.Name, strconv.Itoa(r.Sum.Sessions), strconv.FormatInt(r.Sum.Total, 10), "", strconv.Itoa(r.Sum.UnpricedRecords)}
		if r.Sum.CostUSD != nil {
			lines[i][4] = strconv.FormatFloat(*r.Sum.CostUSD, 'f', -1, 64)
		}
	}
	return c.List(workspaces.CostTable(by, rows, report, c.Width(), terminal.Unicode(os.Getenv)), lines)
}
