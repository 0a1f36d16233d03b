package oversight

// ac plan: the plan of the project as a chart.

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/cmd/ac/plumbing/records"
	"ac/company"
	"ac/company/workforce"
	"ac/conversation"
	"ac/internal/terminal"
	"ac/pm"
)

// How many days the chart shows with --week and --month.
const (
	weekDays  = 7
	monthDays = 30
)

func planCommand(a *cli.App) *cobra.Command {
	file, week, month := "", false, false
	cmd := &cobra.Command{
		Use: "plan", Short: "Show the plan of the project as a chart", Args: cli.Args(),
		Long: `Show the plan of the project: each task with who does it, when, and how much of it is
done. Critical tasks, whose delay delays the end, are marked. --week and --month show the
days from yesterday on.`,
		Example: "  ac plan\n  ac plan --week\n  ac plan --svg plan.svg",
	}
	a.Listing(cmd, func(c *cli.Call, _ []string) error {
		if err := c.RequireProject(); err != nil {
			return err
		}
		if c.AsJSON {
			p := workforce.PlanParams{Dir: c.DirParam(), Scope: workforce.Scope{Scope: conversation.ScopeProject, ProjectID: c.Project}}
			plan, err := company.Do(c.Ctx, c.All, workforce.Operations.Plan, p)
			if err != nil {
				return err
			}
			return c.PrintJSON(plan)
		}
		schedule, err := company.Do(c.Ctx, c.All, workforce.Operations.Schedule, company.ProjectParams{Dir: c.DirParam(), ProjectID: c.Project})
		switch {
		case err != nil:
			return err
		case file != "":
			return records.WritePicture(c.App, file, schedule.ProjectName, &schedule.Plan)
		case len(schedule.Plan.Bars) == 0:
			c.Note("No tasks yet: ac tasks add TITLE")
			return nil
		}
		days := 0
		switch {
		case week:
			days = weekDays
		case month:
			days = monthDays
		}
		lines, err := Chart(c, &schedule.Plan, days)
		if err != nil {
			return err
		}
		return c.Paged(strings.Join(lines, "\n") + "\n")
	})
	cmd.Flags().StringVar(&file, "svg", "", "write a picture to this file; - for stdout")
	cmd.Flags().BoolVar(&week, "week", false, fmt.Sprintf("only %d days from yesterday on", weekDays))
	cmd.Flags().BoolVar(&month, "month", false, fmt.Sprintf("only %d days from yesterday on", monthDays))
	cmd.MarkFlagsMutuallyExclusive("week", "month", "svg")
	return cmd
}

// Chart draws a plan for this terminal.
func Chart(c *cli.Call, plan *pm.Plan, days int) ([]string, error) {
	names, err := ReadAgentNames(c)
	return plan.ChartLines(pm.ChartOptions{
		Columns: c.Width(), Days: days, Today: c.Now, Colour: c.Colours(), Unicode: terminal.Unicode(os.Getenv),
		Who: func(id string) string { return names.Of(id) },
	}), err
}

// AgentNames maps the ids of agents to their names.
type AgentNames map[string]string

// Of returns the name of an actor, its id if it has no name, or the mark for unknown values if id
// is "".
func (n AgentNames) Of(id string) string {
	switch name := n[id]; {
	case name != "":
		return name
	case id == "":
		return terminal.Unknown
	}
	return id
}

// ReadAgentNames returns the names of all agents.
func ReadAgentNames(c *cli.Call) (AgentNames, error) {
	known, err := c.Known(cli.KindAgent)
	names := AgentNames{}
	for _, k := range known {
		names[k.ID] = k.Name
	}
	return names, err
}
