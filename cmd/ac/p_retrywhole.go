package main

// ac retry of what is more than one run: a job, and a run of a workflow.

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ac/company"
	"ac/company/orchestration"
	"ac/workspace/doc"
)

// toRetry is the run or the job to be retried; job is nil for a run.
func (c *call) toRetry(given []string) (row company.RunRow, job *company.JobParams, err error) {
	if len(given) == 0 || given[0] == newestRun {
		row, err = c.lastOr(given)
		return row, nil, err
	}
	return c.runOrJob(given[0])
}

// retryWhole begins a job or a run of a workflow again, and follows it unless it is detached.
func (c *call) retryWhole(cmd *cobra.Command, row *company.RunRow, job *company.JobParams, detach bool) error {
	kind := "a job"
	if job == nil {
		kind = "a run of a workflow"
	}
	if err := onlyDetach(cmd, kind); err != nil {
		return err
	}
	p := orchestration.RetryParams{Dir: c.dirParam(), ActorParams: company.ActorParams{ActorID: c.actor, ActorRole: c.role, ActorTeamID: c.team}}
	if job != nil {
		p.ProjectID, p.ID = job.ProjectID, job.JobID
		return c.retryJob(p, detach)
	}
	p.ProjectID, p.ID = row.ProjectID, row.RunID
	return c.retryFlow(p, detach)
}

// onlyDetach refuses the options of a run.
func onlyDetach(cmd *cobra.Command, kind string) (err error) {
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	(&runFlags{}).add(own)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if own.Lookup(f.Name) != nil && f.Name != "detach" && err == nil {
			err = usageError{fmt.Sprintf("--%s is of single runs; %s is retried as it was", f.Name, kind)}
		}
	})
	return err
}

func (c *call) retryJob(p orchestration.RetryParams, detach bool) error {
	signals := make(chan os.Signal, 4)
	if !detach {
		signal.Notify(signals, endingSignals()...)
		defer signal.Stop(signals)
	}
	made, err := company.Do(c.ctx, c.all, orchestration.Operations.RetryJob, p)
	if err != nil || detach {
		return c.printBegun(made.JobID, made, err)
	}
	c.note("job %s", shortID(made.JobID))
	job := company.JobParams{Dir: p.Dir, ProjectID: p.ProjectID, JobID: made.JobID}
	end, by, err := attended(c, signals, func(ctx context.Context) (company.CollectedJob, error) {
		return company.Do(ctx, c.all, (*company.Company).AwaitJob, job)
	}, func() error {
		_, err := company.Do(c.ctx, c.all, (*company.Company).CancelJob, job)
		return err
	})
	switch {
	case err != nil:
		return err
	case by == syscall.SIGQUIT || by == syscall.SIGHUP:
		c.note("left running; ac show %s", shortID(made.JobID))
		return nil
	}
	word, text := end.Status, ""
	if end.Result != nil {
		word, text = end.Result.Status, end.Result.Summary
	}
	return c.ended(fmt.Sprintf("job %s  %s", shortID(made.JobID), word), text, end, word == doc.ResultSucceeded, by)
}

func (c *call) retryFlow(p orchestration.RetryParams, detach bool) error {
	signals := make(chan os.Signal, 4)
	if !detach {
		signal.Notify(signals, endingSignals()...)
		defer signal.Stop(signals)
	}
	made, err := company.Do(c.ctx, c.all, orchestration.Operations.RetryWorkflow, p)
	if err != nil || detach {
		return c.printBegun(made.RunID, made, err)
	}
	c.note("run %s", shortID(made.RunID))
	steps := &stepWriter{out: c.stderr, dir: c.dir, seen: map[string]string{}}
	end, by, err := attended(c, signals, func(ctx context.Context) (orchestration.WorkflowStatus, error) {
		return company.Do(ctx, c.all, orchestration.Operations.AwaitWorkflow, orchestration.AwaitWorkflowParams{
			WorkflowStatusParams: orchestration.WorkflowStatusParams{Dir: p.Dir, ProjectID: p.ProjectID, RunID: made.RunID}, Each: steps.write,
		})
	}, func() error {
		_, err := company.Do(c.ctx, c.all, orchestration.Operations.CancelWorkflow, orchestration.WorkflowRunParams{Dir: p.Dir, ProjectID: p.ProjectID, RunID: made.RunID})
		return err
	})
	switch {
	case err != nil:
		return err
	case by == syscall.SIGQUIT || by == syscall.SIGHUP:
		c.note("left running; ac watch %s", shortID(made.RunID))
		return nil
	}
	return c.ended(fmt.Sprintf("run %s  %s%s", shortID(made.RunID), end.Status, whyOf(end.Error)), end.Text, end, end.Status == doc.FlowSucceeded, by)
}

// endingSignals end a follower: the first two with what it follows.
func endingSignals() []os.Signal {
	return []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGHUP}
}

// attended waits for the end of something, and cancels it when a signal says so. by is the
// signal that came, 0 for none; after one that leaves it running nothing is waited for.
func attended[R any](c *call, signals <-chan os.Signal, wait func(context.Context) (R, error), cancel func() error) (end R, by syscall.Signal, err error) {
	ctx, leave := context.WithCancel(c.ctx)
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
			c.note("stopping …")
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

// printBegun prints the id of what nobody follows.
func (c *call) printBegun(id string, made any, err error) error {
	switch {
	case err != nil:
		return err
	case c.asJSON:
		return c.printJSON(made)
	case c.onTerminal():
		id = shortID(id)
	}
	fmt.Fprintln(c.stdout, id)
	return nil
}

// ended prints what came of something that was followed, and says how it ended.
func (c *call) ended(line, text string, end any, succeeded bool, by syscall.Signal) error {
	switch text = strings.TrimSpace(text); {
	case c.asJSON:
		if err := c.printJSON(end); err != nil {
			return err
		}
	case text != "":
		fmt.Fprintln(c.stdout, text)
	}
	c.note("%s", line)
	switch {
	case succeeded:
		return nil
	case by != 0:
		return exitError{exitSignal + int(by)}
	}
	return exitError{1}
}
