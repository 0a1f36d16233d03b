package execution

// heartbeat:status, heartbeat:tick, heartbeat:config, heartbeat:enable and
// heartbeat:disable.

import (
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/company/orchestration"
)

func heartbeatStatusCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "heartbeat:status <dir>", Short: "Show the status of the heartbeat",
		Long:    "Print config, state and next tick of the heartbeat as JSON: the result of heartbeat.status.",
		Example: "  ac heartbeat:status ./acme",
		Args:    cli.Args("dir"),
		RunE: func(cmd *cobra.Command, given []string) error {
			return cli.PrintJSON(cmd.Context(), a, orchestration.Operations.HeartbeatStatus, company.Dir{WorkspaceDir: given[0]})
		},
	}
}

func heartbeatTickCommand(a *cli.App) *cobra.Command {
	var p orchestration.TickParams
	cmd := &cobra.Command{
		Use: "heartbeat:tick <dir>", Short: "Wake the workers who have something to do",
		Long: `Carry out one tick of the heartbeat and print its summary as JSON: the result of
heartbeat.tick. It waits for the workers it wakes, two minutes at most; the next tick
evaluates later answers. With --dry-run no worker is woken.`,
		Example: "  ac heartbeat:tick ./acme --dry-run\n  ac heartbeat:tick ./acme --reason 'after the deploy'",
		Args:    cli.Args("dir"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cli.PrintJSON(cmd.Context(), a, orchestration.Operations.Tick, p)
		},
	}
	cli.Mirror(cmd, &p,
		"dry-run: only print which workers would be woken",
		"reason: reason, for the record (default: rpc)")
	return cmd
}

func heartbeatConfigCommand(a *cli.App) *cobra.Command {
	var p orchestration.SetHeartbeatConfigParams
	cmd := &cobra.Command{
		Use: "heartbeat:config <dir>", Short: "Show or change the config of the heartbeat",
		Long: `Print the config of the heartbeat as JSON. Options change it first; values without an
option stay as they are.`,
		Example: "  ac heartbeat:config ./acme\n  ac heartbeat:config ./acme --tick-interval-minutes 10 --quiet-hours-start-hour 20",
		Args:    cli.Args("dir"),
	}
	numbers := numberFlags(cmd, &p)
	cmd.RunE = func(cmd *cobra.Command, given []string) error {
		p.WorkspaceDir = given[0]
		if !numbers() {
			return cli.PrintJSON(cmd.Context(), a, orchestration.Operations.HeartbeatConfig, p.Dir)
		}
		return cli.PrintJSON(cmd.Context(), a, orchestration.Operations.SetHeartbeatConfig, p)
	}
	return cmd
}

// numberFlags declares an option for each numeric param. set assigns those that were given, and
// reports whether any was given.
func numberFlags(cmd *cobra.Command, params any) (set func() bool) {
	fields := reflect.ValueOf(params).Elem()
	values := map[string]*int{}
	for i := range fields.NumField() {
		name, _, _ := strings.Cut(fields.Type().Field(i).Tag.Get("json"), ",")
		if fields.Field(i).Type() == reflect.TypeFor[*int]() {
			flag := strings.ReplaceAll(name, "_", "-")
			values[flag] = cmd.Flags().Int(flag, 0, strings.ReplaceAll(name, "_", " "))
		}
	}
	return func() (given bool) {
		for i := range fields.NumField() {
			name, _, _ := strings.Cut(fields.Type().Field(i).Tag.Get("json"), ",")
			flag := strings.ReplaceAll(name, "_", "-")
			if value, ok := values[flag]; ok && cmd.Flags().Changed(flag) {
				fields.Field(i).Set(reflect.ValueOf(value))
				given = true
			}
		}
		return given
	}
}

func heartbeatEnableCommand(a *cli.App) *cobra.Command {
	return heartbeatSwitch(a, "heartbeat:enable", "Turn the heartbeat on", "Turn the heartbeat of a workspace on and print its config as JSON.", true)
}

func heartbeatDisableCommand(a *cli.App) *cobra.Command {
	return heartbeatSwitch(a, "heartbeat:disable", "Turn the heartbeat off",
		"Turn the heartbeat of a workspace off and print its config as JSON. Submitted jobs\ncontinue.", false)
}

func heartbeatSwitch(a *cli.App, name, short, long string, on bool) *cobra.Command {
	return &cobra.Command{
		Use: name + " <dir>", Short: short, Long: long, Example: "  ac " + name + " ./acme", Args: cli.Args("dir"),
		RunE: func(cmd *cobra.Command, given []string) error {
			return cli.PrintJSON(cmd.Context(), a, orchestration.Operations.SetHeartbeatConfig, orchestration.SetHeartbeatConfigParams{Dir: company.Dir{WorkspaceDir: given[0]}, Enabled: &on})
		},
	}
}
