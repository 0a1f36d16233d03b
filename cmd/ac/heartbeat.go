package main

// heartbeat:status, heartbeat:tick, heartbeat:config, heartbeat:enable and
// heartbeat:disable.

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ac/company"
	"ac/internal/param"
)

func heartbeatStatusCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "heartbeat:status <dir>", Short: "Show how the heartbeat is",
		Long:    "Print config, state and next tick of the heartbeat as JSON, as heartbeat.status answers it.",
		Example: "  ac heartbeat:status ./acme",
		Args:    args("dir"),
		RunE: func(cmd *cobra.Command, given []string) error {
			return a.in(given[0], func(c *company.Company) error {
				status, err := c.HeartbeatStatus(cmd.Context(), company.Dir{WorkspaceDir: given[0]})
				if err != nil {
					return err
				}
				return a.printJSON(status)
			})
		},
	}
}

func heartbeatTickCommand(a *app) *cobra.Command {
	var p company.TickParams
	cmd := &cobra.Command{
		Use: "heartbeat:tick <dir>", Short: "Wake the workers who have reason to be woken",
		Long: `Make one tick of the heartbeat and print what it did as JSON, as heartbeat.tick
answers it. It waits for the workers it wakes, two minutes at most; what they
answer later is evaluated by the next tick. With --dry-run nobody is woken.`,
		Example: "  ac heartbeat:tick ./acme --dry-run\n  ac heartbeat:tick ./acme --reason 'after the deploy'",
		Args:    args("dir"),
		RunE: func(cmd *cobra.Command, given []string) error {
			p.WorkspaceDir = given[0]
			return a.in(given[0], func(c *company.Company) error {
				summary, err := c.Tick(cmd.Context(), p)
				if err != nil {
					return err
				}
				return a.printJSON(summary)
			})
		},
	}
	cmd.Flags().BoolVar(&p.DryRun, "dry-run", false, "only tell who would be woken")
	cmd.Flags().StringVar(&p.Reason, "reason", "", "why, for the record (default: rpc)")
	return cmd
}

// heartbeatFields are the numbers of the config, as heartbeat.config.set has them.
func heartbeatFields() []string {
	names := param.NewDecoder(reflect.TypeFor[company.SetHeartbeatConfigParams]()).Names()
	return slices.DeleteFunc(names, func(name string) bool { return name == "workspace_dir" || name == "enabled" })
}

func heartbeatConfigCommand(a *app) *cobra.Command {
	fields := heartbeatFields()
	values := make([]int, len(fields))
	cmd := &cobra.Command{
		Use: "heartbeat:config <dir>", Short: "Show or change the config of the heartbeat",
		Long: `Print the config of the heartbeat as JSON. With options it is changed first; what
no option names stays as it is.`,
		Example: "  ac heartbeat:config ./acme\n  ac heartbeat:config ./acme --tick-interval-minutes 10 --quiet-hours-start-hour 20",
		Args:    args("dir"),
		RunE: func(cmd *cobra.Command, given []string) error {
			change := map[string]json.RawMessage{}
			for i, field := range fields {
				if cmd.Flags().Changed(flagOf(field)) {
					change[field] = json.RawMessage(strconv.Itoa(values[i]))
				}
			}
			if len(change) == 0 {
				return a.heartbeatCall(cmd.Context(), "heartbeat.config.get", given[0], nil)
			}
			return a.heartbeatCall(cmd.Context(), "heartbeat.config.set", given[0], change)
		},
	}
	for i, field := range fields {
		cmd.Flags().IntVar(&values[i], flagOf(field), 0, strings.ReplaceAll(field, "_", " "))
	}
	return cmd
}

func flagOf(field string) string { return strings.ReplaceAll(field, "_", "-") }

// heartbeatCall calls a method of a workspace with the rules of its params, and
// prints what it answers.
func (a *app) heartbeatCall(ctx context.Context, method, dir string, more map[string]json.RawMessage) error {
	params := map[string]json.RawMessage{}
	for name, value := range more {
		params[name] = value
	}
	text, err := json.Marshal(dir)
	if err != nil {
		return err
	}
	params["workspace_dir"] = text
	return a.across(func(all *company.Companies) error {
		config, err := check(ctx, all, method, params)
		if err != nil {
			return invalidParams(err)
		}
		return a.printJSON(config)
	})
}

func heartbeatEnableCommand(a *app) *cobra.Command {
	return heartbeatSwitch(a, "heartbeat:enable", "Turn the heartbeat on", "Turn the heartbeat of a workspace on and print its config as JSON.", true)
}

func heartbeatDisableCommand(a *app) *cobra.Command {
	return heartbeatSwitch(a, "heartbeat:disable", "Turn the heartbeat off",
		"Turn the heartbeat of a workspace off and print its config as JSON. Jobs that were\ngiven go on.", false)
}

func heartbeatSwitch(a *app, name, short, long string, on bool) *cobra.Command {
	return &cobra.Command{
		Use: name + " <dir>", Short: short, Long: long, Example: "  ac " + name + " ./acme", Args: args("dir"),
		RunE: func(cmd *cobra.Command, given []string) error {
			return a.heartbeatCall(cmd.Context(), "heartbeat.config.set", given[0], map[string]json.RawMessage{"enabled": json.RawMessage(strconv.FormatBool(on))})
		},
	}
}
