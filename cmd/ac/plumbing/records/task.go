package records

// task:*: creating, planning, listing and checking tasks.

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/company/workforce"
	"ac/internal/frontmatter"
	"ac/pm"
	"ac/workspace/doc"
)

func milestoneKinds() []string { return []string{"coding", "research", "planning"} }
func milestoneStatuses() []string {
	return []string{"draft", "ready", "in_progress", "blocked", "done"}
}

func taskNewCommand(a *cli.App) *cobra.Command {
	var p workforce.NewTaskParams
	spec := &p.Spec
	cmd := &cobra.Command{
		Use: "task:new <dir>", Short: "Create a draft task and print its id", Args: cli.Args("dir"),
		Example: "  ac task:new ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S --title 'Sign in by mail'",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.Require(cmd, "title"); err != nil {
				return err
			}
			if err := cli.OneOf("visibility", spec.Visibility, doc.Visibilities()); err != nil {
				return err
			}
			return a.PrintID(cli.Ask(cmd.Context(), a, workforce.Operations.NewTask, p))
		},
	}
	cli.Mirror(cmd, &p,
		"project: id of the project")
	cmd.Flags().StringVar(&spec.Title, "title", "", "what to do, one line (required)")
	cmd.Flags().StringVar(&spec.Visibility, "visibility", "team", "who may see it: "+strings.Join(doc.Visibilities(), ", "))
	cmd.Flags().StringVar(&spec.TeamID, "team", "", "id of the team for the task")
	cmd.Flags().StringVar(&spec.AssigneeID, "assignee", "", "id of the assignee")
	return cmd
}

func taskAddMilestoneCommand(a *cli.App) *cobra.Command {
	var p workforce.AddMilestoneParams
	milestone := &p.Milestone
	cmd := &cobra.Command{
		Use: "task:add-milestone <dir>", Short: "Add a milestone to a task and print its id", Args: cli.Args("dir"),
		Long: `Add a milestone at the end of a task and print its id. Approving a coding milestone
requires a patch and tests; others require no evidence.`,
		Example: "  ac task:add-milestone ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S --task task_01M7WQXFJVAFKYMR9NC0NBJYZC --title 'Send the mail' --kind coding --accept 'It arrives' 'It expires'",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.Require(cmd, "title", "kind"); err != nil {
				return err
			}
			if err := cli.OneOf("kind", milestone.Kind, milestoneKinds()); err != nil {
				return err
			}
			if err := cli.OneOf("status", milestone.Status, milestoneStatuses()); err != nil {
				return err
			}
			return a.PrintID(cli.Ask(cmd.Context(), a, workforce.Operations.AddMilestone, p))
		},
	}
	cli.Mirror(cmd, &p,
		"project: id of the project",
		"task: id of the task")
	cmd.Flags().StringVar(&milestone.Title, "title", "", "what it achieves (required)")
	cmd.Flags().StringVar(&milestone.Kind, "kind", "", strings.Join(milestoneKinds(), ", ")+" (required)")
	cmd.Flags().StringVar(&milestone.Status, "status", "draft", strings.Join(milestoneStatuses(), ", "))
	cli.ValuesVar(cmd, &milestone.AcceptanceCriteria, "accept", "acceptance criteria")
	cli.CompleteFlag(cmd, "kind", cli.Words(milestoneKinds()...))
	cli.CompleteFlag(cmd, "status", cli.Words(milestoneStatuses()...))
	return cmd
}

func taskValidateCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "task:validate <file>", Short: "Check the file of a task", Args: cli.Args("file"),
		Long:    "Check the file of a task. Exit status: 0 if it is valid, 2 with the defects on stderr if not.",
		Example: "  ac task:validate ./acme/work/projects/proj_01M7WQGTQHQA1J50C42GD1KN1S/tasks/task_01M7WQXFJVAFKYMR9NC0NBJYZC.md",
		RunE: func(_ *cobra.Command, given []string) error {
			issues, err := company.ValidateFile(given[0], pm.ValidateTask)
			return printIssues(a, issues, err)
		},
	}
}

// printIssues prints the issues of a document.
func printIssues(a *cli.App, issues []frontmatter.Issue, err error) error {
	switch {
	case err != nil:
		return err
	case len(issues) == 0:
		fmt.Fprintln(a.Stdout, "OK")
		return nil
	}
	fmt.Fprintln(a.Stderr, "VALIDATION FAILED")
	for _, issue := range issues {
		fmt.Fprintf(a.Stderr, "- %s\n", cli.OneLine(issue.Message))
	}
	return cli.ExitError{Code: cli.ExitFindings}
}

func taskListCommand(a *cli.App) *cobra.Command {
	var p workforce.ListTasksParams
	asJSON := false
	cmd := &cobra.Command{
		Use: "task:list <dir>", Short: "List the tasks of a project, newest first", Args: cli.Args("dir"),
		Long:    "List the tasks of a project, newest first. With --json print the result of task.list.",
		Example: "  ac task:list ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S",
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := cli.Ask(cmd.Context(), a, workforce.Operations.ListTasks, p)
			if err != nil {
				return err
			}
			if asJSON {
				return a.PrintJSON(list)
			}
			return printTasks(a, list)
		},
	}
	cli.Mirror(cmd, &p,
		"project: id of the project")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printTasks(a *cli.App, list workforce.ListTasksResult) error {
	if len(list.Tasks) == 0 {
		fmt.Fprintln(a.Stdout, "no tasks")
		return nil
	}
	table := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "TASK\tSTATUS\tDONE\tASSIGNEE\tTITLE")
	for _, t := range list.Tasks {
		assignee := t.Frontmatter.AssigneeAgentID
		if assignee == "" {
			assignee = "-"
		}
		fmt.Fprintf(table, "%s\t%s\t%d/%d\t%s\t%s\n", t.TaskID, t.Frontmatter.Status, t.MilestoneCounts.Done, t.MilestoneCounts.Total, assignee, cli.OneLine(t.Frontmatter.Title))
	}
	return table.Flush()
}

func taskPlanCommand(a *cli.App) *cobra.Command {
	var p workforce.UpdatePlanParams
	var schedule workforce.PlannedSchedule
	var plan workforce.PlannedExecution
	days, tokens, asJSON := 0, int64(0), false
	cmd := &cobra.Command{
		Use: "task:plan <dir>", Short: "Change the schedule and the assignee of a task", Args: cli.Args("dir"),
		Long: `Change the plan of a task. Schedule options (--start, --end, --days, --depends)
replace the whole schedule. Execution options (--provider, --model, --agent, --tokens,
--by) change only their own values. Print the plan, or with --json the result of
task.update_plan.`,
		Example: "  ac task:plan ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S --task task_01M7WQXFJVAFKYMR9NC0NBJYZC --start 2026-12-01 --days 3 --provider codex --by ann",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.Require(cmd, "project", "task"); err != nil {
				return err
			}
			changed := cmd.Flags().Changed
			if changed("days") {
				schedule.DurationDays = &days
			}
			if changed("tokens") {
				plan.TokenBudgetHint = &tokens
			}
			if slices.ContainsFunc([]string{"start", "end", "days", "depends"}, changed) {
				p.Schedule = &schedule
			}
			if slices.ContainsFunc([]string{"provider", "model", "agent", "tokens", "by"}, changed) {
				p.ExecutionPlan = &plan
			}
			task, err := cli.Ask(cmd.Context(), a, workforce.Operations.UpdatePlan, p)
			if err != nil {
				return err
			}
			if asJSON {
				return a.PrintJSON(task)
			}
			return printPlan(a, task)
		},
	}
	taskFlags(cmd, &p.ProjectID, &p.TaskID)
	cli.Mirror(cmd, &schedule,
		"start=planned_start: planned start, a date or time",
		"end=planned_end: planned end, a date or time",
		"depends=depends_on_task_ids: ids of the tasks it depends on")
	cmd.Flags().IntVar(&days, "days", 0, "duration in days")
	cli.Mirror(cmd, &plan,
		"provider=preferred_provider: preferred provider",
		"model=preferred_model: preferred model",
		"agent=preferred_agent_id: id of the preferred agent",
		"by=applied_by: id of the planner, recorded with the time")
	cmd.Flags().Int64Var(&tokens, "tokens", 0, "token budget")
	cli.Mirror(cmd, &p,
		"clear-schedule: remove the schedule",
		"clear-execution-plan: remove the execution plan")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// taskFlags declares the options that identify a task.
func taskFlags(cmd *cobra.Command, project, task *string) {
	cmd.Flags().StringVar(project, "project", "", "id of the project (required)")
	cmd.Flags().StringVar(task, "task", "", "id of the task (required)")
}

// printPlan prints the plan of a task, one line for each value.
func printPlan(a *cli.App, task workforce.UpdatePlanResult) error {
	said := false
	for _, part := range []any{task.Frontmatter.Schedule, task.Frontmatter.ExecutionPlan} {
		text, err := json.Marshal(part)
		if err != nil {
			return err
		}
		var fields map[string]any
		if err := json.Unmarshal(text, &fields); err != nil {
			return err
		}
		names := make([]string, 0, len(fields))
		for name := range fields {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			said = true
			fmt.Fprintf(a.Stdout, "%s: %v\n", name, fields[name])
		}
	}
	if !said {
		fmt.Fprintln(a.Stdout, "no plan")
	}
	return nil
}
