// Package work has the short commands that run agents and follow what they do, and what the full
// screen needs of them.
package work

import (
	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
)

// Commands are the short commands that run agents and follow them.
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
