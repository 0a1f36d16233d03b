package main

// ac tasks, ac jobs: what is to do, and what agents were asked for.

import (
	"strconv"

	"github.com/spf13/cobra"

	"ac/company"
	"ac/company/workforce"
	"ac/internal/clock"
	"ac/internal/terminal"
	"ac/workspace/doc"
)

// taskLine is a task in a list for people. What is not known is null.
type taskLine struct {
	TaskID     string          `json:"task_id"`
	Status     string          `json:"status"`
	AssigneeID *string         `json:"assignee_id"`
	Assignee   *string         `json:"assignee"`
	Due        *string         `json:"due"`
	Title      string          `json:"title"`
	Milestones []doc.Milestone `json:"milestones"`
	project    string
}

func tasksCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "tasks", Short: "List tasks: their states, who does them, and until when", Args: args(),
		Long: `List the tasks of the project, newest first, or of all projects where none is chosen.

In a pipe a row has the id, the status, who does it, the day it is due and the title.`,
		Example: "  ac tasks\n  ac tasks add 'Write the release notes' --to Ann",
	}
	a.listing(cmd, func(c *call, _ []string) error {
		rows, err := c.taskLines()
		if err != nil {
			return err
		}
		lines := make([][]string, len(rows))
		for i, r := range rows {
			lines[i] = []string{r.TaskID, r.Status, orEmpty(r.Assignee), orEmpty(r.Due), r.Title}
		}
		return c.printListing(listing{rows, c.taskTable(rows), lines, "No tasks yet: ac tasks add TITLE"})
	})
	cmd.AddCommand(tasksAddCommand(a))
	return cmd
}

// chosenProjects are the project of the call, or all where none is chosen.
func (c *call) chosenProjects() []string {
	if c.project != "" {
		return []string{c.project}
	}
	ids := make([]string, len(c.projects))
	for i, p := range c.projects {
		ids[i] = p.id
	}
	return ids
}

func (c *call) taskLines() ([]taskLine, error) {
	rows := []taskLine{}
	names, err := c.agentNames()
	if err != nil {
		return rows, err
	}
	for _, project := range c.chosenProjects() {
		list, err := company.Do(c.ctx, c.all, workforce.Operations.ListTasks, workforce.ListTasksParams{Dir: c.dirParam(), ProjectID: project})
		if err != nil {
			return rows, err
		}
		for i := range list.Tasks {
			task := &list.Tasks[i].Frontmatter
			row := taskLine{TaskID: task.ID, Status: task.Status, Title: task.Title, Milestones: task.Milestones, project: project}
			if task.AssigneeAgentID != "" {
				row.AssigneeID, row.Assignee = &task.AssigneeAgentID, new(names.of(task.AssigneeAgentID))
			}
			if task.Schedule != nil && task.Schedule.PlannedEnd != "" {
				row.Due = &task.Schedule.PlannedEnd
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// taskTable is a list of tasks for a terminal.
func (c *call) taskTable(rows []taskLine) terminal.Table {
	t := terminal.Table{Columns: []terminal.Column{{Title: "TASK"}, {Title: "STATE"}, {Title: "WHO", Most: 14, Drop: 6}, {Title: "DUE", Most: 10, Drop: 4}, {Title: "TITLE", Text: true}}}
	if c.project == "" {
		t.Columns = append(t.Columns, terminal.Column{Title: "PROJECT", Most: 14, Drop: 5})
	}
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = r.TaskID
	}
	for i, id := range idColumn(ids) {
		r := &rows[i]
		row := []terminal.Cell{id, taskState(r.Status), {Text: orUnknown(r.Assignee, "")}, {Text: orUnknown(r.Due, "")}, {Text: r.Title}}
		if c.project == "" {
			row = append(row, terminal.Cell{Text: c.projectNamed(r.project)})
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// taskState is the status of a task with its sign.
func taskState(status string) terminal.Cell {
	switch status {
	case "done":
		return sign(status, "✓", "+", terminal.Green)
	case "blocked":
		return sign(status, "✗", "x", terminal.Red)
	case "in_progress":
		return sign(status, "●", "*", terminal.Cyan)
	case "canceled":
		return sign(status, "■", "#", terminal.Yellow)
	}
	return sign(status, "○", "o", terminal.Dim)
}

func tasksAddCommand(a *app) *cobra.Command {
	to := ""
	cmd := &cobra.Command{
		Use: "add <title>", Short: "Add a task to the project", Args: args("title"),
		Example: "  ac tasks add 'Write the release notes'\n  ac tasks add 'Write the release notes' --to Ann",
	}
	a.short(cmd, func(c *call, given []string) error {
		if err := c.requireProject(); err != nil {
			return err
		}
		p := workforce.NewTaskParams{ProjectParams: company.ProjectParams{Dir: c.dirParam(), ProjectID: c.project}}
		p.Spec.Title, p.Spec.Visibility = given[0], "team"
		if to != "" {
			found, err := c.agent(to)
			if err != nil {
				return err
			}
			p.Spec.AssigneeID = found.id
		}
		id, err := company.Do(c.ctx, c.all, workforce.Operations.NewTask, p)
		if err != nil {
			return err
		}
		return c.added(kindTask, id, given[0])
	})
	cmd.Flags().StringVar(&to, "to", "", "the agent who does it")
	return cmd
}

// jobLine is a job in a list for people. What is not known is null.
type jobLine struct {
	JobID         string  `json:"job_id"`
	Status        string  `json:"status"`
	WorkerAgentID *string `json:"worker_agent_id"`
	Worker        string  `json:"worker"`
	Goal          string  `json:"goal"`
	SubmittedAt   string  `json:"submitted_at"`
	Attempt       int     `json:"attempt"`
	RunID         *string `json:"run_id"`
	Error         *string `json:"error"`
	project       string
}

func jobsCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "jobs", Short: "List jobs: their states, workers and goals", Args: args(),
		Long: `List the jobs of the project, or of all projects where none is chosen.

In a pipe a row has the id, the status, the worker, the goal, the time of submission and the
number of the attempt.`,
		Example: "  ac jobs\n  ac jobs --json",
	}
	a.listing(cmd, func(c *call, _ []string) error {
		rows, err := c.jobLines()
		if err != nil {
			return err
		}
		lines := make([][]string, len(rows))
		for i, r := range rows {
			lines[i] = []string{r.JobID, r.Status, r.Worker, r.Goal, r.SubmittedAt, strconv.Itoa(r.Attempt)}
		}
		return c.printListing(listing{rows, c.jobTable(rows), lines, "No jobs yet: ac job:submit"})
	})
	return cmd
}

func (c *call) jobLines() ([]jobLine, error) {
	rows := []jobLine{}
	names, err := c.agentNames()
	if err != nil {
		return rows, err
	}
	for _, project := range c.chosenProjects() {
		jobs, err := company.Do(c.ctx, c.all, (*company.Company).JobNames, company.ProjectParams{Dir: c.dirParam(), ProjectID: project})
		if err != nil {
			return rows, err
		}
		for i := range jobs {
			job := &jobs[i]
			row := jobLine{
				JobID: job.Job.JobID, Status: job.Status, WorkerAgentID: orNull(job.Job.WorkerAgentID), Worker: job.Job.WorkerKind,
				Goal: job.Job.Goal, SubmittedAt: job.CreatedAt, Attempt: job.CurrentAttempt, project: project,
			}
			if last := job.Last(); last != nil {
				row.RunID, row.Error = orNull(last.RunID), orNull(last.Error)
				row.WorkerAgentID = orNull(last.WorkerAgentID)
			}
			if row.WorkerAgentID != nil {
				row.Worker = names.of(*row.WorkerAgentID)
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// jobTable is a list of jobs for a terminal.
func (c *call) jobTable(rows []jobLine) terminal.Table {
	t := terminal.Table{Columns: []terminal.Column{
		{Title: "JOB"}, {Title: "STATE"}, {Title: "WORKER", Most: 14, Drop: 6}, {Title: "GOAL", Text: true}, {Title: "AGE", Right: true, Drop: 4}, {Title: "ATTEMPT", Right: true, Drop: 2},
	}}
	if c.project == "" {
		t.Columns = append(t.Columns, terminal.Column{Title: "PROJECT", Most: 14, Drop: 5})
	}
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = r.JobID
	}
	for i, id := range idColumn(ids) {
		r := &rows[i]
		at, _ := clock.Parse(r.SubmittedAt)
		row := []terminal.Cell{id, jobState(r.Status), {Text: r.Worker}, {Text: r.Goal}, {Text: terminal.Age(at, c.now)}, count(r.Attempt)}
		if c.project == "" {
			row = append(row, terminal.Cell{Text: c.projectNamed(r.project)})
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// jobState is the status of a job with its sign.
func jobState(status string) terminal.Cell {
	switch status {
	case doc.JobQueued:
		return sign(status, "◌", ".", terminal.Dim)
	case doc.JobRunning:
		return sign(status, "●", "*", terminal.Cyan)
	case doc.JobCompleted:
		return sign(status, "✓", "+", terminal.Green)
	}
	return sign(status, "■", "#", terminal.Yellow)
}
