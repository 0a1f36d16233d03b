package work

// ac stop: ending runs and jobs.

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/company/orchestration"
	"ac/internal/terminal"
	"ac/workspace/doc"
)

func stopCommand(a *cli.App) *cobra.Command {
	everything, yes := false, false
	cmd := &cobra.Command{
		Use: "stop [run...]", Short: "Stop runs and jobs", Args: cobra.ArbitraryArgs,
		Long: `Stop runs, and wait for their ends: SIGTERM to everything that the agent started,
SIGKILL to survivors after 1.5 seconds. A run that was never launched is discarded, a
job and a run of a workflow are canceled. A run that is over stays as it is.

With --all, every run of the project that lives. On a terminal it asks before.`,
		Example: "  ac stop 4WKKE6\n  ac stop --all -y",
	}
	a.Short(cmd, func(c *cli.Call, given []string) error {
		switch {
		case everything && len(given) > 0:
			return cli.UsageError{Message: "--all takes no runs"}
		case !everything && len(given) == 0:
			return cli.UsageError{Message: "missing argument <run> (or --all)"}
		case everything:
			return stopAll(c, yes)
		}
		done := make([]cli.DoneRow, len(given))
		for i, word := range given {
			done[i] = stopNamed(c, word)
		}
		return c.PrintDone(done)
	})
	cmd.Flags().BoolVar(&everything, "all", false, "all runs of the project that live")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

// stopAll stops the live runs of the project.
func stopAll(c *cli.Call, yes bool) error {
	if err := c.RequireProject(); err != nil {
		return err
	}
	list, err := company.Do(c.Ctx, c.All, (*company.Company).RunRows, company.RunRowsParams{Dir: c.DirParam(), ProjectID: c.Project, Live: true})
	if err != nil {
		return err
	}
	if len(list.Rows) == 0 {
		c.Note("No run lives.")
		return c.PrintDone([]cli.DoneRow{})
	}
	if !yes && c.CanAsk() {
		for _, line := range c.RunTable(list, terminal.Unicode(os.Getenv)).Lines(c.Width(), false)[1:] {
			fmt.Fprintln(c.Stderr, line)
		}
		if !c.Confirm(fmt.Sprintf("Stop %s? [y/N] ", terminal.FormatCount(len(list.Rows), "run"))) {
			return nil
		}
	}
	done := make([]cli.DoneRow, len(list.Rows))
	for i := range list.Rows {
		done[i] = StopRun(c, &list.Rows[i])
	}
	return c.PrintDone(done)
}

// stopNamed stops the run or the job that a word names.
func stopNamed(c *cli.Call, word string) cli.DoneRow {
	row, job, err := runOrJob(c, word)
	switch {
	case err != nil:
		return cli.FailedRow(word, "run", err)
	case job != nil:
		return cancelJob(c, *job)
	}
	return StopRun(c, &row)
}

// runOrJob finds the run or the job that a word names. job is nil for a run.
func runOrJob(c *cli.Call, word string) (row company.RunRow, job *company.JobParams, err error) {
	row, runErr := c.Run(word)
	jobs, err := c.Jobs(word)
	switch {
	case err != nil:
		return row, nil, err
	case runErr == nil && len(jobs) > 0 || len(jobs) > 1:
		return row, nil, fmt.Errorf("%s may be a run or a job; say more of it", word)
	case len(jobs) == 1:
		return row, &jobs[0], nil
	}
	return row, nil, runErr
}

// StopRun stops a run and waits for its end. It discards a run that was never launched, and leaves
// a finished one alone.
func StopRun(c *cli.Call, row *company.RunRow) cli.DoneRow {
	done := cli.DoneRow{ID: row.RunID, Kind: "run", OK: true}
	switch {
	case row.Flow && row.Live():
		return cancelFlow(c, row)
	case row.Live():
		p := company.SessionParams{MaybeDir: company.MaybeDir{WorkspaceDir: c.Dir}, SessionRef: row.SessionRef}
		_, err := company.Do(c.Ctx, c.All, (*company.Host).StopSession, p)
		if err != nil {
			return cli.FailedRow(row.RunID, "run", err)
		}
		end, err := company.Do(c.Ctx, c.All, (*company.Host).CollectSession, p)
		if err != nil {
			return cli.FailedRow(row.RunID, "run", err)
		}
		done.Result, done.Text = end.Poll, cli.ShortID(row.RunID)+" "+end.Status
	case row.State == company.StateNew:
		return discardNew(c, row)
	default:
		done.Text = fmt.Sprintf("%s was over (%s)", cli.ShortID(row.RunID), row.State)
	}
	return done
}

// cancelFlow cancels a run of a workflow and waits for its end.
func cancelFlow(c *cli.Call, row *company.RunRow) cli.DoneRow {
	p := orchestration.WorkflowRunParams{Dir: c.DirParam(), ProjectID: row.ProjectID, RunID: row.RunID}
	if _, err := company.Do(c.Ctx, c.All, orchestration.Operations.CancelWorkflow, p); err != nil {
		return cli.FailedRow(row.RunID, "run", err)
	}
	end, err := company.Do(c.Ctx, c.All, orchestration.Operations.AwaitWorkflow, orchestration.AwaitWorkflowParams{
		WorkflowStatusParams: orchestration.WorkflowStatusParams{Dir: p.Dir, ProjectID: p.ProjectID, RunID: p.RunID}, Each: func(orchestration.WorkflowStatus) {},
	})
	if err != nil {
		return cli.FailedRow(row.RunID, "run", err)
	}
	word := end.Status
	if word == doc.FlowCanceled {
		word = company.StateStopped
	}
	return cli.DoneRow{ID: row.RunID, Kind: "run", OK: true, Result: end, Text: cli.ShortID(row.RunID) + " " + word}
}

// cancelJob cancels a job, unless it has ended.
func cancelJob(c *cli.Call, p company.JobParams) cli.DoneRow {
	before, err := company.Do(c.Ctx, c.All, (*company.Company).PollJob, p)
	if err != nil {
		return cli.FailedRow(p.JobID, "job", err)
	}
	if before.Status != doc.JobQueued && before.Status != doc.JobRunning {
		return cli.DoneRow{ID: p.JobID, Kind: "job", OK: true, Text: fmt.Sprintf("%s was over (%s)", cli.ShortID(p.JobID), before.Status)}
	}
	result, err := company.Do(c.Ctx, c.All, (*company.Company).CancelJob, p)
	if err != nil {
		return cli.FailedRow(p.JobID, "job", err)
	}
	return cli.DoneRow{ID: p.JobID, Kind: "job", OK: true, Result: result, Text: cli.ShortID(p.JobID) + " canceled"}
}
