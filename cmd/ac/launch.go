package main

// run:launch and run:continue: an agent that can be spoken with, from the command line.

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ac/company"
	"ac/company/orchestration"
	"ac/workspace/doc"
)

// liveFlags are the options of an agent that is spoken with.
type liveFlags struct {
	driver, mode, level string
	keepOpen            bool
	tools, launchJobs   bool
	idle                int64
	noWatch             bool
	tokens              int64
	dollars             float64
	placementFlags
}

// budget is the limit of the run, nil for none.
func (l *liveFlags) budget(flags *pflag.FlagSet) *doc.Budget {
	var b doc.Budget
	if flags.Changed("budget-tokens") {
		b.HardTokens = &l.tokens
	}
	if flags.Changed("budget-usd") {
		b.HardCostUSD = &l.dollars
	}
	if b.HardTokens == nil && b.HardCostUSD == nil {
		return nil
	}
	return &b
}

// follow watches the run that a command began, and asks at a terminal what it asks.
func (a *app) follow(cmd *cobra.Command, by onRun, run string) error {
	o := watchOptions{project: by.project}
	if a.atTerminal() {
		o.answer = a.newAnswering(onRun{dir: by.dir, actor: by.actor, role: by.role, team: by.team})
	}
	return a.watchToEnd(cmd.Context(), []string{by.dir, run}, o)
}

// add declares the options.
func (l *liveFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&l.driver, "driver", "", "driver: codex, claude or acp (default: that of the provider)")
	flags.StringVar(&l.mode, "mode", "", "default, accept_edits, plan or full_auto")
	flags.StringVar(&l.level, "level", "", "read-only, patch, run-commands or full")
	flags.BoolVar(&l.keepOpen, "keep-open", false, "keep the session open between turns")
	flags.Int64Var(&l.idle, "idle-timeout", 0, "seconds without a turn until the session ends (with --keep-open)")
	flags.BoolVar(&l.tools, "mcp", false, "give it ac's own tools: who it is, its task, asking people, proposals")
	flags.BoolVar(&l.noWatch, "no-watch", false, "do not show what it does; what it asks waits for run:answer")
	flags.Int64Var(&l.tokens, "budget-tokens", 0, "stop it above so many tokens")
	flags.Float64Var(&l.dollars, "budget-usd", 0, "stop it above such a cost")
	l.placementFlags.add(flags)
	flags.BoolVar(&l.launchJobs, "mcp-launch-jobs", false, "let it launch jobs by them (with --mcp)")
}

func runLaunchCommand(a *app) *cobra.Command {
	var p orchestration.StartRunParams
	var live liveFlags
	var run string
	by := onRun{}
	cmd := &cobra.Command{
		Use: "run:launch <dir> [prompt]", Short: "Launch a live session of an agent", Args: cobra.RangeArgs(1, 2),
		Long: `Create a run and launch a live session of its agent, or do neither. With --run, launch a
run that was created before. In a git repository (--repo) a new run works in a worktree.
Without a prompt argument, read the prompt from stdin. Then show what it does, as
run:watch, and ask at a terminal what it asks. Without a terminal nobody is asked, unless
--no-watch is given: then print the ids as JSON, and what the agent asks waits for
run:answer.`,
		Example: "  ac run:launch ./acme \"fix the failing test\" --project proj_01M7WQGTQHQA1J50C42GD1KN1S --agent agent_01M7WQGTGTXSZWKNSAQVRS4PJE",
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := require(cmd, "project", "agent"); err != nil {
				return err
			}
			prompt, err := a.saidText(given[1:])
			if err != nil {
				return err
			}
			p.WorkspaceDir, p.PromptText, p.LanePriority, p.From = given[0], &prompt, "normal", "cli"
			p.By(by.actor, by.role, by.team)
			p.Change(live.driver, doc.Mode(live.mode), doc.Level(live.level), live.keepOpen, live.idle*1000)
			provider := p.Provider
			if provider == "" {
				if provider, err = a.providerOf(cmd, given[0], p.AgentID); err != nil {
					return err
				}
			}
			if speaks(provider, live.driver) {
				p.Ask(live.noWatch || by.asJSON || a.atTerminal())
			}
			p.Tools(live.tools, live.launchJobs)
			p.Budget = live.budget(cmd.Flags())
			if p.Placement, err = live.placement(cmd.Flags()); err != nil {
				return err
			}
			if run == "" {
				made, err := ask(cmd.Context(), a, orchestration.Operations.StartRun, p)
				if err != nil {
					return err
				}
				return a.launched(cmd, p, made, by, live.noWatch)
			}
			launched, err := ask(cmd.Context(), a, orchestration.Operations.Launch, p.LaunchOf(run))
			if err != nil {
				return err
			}
			return a.launched(cmd, p, orchestration.StartRunResult{RunID: run, SessionRef: launched.SessionRef}, by, live.noWatch)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&p.ProjectID, "project", "", "id of the project (required)")
	flags.StringVar(&p.AgentID, "agent", "", "id of the agent (required)")
	flags.StringVar(&p.Provider, "provider", "", "provider (default: that of the agent)")
	flags.StringVar(&run, "run", "", "id of a run that was not launched yet")
	flags.StringVar(&p.Model, "model", "", "the model")
	flags.StringVar(&p.RepoID, "repo", "", "id of the repository to work in")
	flags.StringVar(&p.TaskID, "task", "", "id of the task")
	flags.StringVar(&p.MilestoneID, "milestone", "", "id of the milestone")
	flags.StringArrayVar(&p.Argv, "argv", nil, "argument of the command of an Agent Client Protocol agent (repeatable)")
	by.actorFlags(cmd)
	flags.BoolVar(&by.asJSON, "json", false, "print the result as JSON, and do not show what it does")
	live.add(flags)
	return cmd
}

// launched prints the ids of a launch, or shows what it does.
func (a *app) launched(cmd *cobra.Command, p orchestration.StartRunParams, made orchestration.StartRunResult, by onRun, noWatch bool) error {
	switch {
	case by.asJSON:
		return a.printJSON(made)
	case noWatch:
		return a.printLine(made)
	}
	by.dir, by.project = p.WorkspaceDir, p.ProjectID
	return a.follow(cmd, by, made.RunID)
}

// speaks reports whether the agent of a provider is one that asks.
func speaks(provider, driver string) bool {
	return driver != doc.LiveCommand && (driver != "" || doc.ProviderNamed(provider).Live != "")
}

// providerOf is the provider of an agent, "" where it is not known.
func (a *app) providerOf(cmd *cobra.Command, dir, agent string) (provider string, err error) {
	var p company.AgentsParams
	p.WorkspaceDir = dir
	rows, err := ask(cmd.Context(), a, (*company.Folder).Agents, p)
	for _, row := range rows {
		if row.AgentID == agent {
			provider = row.Provider
		}
	}
	return provider, err
}

func runRetryCommand(a *app) *cobra.Command {
	var on onRun
	var p orchestration.RetryRunParams
	var prompt string
	cmd := &cobra.Command{
		Use: "run:retry <dir> <run>", Short: "Start a run like one that is over", Args: args("dir", "run"),
		Long: `Start a run like one that is over: with its agent, words or prompt, task, policy, title
and budget, where it ran. One in a worktree begins in a fresh one. Environment and stdin
were not kept. The run may be "last". Prints the ids as JSON, with --dry-run the plan.`,
		Example: "  ac run:retry ./acme last\n  ac run:retry ./acme run_01M7WQGTR95SV6EDMA61E1XR8M --dry-run",
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := on.find(cmd.Context(), a, given); err != nil {
				return err
			}
			if cmd.Flags().Changed("prompt") {
				p.PromptText = &prompt
			}
			p.Act(on.dir, on.project, on.run, on.actor, on.role, on.team)
			made, err := ask(cmd.Context(), a, orchestration.Operations.RetryRun, p)
			if err != nil {
				return err
			}
			if on.asJSON {
				return a.printJSON(made)
			}
			return a.printLine(made)
		},
	}
	on.flags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&prompt, "prompt", "", "another prompt")
	flags.StringVar(&p.Model, "model", "", "another model")
	flags.BoolVar(&p.DryRun, "dry-run", false, "say what would be done, and do nothing")
	flags.StringVar(&p.ExpectPlan, "expect-plan", "", "the plan_hash of a dry run: refuse to do anything else")
	flags.StringVar(&p.ClientMessageID, "message-id", "", "an id of yours: the same one again starts nothing twice")
	return cmd
}

func runContinueCommand(a *app) *cobra.Command {
	var on onRun
	var p orchestration.ContinueParams
	var live liveFlags
	cmd := &cobra.Command{
		Use: "run:continue <dir> <run> [prompt]", Short: "Continue a run that is over", Args: cobra.RangeArgs(2, 3),
		Long: `Continue a run that is over or idle: in the agent's own conversation if it still
exists, otherwise from a digest of the run. Without a prompt argument, read the prompt
from stdin. The run may be "last". Then shows what it does, as run:watch, unless --no-watch
is given.`,
		Example: "  ac run:continue ./acme last \"now the documentation\"",
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := on.find(cmd.Context(), a, given); err != nil {
				return err
			}
			prompt, err := a.saidText(given[2:])
			if err != nil {
				return err
			}
			p.Act(on.dir, on.project, on.run, on.actor, on.role, on.team)
			if p.LanePriority = "normal"; len(given) > 2 || strings.TrimSpace(prompt) != "" { // texts may wait for it
				p.PromptText = &prompt
			}
			p.Change(live.driver, doc.Mode(live.mode), doc.Level(live.level), live.keepOpen, live.idle*1000)
			p.Tools(live.tools, live.launchJobs)
			p.Budget = live.budget(cmd.Flags())
			if p.Placement, err = live.placement(cmd.Flags()); err != nil {
				return err
			}
			gone, err := ask(cmd.Context(), a, orchestration.Operations.Continue, p)
			if err != nil {
				return err
			}
			if on.asJSON {
				return a.printJSON(gone)
			}
			fmt.Fprintf(a.stdout, "session_ref=%s resumed=%s\n", gone.SessionRef, gone.Resumed)
			if live.noWatch {
				return nil
			}
			return a.follow(cmd, on, on.run)
		},
	}
	on.flags(cmd)
	cmd.Flags().StringVar(&p.Resume, "resume", "auto", "auto, provider or digest")
	cmd.Flags().StringVar(&p.Model, "model", "", "the model")
	cmd.Flags().StringVar(&p.ClientMessageID, "message-id", "", "idempotency key: a message with the same one is sent once")
	live.add(cmd.Flags())
	return cmd
}
