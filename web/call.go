package web

// /api/call: methods of the table for the page.

import (
	"encoding/json"
	"net/http"
	"slices"

	"ac/internal/fault"
	"ac/rpc"
)

// callable are the methods that the page may call: those that read only this
// workspace, and the actions of a person in the control room.
func callable() []string {
	return []string{
		"server.health", "workspace.open", "workspace.validate", "workspace.doctor", "workspace.projects.list", "workspace.agents.list", "workspace.teams.list",
		"workspace.home.snapshot", "desktop.bootstrap.snapshot",
		"run.list", "run.replay", "run.transcript", "run.output", "events.replay",
		"session.list", "session.poll", "session.stop",
		"run.changes", "artifact.list", "artifact.preview", "artifact.checkpoints", "artifact.apply", "artifact.revert", "run.land",
		"artifact.read", "memory.preview_delta", "memory.list_deltas", "context.plan_for_job",
		"needs.list", "needs.get", "needs.dismiss", "needs.restore", "help.get", "help.answer",
		"inbox.list_reviews", "inbox.list_help_requests", "inbox.snapshot", "inbox.resolve", "ui.resolve",
		"pm.snapshot", "pm.recommend_allocations", "pm.apply_allocations",
		"task.list", "task.update_plan",
		"conversation.list", "conversation.create_channel", "conversation.create_dm", "conversation.messages.list", "conversation.message.send",
		"job.list", "job.poll", "job.collect",
		"workflow.list", "workflow.get", "workflow.check", "workflow.status", "workflow.runs",
		"heartbeat.tick", "heartbeat.status", "heartbeat.config.get", "heartbeat.config.set",
		"index.sync", "index.rebuild", "index.stats", "index.list_runs", "index.list_events", "index.list_event_parse_errors",
		"index.list_reviews", "index.list_help_requests", "index.sync_worker_status", "adapter.status",
		"monitor.snapshot", "usage.analytics", "usage.report", "room.read", "usage.reconciliation.snapshot", "resources.snapshot", "agent.profile.snapshot", "ui.snapshot",
		"comment.add", "comment.list",
		"run.steer", "run.interrupt", "run.continue", "run.policy.get", "run.policy.set", "policy.defaults.get",
		"interaction.list", "interaction.get", "interaction.respond",
	}
}

// callBody is the body of a call.
type callBody struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

type callResult struct {
	Result any `json:"result"`
}

type callFailure struct {
	Error *rpc.WireError `json:"error"`
}

// call carries out a method as the server's actor, in its workspace.
func (s *Server) call(w http.ResponseWriter, r *http.Request) error {
	text, err := s.body(w, r)
	if err != nil {
		return err
	}
	var c callBody
	if json.Unmarshal(text, &c) != nil {
		return refuse(http.StatusBadRequest, "method must be a string")
	}
	result, err := s.carryOut(r, c)
	if err != nil {
		answer(w, r, statusOf(err), callFailure{rpc.ToWire(err)})
		return nil
	}
	answer(w, r, http.StatusOK, callResult{result})
	return nil
}

func (s *Server) carryOut(r *http.Request, c callBody) (any, error) {
	if !slices.Contains(callable(), c.Method) {
		return nil, &rpc.WireError{Code: rpc.CodeMethodNotFound, Message: "Unknown method: " + c.Method}
	}
	if s.table.Access(c.Method) == rpc.Write {
		if refused := s.guard.CheckPeer(r); refused != nil {
			return nil, refuse(refused.Status, "%s", refused.Message)
		}
	}
	var params map[string]json.RawMessage
	if json.Unmarshal(c.Params, &params) != nil && c.Params != nil {
		return nil, fault.Invalid(fault.Issue{Path: []any{}, Code: "invalid_type", Message: "expected an object"})
	}
	if params == nil {
		params = map[string]json.RawMessage{}
	}
	if err := s.claim(params, s.table.Params(c.Method)); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	return s.table.Call(r.Context(), s.all, c.Method, raw)
}

// claim overwrites the workspace and the actor in params with the server's own,
// so that no client can act as someone else.
func (s *Server) claim(params map[string]json.RawMessage, known []string) error {
	actor := s.opts.Actor
	for name, value := range map[string]string{
		"workspace_dir": s.opts.WorkspaceDir,
		"actor_id":      actor.ActorID, "actor_role": actor.ActorRole, "actor_team_id": actor.ActorTeamID,
		"manager_actor_id": actor.ActorID, "manager_role": actor.ActorRole, "manager_team_id": actor.ActorTeamID,
		"author_id": actor.ActorID, "author_role": actor.ActorRole, "applied_by": actor.ActorID, "created_by": actor.ActorID,
	} {
		if !slices.Contains(known, name) {
			continue
		}
		if delete(params, name); value == "" {
			continue // no team
		}
		text, err := json.Marshal(value)
		if err != nil {
			return err
		}
		params[name] = text
	}
	return nil
}
