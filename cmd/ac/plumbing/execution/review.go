package execution

// run:review: comments on what a run changed.

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company/orchestration"
	"ac/workspace"
)

func runReviewCommand(a *cli.App) *cobra.Command {
	var on onRun
	var p orchestration.ReviewParams
	var comments []string
	cmd := &cobra.Command{
		Use: "run:review <dir> <run>", Short: "Comment on what a run changed, for its agent", Args: cli.Args("dir", "run"),
		Long: `Write comments on lines that a run changed, and send them to its agent as one text: while
it works or waits as a message, else by going on with the run. A comment is
PATH:LINE: TEXT, with PATH:FROM-TO for several lines, and (old) behind the lines for what
was there before. The run may be "last". With --json the result of run.review.`,
		Example: "  ac run:review ./acme last --comment 'ledger/retry.go:12: Name it KeepKey.' --text 'Then run the tests.'\n" +
			"  ac run:review ./acme last --comment 'a.go:3-5(old): Keep this.' --deliver continue",
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := cli.Require(cmd, "comment"); err != nil {
				return err
			}
			p.Comments = nil
			for _, text := range comments {
				line, ok := reviewedLine(text)
				if !ok {
					return cli.UsageError{Message: "--comment must be PATH:LINE: TEXT, not " + strconv.Quote(text)}
				}
				p.Comments = append(p.Comments, line)
			}
			if err := on.find(cmd.Context(), a, given); err != nil {
				return err
			}
			if p.ClientMessageID == "" {
				p.ClientMessageID = workspace.SystemEnv().IDs.New("review")
			}
			p.Act(on.dir, on.project, on.run, on.actor, on.role, on.team)
			done, err := cli.Ask(cmd.Context(), a, orchestration.Operations.Review, p)
			if err != nil {
				return err
			}
			if on.asJSON {
				return a.PrintJSON(done)
			}
			return a.PrintLine(done)
		},
	}
	on.flags(cmd)
	flags := cmd.Flags()
	flags.StringArrayVar(&comments, "comment", nil, "PATH:LINE: TEXT, may be repeated (required)")
	flags.StringVar(&p.Text, "text", "", "a text after the comments")
	flags.StringVar(&p.Deliver, "deliver", "auto", "how the agent gets it: auto, steer, continue")
	flags.StringVar(&p.ClientMessageID, "message-id", "", "an id of yours: a request with an id that was used changes nothing")
	return cmd
}

// reviewedLine parses a comment: PATH:LINE: TEXT, or PATH:FROM-TO(old): TEXT.
func reviewedLine(text string) (line orchestration.ReviewedLine, ok bool) {
	for from := 0; ; { // the path may contain colons
		colon := strings.IndexByte(text[from:], ':')
		if colon < 0 {
			return line, false
		}
		colon += from
		place, body, ends := strings.Cut(text[colon+1:], ":")
		if ends {
			line = orchestration.ReviewedLine{Path: text[:colon], Side: "new", Body: strings.TrimSpace(body)}
			if rest, old := strings.CutSuffix(place, "(old)"); old {
				line.Side, place = "old", rest
			}
			first, last, several := strings.Cut(strings.TrimSpace(strings.TrimSuffix(place, "(new)")), "-")
			var err, lastErr error
			line.Line, err = strconv.Atoi(first)
			if several {
				line.LineTo, lastErr = strconv.Atoi(last)
			}
			if err == nil && lastErr == nil && line.Path != "" {
				return line, true
			}
		}
		from = colon + 1
	}
}
