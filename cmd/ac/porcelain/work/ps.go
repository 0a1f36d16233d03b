package work

// ac ps: the runs of a project.

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/internal/terminal"
)

// psRows is the default maximum number of rows.
const psRows = 20

func psCommand(a *cli.App) *cobra.Command {
	var p company.RunRowsParams
	var agent, since string
	everything := false
	cmd := &cobra.Command{
		Use: "ps", Short: "List runs: what they do, for how long, and what they cost", Args: cli.Args(),
		Long: `List the runs of the project, or of all projects where none is chosen: those that live
first, then the new ones, then the newest, 20 in all. In a pipe: the same rows with tabs
in between, full ids, and no titles.`,
		Example: "  ac ps\n  ac ps --live\n  ac ps -a --status failed --since 24h --json",
	}
	a.Listing(cmd, func(c *cli.Call, _ []string) error {
		p.Dir, p.ProjectID = c.DirParam(), c.Project
		if everything {
			p.Most = 0
		}
		if p.Most < 0 {
			return cli.UsageError{Message: "-n must not be negative"}
		}
		if since != "" {
			ago, err := parseAgo(since)
			if err != nil {
				return err
			}
			p.Since = c.Now.Add(-ago)
		}
		if agent != "" {
			found, err := c.Agent(agent)
			if err != nil {
				return err
			}
			p.AgentID = found.ID
		}
		list, err := company.Do(c.Ctx, c.All, (*company.Company).RunRows, p)
		if err != nil {
			return err
		}
		return printRuns(c, list)
	})
	flags := cmd.Flags()
	flags.BoolVarP(&everything, "all", "a", false, "all runs")
	flags.IntVarP(&p.Most, "rows", "n", psRows, "how many rows at most")
	flags.BoolVar(&p.Live, "live", false, "only runs that live")
	flags.StringVar(&p.State, "status", "", "only runs in this state, such as failed, done, or \"asks you\"")
	flags.StringVar(&agent, "agent", "", "only runs of this agent")
	flags.StringVar(&since, "since", "", "only runs made since then: 30m, 2h, 7d")
	return cmd
}

// parseAgo parses a duration. It also accepts days and weeks.
func parseAgo(text string) (time.Duration, error) {
	for unit, length := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		if n, err := strconv.ParseUint(strings.TrimSuffix(text, unit), 10, 16); err == nil && strings.HasSuffix(text, unit) {
			return time.Duration(n) * length, nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, cli.UsageError{Message: fmt.Sprintf("--since must be a duration such as 30m, 2h or 7d, not %q", text)}
	}
	return d, nil
}

func printRuns(c *cli.Call, list company.RunRows) error {
	switch {
	case c.AsJSON:
		return c.PrintJSON(list.Rows)
	case c.Quiet:
		for _, r := range list.Rows {
			fmt.Fprintln(c.Stdout, r.RunID)
		}
		return nil
	case list.None && c.OnTerminal():
		c.Note("No runs yet: ac run -- make test")
		return nil
	case len(list.Rows) == 0 && c.OnTerminal():
		c.Note("No run fits.")
		return nil
	}
	if err := c.List(c.RunTable(list, terminal.Unicode(os.Getenv)), runLines(list.Rows)); err != nil {
		return err
	}
	if list.More > 0 && c.OnTerminal() {
		c.Note("… %s more: ac ps -a", terminal.FormatGrouped(list.More))
	}
	return nil
}

// runLines returns the rows of a list of runs for a pipe.
func runLines(rows []company.RunRow) [][]string {
	lines := make([][]string, len(rows))
	for i := range rows {
		r := &rows[i]
		line := []string{r.RunID, r.State, cli.OrUnknown(r.Agent, r.AgentID), cli.OrUnknown(r.What, ""), cli.OrEmpty(r.CreatedAt), "", "", "", r.ProjectID}
		if r.TookS != nil {
			line[5] = strconv.FormatFloat(*r.TookS, 'f', -1, 64)
		}
		if r.Tokens != nil {
			line[6] = strconv.FormatInt(*r.Tokens, 10)
		}
		if r.CostUSD != nil {
			line[7] = strconv.FormatFloat(*r.CostUSD, 'f', -1, 64)
		}
		lines[i] = line
	}
	return lines
}
