package oversight

// ac tasks, ac jobs: lists of tasks and jobs.

import (
	"strconv"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/company/workforce"
	"ac/internal/clock"
	"ac/internal/terminal"
	"ac/workspace/doc"
)

// taskLine is a task in a list for people. Unknown values are null.
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

func tasksCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "tasks", Short: "List tasks: their states, who does them, and until when", Args: cli.Args(),
		Long: `List the tasks of the project, newest first, or of all projects where none is chosen.

In a pipe a row has the id, the status, who does it, the day it is due and the title.`,
		Example: "  ac tasks\n  ac tasks add 'Write the release notes' --to Ann",
	}
	a.Listing(cmd, func(c *cli.Call, _ []string) error {
		rows, err := taskLines(c)
		if err != nil {
			return err
		}
		lines := make([][]string, len(rows))
		for i, r := range rows {
			lines[i] = []string{r.TaskID, r.Status, cli.OrEmpty(r.Assignee), cli.OrEmpty(r.Due), r.Title}
		}
		return printListing(c, listing{rows, taskTable(c, rows), lines, "No tasks yet: ac tasks add TITLE"})
	})
	cmd.AddCommand(tasksAddCommand(a))
	return cmd
}

// chosenProjects returns the project of the call, or all projects if it has none.
func chosenProjects(c *cli.Call) []string {
	if c.Project != "" {
		return []string{c.Project}
	}
	ids := make([]string, len(c.Projects))
	for i, p := range c.Projects {
		ids[i] = p.ID
	}
	return ids
}

func taskLines(c *cli.Call) ([]taskLine, error) {
	rows := []taskLine{}
	names, err := ReadAgentNames(c)
	if err != nil {
		return rows, err
	}
	for _, project := range chosenProjects(c) {
		list, err := company.Do(c.Ctx, c.All, workforce.Operations.ListTasks, workforce.ListTasksParams{Dir: c.DirParam(), ProjectID: project})
		if err != nil {
			return rows, err
		}
		for i := range list.Tasks {
			task := &list.Tasks[i].Frontmatter
			row := taskLine{TaskID: task.ID, Status: task.Status, Title: task.Title, Milestones: task.Milestones, project: project}
			if task.AssigneeAgentID != "" {
				row.AssigneeID, row.Assignee = &task.AssigneeAgentID, new(names.Of(task.AssigneeAgentID))
			}
			if task.Schedule != nil && task.Schedule.PlannedEnd != "" {
				row.Due = &task.Schedule.PlannedEnd
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// taskTable returns the table of tasks for a terminal.
func taskTable(c *cli.Call, rows []taskLine) terminal.Table {
	t := terminal.Table{Columns: []terminal.Column{{Title: "TASK"}, {Title: "STATE"}, {Title: "WHO", MaxWidth: 14, Drop: 6}, {Title: "DUE", MaxWidth: 10, Drop: 4}, {Title: "TITLE", Text: true}}}
	if c.Project == "" {
		t.Columns = append(t.Columns, terminal.Column{Title: "PROJECT", MaxWidth: 14, Drop: 5})
	}
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = r.TaskID
	}
	for i, id := range idColumn(ids) {
		r := &rows[i]
		row := []terminal.Cell{id, taskState(r.Status), {Text: cli.OrUnknown(r.Assignee, "")}, {Text: cli.OrUnknown(r.Due, "")}, {Text: r.Title}}
		if c.Project == "" {
			row = append(row, terminal.Cell{Text: c.ProjectNamed(r.project)})
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// taskState returns the status of a task with its sign.
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

func tasksAddCommand(a *cli.App) *cobra.Command {
	to := ""
	cmd := &cobra.Command{
		Use: "add <title>", Short: "Add a task to the project", Args: cli.Args("title"),
		Example: "  ac tasks add 'Write the release notes'\n  ac tasks add 'Write the release notes' --to Ann",
	}
	a.Short(cmd, func(c *cli.Call, given []string) error {
		if err := c.RequireProject(); err != nil {
			return err
		}
		p := workforce.NewTaskParams{ProjectParams: company.ProjectParams{Dir: c.DirParam(), ProjectID: c.Project}}
		p.Spec.Title, p.Spec.Visibility = given[0], "team"
		if to != "" {
			found, err := c.Agent(to)
			if err != nil {
				return err
			}
			p.Spec.AssigneeID = found.ID
		}
		id, err := company.Do(c.Ctx, c.All, workforce.Operations.NewTask, p)
		if err != nil {
			return err
		}
		return added(c, cli.KindTask, id, given[0])
	})
	cmd.Flags().StringVar(&to, "to", "", "the agent who does it")
	return cmd
}

// jobLine is a job in a list for people. Unknown values are null.
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

func jobsCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "jobs", Short: "List jobs: their states, workers and goals", Args: cli.Args(),
		Long: `List the jobs of the project, or of all projects where none is chosen.

In a pipe a row has the id, the status, the worker, the goal, the time of submission and the
number of the attempt.`,
		Example: "  ac jobs\n  ac jobs --json",
	}
	a.Listing(cmd, func(c *cli.Call, _ []string) error {
		rows, err := jobLines(c)
		if err != nil {
			return err
		}
		lines := make([][]string, len(rows))
		for i, r := range rows {
			lines[i] = []string{r.JobID, r.Status, r.Worker, r.Goal, r.SubmittedAt, strconv.Itoa(r.Attempt)}
		}
		return printListing(c, listing{rows, jobTable(c, rows), lines, "No jobs yet: ac job:submit"})
	})
	return cmd
}

func jobLines(c *cli.Call) ([]jobLine, error) {
	rows := []jobLine{}
	names, err := ReadAgentNames(c)
	if err != nil {
		return rows, err
	}
	for _, project := range chosenProjects(c) {
		jobs, err := company.Do(c.Ctx, c.All, (*company.Company).JobNames, company.ProjectParams{Dir: c.DirParam(), ProjectID: project})
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
				row.Worker = names.Of(*row.WorkerAgentID)
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// jobTable returns the table of jobs for a terminal.
func jobTable(c *cli.Call, rows []jobLine) terminal.Table {
	t := terminal.Table{Columns: []terminal.Column{
		{Title: "JOB"}, {Title: "STATE"}, {Title: "WORKER", MaxWidth: 14, Drop: 6}, {Title: "GOAL", Text: true}, {Title: "AGE", Right: true, Drop: 4}, {Title: "ATTEMPT", Right: true, Drop: 2},
	}}
	if c.Project == "" {
		t.Columns = append(t.Columns, terminal.Column{Title: "PROJECT", MaxWidth: 14, Drop: 5})
	}
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = r.JobID
	}
	for i, id := range idColumn(ids) {
		r := &rows[i]
		at, _ := clock.Parse(r.SubmittedAt)
		row := []terminal.Cell{id, jobState(r.Status), {Text: r.Worker}, {Text: r.Goal}, {Text: terminal.FormatAge(at, c.Now)}, count(r.Attempt)}
		if c.Project == "" {
			row = append(row, terminal.Cell{Text: c.ProjectNamed(r.project)})
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// jobState returns the status of a job with its sign.
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
