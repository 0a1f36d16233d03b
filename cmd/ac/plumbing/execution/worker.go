package execution

// worker:invite, worker:list, worker:drain, worker:revoke, worker:label, session:abandon.

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/company/orchestration"
	"ac/fleet"
	"ac/internal/fault"
)

func workerInviteCommand(a *cli.App) *cobra.Command {
	var p orchestration.InviteWorkerParams
	asJSON, expires := false, time.Duration(0)
	cmd := &cobra.Command{
		Use: "worker:invite <dir>", Short: "Invite a machine to execute sessions", Args: cli.Args("dir"),
		Long: `Invite a machine to execute sessions for the hub of a workspace, which must run. Prints the
command to run there, once: its token is kept nowhere and counts once, within an hour or --expires.`,
		Example: "  ac worker:invite ./acme --name build-box --label gpu --slots 4",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if expires < 0 {
				return cli.UsageError{Message: "--expires must be positive"}
			}
			p.ExpiresS = int64(expires / time.Second)
			made, err := cli.Ask(cmd.Context(), a, orchestration.Operations.InviteWorker, p)
			if err != nil {
				return err
			}
			if asJSON {
				return a.PrintJSON(made)
			}
			_, err = fmt.Fprintf(a.Stdout, "ac worker:join %s\n", made.Token)
			return err
		},
	}
	cli.Mirror(cmd, &p,
		"name: what it is called",
		"label=labels: a label that launches may ask for (repeatable)",
		"slots: how many sessions at once (default: half of its CPUs)",
		"role: what it is",
		"trust-labels: also count labels that the worker sets",
		"actor=actor_id: id of the actor",
		"actor-role: role of the actor")
	cmd.Flags().DurationVar(&expires, "expires", 0, "how long the token counts: 10m (default 1h)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	return cmd
}

func workerListCommand(a *cli.App) *cobra.Command {
	var p orchestration.ListWorkersParams
	asJSON := false
	cmd := &cobra.Command{
		Use: "worker:list <dir>", Short: "List the machines that execute sessions", Args: cli.Args("dir"),
		Long:    "List the workers of a workspace's hub. With --json the rows are those of worker.list.",
		Example: "  ac worker:list ./acme\n  ac worker:list ./acme --state draining --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			rows, err := cli.Ask(cmd.Context(), a, orchestration.Operations.ListWorkers, p)
			if err != nil {
				return err
			}
			if asJSON {
				return a.PrintJSON(rows)
			}
			return printWorkers(a, rows)
		},
	}
	cli.Mirror(cmd, &p, "state: only in this state")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printWorkers(a *cli.App, rows []fleet.WorkerRow) error {
	if len(rows) == 0 {
		fmt.Fprintln(a.Stdout, "no workers")
		return nil
	}
	table := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "WORKER\tNAME\tSTATE\tONLINE\tSLOTS\tSEEN\tLABELS")
	for i := range rows {
		r := &rows[i]
		online := "no"
		if r.Online {
			online = "yes"
		}
		if r.Compatible != nil && !*r.Compatible {
			online = "incompatible"
		}
		seen := r.LastSeenAt
		if seen == "" {
			seen = "-"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.WorkerID, r.Name, r.State, online, strconv.Itoa(r.Used)+"/"+strconv.Itoa(r.Slots), seen, strings.Join(r.Labels, " "))
	}
	return table.Flush()
}

// aboutWorker returns a command that changes one worker, its second argument.
func aboutWorker(use, short, long, example string, run func(cmd *cobra.Command, by *onRun, given []string) error) *cobra.Command {
	by := &onRun{}
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long, Example: example, Args: cli.Args("dir", "worker"),
		RunE: func(cmd *cobra.Command, given []string) error { return run(cmd, by, given) },
	}
	by.actorFlags(cmd)
	return cmd
}

func workerDrainCommand(a *cli.App) *cobra.Command {
	undo, wait := false, false
	cmd := aboutWorker("worker:drain <dir> <worker>", "Have a worker take no new sessions",
		`Have a worker, by its id or name, take no new sessions; those that it has go on. With --wait
return when none is left, with --undo let it take sessions again.`,
		"  ac worker:drain ./acme build-box --wait\n  ac worker:drain ./acme build-box --undo",
		func(cmd *cobra.Command, by *onRun, given []string) error {
			if undo && wait {
				return cli.UsageError{Message: "--undo and --wait exclude each other"}
			}
			var p orchestration.DrainWorkerParams
			p.WorkspaceDir, p.WorkerID, p.On = given[0], given[1], !undo
			p.ActorID, p.ActorRole, p.ActorTeamID = by.actor, by.role, by.team
			row, err := cli.Ask(cmd.Context(), a, orchestration.Operations.DrainWorker, p)
			if err == nil && wait {
				row, err = awaitEmpty(cmd.Context(), a, given[0], row.WorkerID)
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Stdout, "%s %s, %d sessions\n", row.Name, row.State, row.Used)
			return err
		})
	cmd.Flags().BoolVar(&undo, "undo", false, "let it take sessions again")
	cmd.Flags().BoolVar(&wait, "wait", false, "return when it has no session left")
	return cmd
}

// drainPoll is the polling interval for a worker that is draining.
const drainPoll = 200 * time.Millisecond

// awaitEmpty waits until a worker has no session.
func awaitEmpty(ctx context.Context, a *cli.App, dir, worker string) (fleet.WorkerRow, error) {
	for {
		rows, err := cli.Ask(ctx, a, orchestration.Operations.ListWorkers, orchestration.ListWorkersParams{Dir: company.Dir{WorkspaceDir: dir}})
		at := slices.IndexFunc(rows, func(r fleet.WorkerRow) bool { return r.WorkerID == worker })
		switch {
		case err != nil:
			return fleet.WorkerRow{}, err
		case at < 0:
			return fleet.WorkerRow{}, fault.New(fleet.UnknownWorker, "worker %s is gone", worker)
		case rows[at].Used == 0:
			return rows[at], nil
		}
		select {
		case <-ctx.Done():
			return rows[at], context.Cause(ctx)
		case <-time.After(drainPoll):
		}
	}
}

func workerRevokeCommand(a *cli.App) *cobra.Command {
	reason := ""
	cmd := aboutWorker("worker:revoke <dir> <worker>", "End a worker for good, with its sessions",
		`End a worker, by its id or name, for good: its key counts no more, and its sessions have failed.
Prints their names.`,
		"  ac worker:revoke ./acme build-box --reason \"the box was sold\"",
		func(cmd *cobra.Command, by *onRun, given []string) error {
			var p orchestration.RevokeWorkerParams
			p.WorkspaceDir, p.WorkerID, p.Reason = given[0], given[1], reason
			p.ActorID, p.ActorRole, p.ActorTeamID = by.actor, by.role, by.team
			done, err := cli.Ask(cmd.Context(), a, orchestration.Operations.RevokeWorker, p)
			if err != nil {
				return err
			}
			fmt.Fprintln(a.Stdout, "revoked")
			for _, ref := range done.Fenced {
				fmt.Fprintf(a.Stdout, "%s failed\n", ref)
			}
			return nil
		})
	cmd.Flags().StringVar(&reason, "reason", "", "why")
	return cmd
}

func workerLabelCommand(a *cli.App) *cobra.Command {
	cmd := aboutWorker("worker:label <dir> <worker> [label...]", "Set the labels of a worker",
		`Set the labels of a worker, by its id or name, that launches may ask for. Without labels it
has none but those that it is known by: os=, arch=, provider= and secret=.`,
		"  ac worker:label ./acme build-box gpu region=eu",
		func(cmd *cobra.Command, by *onRun, given []string) error {
			var p orchestration.UpdateWorkerParams
			labels := append([]string{}, given[2:]...)
			p.WorkspaceDir, p.WorkerID, p.Labels = given[0], given[1], &labels
			p.ActorID, p.ActorRole, p.ActorTeamID = by.actor, by.role, by.team
			row, err := cli.Ask(cmd.Context(), a, orchestration.Operations.UpdateWorker, p)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Stdout, "%s: %s\n", row.Name, strings.Join(row.Labels, " "))
			return err
		})
	cmd.Args = cobra.MinimumNArgs(2)
	return cmd
}

func sessionAbandonCommand(a *cli.App) *cobra.Command {
	var p orchestration.AbandonParams
	by := onRun{}
	cmd := &cobra.Command{
		Use: "session:abandon <dir> <session_ref>", Short: "Give up a session whose machine cannot be reached", Args: cli.Args("dir", "session_ref"),
		Long: `Give up a session on another machine that cannot be reached, or whose hub does not run: its run
has failed, and what comes from there later is kept apart. One that is reached can be stopped.`,
		Example: "  ac session:abandon ./acme local_run_01M7WQGTR95SV6EDMA61E1XR8M --reason \"the box burnt\"",
		RunE: func(cmd *cobra.Command, given []string) error {
			p.SessionRef = given[1]
			p.ActorID, p.ActorRole, p.ActorTeamID = by.actor, by.role, by.team
			end, err := cli.Ask(cmd.Context(), a, orchestration.Operations.AbandonSession, p)
			if err != nil {
				return err
			}
			if by.asJSON {
				return a.PrintJSON(end)
			}
			_, err = fmt.Fprintf(a.Stdout, "%s %s\n", end.SessionRef, end.Status)
			return err
		},
	}
	cli.Mirror(cmd, &p, "reason: why")
	by.actorFlags(cmd)
	cmd.Flags().BoolVar(&by.asJSON, "json", false, "print the result as JSON")
	return cmd
}
