package main

// run:*: creating, listing, replaying and executing runs.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ac/company"
	"ac/company/orchestration"
	"ac/internal/canonjson"
	"ac/internal/proc"
)

func runNewCommand(a *app) *cobra.Command {
	var p orchestration.CreateRunParams
	cmd := &cobra.Command{
		Use: "run:new <dir>", Short: "Create a run and print its ids", Args: args("dir"),
		Example: "  ac run:new ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S --agent agent_01M7WQGTGTXSZWKNSAQVRS4PJE --provider cmd",
		RunE: func(cmd *cobra.Command, _ []string) error {
			made, err := ask(cmd.Context(), a, orchestration.Operations.CreateRun, p)
			if err != nil {
				return err
			}
			return a.printLine(struct {
				RunID         string `json:"run_id"`
				ContextPackID string `json:"context_pack_id"`
			}{made.RunID, made.ContextPackID})
		},
	}
	mirror(cmd, &p,
		"project: id of the project",
		"agent: id of the agent",
		"provider: provider, such as cmd or codex")
	return cmd
}

func runDiscardCommand(a *app) *cobra.Command {
	var p orchestration.DiscardRunParams
	cmd := &cobra.Command{
		Use: "run:discard <dir>", Short: "End a run that was created and never launched", Args: args("dir"),
		Long:    "End a run that was created and never launched, and print its state. A run that was launched is refused: stop its session instead.",
		Example: "  ac run:discard ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S --run run_01M7WQGTR95SV6EDMA61E1XR8M",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return printJSON(cmd.Context(), a, orchestration.Operations.DiscardRun, p)
		},
	}
	mirror(cmd, &p,
		"project: id of the project",
		"run: id of the run",
		"actor: id of the actor",
		"role=actor_role: role of the actor")
	return cmd
}

func runListCommand(a *app) *cobra.Command {
	var p company.ListRunsParams
	cmd := &cobra.Command{
		Use: "run:list <dir>", Short: "List runs, newest first", Args: args("dir"),
		Example: "  ac run:list ./acme\n  ac run:list ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return printJSON(cmd.Context(), a, (*company.Folder).ListRuns, p)
		},
	}
	mirror(cmd, &p,
		"project: id of a project")
	return cmd
}

func runReplayCommand(a *app) *cobra.Command {
	var p orchestration.ReplayParams
	var tail string
	cmd := &cobra.Command{
		Use: "run:replay <dir>", Short: "Print the log of a run", Args: args("dir"),
		Long: `Print the log of a run, one event a line, and its faults.

Modes: raw prints the events; verified, deterministic and live also verify the hash
chain; live adds the run's newest session. Exit status: 0, even if the log has
faults; log:verify reports them by its exit status.`,
		Example: "  ac run:replay ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S --run run_01M7WQGTR95SV6EDMA61E1XR8M --mode verified --tail 20",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if n, err := strconv.Atoi(tail); err == nil && n > 0 {
				p.Tail = n
			}
			replay, err := ask(cmd.Context(), a, orchestration.Operations.Replay, p)
			if err == nil {
				a.printReplay(replay)
			}
			return err
		},
	}
	mirror(cmd, &p,
		"project: id of the project",
		"run: id of the run",
		"mode: how")
	cmd.Flags().StringVar(&tail, "tail", "", "only the last N events")
	return cmd
}

func (a *app) printReplay(r orchestration.ReplayResult) {
	for _, event := range r.Events {
		fields := map[string]string{}
		err := canonjson.Members(event, func(m canonjson.Member) {
			if m.Value[0] == '"' {
				fields[string(m.Key)] = canonjson.Unquote(m.Value)
			}
		})
		if err != nil {
			fmt.Fprintf(a.stdout, "[event] %s\n", event)
			continue
		}
		fmt.Fprintf(a.stdout, "%s %s actor=%s\n", fields["ts_wallclock"], fields["type"], fields["actor"])
	}
	for _, issue := range r.ParseIssues {
		fmt.Fprintf(a.stdout, "[parse_error] seq=%d %s\n", issue.Seq, issue.Error)
	}
	for _, issue := range r.VerificationIssues {
		fmt.Fprintf(a.stdout, "[verify_issue] seq=%d %s: %s\n", issue.Seq, issue.Code, issue.Message)
	}
	switch r.Mode {
	case "deterministic":
		word := "not_ok"
		if r.DeterministicOK {
			word = "ok"
		}
		fmt.Fprintf(a.stdout, "[deterministic] %s\n", word)
	case "live":
		line := "[live] available=no"
		if r.Live.Available {
			line = "[live] available=yes session_ref=" + r.Live.SessionRef + " status=" + r.Live.Status
		}
		if r.Live.Error != "" {
			line += " error=" + r.Live.Error
		}
		fmt.Fprintln(a.stdout, line)
	}
}

// executeOptions are the options of run:execute besides --argv.
type executeOptions struct {
	orchestration.ExecuteParams
	stdinFile string
}

func runExecuteCommand(a *app) *cobra.Command {
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
		ValidArgsFunction:  completeExecute,
		RunE: func(cmd *cobra.Command, given []string) error {
			rest, argv := splitArgv(cmd, given)
			if err := cmd.Flags().Parse(rest); err != nil {
				return usageError{err.Error()}
			}
			if help, err := cmd.Flags().GetBool("help"); err == nil && help {
				return cmd.Help()
			}
			if err := args("dir")(cmd, cmd.Flags().Args()); err != nil {
				return err
			}
			if err := require(cmd, "project", "run"); err != nil {
				return err
			}
			if len(argv) == 0 {
				return usageError{"required option --argv is missing"}
			}
			o.WorkspaceDir, o.Argv = cmd.Flags().Arg(0), argv
			return a.replacingNames(cmd, cmd.Flags().Args(), func(*cobra.Command, []string) error { return a.execute(cmd.Context(), o) })
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

// completeExecute completes the options of run:execute, which parses its
// arguments itself.
func completeExecute(cmd *cobra.Command, given []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	if slices.Contains(given, "--argv") || slices.Contains(given, "--") {
		return nil, cobra.ShellCompDirectiveDefault
	}
	if len(given) > 0 && isOption(cmd, given[len(given)-1]) {
		last := len(given) - 1
		words, ok := cmd.GetFlagCompletionFunc(strings.TrimPrefix(given[last], "--"))
		if !ok || cmd.Flags().Parse(given[:last]) != nil {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return words(cmd, cmd.Flags().Args(), toComplete)
	}
	if !strings.HasPrefix(toComplete, "-") {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name+"\t"+f.Usage) })
	return names, cobra.ShellCompDirectiveNoFileComp
}

// splitArgv separates the words of --argv from the other arguments.
func splitArgv(cmd *cobra.Command, given []string) (rest, argv []string) {
	for i := 0; i < len(given); i++ {
		word := given[i]
		first, joined := strings.CutPrefix(word, "--argv=")
		switch {
		case word == "--":
			return rest, append(argv, given[i+1:]...)
		case joined:
			argv = append(argv, first)
		case word != "--argv":
			rest = append(rest, word)
			continue
		}
		for i+1 < len(given) && given[i+1] != "--" && !isOption(cmd, given[i+1]) {
			i++
			argv = append(argv, given[i])
		}
	}
	return rest, argv
}

func isOption(cmd *cobra.Command, word string) bool {
	name, ok := strings.CutPrefix(word, "--")
	name, _, _ = strings.Cut(name, "=")
	return ok && cmd.Flags().Lookup(name) != nil
}

func (a *app) execute(ctx context.Context, o executeOptions) error {
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
	surviveReaders()
	var record orchestration.ExecuteResult
	signaled, err := untilSignal(ctx, func(interrupted context.Context) (err error) {
		o.Interrupt = interrupted.Done()
		record, err = ask(ctx, a, orchestration.Operations.Execute, o.ExecuteParams)
		return err
	})
	if signaled != nil {
		return errors.Join(signaled, err)
	}
	if err != nil {
		return err
	}
	return a.printLine(record)
}
