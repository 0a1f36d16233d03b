package main

// The flag --json of commands that always print JSON. It lets scripts pass --json to every command
// that can print JSON.

import (
	"slices"

	"github.com/spf13/cobra"
)

// jsonOnly lists the commands that always print JSON. It omits those that take the command line of
// another program, which may have its own --json.
func jsonOnly() []string {
	return []string{
		"rpc:call", "worktree:cleanup", "demo:init",
		"workspace:diagnostics", "workspace:migrate", "workspace:export", "workspace:import", "workspace:bootstrap",
		"index:rebuild", "index:sync", "index:stats", "index:runs", "index:events", "index:event-errors", "index:reviews", "index:help",
		"monitor:runs", "inbox:snapshot", "ui:snapshot", "ui:resolve", "comment:add", "comment:list",
		"run:new", "run:list", "job:submit", "job:poll", "job:collect", "job:cancel",
		"inbox:resolve", "milestone:report:new", "milestone:approve", "help:new",
		"heartbeat:status", "heartbeat:tick", "heartbeat:config", "heartbeat:enable", "heartbeat:disable",
		"agent:record-mistake", "agent:refresh-context",
		"artifact:fill", "pipeline:intake", "pipeline:plan",
	}
}

// acceptJSON adds the flag to these commands.
func acceptJSON(cmds []*cobra.Command) {
	names := jsonOnly()
	for _, cmd := range cmds {
		if slices.Contains(names, cmd.Name()) {
			cmd.Flags().Bool("json", true, "print JSON (always the case)")
		}
	}
}
