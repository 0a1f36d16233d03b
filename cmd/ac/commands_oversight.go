package main

// The short commands for people: what waits for them, what they decide, and what stands.

import "github.com/spf13/cobra"

// oversightCommands are the short commands for people.
func oversightCommands(a *app) []*cobra.Command {
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
