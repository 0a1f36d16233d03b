package oversight

// ac show: one item of any kind, in full.

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/company/decisions"
	"ac/company/orchestration"
	"ac/events"
	"ac/governance/needs"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/internal/terminal"
	"ac/runs/transcript"
)

func showCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "show <id>", Short: "Show a run, an item of the inbox, a task, a job, an agent, a team or a project", Args: cli.Args("id"),
		Long: `Show one thing: a run with the end of its transcript and what can be done with it, an
item of the inbox with what its approval would change, a task, a job, an agent, a team or
a project. It is named by its id, the end of its id, or its name.`,
		Example: "  ac show 4WKKE6\n  ac show B8N4WE --json",
	}
	a.Short(cmd, func(c *cli.Call, given []string) error {
		found, err := findItem(c, given[0])
		if err != nil {
			return err
		}
		return found.show()
	})
	return cmd
}

// namedItem is an item that a word names.
type namedItem struct {
	cli.Candidate

	kind string
	show func() error
}

// findItem finds what a word names among all kinds. Matches in several kinds are ambiguous.
func findItem(c *cli.Call, word string) (namedItem, error) {
	var hits []namedItem
	var missing error // the error of the first kind without a match
	for _, find := range []func(*cli.Call, string) (namedItem, error){runItem, needItem, agentItem, teamItem, projectItem, taskItem, jobItem} {
		found, err := find(c, word)
		choice, isChoice := errors.AsType[cli.ChoiceError](err)
		switch {
		case err == nil:
			hits = append(hits, found)
		case isChoice && len(choice.Lines) > 0, fault.Is(err, fault.Settled) && len(hits) == 0:
			return namedItem{}, err
		case missing == nil:
			missing = err
		}
	}
	switch {
	case len(hits) == 1:
		return hits[0], nil
	case len(hits) == 0 && word == cli.NewestRun:
		return namedItem{}, missing
	case len(hits) == 0:
		if _, wrong := errors.AsType[cli.UsageError](missing); wrong {
			return namedItem{}, missing // the word is too short for an id
		}
		return namedItem{}, fault.New(fault.NotFound, "nothing is named %s in %s (ac ps -a, ac inbox -a)", word, c.Company)
	}
	e := cli.ChoiceError{Message: word + " names several things; say more of it"}
	for _, h := range hits {
		e.Lines = append(e.Lines, strings.TrimSpace(fmt.Sprintf("%s  %s  %s", h.kind, h.ID, h.Name)))
	}
	return namedItem{}, e
}

func runItem(c *cli.Call, word string) (namedItem, error) {
	row, err := c.Run(word)
	return namedItem{cli.Candidate{ID: row.RunID}, "run", func() error { return showRun(c, &row) }}, err
}

func needItem(c *cli.Call, word string) (namedItem, error) {
	n, err := Need(c, word, needs.DecisionKinds()...) // the other kinds concern runs, which runItem finds
	return namedItem{cli.Candidate{ID: n.Ref(), Name: n.Title}, n.Kind, func() error {
		seen, err := Proof(c, n)
		if err != nil {
			return err
		}
		if c.AsJSON {
			return printShown(c, n.Kind, seen)
		}
		return ShowNeed(c, seen)
	}}, err
}

// printShown prints an item as JSON: its kind, then its own fields.
func printShown(c *cli.Call, kind string, item any) error {
	text, err := json.Marshal(item)
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(text, []byte("{")) || events.Text(text, "kind") != "" {
		return c.PrintJSON(item)
	}
	head := fmt.Sprintf(`{"kind":%q`, kind)
	if len(text) > len("{}") {
		head += ","
	}
	return c.PrintJSON(json.RawMessage(head + string(text[1:])))
}

// showRun prints a run.
func showRun(c *cli.Call, row *company.RunRow) error {
	items, err := lastItems(c, row)
	if err != nil {
		return err
	}
	changed, changesErr := company.Do(c.Ctx, c.All, decisions.Operations.Changes, decisions.ChangesParams{
		Dir: c.DirParam(), ProjectID: row.ProjectID, RunID: row.RunID, Context: 3, Form: "rows", Mask: true,
	})
	if c.AsJSON {
		return printShown(c, "run", row)
	}
	s := c.Sheet()
	sign, _ := cli.StateSign(row, terminal.Unicode(os.Getenv))
	s.Title(fmt.Sprintf("run %s   %s %s", cli.ShortID(row.RunID), sign, row.State), fmt.Sprintf("%s (%s) · %s", cli.OrUnknown(row.Agent, row.AgentID), row.Provider, c.ProjectNamed(row.ProjectID)))
	s.Line("\n%s\n", cli.OrUnknown(row.What, ""))
	s.Linked("id", row.RunID, c.RunLink(row.ProjectID, row.RunID))
	s.Field("created", when(c, cli.OrEmpty(row.CreatedAt)))
	s.Field("started", when(c, cli.OrEmpty(row.StartedAt)))
	s.Field("ended", when(c, cli.OrEmpty(row.EndedAt)))
	s.Field("took", strings.TrimPrefix(cli.Took(row), terminal.Unknown))
	if row.Tokens != nil {
		s.Field("usage", fmt.Sprintf("%s tokens, %s", cli.Tokens(row), terminal.FormatCost(row.CostUSD)))
	}
	s.Linked("place", cli.OrEmpty(row.Worktree), c.ChangedLink(row, "."))
	if changesErr == nil && changed.ChangeRows != nil {
		s.Field("files", fmt.Sprintf("%s +%d -%d", terminal.FormatCount(changed.Totals.Files, "file"), changed.Totals.Added, changed.Totals.Removed))
	}
	s.Field("error", cli.OrEmpty(row.Error))
	for i, item := range items {
		if i == 0 {
			s.Line("")
		}
		s.WriteString(terminal.QuoteLines(transcript.Render(item)) + "\n")
	}
	s.Line("\n%s", strings.Join(actsOn(row, changesErr == nil && changed.ChangeRows != nil), "   "))
	return s.Print()
}

// shownItems is how many transcript items and runs ac show prints.
const shownItems = 10

// lastItems returns the newest transcript items of an agent's run.
func lastItems(c *cli.Call, row *company.RunRow) ([]*transcript.Item, error) {
	if !row.IsConversation {
		return nil, nil
	}
	page, err := company.Do(c.Ctx, c.All, orchestration.Operations.Transcript, orchestration.TranscriptParams{
		Dir: c.DirParam(), ProjectID: row.ProjectID, RunID: row.RunID, Tail: shownItems,
	})
	return page.Items, err
}

// actsOn returns the commands that apply to a run.
func actsOn(row *company.RunRow, changed bool) (acts []string) {
	short := cli.ShortID(row.RunID)
	if row.State == company.StateAsks {
		acts = append(acts, "ac answer")
	}
	acts = append(acts, "ac logs "+short)
	if changed {
		acts = append(acts, "ac diff "+short)
	}
	if row.Live() || row.State == company.StateNew {
		acts = append(acts, "ac stop "+short)
	}
	return acts
}

// ShowNeed prints a need: what it is, what it would change, and how to answer it.
func ShowNeed(c *cli.Call, seen decisions.NeedResult) error {
	s := c.Sheet()
	names, err := ReadAgentNames(c)
	if err != nil {
		return err
	}
	at, _ := clock.Parse(seen.At)
	s.Title(cmp.Or(seen.Title, seen.Kind), fmt.Sprintf("%s, by %s, %s", strings.TrimSuffix(what(c, seen), " "+seen.Title), cmp.Or(names[seen.Who], seen.Who, "nobody known"), howLongAgo(c, at)))
	if rule, known := rule(c, seen); known && rule.Allowed {
		s.Line("may be approved by you: %s", rule.RuleID)
	} else if known {
		s.Line("may not be approved by you: %s", rule.RuleID)
	}
	if expires, ok := clock.Parse(seen.ExpiresAt); ok {
		s.Line("%s left", terminal.FormatDuration(max(0, expires.Sub(c.Now))))
	}
	c.ProofText(s, seen)
	short := cli.ShortID(seen.Ref())
	switch seen.Kind {
	case needs.Question, needs.Input, needs.Help:
		s.Line("\nac answer %s TEXT", short)
	case needs.Permission, needs.Plan:
		s.Line("\nac approve %s   ac deny %s   ac answer %s session", short, short, short)
	default:
		s.Line("\nac approve %s   ac deny %s", short, short)
	}
	return s.Print()
}
