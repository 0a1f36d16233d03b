package oversight

// ac show for agents, teams, projects, tasks and jobs.

import (
	"fmt"
	"strconv"
	"strings"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/company/workforce"
)

func agentItem(c *cli.Call, word string) (namedItem, error) {
	found, err := c.Agent(word)
	return namedItem{found, "agent", func() error {
		profile, err := company.Do(c.Ctx, c.All, (*company.Company).Profile, company.ProfileParams{Dir: c.DirParam(), AgentID: found.ID, ProjectID: c.Project})
		if err != nil {
			return err
		}
		if c.AsJSON {
			return printShown(c, "agent", profile)
		}
		runs, err := company.Do(c.Ctx, c.All, (*company.Company).RunRows, company.RunRowsParams{Dir: c.DirParam(), ProjectID: c.Project, AgentID: found.ID, Most: shownItems})
		if err != nil {
			return err
		}
		s := c.Sheet()
		s.Title("agent "+found.Name, found.Line)
		s.Line("")
		s.Field("id", found.ID)
		listRuns(s, runs)
		return s.Print()
	}}, err
}

// listRuns adds a table of runs.
func listRuns(s *cli.Sheet, list company.RunRows) {
	if len(list.Rows) == 0 {
		return
	}
	s.Line("")
	for _, line := range s.Call.RunTable(list, true).Lines(s.Call.Width(), s.Call.Colours()) {
		s.WriteString(line + "\n")
	}
}

func teamItem(c *cli.Call, word string) (namedItem, error) {
	rows, err := company.Do(c.Ctx, c.All, (*company.Folder).Teams, c.DirParam())
	if err != nil {
		return namedItem{}, err
	}
	known := make([]cli.Candidate, len(rows))
	for i, r := range rows {
		known[i] = cli.Candidate{ID: r.TeamID, Name: r.Name}
	}
	found, err := cli.Lookup("team", word, c.Company, known)
	return namedItem{found, "team", func() error {
		agents, err := company.Do(c.Ctx, c.All, (*company.Folder).Agents, company.AgentsParams{Dir: c.DirParam(), TeamID: found.ID})
		if err != nil {
			return err
		}
		if c.AsJSON {
			return printShown(c, "team", agents)
		}
		s := c.Sheet()
		s.Line("team %s\n", found.Name)
		s.Field("id", found.ID)
		for _, a := range agents {
			s.Field("agent", fmt.Sprintf("%s  %s  %s", a.Name, a.Role, a.Provider))
		}
		return s.Print()
	}}, err
}

func projectItem(c *cli.Call, word string) (namedItem, error) {
	found, err := cli.Lookup("project", word, c.Company, c.Projects)
	return namedItem{found, "project", func() error {
		tasks, err := company.Do(c.Ctx, c.All, workforce.Operations.ListTasks, workforce.ListTasksParams{Dir: c.DirParam(), ProjectID: found.ID})
		if err != nil {
			return err
		}
		if c.AsJSON {
			return printShown(c, "project", tasks)
		}
		runs, err := company.Do(c.Ctx, c.All, (*company.Company).RunRows, company.RunRowsParams{Dir: c.DirParam(), ProjectID: found.ID, Most: shownItems})
		if err != nil {
			return err
		}
		s := c.Sheet()
		s.Line("project %s\n", found.Name)
		s.Field("id", found.ID)
		s.Field("tasks", strconv.Itoa(len(tasks.Tasks)))
		listRuns(s, runs)
		return s.Print()
	}}, err
}

func taskItem(c *cli.Call, word string) (namedItem, error) {
	var known []cli.Candidate
	rows := map[string]workforce.TaskRow{}
	for _, project := range c.Projects {
		list, err := company.Do(c.Ctx, c.All, workforce.Operations.ListTasks, workforce.ListTasksParams{Dir: c.DirParam(), ProjectID: project.ID})
		if err != nil {
			return namedItem{}, err
		}
		for _, t := range list.Tasks {
			rows[t.TaskID] = t
			known = append(known, cli.Candidate{ID: t.TaskID, Line: t.Frontmatter.Title})
		}
	}
	found, err := cli.Lookup("task", word, c.Company, known)
	return namedItem{found, "task", func() error {
		t := rows[found.ID]
		if c.AsJSON {
			return printShown(c, "task", t)
		}
		s := c.Sheet()
		s.Title("task "+cli.ShortID(found.ID)+"   "+t.Frontmatter.Status, c.ProjectNamed(t.ProjectID))
		s.Line("\n%s\n", t.Frontmatter.Title)
		s.Field("id", found.ID)
		s.Field("file", t.Relpath)
		s.Field("done", fmt.Sprintf("%.0f %%", 100*t.ProgressRatio))
		for _, m := range t.Frontmatter.Milestones {
			s.Field("milestone", fmt.Sprintf("%s  %s  %s", cli.ShortID(m.ID), m.Status, m.Title))
		}
		return s.Print()
	}}, err
}

func jobItem(c *cli.Call, word string) (namedItem, error) {
	if len(strings.TrimPrefix(word, "…")) < cli.LeastEnding {
		return namedItem{}, cli.UsageError{Message: fmt.Sprintf("%q is too short for an id; %d letters at least", word, cli.LeastEnding)}
	}
	found, err := c.Jobs(word)
	if err == nil && len(found) != 1 {
		known := make([]cli.Candidate, len(found))
		for i, j := range found {
			known[i] = cli.Candidate{ID: j.JobID}
		}
		if len(known) > 0 {
			return namedItem{}, cli.Ambiguous("job", word, known)
		}
		return namedItem{}, cli.UnknownName("job", word, c.Company, nil)
	}
	if err != nil {
		return namedItem{}, err
	}
	return namedItem{cli.Candidate{ID: found[0].JobID}, "job", func() error {
		job, err := company.Do(c.Ctx, c.All, (*company.Company).CollectJob, found[0])
		if err != nil {
			return err
		}
		if c.AsJSON {
			return printShown(c, "job", job)
		}
		heads, err := company.Do(c.Ctx, c.All, (*company.Company).JobNames, company.ProjectParams{Dir: c.DirParam(), ProjectID: found[0].ProjectID})
		if err != nil {
			return err
		}
		s := c.Sheet()
		s.Title("job "+cli.ShortID(found[0].JobID)+"   "+job.Status, c.ProjectNamed(found[0].ProjectID))
		for i := range heads {
			if head := &heads[i]; head.Job.JobID == found[0].JobID {
				s.Line("\n%s\n", head.Job.Goal)
				s.Field("worker", head.Job.WorkerAgentID)
				s.Field("submitted", when(c, head.CreatedAt))
			}
		}
		s.Field("id", found[0].JobID)
		for _, attempt := range job.Attempts {
			s.Field("attempt", fmt.Sprintf("%d  %s  run %s  %s", attempt.Attempt, attempt.Status, cli.ShortID(attempt.RunID), attempt.Error))
		}
		return s.Print()
	}}, nil
}
