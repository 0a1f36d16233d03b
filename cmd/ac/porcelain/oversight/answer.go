package oversight

// ac answer: answering agents and help requests.

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/company/decisions"
	"ac/company/orchestration"
	"ac/governance/needs"
	"ac/internal/fault"
	"ac/runs/interaction"
)

func answerCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "answer [id] [word...]", Short: "Answer what an agent asks", Args: cobra.ArbitraryArgs,
		Long: `Answer a permission or a plan with allow, deny or session (allow for the whole session),
and what the agent is to know after deny; a question with the number or the label of a
choice, or in your words; an input and a help request in your words. Without an id, on a
terminal, everything that is asked is shown one by one. An empty answer leaves it open.`,
		Example: "  ac answer 7Q2ZK1 allow\n  ac answer 7Q2ZK1 deny \"use make clean\"\n  ac answer",
	}
	a.Short(cmd, func(c *cli.Call, given []string) error {
		if len(given) == 0 {
			return answerAll(c)
		}
		n, err := Need(c, given[0])
		if err != nil {
			return c.PrintDone([]cli.DoneRow{cli.FailedRow(given[0], "item", err)})
		}
		words := strings.TrimSpace(strings.Join(given[1:], " "))
		if words == "" {
			if !c.CanAsk() {
				return cli.UsageError{Message: "missing argument <word>"}
			}
			seen, err := Proof(c, n)
			if err != nil {
				return err
			}
			if words, err = askFor(c, seen); err != nil || words == "" {
				return err
			}
		}
		return c.PrintDone([]cli.DoneRow{Answer(c, n, words)})
	})
	return cmd
}

// answerAll asks for the answers to all open requests, one by one.
func answerAll(c *cli.Call) error {
	if !c.CanAsk() {
		return cli.UsageError{Message: "missing argument <id>"}
	}
	found, err := company.Do(c.Ctx, c.All, decisions.Operations.ListNeeds, decisions.ListNeedsParams{
		Dir: c.DirParam(), ProjectID: c.Project, State: "open", Limit: cli.MostInbox,
		Kinds: []string{needs.Permission, needs.Question, needs.Plan, needs.Input, needs.Help},
	})
	if err != nil {
		return err
	}
	if len(found.Needs) == 0 {
		c.Note("Nobody asks you.")
	}
	done := []cli.DoneRow{}
	for _, n := range found.Needs {
		seen, err := Proof(c, n)
		if fault.Is(err, fault.Settled) {
			continue // settled in the meantime
		}
		words := ""
		if err == nil {
			words, err = askFor(c, seen)
		}
		switch {
		case err != nil:
			done = append(done, cli.FailedRow(n.Ref(), n.Kind, err))
		case words != "":
			done = append(done, Answer(c, n, words))
		}
	}
	return c.PrintDone(done)
}

// askFor shows a request and reads the answer.
func askFor(c *cli.Call, seen decisions.NeedResult) (string, error) {
	if err := ShowNeed(c, seen); err != nil {
		return "", err
	}
	question := "Answer: "
	if seen.Kind == needs.Permission || seen.Kind == needs.Plan {
		question = "allow, deny, or session: "
	}
	fmt.Fprint(c.Stderr, question)
	return strings.TrimSpace(c.ReadLine()), nil
}

// Answer answers one request.
func Answer(c *cli.Call, n needs.Need, words string) cli.DoneRow {
	row := cli.DoneRow{ID: n.Ref(), Kind: n.Kind, OK: true}
	switch {
	case n.Kind == needs.Help:
		p := decisions.AnswerHelpParams{Body: words}
		p.Dir, p.HelpRequestID, p.ActorID, p.ActorRole, p.ActorTeamID = c.DirParam(), n.Ref(), c.Actor, c.Role, c.Team
		result, err := company.Do(c.Ctx, c.All, decisions.Operations.AnswerHelp, p)
		if err != nil {
			return cli.FailedRow(n.Ref(), n.Kind, err)
		}
		row.Result, row.Text = result, "answered "+cli.ShortID(n.Ref())+"  "+n.Title
		return row
	case n.Group != needs.GroupAsks:
		short := cli.ShortID(n.Ref())
		return cli.FailedRow(n.Ref(), n.Kind, fault.New(fault.Unsupported, "%s asks nothing; decide with: ac approve %s, or ac deny %s", short, short, short))
	}
	record, err := company.Do(c.Ctx, c.All, orchestration.Operations.Interaction, orchestration.InteractionParams{
		Dir: c.DirParam(), ProjectID: n.ProjectID, RunID: n.RunID, InteractionID: n.Ref(),
	})
	if err != nil {
		return cli.FailedRow(n.Ref(), n.Kind, err)
	}
	p, err := respondTo(&record, words)
	if err != nil {
		return cli.FailedRow(n.Ref(), n.Kind, err)
	}
	p.Act(c.Dir, n.ProjectID, n.RunID, c.Actor, c.Role, c.Team)
	result, err := company.Do(c.Ctx, c.All, orchestration.Operations.Respond, p)
	if err != nil {
		return cli.FailedRow(n.Ref(), n.Kind, err)
	}
	row.Result, row.Text = result, result.State+" "+cli.ShortID(n.Ref())+"  "+n.Title
	return row
}

// respondTo converts words to an answer that fits the request.
func respondTo(r *interaction.Record, words string) (p orchestration.RespondParams, err error) {
	p.InteractionID = r.InteractionID
	first, rest, _ := strings.Cut(words, " ")
	switch r.Kind {
	case interaction.Permission, interaction.Plan:
		switch strings.ToLower(first) {
		case "allow", "approve", "yes", "y":
			p.Decision = interaction.Allow
		case "session":
			p.Decision, p.Scope = interaction.Allow, interaction.Session
		case "deny", "no", "n":
			p.Decision = interaction.Deny
			if rest = strings.TrimSpace(rest); rest != "" {
				p.Text = &rest
			}
			return p, nil
		default:
			option, ok := optionNamed(r.Options, words)
			if !ok {
				return p, fault.New(fault.Unsupported, "%s is a %s: answer allow, session, or deny", cli.ShortID(r.InteractionID), r.Kind)
			}
			p.OptionID = option
			return p, nil
		}
		if strings.TrimSpace(rest) != "" {
			return p, fault.New(fault.Unsupported, "only deny takes more words")
		}
		return p, nil
	case interaction.Question:
		if len(r.Questions) == 1 {
			if label, ok := choiceNamed(r.Questions[0].Options, words); ok {
				words = label
			}
		}
	}
	p.Text = &words
	return p, nil
}

// optionNamed returns the id of the option with a number, a label or an id.
func optionNamed(options []interaction.Option, word string) (string, bool) {
	for i, o := range options {
		if strconv.Itoa(i+1) == word || strings.EqualFold(o.Label, word) || o.OptionID == word {
			return o.OptionID, true
		}
	}
	return "", false
}

// choiceNamed returns the label of the choice with a number or a label.
func choiceNamed(choices []interaction.Choice, word string) (string, bool) {
	for i, c := range choices {
		if strconv.Itoa(i+1) == word || strings.EqualFold(c.Label, word) {
			return c.Label, true
		}
	}
	return "", false
}
