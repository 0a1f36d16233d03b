package main

// ac stop: ending runs and jobs.

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"ac/company"
	"ac/company/orchestration"
	"ac/internal/terminal"
	"ac/workspace/doc"
)

// doneRow is what came of one id of a command that takes several.
type doneRow struct {
	ID     string  `json:"id"`
	Kind   string  `json:"kind"`
	OK     bool    `json:"ok"`
	Result any     `json:"result"`
	Error  *string `json:"error"`
	text   string  `json:"-"` // what people read
	wrong  bool    // it was asked for in a wrong way
}

func stopCommand(a *app) *cobra.Command {
	everything, yes := false, false
	cmd := &cobra.Command{
		Use: "stop [run...]", Short: "Stop runs and jobs", Args: cobra.ArbitraryArgs,
		Long: `Stop runs, and wait for their ends: SIGTERM to everything that the agent started,
SIGKILL to survivors after 1.5 seconds. A run that was never launched is discarded, a
job and a run of a workflow are canceled. A run that is over stays as it is.

With --all, every run of the project that lives. On a terminal it asks before.`,
		Example: "  ac stop 4WKKE6\n  ac stop --all -y",
	}
	a.short(cmd, func(c *call, given []string) error {
		switch {
		case everything && len(given) > 0:
			return usageError{"--all takes no runs"}
		case !everything && len(given) == 0:
			return usageError{"missing argument <run> (or --all)"}
		case everything:
			return c.stopAll(yes)
		}
		done := make([]doneRow, len(given))
		for i, word := range given {
			done[i] = c.stopNamed(word)
		}
		return c.printDone(done)
	})
	cmd.Flags().BoolVar(&everything, "all", false, "all runs of the project that live")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

// stopAll stops the live runs of the project.
func (c *call) stopAll(yes bool) error {
	if err := c.requireProject(); err != nil {
		return err
	}
	list, err := company.Do(c.ctx, c.all, (*company.Company).RunRows, company.RunRowsParams{Dir: c.dirParam(), ProjectID: c.project, Live: true})
	if err != nil {
		return err
	}
	if len(list.Rows) == 0 {
		c.note("No run lives.")
		return c.printDone([]doneRow{})
	}
	if !yes && c.asks() {
		for _, line := range c.runTable(list, terminal.Unicode(os.Getenv)).Lines(c.width(), false)[1:] {
			fmt.Fprintln(c.stderr, line)
		}
		if !c.confirmed(fmt.Sprintf("Stop %d runs? [y/N] ", len(list.Rows))) {
			return nil
		}
	}
	done := make([]doneRow, len(list.Rows))
	for i := range list.Rows {
		done[i] = c.stopRun(&list.Rows[i])
	}
	return c.printDone(done)
}

// asks reports whether somebody can be asked: stdin and stderr are terminals.
func (c *call) asks() bool {
	in, isFile := c.stdin.(*os.File)
	errs, isFileToo := c.stderr.(*os.File)
	return isFile && isFileToo && !c.quiet && term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(errs.Fd()))
}

// confirmed asks a question and reports whether the answer is yes.
func (c *call) confirmed(question string) bool {
	return slices.Contains([]string{"y", "yes"}, c.asked(question))
}

// stopNamed stops the run or the job that a word names.
func (c *call) stopNamed(word string) doneRow {
	row, job, err := c.runOrJob(word)
	switch {
	case err != nil:
		return failedRow(word, "run", err)
	case job != nil:
		return c.cancelJob(*job)
	}
	return c.stopRun(&row)
}

// runOrJob finds the run or the job that a word names; job is nil for a run.
func (c *call) runOrJob(word string) (row company.RunRow, job *company.JobParams, err error) {
	row, runErr := c.run(word)
	jobs, err := c.jobs(word)
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

// stopRun ends a run and waits for its end.
func (c *call) stopRun(row *company.RunRow) doneRow {
	done := doneRow{ID: row.RunID, Kind: "run", OK: true}
	switch {
	case row.Flow && row.Live():
		return c.cancelFlow(row)
	case row.Live():
		p := company.SessionParams{MaybeDir: company.MaybeDir{WorkspaceDir: c.dir}, SessionRef: row.SessionRef}
		_, err := company.Do(c.ctx, c.all, (*company.Host).StopSession, p)
		if err != nil {
			return failedRow(row.RunID, "run", err)
		}
		end, err := company.Do(c.ctx, c.all, (*company.Host).CollectSession, p)
		if err != nil {
			return failedRow(row.RunID, "run", err)
		}
		done.Result, done.text = end.Poll, shortID(row.RunID)+" "+end.Status
	case row.State == company.StateNew:
		return c.discardNew(row)
	default:
		done.text = fmt.Sprintf("%s was over (%s)", shortID(row.RunID), row.State)
	}
	return done
}

// cancelFlow cancels a run of a workflow and waits for its end.
func (c *call) cancelFlow(row *company.RunRow) doneRow {
	p := orchestration.WorkflowRunParams{Dir: c.dirParam(), ProjectID: row.ProjectID, RunID: row.RunID}
	if _, err := company.Do(c.ctx, c.all, orchestration.Operations.CancelWorkflow, p); err != nil {
		return failedRow(row.RunID, "run", err)
	}
	end, err := company.Do(c.ctx, c.all, orchestration.Operations.AwaitWorkflow, orchestration.AwaitWorkflowParams{
		WorkflowStatusParams: orchestration.WorkflowStatusParams{Dir: p.Dir, ProjectID: p.ProjectID, RunID: p.RunID}, Each: func(orchestration.WorkflowStatus) {},
	})
	if err != nil {
		return failedRow(row.RunID, "run", err)
	}
	word := end.Status
	if word == doc.FlowCanceled {
		word = company.StateStopped
	}
	return doneRow{ID: row.RunID, Kind: "run", OK: true, Result: end, text: shortID(row.RunID) + " " + word}
}

// jobs are the jobs of all projects that a word names.
func (c *call) jobs(word string) (found []company.JobParams, err error) {
	for _, project := range c.projects {
		heads, err := company.Do(c.ctx, c.all, (*company.Company).JobNames, company.ProjectParams{Dir: c.dirParam(), ProjectID: project.id})
		if err != nil {
			return nil, err
		}
		for _, job := range heads {
			if job.Job.JobID == word || endsIn(job.Job.JobID, word) {
				found = append(found, company.JobParams{Dir: c.dirParam(), ProjectID: project.id, JobID: job.Job.JobID})
			}
		}
	}
	return found, nil
}

// cancelJob cancels a job, unless it is over.
func (c *call) cancelJob(p company.JobParams) doneRow {
	before, err := company.Do(c.ctx, c.all, (*company.Company).PollJob, p)
	if err != nil {
		return failedRow(p.JobID, "job", err)
	}
	if before.Status != doc.JobQueued && before.Status != doc.JobRunning {
		return doneRow{ID: p.JobID, Kind: "job", OK: true, text: fmt.Sprintf("%s was over (%s)", shortID(p.JobID), before.Status)}
	}
	result, err := company.Do(c.ctx, c.all, (*company.Company).CancelJob, p)
	if err != nil {
		return failedRow(p.JobID, "job", err)
	}
	return doneRow{ID: p.JobID, Kind: "job", OK: true, Result: result, text: shortID(p.JobID) + " canceled"}
}

// failedRow is an id that nothing was done with.
func failedRow(id, kind string, err error) doneRow {
	message := oneLine(err.Error())
	if choice, ok := errors.AsType[choiceError](err); ok {
		message = strings.Join(append([]string{choice.message}, choice.lines...), "\n  ")
	}
	_, wrong := errors.AsType[usageError](err)
	return doneRow{ID: id, Kind: kind, Error: &message, wrong: wrong}
}

// printDone prints what came of each id. It fails if anything did.
func (c *call) printDone(done []doneRow) error {
	failed := false
	for _, d := range done {
		failed = failed || !d.OK
		switch {
		case d.OK && !c.asJSON:
			fmt.Fprintln(c.stdout, d.text)
		case !d.OK && !c.asJSON:
			for i, line := range strings.Split(*d.Error, "\n") {
				switch {
				case i == 0 && d.wrong:
					line = "error: " + line
				case i == 0:
					line = "ERROR: " + line
				}
				fmt.Fprintln(c.stderr, line)
			}
		}
	}
	if c.asJSON {
		if err := c.printJSON(done); err != nil {
			return err
		}
	}
	if failed {
		return exitError{exitFailure}
	}
	return nil
}
