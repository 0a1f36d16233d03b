package execution

// job:submit, job:list, job:poll, job:collect and job:cancel.

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/workspace/doc"
)

func jobSubmitCommand(a *cli.App) *cobra.Command {
	spec := doc.JobSpec{SchemaVersion: doc.Version, Type: "job", Constraints: []string{}, Deliverables: []string{}, ContextRefs: []doc.ContextRef{}}
	var notes, files []string
	cmd := &cobra.Command{
		Use: "job:submit <dir>", Short: "Submit a job to a worker",
		Long: `Submit a job to a worker and print its id as JSON. The job runs in a process of its
own, which outlives this command and any server. Submitting an active --job again is
a no-op; a finished one is started again, and its results move to history/.`,
		Example: "  ac job:submit ./acme --project proj_1 --worker codex --goal 'List the open TODOs' --deliverable 'a list'\n" +
			"  ac job:submit ./acme --project proj_1 --worker claude --goal 'Fix the build' --permission patch --job nightly",
		Args: cli.Args("dir"),
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := cli.Require(cmd, "project", "worker", "goal"); err != nil {
				return err
			}
			spec.WorkspaceDir = given[0]
			if spec.JobID == "" {
				spec.JobID = " " // a new id
			}
			for _, note := range notes {
				spec.ContextRefs = append(spec.ContextRefs, doc.ContextRef{Kind: "note", Value: note})
			}
			for _, file := range files {
				spec.ContextRefs = append(spec.ContextRefs, doc.ContextRef{Kind: "file", Value: file})
			}
			return cli.PrintJSON(cmd.Context(), a, (*company.Company).SubmitJob, company.SubmitJobParams{Job: spec})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&spec.ProjectID, "project", "", "the project (required)")
	flags.StringVar(&spec.WorkerKind, "worker", "", "the kind of worker: codex, claude or gemini (required)")
	flags.StringVar(&spec.Goal, "goal", "", "what to do (required)")
	flags.StringVar(&spec.JobID, "job", "", "the id of the job (default: a new one)")
	flags.StringVar(&spec.JobKind, "kind", doc.JobExecution, "execution or heartbeat")
	flags.StringVar(&spec.PermissionLevel, "permission", "read-only", "read-only, patch or run-commands")
	flags.StringVar(&spec.WorkerAgentID, "agent", "", "the agent for the job (default: the first suitable one)")
	flags.StringVar(&spec.Model, "model", "", "the model (default: the agent's)")
	flags.StringVar(&spec.ManagerActorID, "manager", "", "id of the manager who submits it")
	flags.StringArrayVar(&spec.Constraints, "constraint", []string{}, "a constraint; may be repeated")
	flags.StringArrayVar(&spec.Deliverables, "deliverable", []string{}, "a deliverable; may be repeated")
	flags.StringArrayVar(&notes, "note", nil, "a note for the worker; may be repeated")
	flags.StringArrayVar(&files, "file", nil, "a file for the worker to read; may be repeated")
	cli.CompleteFlag(cmd, "worker", cli.Words(doc.WorkerKinds()...))
	cli.CompleteFlag(cmd, "kind", cli.Words(doc.JobExecution, doc.JobHeartbeat))
	cli.CompleteFlag(cmd, "permission", cli.Words("read-only", "patch", "run-commands"))
	return cmd
}

func jobListCommand(a *cli.App) *cobra.Command {
	var p company.ListJobsParams
	asJSON := false
	cmd := &cobra.Command{
		Use: "job:list <dir>", Short: "List the jobs of a project by id", Args: cli.Args("dir"),
		Long:    "List the jobs of a project by id. With --json the rows are those of job.list.",
		Example: "  ac job:list ./acme --project proj_1 --status running\n  ac job:list ./acme --project proj_1 --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			rows, err := cli.Ask(cmd.Context(), a, (*company.Folder).ListJobs, p)
			if err != nil {
				return err
			}
			if asJSON {
				return a.PrintJSON(rows)
			}
			return printJobs(a, rows)
		},
	}
	cli.Mirror(cmd, &p,
		"project: the project",
		"status: only with this status",
		"limit: maximum number of jobs")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printJobs(a *cli.App, rows []company.JobRow) error {
	if len(rows) == 0 {
		fmt.Fprintln(a.Stdout, "no jobs")
		return nil
	}
	table := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "JOB\tSTATUS\tATTEMPT\tWORKER\tNOTE")
	for _, r := range rows {
		worker, note := "-", ""
		if n := len(r.Attempts); n > 0 {
			worker, note = r.Attempts[n-1].WorkerAgentID, cli.OneLine(r.Attempts[n-1].Error)
		}
		if r.CancellationRequested && r.FinalResultRelpath == "" {
			note = "cancellation requested"
		}
		fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%s\n", r.JobID, r.Status, r.CurrentAttempt, worker, note)
	}
	return table.Flush()
}

// jobCommand returns a command for one job.
func jobCommand[R any](a *cli.App, name, short, long string, act func(*company.Company, context.Context, company.JobParams) (R, error)) *cobra.Command {
	p := company.JobParams{}
	cmd := &cobra.Command{
		Use: name + " <dir>", Short: short, Long: long, Args: cli.Args("dir"),
		Example: "  ac " + name + " ./acme --project proj_1 --job job_01M7WQZBSAFPGGS2R5Y64ZHBJ5",
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := cli.Require(cmd, "project", "job"); err != nil {
				return err
			}
			p.WorkspaceDir = given[0]
			return cli.PrintJSON(cmd.Context(), a, act, p)
		},
	}
	cmd.Flags().StringVar(&p.ProjectID, "project", "", "the project (required)")
	cmd.Flags().StringVar(&p.JobID, "job", "", "the job (required)")
	return cmd
}

func jobPollCommand(a *cli.App) *cobra.Command {
	cmd := jobCommand(a, "job:poll", "Show the current state of a job", "Print a job as JSON: the result of job.poll.", (*company.Company).PollJob)
	cmd.Aliases = []string{"job:show"}
	return cmd
}

// exitUnsuccessful is the exit status of job:collect --wait if the job did not
// succeed.
const exitUnsuccessful = 3

func jobCollectCommand(a *cli.App) *cobra.Command {
	wait := false
	cmd := jobCommand(a, "job:collect", "Show the result of a job", `Print a job with its result as JSON: the result of job.collect.

With --wait it waits for the end of the job first; the exit status is then 3 if the
result is not "succeeded".`,
		func(c *company.Company, ctx context.Context, p company.JobParams) (company.CollectedJob, error) {
			if !wait {
				return c.CollectJob(ctx, p)
			}
			collected, err := c.AwaitJob(ctx, p)
			if err == nil && (collected.Result == nil || collected.Result.Status != doc.ResultSucceeded) {
				return collected, errors.Join(a.PrintJSON(collected), cli.ExitError{Code: exitUnsuccessful})
			}
			return collected, err
		})
	cmd.Flags().BoolVar(&wait, "wait", false, "wait for the end of the job")
	return cmd
}

func jobCancelCommand(a *cli.App) *cobra.Command {
	return jobCommand(a, "job:cancel", "Cancel a job", `Cancel a job and stop its session: SIGTERM to everything its worker started, SIGKILL
to survivors after 1.5 seconds. Print the job's state right afterwards as JSON;
job:collect --wait prints its end.`, (*company.Company).CancelJob)
}
