package work

// ac retry for jobs and for runs of workflows.

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ac/cmd/ac/cli"
	"ac/cmd/ac/plumbing/execution"
	"ac/company"
	"ac/company/orchestration"
	"ac/workspace/doc"
)

// toRetry returns the run or the job to retry. job is nil for a run.
func toRetry(c *cli.Call, given []string) (row company.RunRow, job *company.JobParams, err error) {
	if len(given) == 0 || given[0] == cli.NewestRun {
		row, err = c.LastOr(given)
		return row, nil, err
	}
	return runOrJob(c, given[0])
}

// retryWhole retries a job or a run of a workflow, and follows it unless detached.
func retryWhole(c *cli.Call, cmd *cobra.Command, row *company.RunRow, job *company.JobParams, detach bool) error {
	kind := "a job"
	if job == nil {
		kind = "a run of a workflow"
	}
	if err := onlyDetach(cmd, kind); err != nil {
		return err
	}
	p := orchestration.RetryParams{Dir: c.DirParam(), ActorParams: company.ActorParams{ActorID: c.Actor, ActorRole: c.Role, ActorTeamID: c.Team}}
	if job != nil {
		p.ProjectID, p.ID = job.ProjectID, job.JobID
		return retryJob(c, p, detach)
	}
	p.ProjectID, p.ID = row.ProjectID, row.RunID
	return retryFlow(c, p, detach)
}

// onlyDetach refuses all options of a run except --detach.
func onlyDetach(cmd *cobra.Command, kind string) (err error) {
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	(&RunFlags{}).add(own)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if own.Lookup(f.Name) != nil && f.Name != "detach" && err == nil {
			err = cli.UsageError{Message: fmt.Sprintf("--%s is of single runs; %s is retried as it was", f.Name, kind)}
		}
	})
	return err
}

func retryJob(c *cli.Call, p orchestration.RetryParams, detach bool) error {
	signals := make(chan os.Signal, 4)
	if !detach {
		signal.Notify(signals, endingSignals()...)
		defer signal.Stop(signals)
	}
	made, err := company.Do(c.Ctx, c.All, orchestration.Operations.RetryJob, p)
	if err != nil || detach {
		return printStart(c, made.JobID, made, err)
	}
	c.Note("job %s", cli.ShortID(made.JobID))
	job := company.JobParams{Dir: p.Dir, ProjectID: p.ProjectID, JobID: made.JobID}
	end, by, err := awaitEnd(c, signals, func(ctx context.Context) (company.CollectedJob, error) {
		return company.Do(ctx, c.All, (*company.Company).AwaitJob, job)
	}, func() error {
		_, err := company.Do(c.Ctx, c.All, (*company.Company).CancelJob, job)
		return err
	})
	switch {
	case err != nil:
		return err
	case by == syscall.SIGQUIT || by == syscall.SIGHUP:
		c.Note("left running; ac show %s", cli.ShortID(made.JobID))
		return nil
	}
	word, text := end.Status, ""
	if end.Result != nil {
		word, text = end.Result.Status, end.Result.Summary
	}
	return printEnd(c, fmt.Sprintf("job %s  %s", cli.ShortID(made.JobID), word), text, end, word == doc.ResultSucceeded, by)
}

func retryFlow(c *cli.Call, p orchestration.RetryParams, detach bool) error {
	signals := make(chan os.Signal, 4)
	if !detach {
		signal.Notify(signals, endingSignals()...)
		defer signal.Stop(signals)
	}
	made, err := company.Do(c.Ctx, c.All, orchestration.Operations.RetryWorkflow, p)
	if err != nil || detach {
		return printStart(c, made.RunID, made, err)
	}
	c.Note("run %s", cli.ShortID(made.RunID))
	steps := &execution.StepWriter{Out: c.Stderr, Dir: c.Dir, Seen: map[string]string{}}
	end, by, err := awaitEnd(c, signals, func(ctx context.Context) (orchestration.WorkflowStatus, error) {
		return company.Do(ctx, c.All, orchestration.Operations.AwaitWorkflow, orchestration.AwaitWorkflowParams{
			WorkflowStatusParams: orchestration.WorkflowStatusParams{Dir: p.Dir, ProjectID: p.ProjectID, RunID: made.RunID}, Each: steps.Write,
		})
	}, func() error {
		_, err := company.Do(c.Ctx, c.All, orchestration.Operations.CancelWorkflow, orchestration.WorkflowRunParams{Dir: p.Dir, ProjectID: p.ProjectID, RunID: made.RunID})
		return err
	})
	switch {
	case err != nil:
		return err
	case by == syscall.SIGQUIT || by == syscall.SIGHUP:
		c.Note("left running; ac watch %s", cli.ShortID(made.RunID))
		return nil
	}
	return printEnd(c, fmt.Sprintf("run %s  %s%s", cli.ShortID(made.RunID), end.Status, execution.WhyOf(end.Error)), end.Text, end, end.Status == doc.FlowSucceeded, by)
}

// endingSignals returns the signals that end a follower. The first two also stop what it follows.
func endingSignals() []os.Signal {
	return []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGHUP}
}

// awaitEnd waits for the end of something. SIGINT and SIGTERM cancel it. SIGQUIT and SIGHUP leave
// it running and end the wait. by is the signal that arrived, 0 if none did.
func awaitEnd[R any](c *cli.Call, signals <-chan os.Signal, wait func(context.Context) (R, error), cancel func() error) (end R, by syscall.Signal, err error) {
	ctx, leave := context.WithCancel(c.Ctx)
	defer leave()
	ended := make(chan struct{})
	heard := make(chan error, 1)
	go func() {
		defer close(heard)
		select {
		case s := <-signals:
			if by, _ = s.(syscall.Signal); by == syscall.SIGQUIT || by == syscall.SIGHUP {
				leave()
				return
			}
			c.Note("stopping …")
			heard <- cancel()
		case <-ended:
		}
	}()
	end, err = wait(ctx)
	close(ended)
	if failed := <-heard; failed != nil {
		return end, by, failed
	}
	if by == syscall.SIGQUIT || by == syscall.SIGHUP {
		err = nil
	}
	return end, by, err
}

// printStart prints the id of a detached job or run.
func printStart(c *cli.Call, id string, made any, err error) error {
	switch {
	case err != nil:
		return err
	case c.AsJSON:
		return c.PrintJSON(made)
	case c.OnTerminal():
		id = cli.ShortID(id)
	}
	fmt.Fprintln(c.Stdout, id)
	return nil
}

// printEnd prints the result of a followed job or run, and how it ended.
func printEnd(c *cli.Call, line, text string, end any, succeeded bool, by syscall.Signal) error {
	switch text = strings.TrimSpace(text); {
	case c.AsJSON:
		if err := c.PrintJSON(end); err != nil {
			return err
		}
	case text != "":
		fmt.Fprintln(c.Stdout, text)
	}
	c.Note("%s", line)
	switch {
	case succeeded:
		return nil
	case by != 0:
		return cli.ExitError{Code: cli.ExitSignal + int(by)}
	}
	return cli.ExitError{Code: 1}
}
