// Package work has the short commands that run agents and follow what they do, and the functions
// that the full screen shares with them.
package work

import (
	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
)

// Commands returns the short commands that run and follow agents.
func Commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{
		runCommand(a),
		psCommand(a),
		logsCommand(a),
		watchCommand(a),
		attachCommand(a),
		stopCommand(a),
		retryCommand(a), continueCommand(a),
		diffCommand(a),
		landCommand(a),
		discardCommand(a),
		sayCommand(a),
	}
}
