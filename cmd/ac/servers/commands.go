// Package servers has the commands that serve: JSON-RPC for desktop apps, the control room for
// browsers, dialects for other clients, and tools for agents. It also prints service units for
// them.
package servers

import (
	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
)

// Commands returns the commands that serve.
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
