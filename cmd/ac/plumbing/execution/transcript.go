package execution

// run:transcript and run:watch: what a run did, as text.

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/company/orchestration"
	"ac/feed"
	"ac/runs/interaction"
	"ac/runs/transcript"
	"ac/workspace/doc"
)

// namedRun returns the params for the run that a command names.
func namedRun(given []string, project string) orchestration.NamedRunParams {
	return orchestration.NamedRunParams{Dir: company.Dir{WorkspaceDir: given[0]}, ProjectID: project, RunID: given[1]}
}

// runFlags declares the options that commands about one run share, and completes the run.
func runFlags(a *cli.App, cmd *cobra.Command, project *string, asJSON *bool, what string) {
	cli.SomeProjectFlag(cmd, project)
	cmd.Flags().BoolVar(asJSON, "json", false, what)
	cmd.ValidArgsFunction = func(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
		switch len(given) {
		case 0:
			return nil, cobra.ShellCompDirectiveFilterDirs
		case 1:
			return append(a.RunIDs(cmd, given), orchestration.LastRun), cobra.ShellCompDirectiveNoFileComp
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

func runTranscriptCommand(a *cli.App) *cobra.Command {
	var p orchestration.TranscriptParams
	var kinds string
	asJSON := false
	cmd := &cobra.Command{
		Use: "run:transcript <dir> <run>", Short: "Print what a run did and said", Args: cli.Args("dir", "run"),
		Long: `Print the transcript of a run: messages, commands with their output, changed files,
plans, questions and their outcomes. The run may be "last". Thoughts of the agent
are printed where --kinds names reasoning. What could act on a terminal is printed
as \x1b and the like.

Kinds: ` + strings.Join(transcript.Kinds(), ", ") + `.

With --json the result is that of run.transcript.`,
		Example: "  ac run:transcript ./acme last --tail 20\n  ac run:transcript ./acme run_01M7WQGTR95SV6EDMA61E1XR8M --kinds message,question",
		RunE: func(cmd *cobra.Command, given []string) error {
			run, err := cli.Ask(cmd.Context(), a, orchestration.Operations.FindRun, namedRun(given, p.ProjectID))
			if err != nil {
				return err
			}
			p.WorkspaceDir, p.ProjectID, p.RunID, p.Kinds = given[0], run.ProjectID, run.RunID, cli.Parts(kinds)
			shown, err := wholeTranscript(cmd.Context(), a, p)
			if err != nil {
				return err
			}
			if asJSON {
				return a.PrintJSON(shown)
			}
			out := bufio.NewWriter(a.Stdout)
			for _, i := range transcript.Ordered(shown.Items) {
				if i.Kind != transcript.KindReasoning || slices.Contains(p.Kinds, i.Kind) {
					_, _ = out.WriteString(transcript.Render(i)) // Flush returns the error
				}
			}
			return out.Flush()
		},
	}
	runFlags(a, cmd, &p.ProjectID, &asJSON, "print JSON")
	cmd.Flags().IntVar(&p.Tail, "tail", 0, "only the newest N items")
	cmd.Flags().StringVar(&kinds, "kinds", "", "only items of these kinds, with commas between")
	cmd.Flags().Int64Var(&p.SinceSeq, "since-seq", 0, "only what changed after this line of the log")
	return cmd
}

// wholeTranscript reads all pages of a transcript.
func wholeTranscript(ctx context.Context, a *cli.App, p orchestration.TranscriptParams) (whole orchestration.TranscriptResult, err error) {
	err = a.Across(func(all *company.Host) error {
		p.Limit = 5000
		for first := true; ; first = false {
			page, err := company.Do(ctx, all, orchestration.Operations.Transcript, p)
			if err != nil {
				return err
			}
			if items := whole.Items; !first {
				page.Items = append(items, page.Items...)
			}
			whole, p.SinceSeq = page, page.NextSeq
			if p.Tail > 0 || page.NextSeq >= page.HeadSeq {
				break
			}
		}
		slices.SortStableFunc(whole.Items, func(a, b *transcript.Item) int { return cmp.Compare(a.SeqFirst, b.SeqFirst) })
		return nil
	})
	return whole, err
}

// watchOptions holds the options of run:watch.
type watchOptions struct {
	project  string
	since    int64
	whole    bool // everything after since
	all      bool
	noFollow bool
	raw      bool
	json     bool
	answer   *answering // nil if nobody is asked
}

// WatchedItems is how many existing items a watch begins with by default.
const WatchedItems = 50

// ExitRunFailed is the exit status of a watch whose run failed or was stopped.
const ExitRunFailed = 3

func runWatchCommand(a *cli.App) *cobra.Command {
	var o watchOptions
	answer := false
	cmd := &cobra.Command{
		Use: "run:watch <dir> <run>", Short: "Print what a run does, as it does it", Args: cli.Args("dir", "run"),
		Long: `Print the newest 50 items of the transcript of a run and then what comes, until the
run is over. The run may be "last". With --raw what the agent prints is passed on as
it is, to stdout and stderr. With --json each line is the params of a
transcript.notification.

Exit status: 0 when the run ended, 3 when it failed or was stopped, 130 after Ctrl+C,
which does not stop the run.`,
		Example: "  ac run:watch ./acme last\n  ac run:watch ./acme run_01M7WQGTR95SV6EDMA61E1XR8M --all --no-follow",
		RunE: func(cmd *cobra.Command, given []string) error {
			if o.raw && o.json {
				return cli.UsageError{Message: "--raw and --json exclude each other"}
			}
			o.whole = cmd.Flags().Changed("since-seq")
			if answer && atTerminal(a) {
				o.answer = newAnswering(a, onRun{dir: given[0], actor: "human", role: "human"})
			}
			return watchToEnd(cmd.Context(), a, given, o)
		},
	}
	runFlags(a, cmd, &o.project, &o.json, "print notifications, one a line")
	cmd.Flags().Int64Var(&o.since, "since-seq", 0, "begin after this line of the log")
	cmd.Flags().BoolVar(&o.all, "all", false, "begin with all items, and print thoughts too")
	cmd.Flags().BoolVar(&o.noFollow, "no-follow", false, "end with what there is now")
	cmd.Flags().BoolVar(&o.raw, "raw", false, "pass on what the agent prints as it is")
	cmd.Flags().BoolVar(&answer, "answer", false, "ask at the terminal what the agent asks")
	return cmd
}

// watchToEnd watches a run until it is over. It returns the exit status for the outcome.
func watchToEnd(ctx context.Context, a *cli.App, given []string, o watchOptions) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	result, err := watch(ctx, a, given, o)
	switch {
	case ctx.Err() != nil:
		return cli.ExitError{Code: cli.ExitSignal + int(syscall.SIGINT)}
	case err != nil:
		return err
	case result.Status == doc.StatusFailed || result.Status == doc.StatusStopped:
		return cli.ExitError{Code: ExitRunFailed}
	}
	return nil
}

func watch(ctx context.Context, a *cli.App, given []string, o watchOptions) (orchestration.WatchRunResult, error) {
	named := namedRun(given, o.project)
	if o.raw {
		return cli.Ask(ctx, a, orchestration.Operations.WatchRaw, orchestration.RawRunParams{NamedRunParams: named, Since: o.since, NoFollow: o.noFollow, Deliver: a.PassOn})
	}
	p := orchestration.WatchRunParams{NamedRunParams: named, Since: new(o.since), Tail: WatchedItems, NoFollow: o.noFollow}
	if o.all || o.whole {
		p.Tail = 0
	}
	live := NewLiveText(a.Stdout, RunAnswer(given[0], given[1]), o.all)
	p.Deliver = live.Take
	if o.answer != nil {
		live.answer = nil
		p.Deliver = func(n feed.TranscriptNotification) error {
			err := live.Take(n)
			if i := n.Item; err != nil || i == nil || i.Interaction == nil || i.Interaction.State != interaction.Open || n.Op != transcript.Open && n.Op != transcript.Update {
				return err
			}
			return o.answer.inLine(ctx, *n.Item.Interaction)
		}
	}
	if o.json {
		p.Deliver = func(n feed.TranscriptNotification) error { return a.PrintLine(n) }
	}
	result, err := cli.Ask(ctx, a, orchestration.Operations.WatchRun, p)
	return result, errors.Join(err, live.out.Flush())
}
