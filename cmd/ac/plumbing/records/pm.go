package records

// pm:snapshot, pm:gantt, pm:recommend and pm:apply.

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/company/workforce"
	"ac/conversation"
	"ac/internal/terminal"
	"ac/pm"
	"ac/snapshot"
	"ac/workspace"
)

func pmSnapshotCommand(a *cli.App) *cobra.Command {
	project, asJSON := "", false
	cmd := &cobra.Command{
		Use: "pm:snapshot <dir>", Short: "Show the portfolio, and the plan of a project", Args: cli.Args("dir"),
		Long: `Show all projects with their progress, and with --project the schedule of its tasks:
duration, progress and critical path. With --json print the result of pm.snapshot.`,
		Example: "  ac pm:snapshot ./acme\n  ac pm:snapshot ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S",
		RunE: func(cmd *cobra.Command, given []string) error {
			p := workforce.PlanParams{Dir: company.Dir{WorkspaceDir: given[0]}, Scope: workforce.Scope{Scope: conversation.ScopeWorkspace}}
			if project != "" {
				p.Scope = workforce.Scope{Scope: conversation.ScopeProject, ProjectID: project}
			}
			return a.Across(func(all *company.Host) error {
				plan, err := company.Do(cmd.Context(), all, workforce.Operations.Plan, p)
				if err != nil {
					return err
				}
				if asJSON {
					return a.PrintJSON(plan)
				}
				if err := printPortfolio(a, plan.Workspace); err != nil || project == "" {
					return err
				}
				fmt.Fprintln(a.Stdout)
				schedule, err := company.Do(cmd.Context(), all, workforce.Operations.Schedule, company.ProjectParams{Dir: p.Dir, ProjectID: project})
				if err != nil {
					return err
				}
				return printGantt(a, &schedule)
			})
		},
	}
	cmd.Flags().StringVar(&project, "project", "", "also show the plan of this project")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printPortfolio(a *cli.App, p snapshot.Portfolio) error {
	if len(p.Projects) == 0 {
		fmt.Fprintln(a.Stdout, "no projects (see: ac project:new --help)")
		return nil
	}
	table := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "PROJECT\tNAME\tTASKS\tDONE\tBLOCKED\tRUNS\tWAITING\tAT RISK")
	for _, r := range p.Projects {
		risk := strings.Join(r.RiskFlags, ", ")
		if risk == "" {
			risk = "-"
		}
		fmt.Fprintf(table, "%s\t%s\t%d\t%g%%\t%d\t%d\t%d\t%s\n", r.ProjectID, terminal.Printable(r.Name), r.TaskCount, r.ProgressPct, r.BlockedTasks, r.ActiveRuns, r.PendingReviews, risk)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	s := p.Summary
	fmt.Fprintf(a.Stdout, "\n%d projects, %g%% done; %d runs active, %d items wait for a decision, %d tokens used\n",
		s.ProjectCount, s.ProgressPct, s.ActiveRuns, s.PendingReviews, s.TotalTokens)
	return nil
}

func printGantt(a *cli.App, s *workforce.Schedule) error {
	fmt.Fprintf(a.Stdout, "%s\n\n", terminal.Printable(s.ProjectName))
	return s.Plan.WriteText(a.Stdout, columns(a), workspace.SystemEnv().Clock.Now())
}

// columns returns the width of the terminal, else COLUMNS, else 100.
func columns(a *cli.App) int {
	if out, ok := a.Stdout.(cli.Descriptor); ok {
		if wide, _, err := term.GetSize(int(out.Fd())); err == nil && wide > 0 {
			return wide
		}
	}
	if wide, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && wide > 0 {
		return wide
	}
	return 100
}

func pmGanttCommand(a *cli.App) *cobra.Command {
	var p company.ProjectParams
	file := ""
	cmd := &cobra.Command{
		Use: "pm:gantt <dir>", Short: "Draw the plan of a project, in the terminal or as a picture", Args: cli.Args("dir"),
		Long: `Draw the schedule of a project: progress, critical path, slack, dependencies, and
today. With --svg write a self-contained picture.`,
		Example: "  ac pm:gantt ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S\n  ac pm:gantt ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S --svg plan.svg",
		RunE: func(cmd *cobra.Command, _ []string) error {
			schedule, err := cli.Ask(cmd.Context(), a, workforce.Operations.Schedule, p)
			if err != nil {
				return err
			}
			if file == "" {
				return printGantt(a, &schedule)
			}
			return WritePicture(a, file, schedule.ProjectName, &schedule.Plan)
		},
	}
	cli.Mirror(cmd, &p,
		"project: id of the project")
	cmd.Flags().StringVar(&file, "svg", "", "write a picture to this file; - for stdout")
	return cmd
}

// WritePicture writes the picture of a plan. A file is replaced atomically.
func WritePicture(a *cli.App, file, name string, plan *pm.Plan) error {
	now := workspace.SystemEnv().Clock.Now()
	if file == "-" {
		return plan.WriteSVG(a.Stdout, name, now)
	}
	temp, err := os.CreateTemp(filepath.Dir(file), ".plan-*.svg")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temp.Name()) }() // already gone on success
	if err := errors.Join(plan.WriteSVG(temp, name, now), temp.Chmod(0o644), temp.Close()); err != nil {
		return err
	}
	if err := os.Rename(temp.Name(), file); err != nil {
		return err
	}
	fmt.Fprintf(a.Stdout, "Wrote %s\n", terminal.Quote(file))
	return nil
}

func pmRecommendCommand(a *cli.App) *cobra.Command {
	var p company.ProjectParams
	asJSON := false
	cmd := &cobra.Command{
		Use: "pm:recommend <dir>", Short: "Recommend agents for the open tasks of a project", Args: cli.Args("dir"),
		Long:    "Recommend agents for the open tasks of a project, with the reasons. Nothing is written: see pm:apply. With --json print the result of pm.recommend_allocations.",
		Example: "  ac pm:recommend ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S",
		RunE: func(cmd *cobra.Command, _ []string) error {
			result, err := cli.Ask(cmd.Context(), a, workforce.Operations.Recommend, p)
			if err != nil {
				return err
			}
			if asJSON {
				return a.PrintJSON(result)
			}
			return printRecommendations(a, result.Recommendations)
		},
	}
	cli.Mirror(cmd, &p,
		"project: id of the project")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printRecommendations(a *cli.App, rows []pm.Recommendation) error {
	if len(rows) == 0 {
		fmt.Fprintln(a.Stdout, "no open tasks")
		return nil
	}
	table := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "TASK\tAGENT\tPROVIDER\tMODEL\tTOKENS\tREASON")
	for _, r := range rows {
		agent, model := r.PreferredAgentID, r.PreferredModel
		if agent == "" {
			agent = "-"
		}
		if model == "" {
			model = "-"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\t%s\n", r.TaskID, agent, r.PreferredProvider, terminal.Printable(model), r.TokenBudgetHint, terminal.Printable(r.Reason))
	}
	return table.Flush()
}

func pmApplyCommand(a *cli.App) *cobra.Command {
	var project, by string
	var tasks []string
	asJSON := false
	cmd := &cobra.Command{
		Use: "pm:apply <dir>", Short: "Assign the open tasks of a project as recommended", Args: cli.Args("dir"),
		Long: `Assign the open tasks of a project, or those of --tasks, as pm:recommend recommends:
all of them or none. With --json print the result of pm.apply_allocations.`,
		Example: "  ac pm:apply ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S --by ann",
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := cli.Require(cmd, "project", "by"); err != nil {
				return err
			}
			return a.Across(func(all *company.Host) error {
				p := workforce.ApplyParams{Dir: company.Dir{WorkspaceDir: given[0]}, ProjectID: project, AppliedBy: by}
				recommended, err := company.Do(cmd.Context(), all, workforce.Operations.Recommend, company.ProjectParams{Dir: p.Dir, ProjectID: project})
				if err != nil {
					return err
				}
				if p.Items, err = allocations(recommended.Recommendations, tasks); err != nil {
					return err
				}
				applied, err := company.Do(cmd.Context(), all, workforce.Operations.Apply, p)
				if err != nil {
					return err
				}
				if asJSON {
					return a.PrintJSON(applied)
				}
				for _, id := range applied.UpdatedTaskIDs {
					fmt.Fprintln(a.Stdout, id)
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&project, "project", "", "id of the project (required)")
	cmd.Flags().StringVar(&by, "by", workspace.DefaultCEO, "id of the assigner")
	cli.ValuesVar(cmd, &tasks, "tasks", "only these tasks")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// allocations returns the recommendations for some tasks, or for all if tasks is nil. It fails for
// a task that is not open.
func allocations(rows []pm.Recommendation, tasks []string) ([]workforce.Allocation, error) {
	items := []workforce.Allocation{}
	open := map[string]bool{}
	for _, r := range rows {
		open[r.TaskID] = true
		if tasks != nil && !slices.Contains(tasks, r.TaskID) {
			continue
		}
		budget := r.TokenBudgetHint
		items = append(items, workforce.Allocation{
			TaskID: r.TaskID, PreferredProvider: r.PreferredProvider, PreferredModel: r.PreferredModel, PreferredAgentID: r.PreferredAgentID, TokenBudgetHint: &budget,
		})
	}
	for _, id := range tasks {
		if !open[id] {
			return nil, fmt.Errorf("task %s is not an open task of this project", id)
		}
	}
	return items, nil
}
