package records

// monitor:runs, inbox:snapshot, ui:snapshot and ui:manager-dashboard: the
// screens of managers.

import (
	"context"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"ac/cmd/ac/cli"
	"ac/cmd/ac/dashboard"
	"ac/company"
	"ac/company/decisions"
	"ac/snapshot"
	"ac/workspace/doc"
)

// snapshotCommand completes a command that prints a snapshot. p holds the params, which contain
// step and a project.
func snapshotCommand[P, R any](
	a *cli.App, cmd *cobra.Command, p *P, step *company.IndexStep, take func(*company.Company, context.Context, P) (R, error), options ...string,
) *cobra.Command {
	bindIndex := cli.IndexFlags(cmd, step)
	cmd.Use += " <dir>"
	cmd.Args = cli.Args("dir")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		bindIndex()
		return cli.PrintJSON(cmd.Context(), a, take, *p)
	}
	cli.Mirror(cmd, p, append(options, "project: id of a project")...)
	return cmd
}

func monitorRunsCommand(a *cli.App) *cobra.Command {
	var p company.MonitorParams
	return snapshotCommand(a, &cobra.Command{
		Use: "monitor:runs", Short: "Show runs with their sessions and latest events",
		Example: "  ac monitor:runs ./acme --limit 20\n  ac monitor:runs ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S --no-sync-index",
	}, &p, &p.IndexStep, (*company.Company).Monitor, "limit: maximum number of runs, up to 5000")
}

func inboxSnapshotCommand(a *cli.App) *cobra.Command {
	var p company.InboxParams
	cmd := snapshotCommand(a, &cobra.Command{
		Use: "inbox:snapshot", Short: "Show the items that wait for a decision, and the decisions",
		Example: "  ac inbox:snapshot ./acme\n  ac inbox:snapshot ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S --decisions-limit 10",
	}, &p, &p.IndexStep, (*company.Company).Inbox)
	cli.ItemLimitFlags(cmd, &p.ItemLimits)
	return cmd
}

func uiSnapshotCommand(a *cli.App) *cobra.Command {
	var p company.UIParams
	cmd := snapshotCommand(a, &cobra.Command{
		Use: "ui:snapshot", Short: "Show a manager's screen",
		Example: "  ac ui:snapshot ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S\n  ac ui:snapshot ./acme --monitor-limit 20 --refresh-index",
	}, &p, &p.IndexStep, (*company.Company).UI)
	cli.ScreenLimitFlags(cmd, &p.ScreenLimits)
	return cmd
}

// dashboardOptions holds the options of ui:manager-dashboard.
type dashboardOptions struct {
	company.UIParams
	bindIndex        func() // applies the index flags
	actor            company.ActorParams
	once, json, keep bool
}

func managerDashboardCommand(a *cli.App) *cobra.Command {
	var o dashboardOptions
	cmd := &cobra.Command{
		Use: "ui:manager-dashboard <dir>", Short: "View a project and decide, line by line", Args: cli.Args("dir"),
		Long: `View a project and decide on pending items, line by line. The lines may come from a
pipe; they are carried out in order until the input ends.

Lines: refresh, approve <artifact_id> [note], deny <artifact_id> [note], help,
quit, or their first letters. Exit status: 0, whatever was decided or refused.`,
		Example: `  ac ui:manager-dashboard ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S
  ac ui:manager-dashboard ./acme --project P --json
  echo 'approve art_01M7WQGXT21HWCN0N3RMKCA3ZM well done' | ac ui:manager-dashboard ./acme --project P --actor agent_01M7WQGXAP99SWTSCT0CFT93KZ`,
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := cli.Require(cmd, "project"); err != nil {
				return err
			}
			if err := cli.OneOf("role", o.actor.ActorRole, doc.Roles()); err != nil {
				return err
			}
			o.WorkspaceDir = given[0]
			return showDashboard(cmd.Context(), a, &o)
		},
	}
	cli.SomeProjectFlag(cmd, &o.ProjectID)
	cmd.Flags().Lookup("project").Usage = "id of the project (required)"
	cli.ScreenLimitFlags(cmd, &o.ScreenLimits)
	o.bindIndex = cli.IndexFlags(cmd, &o.IndexStep)
	cmd.Flags().StringVar(&o.actor.ActorID, "actor", "human", "id of the decider")
	cmd.Flags().StringVar(&o.actor.ActorRole, "role", "manager", "role of the decider: human, ceo, director, manager or worker")
	cmd.Flags().StringVar(&o.actor.ActorTeamID, "team", "", "team of the decider")
	cmd.Flags().BoolVar(&o.once, "once", false, "print the screen and exit")
	cmd.Flags().BoolVar(&o.json, "json", false, "print a summary as one line of JSON and exit")
	cmd.Flags().BoolVar(&o.keep, "no-clear-screen", false, "do not clear the terminal before each screen")
	return cmd
}

func showDashboard(ctx context.Context, a *cli.App, o *dashboardOptions) error {
	return a.Across(func(all *company.Host) error {
		o.bindIndex()
		take := func(ctx context.Context) (snapshot.UI, error) {
			ui, err := company.Do(ctx, all, (*company.Company).UI, o.UIParams)
			o.RefreshIndex = false // it has just been rebuilt
			o.bindIndex()          // the last decision is shown: restore SyncIndex
			return ui, cli.InvalidParams(err)
		}
		if o.json {
			ui, err := take(ctx)
			if err != nil {
				return err
			}
			return a.PrintLine(dashboard.Summarize(&ui))
		}
		out, isFile := a.Stdout.(cli.Descriptor)
		loop := dashboard.Loop{
			In: a.Stdin, Out: a.Stdout, Clear: !o.keep && isFile && term.IsTerminal(int(out.Fd())), Snapshot: take, Once: o.once,
			Decide: func(ctx context.Context, d dashboard.Decision) (string, error) {
				resolved, err := company.Do(ctx, all, decisions.Operations.Resolve, decisions.ResolveParams{
					Dir: o.Dir, ProjectID: o.ProjectID, ArtifactID: d.ArtifactID, Decision: d.Decision, Decider: decisions.Decider{ActorParams: o.actor, Notes: d.Notes},
				})
				o.SyncIndex = o.SyncIndex || err == nil // the decision must be shown
				return resolved.SubjectKind, cli.InvalidParams(err)
			},
		}
		return loop.Run(ctx)
	})
}
