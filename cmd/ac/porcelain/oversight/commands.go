// Package oversight has the short commands for people: what waits for them, their decisions, who
// works on what, costs, messages, and checks.
package oversight

import (
	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
)

// Commands returns the short commands for people.
func Commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{
		useCommand(a),
		setupCommand(a),
		inboxCommand(a),
		showCommand(a),
		approveCommand(a), denyCommand(a),
		answerCommand(a),
		statusCommand(a),
		costCommand(a),
		agentsCommand(a), teamsCommand(a), projectsCommand(a),
		tasksCommand(a), jobsCommand(a),
		planCommand(a),
		talkCommand(a),
		healthCommand(a),
		proveCommand(a),
		searchCommand(a),
	}
}
