package main

// What a call looks up in its workspace.

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

// agent finds an agent by name, id, or the end of its id.
func (c *call) agent(word string) (candidate, error) { return c.find(kindAgent, word) }

// find finds a thing of a kind by name, id, or the end of its id.
func (c *call) find(kind, word string) (candidate, error) {
	known, err := c.known(kind)
	if err != nil {
		return candidate{}, err
	}
	return lookup(kind, word, c.company, known)
}

// newestShown is how many runs the error about an unknown one names.
const newestShown = 2

// run finds a run in all projects by its id, or the end of it. "last" is the newest run of
// the project.
func (c *call) run(word string) (company.RunRow, error) {
	p := company.RunRowsParams{Dir: c.dirParam(), Ending: strings.TrimPrefix(word, "…"), Newest: true, Most: mostCandidates + 1}
	switch {
	case word == newestRun:
		p.Ending, p.ProjectID, p.Most = "", c.project, 1
	case strings.TrimSpace(p.Ending) == "":
		return company.RunRow{}, usageError{"the run must not be blank"}
	case len(p.Ending) < leastEnding:
		return company.RunRow{}, usageError{fmt.Sprintf("%q is too short for an id; %d letters at least", p.Ending, leastEnding)}
	}
	list, err := company.Do(c.ctx, c.all, (*company.Company).RunRows, p)
	if err != nil {
		return company.RunRow{}, err
	}
	short := endings(list.IDs)
	switch rows := list.Rows; {
	case len(rows) == 1:
		return rows[0], nil
	case len(rows) > 1:
		return company.RunRow{}, c.severalRuns(word, list, short)
	case word == newestRun:
		return company.RunRow{}, fault.New(fault.NotFound, "there is no run in %s", c.where())
	}
	p.Ending, p.Most = "", newestShown
	newest, err := company.Do(c.ctx, c.all, (*company.Company).RunRows, p)
	short = endings(newest.IDs)
	there := make([]string, len(newest.Rows))
	for i := range newest.Rows {
		r := &newest.Rows[i]
		at, _ := clock.Parse(orEmpty(r.CreatedAt))
		there[i] = fmt.Sprintf("%s (%s, %s)", short[r.RunID], orUnknown(r.Agent, r.AgentID), terminal.Age(at, c.now))
	}
	message := fmt.Sprintf("run %s does not exist in %s", word, c.company)
	if len(there) > 0 {
		message += "; the newest are " + strings.Join(there, ", ")
	}
	return company.RunRow{}, errors.Join(choiceError{message: message}, err)
}

// severalRuns lists the runs that a word may mean.
func (c *call) severalRuns(word string, list company.RunRows, short map[string]string) error {
	e := choiceError{message: fmt.Sprintf("%s is %d runs; say more of it", word, len(list.Rows)+list.More)}
	rows := list.Rows[:min(len(list.Rows), mostCandidates)]
	table := c.runTable(company.RunRows{Rows: rows, IDs: list.IDs}, terminal.Unicode(os.Getenv))
	for i := range rows {
		r := &rows[i]
		at, _ := clock.Parse(orEmpty(r.CreatedAt))
		e.lines = append(e.lines, strings.Join([]string{
			short[r.RunID], table.Rows[i][1].Text, orUnknown(r.Agent, r.AgentID), terminal.Fit(orUnknown(r.What, ""), 30), terminal.Age(at, c.now),
		}, "  "))
	}
	if more := len(list.Rows) + list.More - len(rows); more > 0 {
		e.lines = append(e.lines, fmt.Sprintf("… %d more", more))
	}
	return e
}

// where is the project that a call is about, else the company.
func (c *call) where() string {
	if c.projectName != "" {
		return c.company + " / " + c.projectName
	}
	return c.company
}

// lastOr finds the run on the command line, else the newest one, and says so.
func (c *call) lastOr(given []string) (company.RunRow, error) {
	if len(given) > 0 {
		return c.run(given[0])
	}
	row, err := c.run(newestRun)
	if err == nil {
		c.note("run %s, the newest", shortID(row.RunID))
	}
	return row, err
}

// shortID is the end of an id as notes show it; lists show more where two end alike.
func shortID(id string) string { return id[max(0, len(id)-shownEnding):] }
