package main

// What ac show says of agents, teams, projects, tasks and jobs.

import (
	"fmt"
	"strconv"
	"strings"

	"ac/company"
	"ac/company/workforce"
)

func agentThing(c *call, word string) (thing, error) {
	found, err := c.agent(word)
	return thing{found, "agent", func() error {
		profile, err := company.Do(c.ctx, c.all, (*company.Company).Profile, company.ProfileParams{Dir: c.dirParam(), AgentID: found.id, ProjectID: c.project})
		if err != nil {
			return err
		}
		if c.asJSON {
			return c.printShown("agent", profile)
		}
		runs, err := company.Do(c.ctx, c.all, (*company.Company).RunRows, company.RunRowsParams{Dir: c.dirParam(), ProjectID: c.project, AgentID: found.id, Most: shownItems})
		if err != nil {
			return err
		}
		s := c.sheet()
		s.title("agent "+found.name, found.line)
		s.line("")
		s.field("id", found.id)
		s.runs(runs)
		return s.print()
	}}, err
}

// runs adds the newest runs of something.
func (s *sheet) runs(list company.RunRows) {
	if len(list.Rows) == 0 {
		return
	}
	s.line("")
	for _, line := range s.call.runTable(list, true).Lines(s.call.width(), s.call.colours()) {
		s.WriteString(line + "\n")
	}
}

func teamThing(c *call, word string) (thing, error) {
	rows, err := company.Do(c.ctx, c.all, (*company.Folder).Teams, c.dirParam())
	if err != nil {
		return thing{}, err
	}
	known := make([]candidate, len(rows))
	for i, r := range rows {
		known[i] = candidate{id: r.TeamID, name: r.Name}
	}
	found, err := lookup("team", word, c.company, known)
	return thing{found, "team", func() error {
		agents, err := company.Do(c.ctx, c.all, (*company.Folder).Agents, company.AgentsParams{Dir: c.dirParam(), TeamID: found.id})
		if err != nil {
			return err
		}
		if c.asJSON {
			return c.printShown("team", agents)
		}
		s := c.sheet()
		s.line("team %s\n", found.name)
		s.field("id", found.id)
		for _, a := range agents {
			s.field("agent", fmt.Sprintf("%s  %s  %s", a.Name, a.Role, a.Provider))
		}
		return s.print()
	}}, err
}

func projectThing(c *call, word string) (thing, error) {
	found, err := lookup("project", word, c.company, c.projects)
	return thing{found, "project", func() error {
		tasks, err := company.Do(c.ctx, c.all, workforce.Operations.ListTasks, workforce.ListTasksParams{Dir: c.dirParam(), ProjectID: found.id})
		if err != nil {
			return err
		}
		if c.asJSON {
			return c.printShown("project", tasks)
		}
		runs, err := company.Do(c.ctx, c.all, (*company.Company).RunRows, company.RunRowsParams{Dir: c.dirParam(), ProjectID: found.id, Most: shownItems})
		if err != nil {
			return err
		}
		s := c.sheet()
		s.line("project %s\n", found.name)
		s.field("id", found.id)
		s.field("tasks", strconv.Itoa(len(tasks.Tasks)))
		s.runs(runs)
		return s.print()
	}}, err
}

func taskThing(c *call, word string) (thing, error) {
	var known []candidate
	rows := map[string]workforce.TaskRow{}
	for _, project := range c.projects {
		list, err := company.Do(c.ctx, c.all, workforce.Operations.ListTasks, workforce.ListTasksParams{Dir: c.dirParam(), ProjectID: project.id})
		if err != nil {
			return thing{}, err
		}
		for _, t := range list.Tasks {
			rows[t.TaskID] = t
			known = append(known, candidate{id: t.TaskID, line: t.Frontmatter.Title})
		}
	}
	found, err := lookup("task", word, c.company, known)
	return thing{found, "task", func() error {
		t := rows[found.id]
		if c.asJSON {
			return c.printShown("task", t)
		}
		s := c.sheet()
		s.title("task "+shortID(found.id)+"   "+t.Frontmatter.Status, c.projectNamed(t.ProjectID))
		s.line("\n%s\n", t.Frontmatter.Title)
		s.field("id", found.id)
		s.field("file", t.Relpath)
		s.field("done", fmt.Sprintf("%.0f %%", 100*t.ProgressRatio))
		for _, m := range t.Frontmatter.Milestones {
			s.field("milestone", fmt.Sprintf("%s  %s  %s", shortID(m.ID), m.Status, m.Title))
		}
		return s.print()
	}}, err
}

func jobThing(c *call, word string) (thing, error) {
	if len(strings.TrimPrefix(word, "…")) < leastEnding {
		return thing{}, usageError{fmt.Sprintf("%q is too short for an id; %d letters at least", word, leastEnding)}
	}
	found, err := c.jobs(word)
	if err == nil && len(found) != 1 {
		known := make([]candidate, len(found))
		for i, j := range found {
			known[i] = candidate{id: j.JobID}
		}
		if len(known) > 0 {
			return thing{}, ambiguous("job", word, known)
		}
		return thing{}, unknownName("job", word, c.company, nil)
	}
	if err != nil {
		return thing{}, err
	}
	return thing{candidate{id: found[0].JobID}, "job", func() error {
		job, err := company.Do(c.ctx, c.all, (*company.Company).CollectJob, found[0])
		if err != nil {
			return err
		}
		if c.asJSON {
			return c.printShown("job", job)
		}
		heads, err := company.Do(c.ctx, c.all, (*company.Company).JobNames, company.ProjectParams{Dir: c.dirParam(), ProjectID: found[0].ProjectID})
		if err != nil {
			return err
		}
		s := c.sheet()
		s.title("job "+shortID(found[0].JobID)+"   "+job.Status, c.projectNamed(found[0].ProjectID))
		for i := range heads {
			if head := &heads[i]; head.Job.JobID == found[0].JobID {
				s.line("\n%s\n", head.Job.Goal)
				s.field("worker", head.Job.WorkerAgentID)
				s.field("submitted", c.when(head.CreatedAt))
			}
		}
		s.field("id", found[0].JobID)
		for _, attempt := range job.Attempts {
			s.field("attempt", fmt.Sprintf("%d  %s  run %s  %s", attempt.Attempt, attempt.Status, shortID(attempt.RunID), attempt.Error))
		}
		return s.print()
	}}, nil
}
