package web

// /api/call: lets the page call methods of the table.

import (
	"encoding/json"
	"net/http"
	"slices"

	"ac/internal/fault"
	"ac/rpc"
)

// class is what a method does. It determines who may call it.
type class int

const (
	reads   class = iota + 1 // for anyone who may see the page
	acts                     // for the user of this server
	starts                   // like acts, but only if starting was allowed
	unknown class = 0
)

// callable lists the methods that the page may call: those that only read this workspace, and the
// actions of a person in the control room.
func callable() []string {
	return slices.Concat(readable(), actions(), startable())
}

func readable() []string {
	return []string{
		"server.health", "workspace.open", "workspace.validate", "workspace.doctor", "workspace.projects.list", "workspace.agents.list", "workspace.teams.list",
		"workspace.home.snapshot", "desktop.bootstrap.snapshot",
		"run.list", "run.replay", "run.transcript", "run.output", "run.changes", "events.replay", "session.list", "session.poll",
		"artifact.list", "artifact.preview", "artifact.checkpoints", "artifact.read", "artifact.evidence",
		"memory.preview_delta", "memory.list_deltas", "context.plan_for_job",
		"needs.list", "needs.get", "help.get", "inbox.list_reviews", "inbox.list_help_requests", "inbox.snapshot",
		"pm.snapshot", "pm.recommend_allocations", "task.list", "task.get",
		"conversation.list", "conversation.messages.list", "job.list", "job.poll", "job.collect",
		"workflow.list", "workflow.get", "workflow.check", "workflow.status", "workflow.runs", "heartbeat.status", "heartbeat.config.get",
		"index.stats", "index.list_runs", "index.list_events", "index.list_event_parse_errors",
		"index.list_reviews", "index.list_help_requests", "index.sync_worker_status", "adapter.status",
		"monitor.snapshot", "usage.analytics", "usage.report", "usage.series", "usage.reconciliation.snapshot",
		"room.read", "search.query", "resources.snapshot", "agent.profile.snapshot", "ui.snapshot", "comment.list",
		"run.policy.get", "policy.defaults.get", "interaction.list", "interaction.get",
	}
}

func actions() []string {
	return []string{
		"session.stop", "artifact.apply", "artifact.revert", "run.land", "run.discard", "needs.dismiss", "needs.restore", "help.answer",
		"inbox.resolve", "inbox.resolve_many", "ui.resolve", "memory.propose_delta", "pm.apply_allocations", "task.update_plan", "task.create",
		"conversation.create_channel", "conversation.create_dm", "conversation.message.send", "job.cancel", "workflow.continue", "workflow.cancel",
		"heartbeat.tick", "heartbeat.config.set", "index.sync", "index.rebuild", "comment.add", "workspace.mend",
		"run.steer", "run.interrupt", "run.continue", "run.compact", "run.plan.clear", "run.review", "run.policy.set", "interaction.respond",
	}
}

func startable() []string { return []string{"run.start", "run.retry", "workflow.run"} }

// classOf returns the class of a call. A message that starts a session if none is live counts as a
// start.
func classOf(method string, params map[string]json.RawMessage) class {
	switch {
	case slices.Contains(startable(), method), method == "run.steer" && isGiven(params["start"]):
		return starts
	case slices.Contains(actions(), method):
		return acts
	case slices.Contains(readable(), method):
		return reads
	}
	return unknown
}

// isGiven reports whether a param is present and not null.
func isGiven(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// permit returns an error for a call that this server does not allow this client.
func (s *Server) permit(r *http.Request, method string, of class) error {
	if of == unknown {
		return &rpc.WireError{Code: rpc.CodeMethodNotFound, Message: "Unknown method: " + method}
	}
	if of == starts && !s.opts.AllowLaunch {
		return fault.New(fault.LaunchNotAllowed, "this control room was started without --allow-launch")
	}
	if of == reads && s.table.Access(method) != rpc.Write {
		return nil
	}
	if refused := s.guard.CheckPeer(r); refused != nil {
		return fault.New(fault.OtherUser, "%s", refused.Message)
	}
	return nil
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

// call runs a method as the server's actor, in the server's workspace.
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
	var params map[string]json.RawMessage
	notAnObject := json.Unmarshal(c.Params, &params) != nil && c.Params != nil
	if err := s.permit(r, c.Method, classOf(c.Method, params)); err != nil {
		return nil, err
	}
	if notAnObject {
		return nil, fault.Invalid(fault.Issue{Path: []any{}, Code: "invalid_type", Message: "expected an object"})
	}
	if params == nil {
		params = map[string]json.RawMessage{}
	}
	masked, err := s.masks(r, c.Method, params)
	if err != nil {
		return nil, err
	}
	if err := s.claim(params, s.table.Params(c.Method)); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	result, err := s.table.Call(r.Context(), s.all, c.Method, raw)
	if err != nil || !masked {
		return result, err
	}
	return maskResult(result)
}

// claim overwrites the workspace and the actor in params with the server's own,
// so that no client can act as someone else.
func (s *Server) claim(params map[string]json.RawMessage, known []string) error {
	actor := s.opts.Actor
	for name, value := range map[string]string{
		"workspace_dir": s.opts.WorkspaceDir,
		"actor_id":      actor.ActorID, "actor_role": actor.ActorRole, "actor_team_id": actor.ActorTeamID,
		"manager_actor_id": actor.ActorID, "manager_role": actor.ActorRole, "manager_team_id": actor.ActorTeamID,
		"author_id": actor.ActorID, "author_role": actor.ActorRole, "applied_by": actor.ActorID, "produced_by": actor.ActorID, "created_by": actor.ActorID,
	} {
		if !slices.Contains(known, name) {
			continue
		}
		if delete(params, name); value == "" {
			continue // the actor has no team
		}
		text, err := json.Marshal(value)
		if err != nil {
			return err
		}
		params[name] = text
	}
	return nil
}
