package records

// needs:* and help:answer: what waits for a person, and answers to help requests.

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company/decisions"
	"ac/governance/needs"
	"ac/internal/fault"
	"ac/internal/terminal"
	"ac/runs/transcript"
	"ac/workspace"
	"ac/workspace/doc"
)

func needsListCommand(a *cli.App) *cobra.Command {
	var p decisions.ListNeedsParams
	asJSON, dismissed := false, false
	cmd := &cobra.Command{
		Use: "needs:list <dir>", Short: "List what waits for a person", Args: cli.Args("dir"),
		Long: `List what waits for a person: the most urgent first, then the oldest. Each line has the
id, the kind, the age, the one who asks, and the title. With --dismissed the list is of
what was set aside.

With --json the result is that of needs.list.`,
		Example: "  ac needs:list ./acme\n  ac needs:list ./acme --kinds permission question --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dismissed {
				p.State = "dismissed"
			}
			found, err := cli.Ask(cmd.Context(), a, decisions.Operations.ListNeeds, p)
			if err != nil {
				return err
			}
			if asJSON {
				return a.PrintJSON(found)
			}
			now := workspace.SystemEnv().Clock.Now()
			for _, n := range found.Needs {
				line := []string{n.NeedID, n.Kind, cli.Age(n.At, now), cmp.Or(n.Who, terminal.Unknown), n.Title}
				fmt.Fprintln(a.Stdout, terminal.Quote(strings.Join(line, "  ")))
			}
			return nil
		},
	}
	p.State = "open"
	cli.Mirror(cmd, &p,
		"project=project_id: only of this project",
		"kinds: only of these kinds: "+strings.Join(needs.Kinds(), ", "),
		"limit: at most so many",
		"cursor: continue a list from its next_cursor")
	cmd.Flags().BoolVar(&dismissed, "dismissed", false, "list what was set aside")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func needsShowCommand(a *cli.App) *cobra.Command {
	var p decisions.NeedParams
	asJSON := false
	cmd := &cobra.Command{
		Use: "needs:show <dir>", Short: "Show what waits for a person, with what it is about", Args: cli.Args("dir"),
		Long: `Show one item that waits for a person, with what it is about: the question, the change
that its approval makes, or the failure and what the agent said last.

With --json the result is that of needs.get.`,
		Example: "  ac needs:show ./acme --need memory:art_01M7WQGXT21HWCN0N3RMKCA3ZM",
		RunE: func(cmd *cobra.Command, _ []string) error {
			seen, err := cli.Ask(cmd.Context(), a, decisions.Operations.Need, p)
			if err != nil {
				return err
			}
			if asJSON {
				return a.PrintJSON(seen)
			}
			c := &cli.Call{App: a, Ctx: cmd.Context(), ShortFlags: cli.ShortFlags{Color: "auto", NoPager: true}}
			return needSheet(c, seen).Print()
		},
	}
	cli.Mirror(cmd, &p, "need=need_id: id of the item")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// needSheet returns a need with everything known about its subject.
func needSheet(c *cli.Call, seen decisions.NeedResult) *cli.Sheet {
	s := c.Sheet()
	s.Line("%s", seen.Title)
	s.Field("need", seen.NeedID)
	s.Field("kind", seen.Kind)
	s.Field("state", seen.State)
	s.Field("project", seen.ProjectID)
	s.Field("from", seen.Who)
	s.Field("run", seen.RunID)
	s.Field("since", seen.At)
	s.Field("until", seen.ExpiresAt)
	if f := seen.Proof.Failure; f != nil {
		s.Field("error", strings.TrimSpace(f.ErrorKind+" "+f.Error))
		if f.ExitCode != nil {
			s.Field("exit code", strconv.Itoa(*f.ExitCode))
		}
	}
	if b := seen.Proof.Budget; b != nil && b.Actual != nil && b.Threshold != nil {
		s.Field("budget", fmt.Sprintf("%s: %v, of %v", cli.OrEmpty(b.Metric), *b.Actual, *b.Threshold))
	}
	if l := seen.Proof.Log; l != nil {
		for _, issue := range l.ParseIssues {
			s.Line("line %d: %s", issue.Seq, issue.Error)
		}
		for _, issue := range l.VerificationIssues {
			s.Line("event %d: %s", issue.Seq, issue.Message)
		}
	}
	for _, item := range seen.Proof.Items {
		s.WriteString(terminal.QuoteLines(transcript.Render(item)) + "\n")
	}
	c.ProofText(s, seen)
	return s
}

func needsDismissCommand(a *cli.App) *cobra.Command {
	var p decisions.DismissNeedsParams
	restore := false
	cmd := &cobra.Command{
		Use: "needs:dismiss <dir>", Short: "Set failures aside, or bring them back", Args: cli.Args("dir"),
		Long: `Set items aside for all who look on this machine: failed runs, budgets that were
exceeded, broken logs. With --restore they come back. What waits for a decision or an
answer cannot be set aside. Print the result of needs.dismiss as JSON. Exit status: 0 if
all of it was done, 1 if not.`,
		Example: "  ac needs:dismiss ./acme --needs run_failed:run_01M7WQGTR95SV6EDMA61E1XR8M:1 --note 'The disk was full'",
		RunE: func(cmd *cobra.Command, _ []string) error {
			op := decisions.Operations.DismissNeeds
			if restore {
				op = decisions.Operations.RestoreNeeds
			}
			done, err := cli.Ask(cmd.Context(), a, op, p)
			if err != nil {
				return err
			}
			if err := a.PrintJSON(done); err != nil {
				return err
			}
			var failed error
			for _, e := range done.Errors {
				failed = errors.Join(failed, fault.New(e.Reason, "%s", e.Message))
			}
			return failed
		},
	}
	cli.Mirror(cmd, &p,
		"needs=need_ids: ids of the items",
		"note: why")
	cmd.Flags().BoolVar(&restore, "restore", false, "bring them back")
	cli.ActorFlags(cmd, &p.ActorID, &p.ActorRole)
	return cmd
}

func helpAnswerCommand(a *cli.App) *cobra.Command {
	var p decisions.AnswerHelpParams
	cmd := &cobra.Command{
		Use: "help:answer <dir>", Short: "Answer a help request", Args: cli.Args("dir"),
		Long: `Append an answer to a help request, with who answers and when, and notify the agent that
asks in a direct message. Print the result of help.answer as JSON.`,
		Example: "  ac help:answer ./acme --request help_01M7WR6QK4S7X2Y8Z3A5B6C9DE --body 'The one of the payments team'",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.OneOf("role", p.ActorRole, doc.Roles()); err != nil {
				return err
			}
			return cli.PrintLine(cmd.Context(), a, decisions.Operations.AnswerHelp, p)
		},
	}
	cli.Mirror(cmd, &p,
		"request=help_request_id: id of the request",
		"body: the answer, in Markdown",
		"expect-hash: answer only if the request still has this hash of help.get",
		"tell: how to notify the requester")
	cli.ActorFlags(cmd, &p.ActorID, &p.ActorRole)
	return cmd
}
