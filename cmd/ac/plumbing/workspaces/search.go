package workspaces

// search:query and usage:series: search results and costs as the control room shows them.

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/company/workforce"
	"ac/index/search"
	"ac/internal/terminal"
	"ac/snapshot"
	"ac/workspace"
)

// SearchWait is how long a command waits for the search index, which may have to be built first.
const SearchWait = 10 * time.Second

func searchQueryCommand(a *cli.App) *cobra.Command {
	var p company.SearchParams
	asJSON := false
	cmd := &cobra.Command{
		Use: "search:query <dir> <query>", Short: "Find runs, tasks, people, artifacts and messages by words", Args: cobra.MinimumNArgs(2),
		Long: `Find what people read of a workspace: runs with what their agents said, tasks, people,
artifacts, messages, comments and help requests. All words must be there, the last one as
the beginning of a word. "..." is a phrase. kind:run, agent:Kei, project:Atlas,
status:failed and after:2026-11-01 filter. Each line has the id, the kind, the age, the
title and what was found. With --json the result is that of search.query.`,
		Example: "  ac search:query ./acme retry queue\n  ac search:query ./acme kind:run status:failed quota --json",
		RunE: func(cmd *cobra.Command, given []string) error {
			p.WorkspaceDir, p.Q, p.Patience = given[0], strings.Join(given[1:], " "), SearchWait
			found, err := cli.Ask(cmd.Context(), a, (*company.Company).Search, p)
			switch {
			case err != nil:
				return err
			case asJSON:
				return a.PrintJSON(found)
			}
			for _, row := range HitRows(found.Hits, workspace.SystemEnv().Clock.Now()) {
				fmt.Fprintln(a.Stdout, terminal.Quote(strings.Join(row, "  ")))
			}
			return nil
		},
	}
	cli.Mirror(cmd, &p,
		"project=project_id: only of this project",
		"kinds: only of these kinds: "+strings.Join(search.Kinds(), ", "),
		"limit: at most so many",
		"cursor: continue a list from its next_cursor")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cli.ActorFlags(cmd, &p.ActorID, &p.ActorRole)
	return cmd
}

// HitRows returns search results as rows for programs: id, kind, age, title, snippet.
func HitRows(hits []search.Hit, now time.Time) [][]string {
	rows := make([][]string, len(hits))
	for i, h := range hits {
		rows[i] = []string{h.Ref, h.Kind, terminal.FormatAge(time.UnixMilli(h.At), now), h.Title, h.Snippet}
	}
	return rows
}

func usageSeriesCommand(a *cli.App) *cobra.Command {
	var p workforce.UsageSeriesParams
	asJSON := false
	cmd := &cobra.Command{
		Use: "usage:series <dir>", Short: "Show what was used over time", Args: cli.Args("dir"),
		Long: `Show what was used in each part of a period, by agent, provider, model, project or task:
money that was reported, money by rates, money estimated, tokens without a price, and all
tokens. With --json the result of usage.series.`,
		Example: "  ac usage:series ./acme --from 2026-11-01 --to 2026-11-14\n  ac usage:series ./acme --from 2026-11-01 --to 2026-11-30 --bucket week --by model --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			series, err := cli.Ask(cmd.Context(), a, workforce.Operations.UsageSeries, p)
			switch {
			case err != nil:
				return err
			case asJSON:
				return a.PrintJSON(series)
			}
			for _, row := range seriesRows(&series) {
				fmt.Fprintln(a.Stdout, terminal.Quote(strings.Join(row, "  ")))
			}
			return nil
		},
	}
	cli.Mirror(cmd, &p,
		"from: the first day, such as 2026-11-01",
		"to: the last day",
		"bucket: how long a part is",
		"by: the key of the figures",
		"tz=timezone_offset_minutes: UTC minus local time, in minutes",
		"project: only the runs of this project")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// seriesRows returns the buckets that have any usage, and the total.
func seriesRows(s *snapshot.Series) [][]string {
	row := func(at, name string, c *snapshot.SeriesCell) []string {
		money := func(kind string, usd float64) string { return kind + " $" + strconv.FormatFloat(usd, 'f', 2, 64) }
		return []string{
			at, name, fmt.Sprintf("runs %d", c.Runs), money("reported", c.Cost.Reported), money("by rate", c.Cost.Rate), money("estimated", c.Cost.Estimated),
			fmt.Sprintf("unpriced %d", c.UnpricedTokens), fmt.Sprintf("tokens %d", c.Tokens.Reported+c.Tokens.Estimated),
		}
	}
	var rows [][]string
	for _, bucket := range s.Buckets {
		for _, key := range s.Keys {
			if cell := bucket.Keys[key.Key]; cell != nil {
				rows = append(rows, row(bucket.At, key.Name, cell))
			}
		}
	}
	return append(rows, row("total", s.From+" to "+s.To, &s.Totals))
}
