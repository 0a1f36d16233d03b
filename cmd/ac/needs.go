package main

// needs:* and help:answer: what waits for a person, and answers to requests for help.

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ac/company/decisions"
	"ac/governance/needs"
	"ac/internal/fault"
	"ac/internal/terminal"
	"ac/runs/transcript"
	"ac/workspace"
	"ac/workspace/doc"
)

func needsListCommand(a *app) *cobra.Command {
	var p decisions.ListNeedsParams
	asJSON, dismissed := false, false
	cmd := &cobra.Command{
		Use: "needs:list <dir>", Short: "List what waits for a person", Args: args("dir"),
		Long: `List what waits for a person: the most urgent first, then the oldest. Each line has the
id, the kind, the age, the one who asks, and the title. With --dismissed the list is of
what was set aside.

With --json the result is that of needs.list.`,
		Example: "  ac needs:list ./acme\n  ac needs:list ./acme --kinds permission question --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dismissed {
				p.State = "dismissed"
			}
			found, err := ask(cmd.Context(), a, decisions.Operations.ListNeeds, p)
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(found)
			}
			now := workspace.SystemEnv().Clock.Now()
			for _, n := range found.Needs {
				line := []string{n.NeedID, n.Kind, age(n.At, now), cmp.Or(n.Who, terminal.Unknown), n.Title}
				fmt.Fprintln(a.stdout, terminal.Quote(strings.Join(line, "  ")))
			}
			return nil
		},
	}
	p.State = "open"
	mirror(cmd, &p,
		"project=project_id: only of this project",
		"kinds: only of these kinds: "+strings.Join(needs.Kinds(), ", "),
		"limit: at most so many",
		"cursor: continue a list from its next_cursor")
	cmd.Flags().BoolVar(&dismissed, "dismissed", false, "list what was set aside")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func needsShowCommand(a *app) *cobra.Command {
	var p decisions.NeedParams
	asJSON := false
	cmd := &cobra.Command{
		Use: "needs:show <dir>", Short: "Show what waits for a person, with what it is about", Args: args("dir"),
		Long: `Show one item that waits for a person, with what it is about: the question, the change
that its approval makes, or the failure and what the agent said last.

With --json the result is that of needs.get.`,
		Example: "  ac needs:show ./acme --need memory:art_01M7WQGXT21HWCN0N3RMKCA3ZM",
		RunE: func(cmd *cobra.Command, _ []string) error {
			seen, err := ask(cmd.Context(), a, decisions.Operations.Need, p)
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(seen)
			}
			c := &call{app: a, ctx: cmd.Context(), shortFlags: shortFlags{color: "auto", noPager: true}}
			return c.needSheet(seen).print()
		},
	}
	mirror(cmd, &p, "need=need_id: id of the item")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// needSheet is a need with all that is known of what it is about.
func (c *call) needSheet(seen decisions.NeedResult) *sheet {
	s := c.sheet()
	s.line("%s", seen.Title)
	s.field("need", seen.NeedID)
	s.field("kind", seen.Kind)
	s.field("state", seen.State)
	s.field("project", seen.ProjectID)
	s.field("from", seen.Who)
	s.field("run", seen.RunID)
	s.field("since", seen.At)
	s.field("until", seen.ExpiresAt)
	if f := seen.Proof.Failure; f != nil {
		s.field("error", strings.TrimSpace(f.ErrorKind+" "+f.Error))
		if f.ExitCode != nil {
			s.field("exit code", strconv.Itoa(*f.ExitCode))
		}
	}
	if b := seen.Proof.Budget; b != nil && b.Actual != nil && b.Threshold != nil {
		s.field("budget", fmt.Sprintf("%s: %v, of %v", orEmpty(b.Metric), *b.Actual, *b.Threshold))
	}
	if l := seen.Proof.Log; l != nil {
		for _, issue := range l.ParseIssues {
			s.line("line %d: %s", issue.Seq, issue.Error)
		}
		for _, issue := range l.VerificationIssues {
			s.line("event %d: %s", issue.Seq, issue.Message)
		}
	}
	for _, item := range seen.Proof.Items {
		s.WriteString(terminal.QuoteLines(transcript.Render(item)) + "\n")
	}
	c.proofText(s, seen)
	return s
}

func needsDismissCommand(a *app) *cobra.Command {
	var p decisions.DismissNeedsParams
	restore := false
	cmd := &cobra.Command{
		Use: "needs:dismiss <dir>", Short: "Set failures aside, or bring them back", Args: args("dir"),
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
			done, err := ask(cmd.Context(), a, op, p)
			if err != nil {
				return err
			}
			if err := a.printJSON(done); err != nil {
				return err
			}
			var failed error
			for _, e := range done.Errors {
				failed = errors.Join(failed, fault.New(e.Reason, "%s", e.Message))
			}
			return failed
		},
	}
	mirror(cmd, &p,
		"needs=need_ids: ids of the items",
		"note: why")
	cmd.Flags().BoolVar(&restore, "restore", false, "bring them back")
	actorFlags(cmd, &p.ActorID, &p.ActorRole)
	return cmd
}

func helpAnswerCommand(a *app) *cobra.Command {
	var p decisions.AnswerHelpParams
	cmd := &cobra.Command{
		Use: "help:answer <dir>", Short: "Answer a help request", Args: args("dir"),
		Long: `Append an answer to a help request, with who answers and when, and notify the agent that
asks in a direct message. Print the result of help.answer as JSON.`,
		Example: "  ac help:answer ./acme --request help_01M7WR6QK4S7X2Y8Z3A5B6C9DE --body 'The one of the payments team'",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := oneOf("role", p.ActorRole, doc.Roles()); err != nil {
				return err
			}
			return printLine(cmd.Context(), a, decisions.Operations.AnswerHelp, p)
		},
	}
	mirror(cmd, &p,
		"request=help_request_id: id of the request",
		"body: the answer, in Markdown",
		"expect-hash: answer only if the request still has this hash of help.get",
		"tell: how to notify the requester")
	actorFlags(cmd, &p.ActorID, &p.ActorRole)
	return cmd
}
