package execution

// session:list and session:stop.

import (
	"errors"
	"fmt"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/internal/fault"
)

func sessionListCommand(a *cli.App) *cobra.Command {
	var p company.ListSessionsParams
	asJSON := false
	cmd := &cobra.Command{
		Use: "session:list <dir>", Short: "List sessions, newest first", Args: cli.Args("dir"),
		Long:    "List the sessions of a workspace, newest first. With --json the rows are those of session.list.",
		Example: "  ac session:list ./acme --status running\n  ac session:list ./acme --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if p.Status != "" && !validStatus(p.Status) {
				return cli.UsageError{Message: "--status must be running, ended, failed or stopped"}
			}
			return a.Across(func(all *company.Host) error {
				rows, err := company.Do(cmd.Context(), all, (*company.Host).ListSessions, p)
				if err != nil {
					return err
				}
				if asJSON {
					return a.PrintJSON(rows)
				}
				return printSessions(a, rows)
			})
		},
	}
	cli.Mirror(cmd, &p,
		"project: only of this project",
		"run: only of this run",
		"status: only with this status")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func validStatus(status string) bool {
	switch status {
	case "running", "ended", "failed", "stopped":
		return true
	}
	return false
}

func printSessions(a *cli.App, rows []company.SessionRow) error {
	if len(rows) == 0 {
		fmt.Fprintln(a.Stdout, "no sessions")
		return nil
	}
	table := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SESSION\tRUN\tSTATUS\tEXIT\tSTARTED\tNOTE")
	for _, r := range rows {
		exit := "-"
		switch {
		case r.Signal != nil:
			exit = *r.Signal
		case r.ExitCode != nil:
			exit = strconv.Itoa(*r.ExitCode)
		}
		started := time.UnixMilli(r.StartedAtMS).UTC().Format(time.RFC3339)
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", r.SessionRef, r.RunID, r.Status, exit, started, r.Error)
	}
	return table.Flush()
}

func sessionStopCommand(a *cli.App) *cobra.Command {
	everything, asJSON := false, false
	cmd := &cobra.Command{
		Use: "session:stop <dir> [session_ref]", Short: "Stop a session, or all of them",
		Long: `Stop a session and wait for its end: SIGTERM to everything the provider started,
SIGKILL to survivors after 1.5 seconds.`,
		Example: "  ac session:stop ./acme local_run_01M7WQGTR95SV6EDMA61E1XR8M\n  ac session:stop ./acme --all",
		Args: func(cmd *cobra.Command, given []string) error {
			if everything {
				return cli.Args("dir")(cmd, given)
			}
			if len(given) == 1 {
				return cli.UsageError{Message: "missing argument <session_ref> (or --all)"}
			}
			return cli.Args("dir", "session_ref")(cmd, given)
		},
		ValidArgsFunction: func(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(given) == 0 {
				return nil, cobra.ShellCompDirectiveFilterDirs
			}
			return a.SessionRefs(cmd, given), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, given []string) error {
			return stopSessions(a, cmd, given, everything, asJSON)
		},
	}
	cmd.Flags().BoolVar(&everything, "all", false, "stop every running session of the workspace")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: the rows of session.poll")
	return cmd
}

func stopSessions(a *cli.App, cmd *cobra.Command, given []string, everything, asJSON bool) error {
	dir := company.MaybeDir{WorkspaceDir: given[0]}
	return a.Across(func(all *company.Host) error {
		refs := given[1:]
		if everything {
			rows, err := company.Do(cmd.Context(), all, (*company.Host).ListSessions, company.ListSessionsParams{MaybeDir: dir, Status: "running"})
			if err != nil {
				return err
			}
			for _, r := range rows {
				refs = append(refs, r.SessionRef)
			}
		}
		var failed error
		var asked []company.Poll
		for _, ref := range refs {
			poll, err := company.Do(cmd.Context(), all, (*company.Host).StopSession, company.SessionParams{MaybeDir: dir, SessionRef: ref})
			if err == nil {
				asked = append(asked, poll)
			}
			failed = errors.Join(failed, err)
		}
		if failed != nil && len(asked) == 0 {
			return failed
		}
		ends := []company.Poll{}
		for _, poll := range asked {
			end, err := company.Do(cmd.Context(), all, (*company.Host).CollectSession, company.SessionParams{MaybeDir: dir, SessionRef: poll.SessionRef})
			if fault.Is(err, fault.NotFound) { // a workflow's session; its jobs were canceled
				end.Poll, err = poll, nil
			}
			if err == nil {
				ends = append(ends, end.Poll)
			}
			failed = errors.Join(failed, err)
		}
		if asJSON {
			return errors.Join(failed, a.PrintJSON(ends))
		}
		for _, end := range ends {
			fmt.Fprintf(a.Stdout, "%s %s\n", end.SessionRef, end.Status)
		}
		if len(refs) == 0 {
			fmt.Fprintln(a.Stdout, "no running sessions")
		}
		return failed
	})
}
