package main

// monitor:runs, inbox:snapshot, ui:snapshot and ui:manager-dashboard: the
// screens of managers.

import (
	"context"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"ac/cmd/ac/dashboard"
	"ac/company"
	"ac/company/decisions"
	"ac/snapshot"
	"ac/workspace/doc"
)

// indexFlags declares how snapshots prepare the index. What it returns applies the
// flags.
func indexFlags(cmd *cobra.Command, step *company.IndexStep) (bindIndex func()) {
	noSync := false
	cmd.Flags().BoolVar(&step.RefreshIndex, "refresh-index", false, "rebuild the index first")
	cmd.Flags().BoolVar(&noSync, "no-sync-index", false, "do not sync the index first")
	return func() { step.SyncIndex = !noSync }
}

// itemLimitFlags declares the limits of lists of items.
func itemLimitFlags(cmd *cobra.Command, l *company.ItemLimits) {
	cmd.Flags().IntVar(&l.PendingLimit, "pending-limit", 200, "maximum number of pending items, up to 5000")
	cmd.Flags().IntVar(&l.DecisionsLimit, "decisions-limit", 200, "maximum number of decisions, up to 5000")
}

// screenLimitFlags declares the limits of the lists of a screen.
func screenLimitFlags(cmd *cobra.Command, l *company.ScreenLimits) {
	itemLimitFlags(cmd, &l.ItemLimits)
	cmd.Flags().IntVar(&l.MonitorLimit, "monitor-limit", 200, "maximum number of runs, up to 5000")
}

// someProjectFlag declares an optional project.
func someProjectFlag(cmd *cobra.Command, project *string) {
	cmd.Flags().StringVar(project, "project", "", "id of a project")
}

func monitorRunsCommand(a *app) *cobra.Command {
	var p company.MonitorParams
	bindIndex := func() {}
	cmd := &cobra.Command{
		Use: "monitor:runs <dir>", Short: "Show runs with their sessions and latest events", Args: args("dir"),
		Example: "  ac monitor:runs ./acme --limit 20\n  ac monitor:runs ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S --no-sync-index",
		RunE: func(cmd *cobra.Command, _ []string) error {
			bindIndex()
			return printJSON(cmd.Context(), a, (*company.Company).Monitor, p)
		},
	}
	someProjectFlag(cmd, &p.ProjectID)
	mirror(cmd, &p,
		"limit: maximum number of runs, up to 5000")
	bindIndex = indexFlags(cmd, &p.IndexStep)
	return cmd
}

func inboxSnapshotCommand(a *app) *cobra.Command {
	var p company.InboxParams
	bindIndex := func() {}
	cmd := &cobra.Command{
		Use: "inbox:snapshot <dir>", Short: "Show the items that wait for a decision, and the decisions", Args: args("dir"),
		Example: "  ac inbox:snapshot ./acme\n  ac inbox:snapshot ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S --decisions-limit 10",
		RunE: func(cmd *cobra.Command, given []string) error {
			p.WorkspaceDir = given[0]
			bindIndex()
			return printJSON(cmd.Context(), a, (*company.Company).Inbox, p)
		},
	}
	someProjectFlag(cmd, &p.ProjectID)
	itemLimitFlags(cmd, &p.ItemLimits)
	bindIndex = indexFlags(cmd, &p.IndexStep)
	return cmd
}

func uiSnapshotCommand(a *app) *cobra.Command {
	var p company.UIParams
	bindIndex := func() {}
	cmd := &cobra.Command{
		Use: "ui:snapshot <dir>", Short: "Show a manager's screen", Args: args("dir"),
		Example: "  ac ui:snapshot ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S\n  ac ui:snapshot ./acme --monitor-limit 20 --refresh-index",
		RunE: func(cmd *cobra.Command, given []string) error {
			p.WorkspaceDir = given[0]
			bindIndex()
			return printJSON(cmd.Context(), a, (*company.Company).UI, p)
		},
	}
	someProjectFlag(cmd, &p.ProjectID)
	screenLimitFlags(cmd, &p.ScreenLimits)
	bindIndex = indexFlags(cmd, &p.IndexStep)
	return cmd
}

// dashboardOptions are the options of ui:manager-dashboard.
type dashboardOptions struct {
	company.UIParams
	bindIndex        func() // applies the index flags
	actor            company.ActorParams
	once, json, keep bool
}

func managerDashboardCommand(a *app) *cobra.Command {
	var o dashboardOptions
	cmd := &cobra.Command{
		Use: "ui:manager-dashboard <dir>", Short: "View a project and decide, line by line", Args: args("dir"),
		Long: `View a project and decide on pending items, line by line. The lines may come from a
pipe; they are carried out in order until the input ends.

Lines: refresh, approve <artifact_id> [note], deny <artifact_id> [note], help,
quit, or their first letters. Exit status: 0, whatever was decided or refused.`,
		Example: `  ac ui:manager-dashboard ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S
  ac ui:manager-dashboard ./acme --project P --json
  echo 'approve art_01M7WQGXT21HWCN0N3RMKCA3ZM well done' | ac ui:manager-dashboard ./acme --project P --actor agent_01M7WQGXAP99SWTSCT0CFT93KZ`,
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := require(cmd, "project"); err != nil {
				return err
			}
			if err := oneOf("role", o.actor.ActorRole, doc.Roles()); err != nil {
				return err
			}
			o.WorkspaceDir = given[0]
			return a.showDashboard(cmd.Context(), &o)
		},
	}
	someProjectFlag(cmd, &o.ProjectID)
	cmd.Flags().Lookup("project").Usage = "id of the project (required)"
	screenLimitFlags(cmd, &o.ScreenLimits)
	o.bindIndex = indexFlags(cmd, &o.IndexStep)
	cmd.Flags().StringVar(&o.actor.ActorID, "actor", "human", "id of the decider")
	cmd.Flags().StringVar(&o.actor.ActorRole, "role", "manager", "role of the decider: human, ceo, director, manager or worker")
	cmd.Flags().StringVar(&o.actor.ActorTeamID, "team", "", "team of the decider")
	cmd.Flags().BoolVar(&o.once, "once", false, "print the screen and exit")
	cmd.Flags().BoolVar(&o.json, "json", false, "print a summary as one line of JSON and exit")
	cmd.Flags().BoolVar(&o.keep, "no-clear-screen", false, "do not clear the terminal before each screen")
	return cmd
}

func (a *app) showDashboard(ctx context.Context, o *dashboardOptions) error {
	return a.across(func(all *company.Host) error {
		o.bindIndex()
		take := func(ctx context.Context) (snapshot.UI, error) {
			ui, err := company.Do(ctx, all, (*company.Company).UI, o.UIParams)
			o.RefreshIndex = false // it has just been rebuilt
			o.bindIndex()          // it contains the decision
			return ui, invalidParams(err)
		}
		if o.json {
			ui, err := take(ctx)
			if err != nil {
				return err
			}
			return a.printLine(dashboard.Summarize(&ui))
		}
		out, isFile := a.stdout.(descriptor)
		loop := dashboard.Loop{
			In: a.stdin, Out: a.stdout, Clear: !o.keep && isFile && term.IsTerminal(int(out.Fd())), Snapshot: take, Once: o.once,
			Decide: func(ctx context.Context, d dashboard.Decision) (string, error) {
				resolved, err := company.Do(ctx, all, decisions.Operations.Resolve, decisions.ResolveParams{
					Dir: o.Dir, ProjectID: o.ProjectID, ArtifactID: d.ArtifactID, Decision: d.Decision, Decider: decisions.Decider{ActorParams: o.actor, Notes: d.Notes},
				})
				o.SyncIndex = o.SyncIndex || err == nil // the decision must be shown
				return resolved.SubjectKind, invalidParams(err)
			},
		}
		return loop.Run(ctx)
	})
}
