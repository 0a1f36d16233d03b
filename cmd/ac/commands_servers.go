package main

// The commands that serve: other programs, agents and browsers.

import "github.com/spf13/cobra"

// serversCommands are the commands that serve.
func serversCommands(a *app) []*cobra.Command {
	return []*cobra.Command{
		serverCommand(a), callCommand(a), schemaCommand(a),
		webCommand(a),
		roomCommand(a),
		dialectServeCommand(a),
		dialectStartCommand(a), dialectStopCommand(a), dialectStatusCommand(a), dialectUnitCommand(a),
		mcpFilesCommand(a), mcpServeCommand(a),
		serviceCommand(a),
	}
}
