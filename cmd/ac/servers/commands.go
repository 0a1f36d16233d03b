// Package servers has the commands that serve: JSON-RPC for desktop apps, the control room for
// browsers, dialects for other clients, tools for agents, and the units of services for them.
package servers

import (
	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
)

// Commands are the commands that serve.
func Commands(a *cli.App) []*cobra.Command {
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
