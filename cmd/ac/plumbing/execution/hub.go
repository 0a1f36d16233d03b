package execution

// hub:status, hub:stop and hub:config.

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/company/orchestration"
	"ac/fleet"
	"ac/runs/session"
)

// exitNotRunning is the exit status if the hub or worker does not run.
const exitNotRunning = 3

func hubStatusCommand(a *cli.App) *cobra.Command {
	var p company.Dir
	asJSON := false
	cmd := &cobra.Command{
		Use: "hub:status <dir>", Short: "Show whether the hub runs, and how it does", Args: cli.Args("dir"),
		Long: `Show whether the hub of a workspace runs, its workers, and what waits. Exit status 3 when it
does not run. With --json the result is that of hub.status.`,
		Example: "  ac hub:status ./acme\n  ac hub:status ./acme --json",
		RunE: func(cmd *cobra.Command, given []string) error {
			p.WorkspaceDir = given[0]
			status, err := cli.Ask(cmd.Context(), a, orchestration.Operations.HubStatus, p)
			if err != nil {
				return err
			}
			if asJSON {
				err = a.PrintJSON(status)
			} else {
				printHub(a, status)
			}
			if err == nil && !status.Running {
				err = cli.ExitError{Code: exitNotRunning}
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printHub(a *cli.App, s fleet.StatusResult) {
	if !s.Running {
		fmt.Fprintln(a.Stdout, session.HubNotRunningNote)
	} else {
		fmt.Fprintf(a.Stdout, "running    pid %d, %s, since %s\n", s.PID, s.Version, s.StartedAt)
		fmt.Fprintf(a.Stdout, "listens    %s\n", strings.Join(s.Listen, ", "))
		carrier := s.Carrier
		if s.Connected != nil && !*s.Connected {
			carrier += ", not connected"
		}
		if s.Durability != "" {
			carrier += ", durability " + s.Durability
		}
		fmt.Fprintf(a.Stdout, "carrier    %s\n", carrier)
	}
	if s.HubID == "" {
		return
	}
	fmt.Fprintf(a.Stdout, "workers    %d active, %d offline, %d draining, %d incompatible\n", s.Workers.Active, s.Workers.Offline, s.Workers.Draining, s.Workers.Incompatible)
	fmt.Fprintf(a.Stdout, "slots      %d of %d used, %d launches wait\n", s.Slots.Used, s.Slots.Total, s.Queue.Waiting)
	fmt.Fprintf(a.Stdout, "sessions   %d, %d of them unreachable\n", s.Attempts.Live, s.Attempts.Unreachable)
	if s.Lag.Drafts > 0 {
		fmt.Fprintf(a.Stdout, "behind     %d events, the oldest for %s\n", s.Lag.Drafts, time.Duration(s.Lag.OldestMS)*time.Millisecond)
	}
	if s.Refused > 0 {
		fmt.Fprintf(a.Stdout, "refused    %d messages without a valid signature\n", s.Refused)
	}
	for _, name := range s.Broken {
		fmt.Fprintf(a.Stdout, "broken     %s\n", name)
	}
	if s.Error != "" {
		fmt.Fprintf(a.Stdout, "error      %s\n", s.Error)
	}
}

func hubStopCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "hub:stop <dir>", Short: "End the hub; sessions go on", Args: cli.Args("dir"),
		Long: `End the hub of a workspace, and wait until it has ended. Sessions on other machines go on, and
the next hub follows them. Exit status 3 when it does not run.`,
		Example: "  ac hub:stop ./acme",
		RunE: func(cmd *cobra.Command, given []string) error {
			stopped, err := cli.Ask(cmd.Context(), a, orchestration.Operations.StopHub, orchestration.StopHubParams{Dir: company.Dir{WorkspaceDir: given[0]}})
			if err != nil {
				return err
			}
			if !stopped.OK {
				fmt.Fprintln(a.Stdout, session.HubNotRunningNote)
				return cli.ExitError{Code: exitNotRunning}
			}
			fmt.Fprintln(a.Stdout, "stopped")
			return nil
		},
	}
}

func hubConfigCommand(a *cli.App) *cobra.Command {
	var p orchestration.HubConfigParams
	by := onRun{}
	cmd := &cobra.Command{
		Use: "hub:config <dir> [key=value...]", Short: "Show or change the settings of the hub", Args: cobra.MinimumNArgs(1),
		Long: `Change settings of the hub, and print all of them as JSON. Their names are those of hub.config;
durations are numbers of their unit, or such as 20s. A running hub takes them at once.`,
		Example: "  ac hub:config ./acme\n  ac hub:config ./acme lease_s=2h on_cut_off=continue default_placement='{\"where\":\"any\"}'",
		RunE: func(cmd *cobra.Command, given []string) error {
			if p.WorkspaceDir = given[0]; len(given) > 1 {
				text, err := settingsOf(given[1:])
				if err != nil {
					return err
				}
				if err := json.Unmarshal(text, &p.Settings); err != nil {
					return cli.UsageError{Message: "a value does not fit its setting: " + err.Error()}
				}
			}
			p.ActorID, p.ActorRole, p.ActorTeamID = by.actor, by.role, by.team
			return cli.PrintJSON(cmd.Context(), a, orchestration.Operations.ConfigureHub, p)
		},
	}
	by.actorFlags(cmd)
	return cmd
}

// settingsOf encodes words such as lease_s=2h as a JSON object.
func settingsOf(words []string) ([]byte, error) {
	settings := map[string]json.RawMessage{}
	for _, word := range words {
		key, value, ok := strings.Cut(word, "=")
		if !ok || !slices.Contains(fleet.SettingNames(), key) {
			return nil, cli.UsageError{Message: fmt.Sprintf("%q is no setting: KEY=VALUE with one of %s", word, strings.Join(fleet.SettingNames(), ", "))}
		}
		if d, err := time.ParseDuration(value); err == nil {
			switch {
			case strings.HasSuffix(key, "_ms"):
				value = strconv.FormatInt(d.Milliseconds(), 10)
			case strings.HasSuffix(key, "_s"):
				value = strconv.FormatInt(int64(d.Seconds()), 10)
			}
		}
		if settings[key] = json.RawMessage(value); !json.Valid(settings[key]) {
			settings[key] = json.RawMessage(strconv.Quote(value))
		}
	}
	return json.Marshal(settings)
}
