package main

// ac plan: the plan of the project as a chart.

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"ac/company"
	"ac/company/workforce"
	"ac/conversation"
	"ac/internal/terminal"
	"ac/pm"
)

// Days that a chart of a part of the plan shows.
const (
	weekDays  = 7
	monthDays = 30
)

func planCommand(a *app) *cobra.Command {
	file, week, month := "", false, false
	cmd := &cobra.Command{
		Use: "plan", Short: "Show the plan of the project as a chart", Args: args(),
		Long: `Show the plan of the project: each task with who does it, when, and how much of it is
done. Critical tasks, whose delay delays the end, are marked. --week and --month show the
days from yesterday on.`,
		Example: "  ac plan\n  ac plan --week\n  ac plan --svg plan.svg",
	}
	a.listing(cmd, func(c *call, _ []string) error {
		if err := c.requireProject(); err != nil {
			return err
		}
		if c.asJSON {
			p := workforce.PlanParams{Dir: c.dirParam(), Scope: workforce.Scope{Scope: conversation.ScopeProject, ProjectID: c.project}}
			plan, err := company.Do(c.ctx, c.all, workforce.Operations.Plan, p)
			if err != nil {
				return err
			}
			return c.printJSON(plan)
		}
		schedule, err := company.Do(c.ctx, c.all, workforce.Operations.Schedule, company.ProjectParams{Dir: c.dirParam(), ProjectID: c.project})
		switch {
		case err != nil:
			return err
		case file != "":
			return c.writePicture(file, schedule.ProjectName, &schedule.Plan)
		case len(schedule.Plan.Bars) == 0:
			c.note("No tasks yet: ac tasks add TITLE")
			return nil
		}
		days := 0
		switch {
		case week:
			days = weekDays
		case month:
			days = monthDays
		}
		lines, err := c.chart(&schedule.Plan, days)
		if err != nil {
			return err
		}
		return c.paged(strings.Join(lines, "\n") + "\n")
	})
	cmd.Flags().StringVar(&file, "svg", "", "write a picture to this file; - for stdout")
	cmd.Flags().BoolVar(&week, "week", false, fmt.Sprintf("only %d days from yesterday on", weekDays))
	cmd.Flags().BoolVar(&month, "month", false, fmt.Sprintf("only %d days from yesterday on", monthDays))
	cmd.MarkFlagsMutuallyExclusive("week", "month", "svg")
	return cmd
}

// chart draws a plan for this terminal.
func (c *call) chart(plan *pm.Plan, days int) ([]string, error) {
	names, err := c.agentNames()
	return plan.ChartLines(pm.ChartOptions{
		Columns: c.width(), Days: days, Today: c.now, Colour: c.colours(), Unicode: terminal.Unicode(os.Getenv),
		Who: func(id string) string { return names.of(id) },
	}), err
}

// agentNames are the names of agents by their ids.
type agentNames map[string]string

// of is the name of an actor, else its id, and unknown for none.
func (n agentNames) of(id string) string {
	switch name := n[id]; {
	case name != "":
		return name
	case id == "":
		return terminal.Unknown
	}
	return id
}

// agentNames are the names of all agents.
func (c *call) agentNames() (agentNames, error) {
	known, err := c.known(kindAgent)
	names := agentNames{}
	for _, k := range known {
		names[k.id] = k.name
	}
	return names, err
}
