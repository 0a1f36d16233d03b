package main

// task:*: creating, planning, listing and checking tasks.

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ac/company"
	"ac/company/workforce"
	"ac/internal/frontmatter"
	"ac/pm"
	"ac/workspace/doc"
)

// oneOf refuses a word that is not among those of an option.
func oneOf(option, word string, words []string) error {
	if !slices.Contains(words, word) {
		return usageError{"--" + option + " must be one of " + strings.Join(words, ", ")}
	}
	return nil
}

func milestoneKinds() []string { return []string{"coding", "research", "planning"} }
func milestoneStatuses() []string {
	return []string{"draft", "ready", "in_progress", "blocked", "done"}
}

func taskNewCommand(a *app) *cobra.Command {
	var p workforce.NewTaskParams
	spec := &p.Spec
	cmd := &cobra.Command{
		Use: "task:new <dir>", Short: "Create a draft task and print its id", Args: args("dir"),
		Example: "  ac task:new ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S --title 'Sign in by mail'",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := require(cmd, "title"); err != nil {
				return err
			}
			if err := oneOf("visibility", spec.Visibility, doc.Visibilities()); err != nil {
				return err
			}
			return a.printID(ask(cmd.Context(), a, workforce.Operations.NewTask, p))
		},
	}
	mirror(cmd, &p,
		"project: id of the project")
	cmd.Flags().StringVar(&spec.Title, "title", "", "what to do, one line (required)")
	cmd.Flags().StringVar(&spec.Visibility, "visibility", "team", "who may see it: "+strings.Join(doc.Visibilities(), ", "))
	cmd.Flags().StringVar(&spec.TeamID, "team", "", "id of the team for the task")
	cmd.Flags().StringVar(&spec.AssigneeID, "assignee", "", "id of the assignee")
	return cmd
}

func taskAddMilestoneCommand(a *app) *cobra.Command {
	var p workforce.AddMilestoneParams
	milestone := &p.Milestone
	cmd := &cobra.Command{
		Use: "task:add-milestone <dir>", Short: "Add a milestone to a task and print its id", Args: args("dir"),
		Long: `Add a milestone at the end of a task and print its id. Approving a coding milestone
requires a patch and tests; others require no evidence.`,
		Example: "  ac task:add-milestone ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S --task task_01M7WQXFJVAFKYMR9NC0NBJYZC --title 'Send the mail' --kind coding --accept 'It arrives' 'It expires'",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := require(cmd, "title", "kind"); err != nil {
				return err
			}
			if err := oneOf("kind", milestone.Kind, milestoneKinds()); err != nil {
				return err
			}
			if err := oneOf("status", milestone.Status, milestoneStatuses()); err != nil {
				return err
			}
			return a.printID(ask(cmd.Context(), a, workforce.Operations.AddMilestone, p))
		},
	}
	mirror(cmd, &p,
		"project: id of the project",
		"task: id of the task")
	cmd.Flags().StringVar(&milestone.Title, "title", "", "what it achieves (required)")
	cmd.Flags().StringVar(&milestone.Kind, "kind", "", strings.Join(milestoneKinds(), ", ")+" (required)")
	cmd.Flags().StringVar(&milestone.Status, "status", "draft", strings.Join(milestoneStatuses(), ", "))
	valuesVar(cmd, &milestone.AcceptanceCriteria, "accept", "acceptance criteria")
	completeFlag(cmd, "kind", words(milestoneKinds()...))
	completeFlag(cmd, "status", words(milestoneStatuses()...))
	return cmd
}

func taskValidateCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "task:validate <file>", Short: "Check the file of a task", Args: args("file"),
		Long:    "Check the file of a task. Exit status: 0 if it is valid, 2 with the defects on stderr if not.",
		Example: "  ac task:validate ./acme/work/projects/proj_01M7WQGTQHQA1J50C42GD1KN1S/tasks/task_01M7WQXFJVAFKYMR9NC0NBJYZC.md",
		RunE: func(_ *cobra.Command, given []string) error {
			issues, err := company.ValidateFile(given[0], pm.ValidateTask)
			return a.printIssues(issues, err)
		},
	}
}

// printIssues prints the issues of a document.
func (a *app) printIssues(issues []frontmatter.Issue, err error) error {
	switch {
	case err != nil:
		return err
	case len(issues) == 0:
		fmt.Fprintln(a.stdout, "OK")
		return nil
	}
	fmt.Fprintln(a.stderr, "VALIDATION FAILED")
	for _, issue := range issues {
		fmt.Fprintf(a.stderr, "- %s\n", oneLine(issue.Message))
	}
	return exitError{exitFindings}
}

func taskListCommand(a *app) *cobra.Command {
	var p workforce.ListTasksParams
	asJSON := false
	cmd := &cobra.Command{
		Use: "task:list <dir>", Short: "List the tasks of a project, newest first", Args: args("dir"),
		Long:    "List the tasks of a project, newest first. With --json print the result of task.list.",
		Example: "  ac task:list ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S",
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := ask(cmd.Context(), a, workforce.Operations.ListTasks, p)
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(list)
			}
			return a.printTasks(list)
		},
	}
	mirror(cmd, &p,
		"project: id of the project")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) printTasks(list workforce.ListTasksResult) error {
	if len(list.Tasks) == 0 {
		fmt.Fprintln(a.stdout, "no tasks")
		return nil
	}
	table := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "TASK\tSTATUS\tDONE\tASSIGNEE\tTITLE")
	for _, t := range list.Tasks {
		assignee := t.Frontmatter.AssigneeAgentID
		if assignee == "" {
			assignee = "-"
		}
		fmt.Fprintf(table, "%s\t%s\t%d/%d\t%s\t%s\n", t.TaskID, t.Frontmatter.Status, t.MilestoneCounts.Done, t.MilestoneCounts.Total, assignee, oneLine(t.Frontmatter.Title))
	}
	return table.Flush()
}

func taskPlanCommand(a *app) *cobra.Command {
	var p workforce.UpdatePlanParams
	var schedule workforce.PlannedSchedule
	var plan workforce.PlannedExecution
	days, tokens, asJSON := 0, int64(0), false
	cmd := &cobra.Command{
		Use: "task:plan <dir>", Short: "Change the schedule and the assignee of a task", Args: args("dir"),
		Long: `Change the plan of a task. Schedule options (--start, --end, --days, --depends)
replace the whole schedule. Execution options (--provider, --model, --agent, --tokens,
--by) change only their own values. Print the plan, or with --json the result of
task.update_plan.`,
		Example: "  ac task:plan ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S --task task_01M7WQXFJVAFKYMR9NC0NBJYZC --start 2026-12-01 --days 3 --provider codex --by ann",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := require(cmd, "project", "task"); err != nil {
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
			task, err := ask(cmd.Context(), a, workforce.Operations.UpdatePlan, p)
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(task)
			}
			return a.printPlan(task)
		},
	}
	a.taskFlags(cmd, &p.ProjectID, &p.TaskID)
	mirror(cmd, &schedule,
		"start=planned_start: planned start, a date or time",
		"end=planned_end: planned end, a date or time",
		"depends=depends_on_task_ids: ids of the tasks it depends on")
	cmd.Flags().IntVar(&days, "days", 0, "duration in days")
	mirror(cmd, &plan,
		"provider=preferred_provider: preferred provider",
		"model=preferred_model: preferred model",
		"agent=preferred_agent_id: id of the preferred agent",
		"by=applied_by: id of the planner, recorded with the time")
	cmd.Flags().Int64Var(&tokens, "tokens", 0, "token budget")
	mirror(cmd, &p,
		"clear-schedule: remove the schedule",
		"clear-execution-plan: remove the execution plan")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// taskFlags declares the options that identify a task.
func (a *app) taskFlags(cmd *cobra.Command, project, task *string) {
	cmd.Flags().StringVar(project, "project", "", "id of the project (required)")
	cmd.Flags().StringVar(task, "task", "", "id of the task (required)")
}

// printPlan prints the plan of a task, one line for each value.
func (a *app) printPlan(task workforce.UpdatePlanResult) error {
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
			fmt.Fprintf(a.stdout, "%s: %v\n", name, fields[name])
		}
	}
	if !said {
		fmt.Fprintln(a.stdout, "no plan")
	}
	return nil
}

// taskIDs are the tasks of the project on the command line.
func (a *app) taskIDs(cmd *cobra.Command, given []string) []string {
	return a.tasks(cmd, given, func(t workforce.TaskRow) []string { return []string{t.TaskID + "\t" + t.Frontmatter.Title} })
}

// milestoneIDs are the milestones of the task on the command line.
func (a *app) milestoneIDs(cmd *cobra.Command, given []string) []string {
	task := cmd.Flag("task").Value.String()
	return a.tasks(cmd, given, func(t workforce.TaskRow) (ids []string) {
		for _, m := range t.Frontmatter.Milestones {
			if t.TaskID == task {
				ids = append(ids, m.ID+"\t"+m.Title)
			}
		}
		return ids
	})
}

func (a *app) tasks(cmd *cobra.Command, given []string, words func(workforce.TaskRow) []string) (all []string) {
	p := projectOf(cmd, given)
	list, _ := ask(cmd.Context(), a, workforce.Operations.ListTasks, workforce.ListTasksParams(p)) // none if they cannot be read
	for _, t := range list.Tasks {
		all = append(all, words(t)...)
	}
	return all
}
