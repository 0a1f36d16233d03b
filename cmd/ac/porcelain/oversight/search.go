package oversight

// ac search: full-text search in the workspace.

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/cmd/ac/plumbing/workspaces"
	"ac/company"
	"ac/index/search"
	"ac/internal/terminal"
)

func searchCommand(a *cli.App) *cobra.Command {
	limit := 30
	cmd := &cobra.Command{
		Use: "search <word...>", Short: "Find runs, tasks, people, artifacts and messages", Args: cobra.MinimumNArgs(1),
		Long: `Find what people read of the workspace: runs with what their agents said, tasks, people,
artifacts, messages, comments and help requests. All words must be there, the last one as
the beginning of a word. In quotes they are a phrase. kind:run, agent:Kei, project:Atlas,
status:failed and after:2026-11-01 filter. With --json the result of search.query.`,
		Example: "  ac search build\n  ac search kind:run status:failed make",
	}
	a.Listing(cmd, func(c *cli.Call, given []string) error {
		found, err := company.Do(c.Ctx, c.All, (*company.Company).Search, company.SearchParams{
			Dir: c.DirParam(), Q: strings.Join(given, " "), Limit: limit, Patience: workspaces.SearchWait,
			FilesActor: company.FilesActor{ActorID: c.Actor, ActorRole: c.Role, ActorTeamID: c.Team},
		})
		if err != nil {
			return err
		}
		if found.Behind > 0 {
			c.Note("note: %d documents and runs are not searched yet; ask again", found.Behind)
		}
		return printListing(c, listing{found, searchTable(found.Hits, c.Now), workspaces.HitRows(found.Hits, c.Now), "Nothing was found."})
	})
	cmd.Flags().IntVar(&limit, "limit", limit, "at most so many, up to 100")
	return cmd
}

// searchTable returns the table of search results for a terminal.
func searchTable(hits []search.Hit, now time.Time) terminal.Table {
	t := terminal.Table{Columns: []terminal.Column{{Title: "KIND"}, {Title: "ID", Drop: 3}, {Title: "TITLE", MaxWidth: 32, Drop: 2}, {Title: "FOUND", Text: true}, {Title: "AGE", Right: true, Drop: 1}}}
	for i := range hits {
		h := &hits[i]
		t.Rows = append(t.Rows, []terminal.Cell{{Text: h.Kind}, {Text: cli.ShortID(h.Ref)}, {Text: h.Title}, {Text: h.Snippet}, {Text: terminal.FormatAge(time.UnixMilli(h.At), now)}})
	}
	return t
}
