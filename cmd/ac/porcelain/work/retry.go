package work

// ac retry and ac continue: repeating a run, and continuing one.

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/cmd/ac/plumbing/execution"
	"ac/company"
	"ac/company/orchestration"
	"ac/runs"
	"ac/runs/session"
	"ac/workspace/doc"
)

func retryCommand(a *cli.App) *cobra.Command {
	var o RunFlags
	cmd := &cobra.Command{
		Use: "retry [run]", Short: "Start a run like one that is over", Args: cobra.MaximumNArgs(1),
		Long: `Start a run like one that is over, and follow it: with its agent, words or prompt,
task, model, title and budget, where it ran; one in a worktree begins in a fresh one.
What options say holds instead. Environment and stdin were not kept. Without a run,
the newest. The exit status is that of ac run.

A job is submitted again, with its spec and order, and a run of a workflow begins again,
with its template and inputs; of the options they take --detach.`,
		Example: "  ac retry\n  ac retry 4WKKE6 --budget '$5'",
	}
	a.Short(cmd, func(c *cli.Call, given []string) error {
		row, job, err := toRetry(c, given)
		switch {
		case err != nil:
			return err
		case job != nil || row.Flow:
			return retryWhole(c, cmd, &row, job, o.detach)
		}
		p, again, err := retryParams(c, cmd, &row, &o)
		if err != nil {
			return err
		}
		return begin(c, &o, func(dry bool) (orchestration.StartRunResult, error) {
			p.DryRun = dry
			return company.Do(c.Ctx, c.All, orchestration.Operations.RetryRun, p)
		}, again)
	})
	o.add(cmd.Flags())
	exitsAsRun(a, cmd)
	return cmd
}

// retryParams returns the params of a retry, with the changes that options make. worktree is
// whether the new run works in a worktree.
func retryParams(c *cli.Call, cmd *cobra.Command, row *company.RunRow, o *RunFlags) (p orchestration.RetryRunParams, worktree bool, err error) {
	p.Act(c.Dir, row.ProjectID, row.RunID, c.Actor, c.Role, c.Team)
	if c.Project = row.ProjectID; o.worktree && o.here {
		return p, false, cli.UsageError{Message: "--worktree and --here exclude each other"}
	}
	p.Model = o.model
	if p.Budget, err = parseBudgets(o.budgets); err != nil {
		return p, false, err
	}
	env, err := parseEnv(o.env)
	if err != nil {
		return p, false, err
	}
	stdin, err := wholeStdin(c, o.stdin)
	if err != nil {
		return p, false, err
	}
	agent := cli.Candidate{}
	if o.agent != "" {
		if agent, err = c.Agent(o.agent); err != nil {
			return p, false, err
		}
	}
	task, milestone, err := taskFor(c, o)
	if err != nil {
		return p, false, err
	}
	placement, err := o.Placement(cmd.Flags())
	if err != nil {
		return p, false, err
	}
	p.Change = func(s *runs.StartSpec) {
		s.From, s.Env, s.Stdin = "cli", env, stdin
		if placement != nil {
			s.Placement = placement
		}
		if !s.Placement.Local() && s.RepoID != "" && !o.here {
			s.Isolation = runs.IsolationWorktree // the other machine does not have the folder
		}
		if agent.ID != "" {
			s.AgentID, s.Provider = agent.ID, ""
			if s.Live.Driver != session.DriverCommand {
				s.Live.Driver = ""
			}
		}
		if task != "" {
			s.TaskID, s.MilestoneID = task, milestone
		}
		o.change(cmd, s)
	}
	return p, row.Worktree != nil && !o.here || o.worktree, nil
}

// change applies the options to the spec of a repeated start.
func (o *RunFlags) change(cmd *cobra.Command, s *runs.StartSpec) {
	if o.repo != "" {
		s.RepoID, s.WorkdirRel = o.repo, ""
	}
	switch {
	case o.worktree:
		s.Isolation = runs.IsolationWorktree
	case o.here && s.RepoID != "":
		s.Isolation = runs.IsolationNone
	}
	if o.title != "" {
		s.Title = o.title
	}
	if o.mode != "" {
		s.Live.Mode = doc.Mode(o.mode)
	}
	if o.level != "" {
		s.Live.Level = doc.Level(o.level)
	}
	if cmd.Flags().Changed("keep-open") {
		s.Live.KeepOpen = &o.keepOpen
	}
	s.LimitMS = o.timeout.Milliseconds()
}

func continueCommand(a *cli.App) *cobra.Command {
	var live execution.LiveFlags
	detach := false
	cmd := &cobra.Command{
		Use: "continue [run] [text]", Short: "Go on with a run that is over, or idle", Args: cobra.MaximumNArgs(2),
		Long: `Say something to the agent of a run that is over, or idle, and follow it: with the
agent's own conversation where it still has that, else with a digest of what happened.
Without a text it is read from stdin; a terminal is asked for it.`,
		Example: "  ac continue 4WKKE6 \"now the documentation\"\n  ac continue -d last \"and the changelog\"",
	}
	a.Short(cmd, func(c *cli.Call, given []string) error {
		row, err := c.LastOr(given[:min(len(given), 1)])
		if err != nil {
			return err
		}
		text, err := textToSay(c, given[min(len(given), 1):], "continue with › ")
		if err != nil {
			return err
		}
		p := Continuation(c, &row, text)
		p.Change(live.Driver, doc.Mode(live.Mode), doc.Level(live.Level), live.KeepOpen, live.Idle*1000)
		p.Tools(live.Tools, live.LaunchJobs)
		if p.Placement, err = live.Placement(cmd.Flags()); err != nil {
			return err
		}
		return continueRun(c, &row, p, detach)
	})
	cmd.Flags().BoolVarP(&detach, "detach", "d", false, "do not follow it: print its id")
	live.Add(cmd.Flags())
	return cmd
}

// textToSay returns the text on the command line, else all of stdin. On a terminal it asks for one
// line.
func textToSay(c *cli.Call, given []string, prompt string) (text string, err error) {
	switch {
	case len(given) > 0 && given[0] != "-":
		text = given[0]
	case len(given) == 0 && c.CanAsk():
		fmt.Fprint(c.Stderr, prompt)
		text, err = bufio.NewReader(c.Stdin).ReadString('\n')
		if errors.Is(err, io.EOF) {
			err = nil
		}
	case readsTerminal(c.App) && len(given) == 0:
		return "", cli.UsageError{Message: "missing argument <text>"}
	default:
		text, err = c.TextOrStdin(nil)
	}
	if text = strings.TrimRight(text, "\n"); err == nil && strings.TrimSpace(text) == "" {
		err = cli.UsageError{Message: "the text must not be blank"}
	}
	return text, err
}
