package main

// The short commands that run agents and follow what they do.

import "github.com/spf13/cobra"

// workCommands are the short commands that run agents and follow them.
func workCommands(a *app) []*cobra.Command {
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
