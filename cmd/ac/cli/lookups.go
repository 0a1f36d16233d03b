package cli

// Lookups of a call in its workspace.

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"ac/company"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/internal/terminal"
)

// NewestRun is the word for the most recently created run.
const NewestRun = "last"

// Agent finds an agent by name, id, or the end of its id.
func (c *Call) Agent(word string) (Candidate, error) { return c.Find(KindAgent, word) }

// Find finds a thing of a kind by name, id, or the end of its id.
func (c *Call) Find(kind, word string) (Candidate, error) {
	known, err := c.Known(kind)
	if err != nil {
		return Candidate{}, err
	}
	return Lookup(kind, word, c.Company, known)
}

// newestShown is how many runs the error about an unknown run names.
const newestShown = 2

// Run finds a run in all projects by its id, or the end of it. The word "last" means the newest run
// of the project.
func (c *Call) Run(word string) (company.RunRow, error) {
	p := company.RunRowsParams{Dir: c.DirParam(), Ending: strings.TrimPrefix(word, "…"), Newest: true, Most: MostCandidates + 1}
	switch {
	case word == NewestRun:
		p.Ending, p.ProjectID, p.Most = "", c.Project, 1
	case strings.TrimSpace(p.Ending) == "":
		return company.RunRow{}, UsageError{"the run must not be blank"}
	case len(p.Ending) < LeastEnding:
		return company.RunRow{}, UsageError{fmt.Sprintf("%q is too short for an id; %d letters at least", p.Ending, LeastEnding)}
	}
	list, err := company.Do(c.Ctx, c.All, (*company.Company).RunRows, p)
	if err != nil {
		return company.RunRow{}, err
	}
	short := Endings(list.IDs)
	switch rows := list.Rows; {
	case len(rows) == 1:
		return rows[0], nil
	case len(rows) > 1:
		return company.RunRow{}, c.severalRuns(word, list, short)
	case word == NewestRun:
		return company.RunRow{}, fault.New(fault.NotFound, "there is no run in %s", c.Where())
	}
	p.Ending, p.Most = "", newestShown
	newest, err := company.Do(c.Ctx, c.All, (*company.Company).RunRows, p)
	short = Endings(newest.IDs)
	there := make([]string, len(newest.Rows))
	for i := range newest.Rows {
		r := &newest.Rows[i]
		at, _ := clock.Parse(OrEmpty(r.CreatedAt))
		there[i] = fmt.Sprintf("%s (%s, %s)", short[r.RunID], OrUnknown(r.Agent, r.AgentID), terminal.FormatAge(at, c.Now))
	}
	message := fmt.Sprintf("run %s does not exist in %s", word, c.Company)
	if len(there) > 0 {
		message += "; the newest are " + strings.Join(there, ", ")
	}
	return company.RunRow{}, errors.Join(ChoiceError{Message: message}, err)
}

// severalRuns returns an error that lists the runs a word may mean.
func (c *Call) severalRuns(word string, list company.RunRows, short map[string]string) error {
	e := ChoiceError{Message: fmt.Sprintf("%s is %d runs; say more of it", word, len(list.Rows)+list.More)}
	rows := list.Rows[:min(len(list.Rows), MostCandidates)]
	table := c.RunTable(company.RunRows{Rows: rows, IDs: list.IDs}, terminal.Unicode(os.Getenv))
	for i := range rows {
		r := &rows[i]
		at, _ := clock.Parse(OrEmpty(r.CreatedAt))
		e.Lines = append(e.Lines, strings.Join([]string{
			short[r.RunID], table.Rows[i][1].Text, OrUnknown(r.Agent, r.AgentID), terminal.Fit(OrUnknown(r.What, ""), 30), terminal.FormatAge(at, c.Now),
		}, "  "))
	}
	if more := len(list.Rows) + list.More - len(rows); more > 0 {
		e.Lines = append(e.Lines, fmt.Sprintf("… %d more", more))
	}
	return e
}

// Where returns the names of the company and of the call's project, if it has one.
func (c *Call) Where() string {
	if c.ProjectName != "" {
		return c.Company + " / " + c.ProjectName
	}
	return c.Company
}

// LastOr finds the run on the command line. Without one, it finds the newest run and prints a note.
func (c *Call) LastOr(given []string) (company.RunRow, error) {
	if len(given) > 0 {
		return c.Run(given[0])
	}
	row, err := c.Run(NewestRun)
	if err == nil {
		c.Note("run %s, the newest", ShortID(row.RunID))
	}
	return row, err
}

// ShortID returns the suffix of an id for notes. Lists show more letters where two ids share a
// suffix.
func ShortID(id string) string { return id[max(0, len(id)-ShownEnding):] }

// Jobs returns the jobs of all projects that a word names.
func (c *Call) Jobs(word string) (found []company.JobParams, err error) {
	for _, project := range c.Projects {
		heads, err := company.Do(c.Ctx, c.All, (*company.Company).JobNames, company.ProjectParams{Dir: c.DirParam(), ProjectID: project.ID})
		if err != nil {
			return nil, err
		}
		for _, job := range heads {
			if job.Job.JobID == word || EndsIn(job.Job.JobID, word) {
				found = append(found, company.JobParams{Dir: c.DirParam(), ProjectID: project.ID, JobID: job.Job.JobID})
			}
		}
	}
	return found, nil
}
