package execution

// run:launch and run:continue: live sessions from the command line.

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/company/orchestration"
	"ac/workspace/doc"
)

// LiveFlags holds the options of a live session.
type LiveFlags struct {
	Driver, Mode, Level string
	KeepOpen            bool
	Tools, LaunchJobs   bool
	Idle                int64
	noWatch             bool
	tokens              int64
	dollars             float64
	PlacementFlags
}

// budget returns the budget of the run, nil if no option sets one.
func (l *LiveFlags) budget(flags *pflag.FlagSet) *doc.Budget {
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

// follow watches the run that a command started. At a terminal it asks the person about the agent's
// requests.
func follow(a *cli.App, cmd *cobra.Command, by onRun, run string) error {
	o := watchOptions{project: by.project}
	if atTerminal(a) {
		o.answer = newAnswering(a, onRun{dir: by.dir, actor: by.actor, role: by.role, team: by.team})
	}
	return watchToEnd(cmd.Context(), a, []string{by.dir, run}, o)
}

// Add declares the options.
func (l *LiveFlags) Add(flags *pflag.FlagSet) {
	flags.StringVar(&l.Driver, "driver", "", "driver: codex, claude or acp (default: that of the provider)")
	flags.StringVar(&l.Mode, "mode", "", "default, accept_edits, plan or full_auto")
	flags.StringVar(&l.Level, "level", "", "read-only, patch, run-commands or full")
	flags.BoolVar(&l.KeepOpen, "keep-open", false, "keep the session open between turns")
	flags.Int64Var(&l.Idle, "idle-timeout", 0, "seconds without a turn until the session ends (with --keep-open)")
	flags.BoolVar(&l.Tools, "mcp", false, "give it ac's own tools: who it is, its task, asking people, proposals")
	flags.BoolVar(&l.noWatch, "no-watch", false, "do not show what it does; what it asks waits for run:answer")
	flags.Int64Var(&l.tokens, "budget-tokens", 0, "stop it above so many tokens")
	flags.Float64Var(&l.dollars, "budget-usd", 0, "stop it above such a cost")
	l.PlacementFlags.Add(flags)
	flags.BoolVar(&l.LaunchJobs, "mcp-launch-jobs", false, "let it launch jobs by them (with --mcp)")
}

func runLaunchCommand(a *cli.App) *cobra.Command {
	var p orchestration.StartRunParams
	var live LiveFlags
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
			if err := cli.Require(cmd, "project", "agent"); err != nil {
				return err
			}
			prompt, err := a.TextOrStdin(given[1:])
			if err != nil {
				return err
			}
			p.WorkspaceDir, p.PromptText, p.LanePriority, p.From = given[0], &prompt, "normal", "cli"
			p.By(by.actor, by.role, by.team)
			p.Change(live.Driver, doc.Mode(live.Mode), doc.Level(live.Level), live.KeepOpen, live.Idle*1000)
			provider := p.Provider
			if provider == "" {
				if provider, err = providerOf(a, cmd, given[0], p.AgentID); err != nil {
					return err
				}
			}
			if speaks(provider, live.Driver) {
				p.Ask(live.noWatch || by.asJSON || atTerminal(a))
			}
			p.Tools(live.Tools, live.LaunchJobs)
			p.Budget = live.budget(cmd.Flags())
			if p.Placement, err = live.Placement(cmd.Flags()); err != nil {
				return err
			}
			if run == "" {
				made, err := cli.Ask(cmd.Context(), a, orchestration.Operations.StartRun, p)
				if err != nil {
					return err
				}
				return printLaunched(a, cmd, p, made, by, live.noWatch)
			}
			launched, err := cli.Ask(cmd.Context(), a, orchestration.Operations.Launch, p.LaunchOf(run))
			if err != nil {
				return err
			}
			return printLaunched(a, cmd, p, orchestration.StartRunResult{RunID: run, SessionRef: launched.SessionRef}, by, live.noWatch)
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
	live.Add(flags)
	return cmd
}

// printLaunched prints the ids of a launch, or watches the run.
func printLaunched(a *cli.App, cmd *cobra.Command, p orchestration.StartRunParams, made orchestration.StartRunResult, by onRun, noWatch bool) error {
	switch {
	case by.asJSON:
		return a.PrintJSON(made)
	case noWatch:
		return a.PrintLine(made)
	}
	by.dir, by.project = p.WorkspaceDir, p.ProjectID
	return follow(a, cmd, by, made.RunID)
}

// speaks reports whether the agent of a provider or driver can ask people.
func speaks(provider, driver string) bool {
	return driver != doc.LiveCommand && (driver != "" || doc.ProviderNamed(provider).Live != "")
}

// providerOf returns the provider of an agent, "" if it is unknown.
func providerOf(a *cli.App, cmd *cobra.Command, dir, agent string) (provider string, err error) {
	var p company.AgentsParams
	p.WorkspaceDir = dir
	rows, err := cli.Ask(cmd.Context(), a, (*company.Folder).Agents, p)
	for _, row := range rows {
		if row.AgentID == agent {
			provider = row.Provider
		}
	}
	return provider, err
}

func runRetryCommand(a *cli.App) *cobra.Command {
	var on onRun
	var p orchestration.RetryRunParams
	var prompt string
	cmd := &cobra.Command{
		Use: "run:retry <dir> <run>", Short: "Start a run like one that is over", Args: cli.Args("dir", "run"),
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
			made, err := cli.Ask(cmd.Context(), a, orchestration.Operations.RetryRun, p)
			if err != nil {
				return err
			}
			if on.asJSON {
				return a.PrintJSON(made)
			}
			return a.PrintLine(made)
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

func runContinueCommand(a *cli.App) *cobra.Command {
	var on onRun
	var p orchestration.ContinueParams
	var live LiveFlags
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
			prompt, err := a.TextOrStdin(given[2:])
			if err != nil {
				return err
			}
			p.Act(on.dir, on.project, on.run, on.actor, on.role, on.team)
			if p.LanePriority = "normal"; len(given) > 2 || strings.TrimSpace(prompt) != "" { // a waiting message can replace the prompt
				p.PromptText = &prompt
			}
			p.Change(live.Driver, doc.Mode(live.Mode), doc.Level(live.Level), live.KeepOpen, live.Idle*1000)
			p.Tools(live.Tools, live.LaunchJobs)
			p.Budget = live.budget(cmd.Flags())
			if p.Placement, err = live.Placement(cmd.Flags()); err != nil {
				return err
			}
			gone, err := cli.Ask(cmd.Context(), a, orchestration.Operations.Continue, p)
			if err != nil {
				return err
			}
			if on.asJSON {
				return a.PrintJSON(gone)
			}
			fmt.Fprintf(a.Stdout, "session_ref=%s resumed=%s\n", gone.SessionRef, gone.Resumed)
			if live.noWatch {
				return nil
			}
			return follow(a, cmd, on, on.run)
		},
	}
	on.flags(cmd)
	cmd.Flags().StringVar(&p.Resume, "resume", "auto", "auto, provider or digest")
	cmd.Flags().StringVar(&p.Model, "model", "", "the model")
	cmd.Flags().StringVar(&p.ClientMessageID, "message-id", "", "idempotency key: a message with the same one is sent once")
	live.Add(cmd.Flags())
	return cmd
}
