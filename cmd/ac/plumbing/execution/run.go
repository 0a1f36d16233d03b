package execution

// run:*: creating, listing, replaying and executing runs.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/company/orchestration"
	"ac/internal/canonjson"
	"ac/internal/proc"
)

func runNewCommand(a *cli.App) *cobra.Command {
	var p orchestration.CreateRunParams
	cmd := &cobra.Command{
		Use: "run:new <dir>", Short: "Create a run and print its ids", Args: cli.Args("dir"),
		Example: "  ac run:new ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S --agent agent_01M7WQGTGTXSZWKNSAQVRS4PJE --provider cmd",
		RunE: func(cmd *cobra.Command, _ []string) error {
			made, err := cli.Ask(cmd.Context(), a, orchestration.Operations.CreateRun, p)
			if err != nil {
				return err
			}
			return a.PrintLine(struct {
				RunID         string `json:"run_id"`
				ContextPackID string `json:"context_pack_id"`
			}{made.RunID, made.ContextPackID})
		},
	}
	cli.Mirror(cmd, &p,
		"project: id of the project",
		"agent: id of the agent",
		"provider: provider, such as cmd or codex")
	return cmd
}

func runDiscardCommand(a *cli.App) *cobra.Command {
	var p orchestration.DiscardRunParams
	cmd := &cobra.Command{
		Use: "run:discard <dir>", Short: "End a run that was created and never launched", Args: cli.Args("dir"),
		Long:    "End a run that was created and never launched, and print its state. A run that was launched is refused: stop its session instead.",
		Example: "  ac run:discard ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S --run run_01M7WQGTR95SV6EDMA61E1XR8M",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cli.PrintJSON(cmd.Context(), a, orchestration.Operations.DiscardRun, p)
		},
	}
	cli.Mirror(cmd, &p,
		"project: id of the project",
		"run: id of the run",
		"actor: id of the actor",
		"role=actor_role: role of the actor")
	return cmd
}

func runListCommand(a *cli.App) *cobra.Command {
	var p company.ListRunsParams
	cmd := &cobra.Command{
		Use: "run:list <dir>", Short: "List runs, newest first", Args: cli.Args("dir"),
		Example: "  ac run:list ./acme\n  ac run:list ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cli.PrintJSON(cmd.Context(), a, (*company.Folder).ListRuns, p)
		},
	}
	cli.Mirror(cmd, &p,
		"project: id of a project")
	return cmd
}

func runReplayCommand(a *cli.App) *cobra.Command {
	var p orchestration.ReplayParams
	var tail string
	cmd := &cobra.Command{
		Use: "run:replay <dir>", Short: "Print the log of a run", Args: cli.Args("dir"),
		Long: `Print the log of a run, one event a line, and its faults.

Modes: raw prints the events; verified, deterministic and live also verify the hash
chain; live adds the run's newest session. Exit status: 0, even if the log has
faults; log:verify reports them by its exit status.`,
		Example: "  ac run:replay ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S --run run_01M7WQGTR95SV6EDMA61E1XR8M --mode verified --tail 20",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if n, err := strconv.Atoi(tail); err == nil && n > 0 {
				p.Tail = n
			}
			replay, err := cli.Ask(cmd.Context(), a, orchestration.Operations.Replay, p)
			if err == nil {
				printReplay(a, replay)
			}
			return err
		},
	}
	cli.Mirror(cmd, &p,
		"project: id of the project",
		"run: id of the run",
		"mode: how")
	cmd.Flags().StringVar(&tail, "tail", "", "only the last N events")
	return cmd
}

func printReplay(a *cli.App, r orchestration.ReplayResult) {
	for _, event := range r.Events {
		fields := map[string]string{}
		err := canonjson.Members(event, func(m canonjson.Member) {
			if m.Value[0] == '"' {
				fields[string(m.Key)] = canonjson.Unquote(m.Value)
			}
		})
		if err != nil {
			fmt.Fprintf(a.Stdout, "[event] %s\n", event)
			continue
		}
		fmt.Fprintf(a.Stdout, "%s %s actor=%s\n", fields["ts_wallclock"], fields["type"], fields["actor"])
	}
	for _, issue := range r.ParseIssues {
		fmt.Fprintf(a.Stdout, "[parse_error] seq=%d %s\n", issue.Seq, issue.Error)
	}
	for _, issue := range r.VerificationIssues {
		fmt.Fprintf(a.Stdout, "[verify_issue] seq=%d %s: %s\n", issue.Seq, issue.Code, issue.Message)
	}
	switch r.Mode {
	case "deterministic":
		word := "not_ok"
		if r.DeterministicOK {
			word = "ok"
		}
		fmt.Fprintf(a.Stdout, "[deterministic] %s\n", word)
	case "live":
		line := "[live] available=no"
		if r.Live.Available {
			line = "[live] available=yes session_ref=" + r.Live.SessionRef + " status=" + r.Live.Status
		}
		if r.Live.Error != "" {
			line += " error=" + r.Live.Error
		}
		fmt.Fprintln(a.Stdout, line)
	}
}

// executeOptions holds the options of run:execute besides --argv.
type executeOptions struct {
	orchestration.ExecuteParams
	stdinFile string
}

func runExecuteCommand(a *cli.App) *cobra.Command {
	var o executeOptions
	cmd := &cobra.Command{
		Use: "run:execute <dir>", Short: "Execute a command as a run, in the foreground",
		Long: `Execute a command as a run and wait for its end. All words after --argv belong to the
command, up to the next option of run:execute; after -- everything does.

Exit status: 0 whatever that of the command, which is printed; 130 or 143 if stopped
by SIGINT or SIGTERM.`,
		Example: `  ac run:execute ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S --run run_01M7WQGTR95SV6EDMA61E1XR8M --argv sh -c 'exit 5'
  ac run:execute ./acme --project P --run R --stdin-file prompt.txt --argv codex exec --json -`,
		DisableFlagParsing: true,
		ValidArgsFunction:  cli.CompleteExecute,
		RunE: func(cmd *cobra.Command, given []string) error {
			rest, argv := cli.SplitArgv(cmd, given)
			if err := cmd.Flags().Parse(rest); err != nil {
				return cli.UsageError{Message: err.Error()}
			}
			if help, err := cmd.Flags().GetBool("help"); err == nil && help {
				return cmd.Help()
			}
			if err := cli.Args("dir")(cmd, cmd.Flags().Args()); err != nil {
				return err
			}
			if err := cli.Require(cmd, "project", "run"); err != nil {
				return err
			}
			if len(argv) == 0 {
				return cli.UsageError{Message: "required option --argv is missing"}
			}
			o.WorkspaceDir, o.Argv = cmd.Flags().Arg(0), argv
			return a.ReplacingNames(cmd, cmd.Flags().Args(), func(*cobra.Command, []string) error { return execute(cmd.Context(), a, o) })
		},
	}
	cmd.Flags().BoolP("help", "h", false, "help for run:execute")
	cmd.Flags().StringVar(&o.ProjectID, "project", "", "id of the project (required)")
	cmd.Flags().StringVar(&o.RunID, "run", "", "id of the run (required)")
	cmd.Flags().StringArray("argv", nil, "the command with its arguments (required)")
	cmd.Flags().StringVar(&o.stdinFile, "stdin-file", "", "file for the command's stdin")
	cmd.Flags().StringVar(&o.RepoID, "repo", "", "id of the repository to run in")
	cmd.Flags().StringVar(&o.WorkdirRel, "subdir", "", "directory within the repository")
	cmd.Flags().StringVar(&o.TaskID, "task", "", "id of the task")
	cmd.Flags().StringVar(&o.MilestoneID, "milestone", "", "id of the milestone (needs --task)")
	return cmd
}

func execute(ctx context.Context, a *cli.App, o executeOptions) error {
	if o.stdinFile != "" {
		text, err := os.ReadFile(o.stdinFile)
		if err != nil {
			return err
		}
		o.Stdin = new(string(text))
	}
	if err := proc.BecomeSubreaper(); err != nil {
		return err
	}
	cli.SurviveReaders()
	var record orchestration.ExecuteResult
	signaled, err := cli.UntilSignal(ctx, func(interrupted context.Context) (err error) {
		o.Interrupt = interrupted.Done()
		record, err = cli.Ask(ctx, a, orchestration.Operations.Execute, o.ExecuteParams)
		return err
	})
	if signaled != nil {
		return errors.Join(signaled, err)
	}
	if err != nil {
		return err
	}
	return a.PrintLine(record)
}
