package main

// workflow:list, workflow:show, workflow:run, workflow:status and workflow:cancel.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ac/company"
	"ac/internal/fault"
	"ac/internal/yamldoc"
	"ac/workspace/doc"
)

func workflowListCommand(a *app) *cobra.Command {
	var p company.ListWorkflowsParams
	asJSON := false
	cmd := &cobra.Command{
		Use: "workflow:list <dir>", Short: "List the workflow templates of a workspace", Args: args("dir"),
		Long:    "List the workflow templates in org/workflows by id. Files that are no templates are told below them.",
		Example: "  ac workflow:list ./acme\n  ac workflow:list ./acme --domain review --json",
		RunE: func(cmd *cobra.Command, given []string) error {
			p.WorkspaceDir = given[0]
			found, err := ask(cmd.Context(), a, (*company.Company).ListWorkflows, p)
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(found)
			}
			return a.printWorkflows(found)
		},
	}
	cmd.Flags().StringVar(&p.Domain, "domain", "", "only those of this domain")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) printWorkflows(found company.ListWorkflowsResult) error {
	if len(found.Workflows) == 0 {
		fmt.Fprintln(a.stdout, "no workflows")
	} else {
		table := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "WORKFLOW\tPATTERN\tSTEPS\tNAME")
		for _, r := range found.Workflows {
			fmt.Fprintf(table, "%s\t%s\t%d\t%s\n", r.WorkflowID, r.Pattern, r.StepCount, oneLine(r.Name))
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	for _, problem := range found.Problems {
		fmt.Fprintf(a.stdout, "PROBLEM %s\n", oneLine(problem.Message))
	}
	return nil
}

func workflowShowCommand(a *app) *cobra.Command {
	var p company.GetWorkflowParams
	cmd := &cobra.Command{
		Use: "workflow:show <dir>", Short: "Show a workflow template", Args: args("dir"),
		Long:    "Print a workflow template as JSON, as workflow.get answers it.",
		Example: "  ac workflow:show ./acme --workflow review:refine",
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := require(cmd, "workflow"); err != nil {
				return err
			}
			p.WorkspaceDir = given[0]
			return printJSON(cmd.Context(), a, (*company.Company).GetWorkflow, p)
		},
	}
	cmd.Flags().StringVar(&p.WorkflowID, "workflow", "", "the workflow (required)")
	return cmd
}

func workflowRunCommand(a *app) *cobra.Command {
	p := company.RunWorkflowParams{Inputs: map[string]string{}, Priority: "normal", ActorID: "human", ActorRole: "human"}
	file, wait := "", false
	var inputs []string
	place := doc.JobPlace{}
	cmd := &cobra.Command{
		Use: "workflow:run <dir>", Short: "Start a run of a workflow", Args: args("dir"),
		Long: `Start a run of a workflow and print its id as JSON. The run goes on when this
command, and any server, has ended. With --wait it is followed to its end, and its
text is printed; the exit status is 3 then when it did not succeed.`,
		Example: "  ac workflow:run ./acme --project proj_1 --workflow review:refine --set topic=caching --wait\n" +
			"  ac workflow:run ./acme --project proj_1 --file flow.yaml --repo main --isolation worktree",
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := require(cmd, "project"); err != nil {
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
			if !wait {
				return printJSON(cmd.Context(), a, (*company.Company).RunWorkflow, p)
			}
			return a.followWorkflow(cmd.Context(), p)
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
	flags.BoolVar(&wait, "wait", false, "wait for the end of the run")
	completeFlag(cmd, "project", a.projectIDs)
	completeFlag(cmd, "priority", words("low", "normal", "high"))
	completeFlag(cmd, "isolation", words(doc.IsolationWorktree, doc.IsolationNone))
	completeFlag(cmd, "base", words("head", doc.BaseSnapshot))
	return cmd
}

// followWorkflow starts a run and waits for its end.
func (a *app) followWorkflow(ctx context.Context, p company.RunWorkflowParams) error {
	made, err := ask(ctx, a, (*company.Company).RunWorkflow, p)
	if err != nil {
		return err
	}
	status, err := ask(ctx, a, (*company.Company).AwaitWorkflow, company.WorkflowStatusParams{
		Dir: p.Dir, ProjectID: p.ProjectID, RunID: made.RunID,
	})
	if err != nil {
		return err
	}
	switch status.Status {
	case doc.FlowSucceeded:
		_, err = fmt.Fprintln(a.stdout, status.Text)
		return err
	case doc.FlowWaitingInput:
		fmt.Fprintf(a.stderr, "run %s waits for an answer: interaction.respond\n", made.RunID)
	default:
		why := ""
		if status.Error != nil {
			why = ": " + status.Error.Code + ": " + oneLine(status.Error.Message)
		}
		fmt.Fprintf(a.stderr, "run %s %s%s\n", made.RunID, status.Status, why)
	}
	return errors.Join(err, exitError{exitUnsuccessful})
}

// workflowRunOf is a command about one run.
func workflowRunOf[P, R any](a *app, cmd *cobra.Command, p *P, at func(*P, string), project, run *string, act func(*company.Company, context.Context, P) (R, error)) *cobra.Command {
	cmd.Args = args("dir")
	cmd.RunE = func(cmd *cobra.Command, given []string) error {
		if err := require(cmd, "project", "run"); err != nil {
			return err
		}
		at(p, given[0])
		return printJSON(cmd.Context(), a, act, *p)
	}
	cmd.Flags().StringVar(project, "project", "", "the project (required)")
	cmd.Flags().StringVar(run, "run", "", "the run (required)")
	completeFlag(cmd, "project", a.projectIDs)
	completeFlag(cmd, "run", a.runIDs)
	return cmd
}

func workflowStatusCommand(a *app) *cobra.Command {
	var p company.WorkflowStatusParams
	cmd := workflowRunOf(a, &cobra.Command{
		Use: "workflow:status <dir>", Short: "Show a run of a workflow",
		Long:    "Print a run of a workflow as JSON, as workflow.status answers it. A run whose processes died is brought on.",
		Example: "  ac workflow:status ./acme --project proj_1 --run run_01M7WQZBSAFPGGS2R5Y64ZHBJ5 --text",
	}, &p, func(p *company.WorkflowStatusParams, dir string) { p.WorkspaceDir = dir }, &p.ProjectID, &p.RunID, (*company.Company).StatusOfWorkflow)
	cmd.Flags().BoolVar(&p.WithText, "text", false, "with the text of each step")
	cmd.Flags().BoolVar(&p.WithPassages, "passages", false, "with every entry of every node")
	return cmd
}

func workflowCancelCommand(a *app) *cobra.Command {
	var p company.WorkflowRunParams
	return workflowRunOf(a, &cobra.Command{
		Use: "workflow:cancel <dir>", Short: "Cancel a run of a workflow",
		Long:    "Cancel a run of a workflow with the jobs that go on. Prints the run as JSON, as it is just after.",
		Example: "  ac workflow:cancel ./acme --project proj_1 --run run_01M7WQZBSAFPGGS2R5Y64ZHBJ5",
	}, &p, func(p *company.WorkflowRunParams, dir string) { p.WorkspaceDir = dir }, &p.ProjectID, &p.RunID, (*company.Company).CancelWorkflow)
}
