package main

// ac retry and ac continue: a run once more, and a run that goes on.

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"ac/company"
	"ac/company/orchestration"
	"ac/runs"
	"ac/runs/session"
	"ac/workspace/doc"
)

func retryCommand(a *app) *cobra.Command {
	var o runFlags
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
	a.short(cmd, func(c *call, given []string) error {
		row, job, err := c.toRetry(given)
		switch {
		case err != nil:
			return err
		case job != nil || row.Flow:
			return c.retryWhole(cmd, &row, job, o.detach)
		}
		p, again, err := c.retryParams(cmd, &row, &o)
		if err != nil {
			return err
		}
		return c.begin(&o, func(dry bool) (orchestration.StartRunResult, error) {
			p.DryRun = dry
			return company.Do(c.ctx, c.all, orchestration.Operations.RetryRun, p)
		}, again)
	})
	o.add(cmd.Flags())
	exitsAsRun(a, cmd)
	return cmd
}

// retryParams are the params of a retry with what options change, and whether it works in
// a worktree.
func (c *call) retryParams(cmd *cobra.Command, row *company.RunRow, o *runFlags) (p orchestration.RetryRunParams, worktree bool, err error) {
	p.Act(c.dir, row.ProjectID, row.RunID, c.actor, c.role, c.team)
	if c.project = row.ProjectID; o.worktree && o.here {
		return p, false, usageError{"--worktree and --here exclude each other"}
	}
	p.Model = o.model
	if p.Budget, err = parseBudgets(o.budgets); err != nil {
		return p, false, err
	}
	env, err := parseEnv(o.env)
	if err != nil {
		return p, false, err
	}
	stdin, err := c.wholeStdin(o.stdin)
	if err != nil {
		return p, false, err
	}
	agent := candidate{}
	if o.agent != "" {
		if agent, err = c.agent(o.agent); err != nil {
			return p, false, err
		}
	}
	task, milestone, err := c.taskFor(o)
	if err != nil {
		return p, false, err
	}
	placement, err := o.placement(cmd.Flags())
	if err != nil {
		return p, false, err
	}
	p.Change = func(s *runs.StartSpec) {
		s.From, s.Env, s.Stdin = "cli", env, stdin
		if placement != nil {
			s.Placement = placement
		}
		if !s.Placement.Local() && s.RepoID != "" && !o.here {
			s.Isolation = runs.IsolationWorktree // there is no folder of it over there
		}
		if agent.id != "" {
			s.AgentID, s.Provider = agent.id, ""
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

// change sets what options say of a start that is like another one.
func (o *runFlags) change(cmd *cobra.Command, s *runs.StartSpec) {
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

func continueCommand(a *app) *cobra.Command {
	var live liveFlags
	detach := false
	cmd := &cobra.Command{
		Use: "continue [run] [text]", Short: "Go on with a run that is over, or idle", Args: cobra.MaximumNArgs(2),
		Long: `Say something to the agent of a run that is over, or idle, and follow it: with the
agent's own conversation where it still has that, else with a digest of what happened.
Without a text it is read from stdin; a terminal is asked for it.`,
		Example: "  ac continue 4WKKE6 \"now the documentation\"\n  ac continue -d last \"and the changelog\"",
	}
	a.short(cmd, func(c *call, given []string) error {
		row, err := c.lastOr(given[:min(len(given), 1)])
		if err != nil {
			return err
		}
		text, err := c.textToSay(given[min(len(given), 1):], "continue with › ")
		if err != nil {
			return err
		}
		p := c.continuation(&row, text)
		p.Change(live.driver, doc.Mode(live.mode), doc.Level(live.level), live.keepOpen, live.idle*1000)
		p.Tools(live.tools, live.launchJobs)
		if p.Placement, err = live.placement(cmd.Flags()); err != nil {
			return err
		}
		return c.continued(&row, p, detach)
	})
	cmd.Flags().BoolVarP(&detach, "detach", "d", false, "do not follow it: print its id")
	live.add(cmd.Flags())
	return cmd
}

// textToSay is what stands on the command line, else all of stdin; a terminal is asked for
// one line.
func (c *call) textToSay(given []string, prompt string) (text string, err error) {
	switch {
	case len(given) > 0 && given[0] != "-":
		text = given[0]
	case len(given) == 0 && c.asks():
		fmt.Fprint(c.stderr, prompt)
		text, err = bufio.NewReader(c.stdin).ReadString('\n')
		if errors.Is(err, io.EOF) {
			err = nil
		}
	case c.readsTerminal() && len(given) == 0:
		return "", usageError{"missing argument <text>"}
	default:
		text, err = c.saidText(nil)
	}
	if text = strings.TrimRight(text, "\n"); err == nil && strings.TrimSpace(text) == "" {
		err = usageError{"the text must not be blank"}
	}
	return text, err
}
