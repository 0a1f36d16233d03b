package execution

// run:steer, run:interrupt, run:policy and run:answer: actions on the live session of a run.

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/company/orchestration"
	"ac/internal/fault"
	"ac/workspace/doc"
)

// onRun holds the run that a command acts on, and the actor.
type onRun struct {
	dir, project, run string
	actor, role, team string
	asJSON            bool
}

// flags declares the options of every command that acts on a run.
func (o *onRun) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.project, "project", "", "id of the project, if several have a run with this id")
	o.actorFlags(cmd)
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "print the result as JSON")
}

// actorFlags declares the options that identify the actor.
func (o *onRun) actorFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.actor, "actor", "human", "id of the actor")
	cmd.Flags().StringVar(&o.role, "role", "human", "role of the actor")
	cmd.Flags().StringVar(&o.team, "team", "", "team of the actor")
}

// find determines the project and the run.
func (o *onRun) find(ctx context.Context, a *cli.App, given []string) error {
	o.dir, o.run = given[0], given[1]
	if o.project != "" && o.run != cli.NewestRun {
		return nil
	}
	var p company.ListRunsParams
	p.WorkspaceDir, p.ProjectID = o.dir, o.project
	rows, err := cli.Ask(ctx, a, (*company.Folder).ListRuns, p)
	if err != nil {
		return err
	}
	found := map[string]bool{}
	for _, row := range rows {
		if row.RunID == o.run || o.run == cli.NewestRun {
			o.run = row.RunID
			found[row.ProjectID], o.project = true, row.ProjectID
		}
	}
	switch len(found) {
	case 0:
		return fault.New(fault.NotFound, "run %s does not exist in %s", o.run, o.dir)
	case 1:
		return nil
	}
	return fault.New(fault.Conflict, "run %s is in %d projects; name one with --project", o.run, len(found))
}

func runSteerCommand(a *cli.App) *cobra.Command {
	var on onRun
	var p orchestration.SteerParams
	interrupt, after := false, false
	cmd := &cobra.Command{
		Use: "run:steer <dir> <run> [text]", Short: "Send a message to the agent of a run", Args: cobra.RangeArgs(2, 3),
		Long: `Send a message to the agent of a run: within the current turn if the agent supports
that, otherwise as the next turn. Without a text argument, read it from stdin. The run
may be "last".`,
		Example: "  ac run:steer ./acme last \"and add a test\"\n  ac run:steer ./acme run_01M7WQGTR95SV6EDMA61E1XR8M --interrupt \"stop, look at the log first\"",
		RunE: func(cmd *cobra.Command, given []string) (err error) {
			if err := on.find(cmd.Context(), a, given); err != nil {
				return err
			}
			if p.Text, err = a.TextOrStdin(given[2:]); err != nil {
				return err
			}
			if p.Mode = "next_turn"; interrupt {
				p.Mode = "interrupt"
			} else if after {
				p.Mode = "after_turn"
			}
			p.Act(on.dir, on.project, on.run, on.actor, on.role, on.team)
			said, err := cli.Ask(cmd.Context(), a, orchestration.Operations.Steer, p)
			if err != nil {
				return err
			}
			if on.asJSON {
				return a.PrintJSON(said)
			}
			fmt.Fprintf(a.Stdout, "%s delivery=%s\n", said.SteerID, said.Delivery)
			return nil
		},
	}
	on.flags(cmd)
	cmd.Flags().BoolVar(&interrupt, "interrupt", false, "end the current turn first")
	cmd.Flags().BoolVar(&after, "after-turn", false, "as a new turn after the current one")
	cmd.Flags().StringVar(&p.ClientMessageID, "message-id", "", "idempotency key: a message with the same one is sent once")
	cmd.Flags().IntVar(&p.ExpectedTurn, "expected-turn", 0, "fail if another turn is active")
	cmd.MarkFlagsMutuallyExclusive("interrupt", "after-turn")
	return cmd
}

func runInterruptCommand(a *cli.App) *cobra.Command {
	var on onRun
	var p orchestration.InterruptParams
	cmd := &cobra.Command{
		Use: "run:interrupt <dir> <run>", Short: "Stop the turn of a run", Args: cli.Args("dir", "run"),
		Long:    "Stop the turn of a run. A session that is kept open continues. The run may be \"last\".",
		Example: "  ac run:interrupt ./acme last",
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := on.find(cmd.Context(), a, given); err != nil {
				return err
			}
			p.Act(on.dir, on.project, on.run, on.actor, on.role, on.team)
			done, err := cli.Ask(cmd.Context(), a, orchestration.Operations.Interrupt, p)
			if err != nil {
				return err
			}
			if on.asJSON {
				return a.PrintJSON(done)
			}
			fmt.Fprintf(a.Stdout, "interrupted turn %d\n", done.Turn)
			return nil
		},
	}
	on.flags(cmd)
	cmd.Flags().IntVar(&p.ExpectedTurn, "expected-turn", 0, "fail if another turn is active")
	return cmd
}

func runPolicyCommand(a *cli.App) *cobra.Command {
	var on onRun
	var mode, level string
	rules := map[doc.Effect]*[]string{doc.Allow: {}, doc.Deny: {}, doc.Ask: {}}
	empty := false
	cmd := &cobra.Command{
		Use: "run:policy <dir> <run>", Short: "Show or change the permissions of a run's agent", Args: cli.Args("dir", "run"),
		Long: `Show the policy of a run, or change it: open requests are decided again. Rules are
operation:glob, with fs_read, fs_write, fs_exec, network or mcp_tool. They are added
before the existing ones, or replace them with --clear.`,
		Example: "  ac run:policy ./acme last\n  ac run:policy ./acme last --mode accept_edits --allow \"fs_exec:git *\"",
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := on.find(cmd.Context(), a, given); err != nil {
				return err
			}
			var get orchestration.RunPolicyParams
			get.WorkspaceDir, get.ProjectID, get.RunID = on.dir, on.project, on.run
			now, err := cli.Ask(cmd.Context(), a, orchestration.Operations.RunPolicy, get)
			if err != nil {
				return err
			}
			added, err := rulesOf(rules)
			if err != nil {
				return err
			}
			if mode != "" || level != "" || len(added) > 0 || empty {
				var p orchestration.SetRunPolicyParams
				p.WorkspaceDir, p.ProjectID, p.RunID = on.dir, on.project, on.run
				p.ActorID, p.ActorRole, p.ActorTeamID = on.actor, on.role, on.team
				p.Mode, p.PermissionLevel = doc.Mode(mode), doc.Level(level)
				if len(added) > 0 || empty {
					if !empty {
						added = append(added, now.Policy.Rules...)
					}
					p.Rules = added
				}
				set, err := cli.Ask(cmd.Context(), a, orchestration.Operations.SetRunPolicy, p)
				if err != nil {
					return err
				}
				now.Policy = set.Policy
			}
			if on.asJSON {
				return a.PrintJSON(now)
			}
			printPolicy(a, now.Policy)
			return nil
		},
	}
	on.flags(cmd)
	cmd.Flags().StringVar(&mode, "mode", "", "default, accept_edits, plan or full_auto")
	cmd.Flags().StringVar(&level, "level", "", "read-only, patch, run-commands or full")
	cmd.Flags().StringArrayVar(rules[doc.Allow], "allow", nil, "operation:glob to allow (repeatable)")
	cmd.Flags().StringArrayVar(rules[doc.Deny], "deny", nil, "operation:glob to deny (repeatable)")
	cmd.Flags().StringArrayVar(rules[doc.Ask], "ask", nil, "operation:glob to ask a person about (repeatable)")
	cmd.Flags().BoolVar(&empty, "clear", false, "remove the existing rules")
	return cmd
}

// rulesOf returns the rules of the options: denials first, then rules that ask, then allowances.
func rulesOf(options map[doc.Effect]*[]string) (rules []doc.PolicyRule, err error) {
	rules = []doc.PolicyRule{}
	for _, effect := range []doc.Effect{doc.Deny, doc.Ask, doc.Allow} {
		for _, text := range *options[effect] {
			operation, glob, ok := strings.Cut(text, ":")
			if !ok || glob == "" {
				return nil, cli.UsageError{Message: fmt.Sprintf("--%s must be operation:glob", effect)}
			}
			rules = append(rules, doc.PolicyRule{Operation: doc.Operation(operation), Effect: effect, Glob: glob})
		}
	}
	return rules, nil
}

func printPolicy(a *cli.App, p doc.RunPolicy) {
	fmt.Fprintf(a.Stdout, "mode %s, level %s\n", p.Mode, p.PermissionLevel)
	for _, r := range p.Rules {
		once := ""
		if r.Once {
			once = " (once)"
		}
		fmt.Fprintf(a.Stdout, "%s\t%s %s:%s%s\n", r.ID, r.Effect, r.Operation, r.Glob, once)
	}
}

func runAnswerCommand(a *cli.App) *cobra.Command {
	var on onRun
	var p orchestration.RespondParams
	var text string
	var answers []string
	allow, deny, session, watch := false, false, false, false
	cmd := &cobra.Command{
		Use: "run:answer <dir> [run]", Short: "Answer requests of agents", Args: cobra.RangeArgs(1, 2),
		Long: `Answer a request of a run's agent. interaction:list shows the open ones with their ids
and kinds. The run may be "last".

Without a decision, ask at the terminal: the open requests, the oldest first, of the run
or of the whole workspace. If somebody else answers meanwhile, it says who and goes on.`,
		Example: "  ac run:answer ./acme last --interaction int_01M7WQGTR95SV6EDMA61E1XR8M --allow\n  ac run:answer ./acme last --interaction int_01M7WQGTR95SV6EDMA61E1XR8M --deny --text \"use make instead\"",
		RunE: func(cmd *cobra.Command, given []string) error {
			decided := slices.ContainsFunc([]string{"allow", "deny", "option", "text", "answer"}, cmd.Flags().Changed)
			if decided {
				if err := cli.Require(cmd, "interaction"); err != nil {
					return err
				}
			}
			if on.dir = given[0]; len(given) > 1 {
				if err := on.find(cmd.Context(), a, given); err != nil {
					return err
				}
			} else if decided {
				return cli.UsageError{Message: "missing argument: run"}
			}
			if !decided {
				return answerAtTerminal(a, cmd, on, p.InteractionID, watch)
			}
			if allow {
				p.Decision = "allow"
			} else if deny {
				p.Decision = "deny"
			}
			if p.Scope = ""; session {
				p.Scope = "session"
			}
			if cmd.Flags().Changed("text") {
				p.Text = &text
			}
			for _, answer := range answers {
				question, value, ok := strings.Cut(answer, "=")
				if !ok {
					return cli.UsageError{Message: "--answer must be question=answer"}
				}
				if p.Answers == nil {
					p.Answers = map[string][]string{}
				}
				p.Answers[question] = append(p.Answers[question], value)
			}
			p.Act(on.dir, on.project, on.run, on.actor, on.role, on.team)
			done, err := cli.Ask(cmd.Context(), a, orchestration.Operations.Respond, p)
			if err != nil {
				return err
			}
			if on.asJSON {
				return a.PrintJSON(done)
			}
			fmt.Fprintf(a.Stdout, "%s %s\n", done.InteractionID, done.State)
			return nil
		},
	}
	on.flags(cmd)
	cmd.Flags().StringVar(&p.InteractionID, "interaction", "", "id of the interaction (required with a decision)")
	cmd.Flags().BoolVar(&allow, "allow", false, "allow it")
	cmd.Flags().BoolVar(&deny, "deny", false, "deny it, with --text as the reason")
	cmd.Flags().BoolVar(&session, "session", false, "for the whole session")
	cmd.Flags().StringVar(&p.OptionID, "option", "", "id of the chosen option")
	cmd.Flags().StringVar(&text, "text", "", "the answer as free text")
	cmd.Flags().StringArrayVar(&answers, "answer", nil, "question=answer (repeatable)")
	cmd.Flags().StringVar(&p.Note, "note", "", "a note for the log")
	cmd.Flags().BoolVar(&watch, "watch", false, "wait for more (at a terminal)")
	cmd.MarkFlagsMutuallyExclusive("allow", "deny", "option", "answer")
	return cmd
}
