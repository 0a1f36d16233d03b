package supervisor

// Environment variables that identify the session to its provider.

import (
	"slices"
	"strings"

	"ac/runs/session"
)

// withSessionEnv adds the variables that name the session's workspace, project, run and agent, so that an
// ac process started by the agent knows them.
func withSessionEnv(environ []string, order session.Order) []string {
	if order.Worker != nil {
		return withWorkerEnv(environ, *order.Worker)
	}
	ours := []string{
		"AC_WORKSPACE=" + order.WorkspaceDir, "AC_PROJECT=" + order.ProjectID, "AC_RUN=" + order.RunID, "AC_ACTOR=" + order.AgentID,
	}
	environ = slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.ContainsFunc(ours, func(mine string) bool { return strings.HasPrefix(mine, name+"=") })
	})
	return append(environ, ours...)
}

// withWorkerEnv adds the variables that name the worker. It removes those that would lead ac to a
// workspace: the agent's workspace is on another machine.
func withWorkerEnv(environ []string, away session.WorkerOrder) []string {
	environ = slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains([]string{"AC_WORKSPACE", "AC_PROJECT", "AC_RUN", "AC_ACTOR", "AC_WORKER_ID", "AC_CONTEXT_DIR"}, name)
	})
	environ = append(environ, "AC_WORKER_ID="+away.WorkerID)
	if away.Context != "" {
		environ = append(environ, "AC_CONTEXT_DIR="+away.Context)
	}
	return environ
}
