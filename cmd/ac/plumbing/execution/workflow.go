package execution

// workflow:list, workflow:show, workflow:run, workflow:status and workflow:cancel.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/company/orchestration"
	"ac/internal/fault"
	"ac/internal/yamldoc"
	"ac/workspace/doc"
)

func workflowListCommand(a *cli.App) *cobra.Command {
	var p orchestration.ListWorkflowsParams
	asJSON := false
	cmd := &cobra.Command{
		Use: "workflow:list <dir>", Short: "List the workflow templates of a workspace", Args: cli.Args("dir"),
		Long:    "List the workflow templates in org/workflows by id. Other files are listed below them.",
		Example: "  ac workflow:list ./acme\n  ac workflow:list ./acme --domain review --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			found, err := cli.Ask(cmd.Context(), a, orchestration.Operations.ListWorkflows, p)
			if err != nil {
				return err
			}
			if asJSON {
				return a.PrintJSON(found)
			}
			return printWorkflows(a, found)
		},
	}
	cli.Mirror(cmd, &p,
		"domain: only those of this domain")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printWorkflows(a *cli.App, found orchestration.ListWorkflowsResult) error {
	if len(found.Workflows) == 0 {
		fmt.Fprintln(a.Stdout, "no workflows")
	} else {
		table := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "WORKFLOW\tPATTERN\tSTEPS\tNAME")
		for _, r := range found.Workflows {
			fmt.Fprintf(table, "%s\t%s\t%d\t%s\n", r.WorkflowID, r.Pattern, r.StepCount, cli.OneLine(r.Name))
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	for _, problem := range found.Problems {
		fmt.Fprintf(a.Stdout, "PROBLEM %s\n", cli.OneLine(problem.Message))
	}
	return nil
}

func workflowShowCommand(a *cli.App) *cobra.Command {
	var p orchestration.GetWorkflowParams
	asJSON := false
	cmd := &cobra.Command{
		Use: "workflow:show <dir> <workflow>", Short: "Show a workflow template", Args: cli.Args("dir", "workflow"),
		Long: `Show a workflow template: its inputs, its steps as a tree, and which agents would do
them now. With --json the result is that of workflow.get.`,
		Example: "  ac workflow:show ./acme review:refine",
		RunE: func(cmd *cobra.Command, given []string) error {
			p.WorkspaceDir, p.WorkflowID = given[0], given[1]
			found, err := cli.Ask(cmd.Context(), a, orchestration.Operations.GetWorkflow, p)
			if err != nil {
				return err
			}
			if asJSON {
				return a.PrintJSON(found)
			}
			checked, err := cli.Ask(cmd.Context(), a, orchestration.Operations.CheckWorkflow, orchestration.CheckWorkflowParams{Dir: p.Dir, WorkflowID: p.WorkflowID})
			if err != nil {
				return err
			}
			return writeWorkflow(a.Stdout, found, checked)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func workflowRunCommand(a *cli.App) *cobra.Command {
	p := orchestration.RunWorkflowParams{Inputs: map[string]string{}, Priority: "normal", ActorID: "human", ActorRole: "human"}
	file, wait, asJSON := "", false, false
	var inputs []string
	place := doc.JobPlace{}
	var limits hardLimits
	cmd := &cobra.Command{
		Use: "workflow:run <dir>", Short: "Start a run of a workflow", Args: cli.Args("dir"),
		Long: `Start a run of a workflow and print its id. The run goes on when this command, and any
server, has ended. With --wait it is followed to its end: its steps go to stderr, its
text to stdout, and the exit status is 3 when it did not succeed.

With --json the result is that of workflow.run, with --wait that of workflow.status.`,
		Example: "  ac workflow:run ./acme --project proj_1 --workflow review:refine --set topic=caching --wait\n" +
			"  ac workflow:run ./acme --project proj_1 --file flow.yaml --repo main --isolation worktree",
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := cli.Require(cmd, "project"); err != nil {
				return err
			}
			p.WorkspaceDir = given[0]
			for _, set := range inputs {
				name, text, ok := strings.Cut(set, "=")
				if !ok {
					return fault.InvalidField("set", "must be name=text, not %s", set)
				}
				p.Inputs[name] = text
			}
			if file != "" {
				text, err := os.ReadFile(file)
				if err != nil {
					return err
				}
				if p.Template, err = yamldoc.Parse(text); err != nil {
					return fmt.Errorf("%s: %w", file, err)
				}
			}
			if place.RepoID != "" {
				p.Place = &place
			}
			p.Budget = limits.budget(cmd.Flags())
			made, err := cli.Ask(cmd.Context(), a, orchestration.Operations.RunWorkflow, p)
			switch {
			case err != nil:
				return err
			case wait:
				return followWorkflow(cmd.Context(), a, p, made.RunID, asJSON)
			case asJSON:
				return a.PrintJSON(made)
			}
			fmt.Fprintf(a.Stdout, "%s %s\n", made.RunID, made.Status)
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&p.ProjectID, "project", "", "the project (required)")
	flags.StringVar(&p.WorkflowID, "workflow", "", "the workflow, by its id")
	flags.StringVar(&file, "file", "", "a template that does not lie in the workspace")
	flags.StringVar(&p.RunID, "run", "", "the id of the run (default: a new one)")
	flags.StringVar(&p.Input, "input", "", "the text that the flow begins with")
	flags.StringArrayVar(&inputs, "set", nil, "an input of the template, name=text; may be given several times")
	flags.StringVar(&p.Priority, "priority", "normal", "of its jobs in the lane: low, normal or high")
	flags.StringVar(&place.RepoID, "repo", "", "the repository that its tasks work in")
	flags.StringVar(&place.Isolation, "isolation", doc.IsolationWorktree, "worktree or none, with --repo")
	flags.StringVar(&place.Base, "base", "", "head or snapshot, with --isolation worktree")
	limits.add(flags)
	flags.BoolVar(&wait, "wait", false, "follow the run to its end")
	flags.BoolVar(&asJSON, "json", false, "print JSON")
	cli.CompleteFlag(cmd, "priority", cli.Words("low", "normal", "high"))
	cli.CompleteFlag(cmd, "isolation", cli.Words(doc.IsolationWorktree, doc.IsolationNone))
	cli.CompleteFlag(cmd, "base", cli.Words("head", doc.BaseSnapshot))
	return cmd
}

// hardLimits holds the options of a budget.
type hardLimits struct {
	tokens int64
	cost   float64
}

func (h *hardLimits) add(flags *pflag.FlagSet) {
	flags.Int64Var(&h.tokens, "hard-tokens", 0, "how many tokens all attempts may use together")
	flags.Float64Var(&h.cost, "hard-cost", 0, "what all attempts may cost together, in dollars")
}

// budget returns the budget, nil if no option was given.
func (h *hardLimits) budget(flags *pflag.FlagSet) *doc.Budget {
	var b doc.Budget
	if flags.Changed("hard-tokens") {
		b.HardTokens = &h.tokens
	}
	if flags.Changed("hard-cost") {
		b.HardCostUSD = &h.cost
	}
	if b == (doc.Budget{}) {
		return nil
	}
	return &b
}

// followWorkflow follows a run to its end and prints its text.
func followWorkflow(ctx context.Context, a *cli.App, p orchestration.RunWorkflowParams, run string, asJSON bool) error {
	steps := &StepWriter{Out: a.Stderr, Dir: p.WorkspaceDir, Seen: map[string]string{}}
	status, err := cli.Ask(ctx, a, orchestration.Operations.AwaitWorkflow, orchestration.AwaitWorkflowParams{
		WorkflowStatusParams: orchestration.WorkflowStatusParams{Dir: p.Dir, ProjectID: p.ProjectID, RunID: run}, Each: steps.Write,
	})
	if err != nil {
		return err
	}
	switch {
	case asJSON:
		err = a.PrintJSON(status)
	case status.Status == doc.FlowSucceeded:
		_, err = fmt.Fprintln(a.Stdout, status.Text)
	default:
		fmt.Fprintf(a.Stderr, "run %s %s%s\n", run, status.Status, WhyOf(status.Error))
	}
	if status.Status != doc.FlowSucceeded {
		err = errors.Join(err, cli.ExitError{Code: exitUnsuccessful})
	}
	return err
}

// workflowAct returns a command that acts on one run and then prints the run.
func workflowAct[P any](a *cli.App, cmd *cobra.Command, params func(orchestration.WorkflowStatusParams) P, act func(orchestration.Operations, context.Context, P) (orchestration.WorkflowStatus, error)) *cobra.Command {
	project, asJSON := "", false
	cmd.Args = cli.Args("dir", "run")
	cmd.RunE = func(cmd *cobra.Command, given []string) error {
		run, err := cli.Ask(cmd.Context(), a, orchestration.Operations.FindRun, namedRun(given, project))
		if err != nil {
			return err
		}
		p := orchestration.WorkflowStatusParams{Dir: company.Dir{WorkspaceDir: given[0]}, ProjectID: run.ProjectID, RunID: run.RunID}
		status, err := cli.Ask(cmd.Context(), a, act, params(p))
		if err != nil {
			return err
		}
		if asJSON {
			return a.PrintJSON(status)
		}
		return writeWorkflowStatus(a.Stdout, given[0], status)
	}
	runFlags(a, cmd, &project, &asJSON, "print JSON")
	return cmd
}

func workflowStatusCommand(a *cli.App) *cobra.Command {
	var texts, passages bool
	cmd := workflowAct(a, &cobra.Command{
		Use: "workflow:status <dir> <run>", Short: "Show a run of a workflow",
		Long: `Show a run of a workflow: its status, its steps, and what it waits for. A run whose
processes died is brought on.

With --json the result is that of workflow.status.`,
		Example: "  ac workflow:status ./acme run_01M7WQZBSAFPGGS2R5Y64ZHBJ5\n  ac workflow:status ./acme run_01M7WQZBSAFPGGS2R5Y64ZHBJ5 --text",
	}, func(p orchestration.WorkflowStatusParams) orchestration.WorkflowStatusParams {
		p.WithText, p.WithPassages = texts, passages
		return p
	}, orchestration.Operations.StatusOfWorkflow)
	cmd.Flags().BoolVar(&texts, "text", false, "with the text of each step")
	cmd.Flags().BoolVar(&passages, "passages", false, "with --json: with every entry of every node")
	return cmd
}

func workflowCancelCommand(a *cli.App) *cobra.Command {
	return workflowAct(a, &cobra.Command{
		Use: "workflow:cancel <dir> <run>", Short: "Cancel a run of a workflow",
		Long: `Cancel a run of a workflow with the jobs that go on, and show it as it is just after.
A run that is over stays as it is.

With --json the result is that of workflow.cancel.`,
		Example: "  ac workflow:cancel ./acme run_01M7WQZBSAFPGGS2R5Y64ZHBJ5",
	}, func(p orchestration.WorkflowStatusParams) orchestration.WorkflowRunParams {
		return orchestration.WorkflowRunParams{Dir: p.Dir, ProjectID: p.ProjectID, RunID: p.RunID}
	}, orchestration.Operations.CancelWorkflow)
}
