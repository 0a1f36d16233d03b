package rpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"ac/workspace"
)

// Valid params of every method, which other tests corrupt.

func newBench(t *testing.T) *bench {
	dir := filepath.Join(t.TempDir(), "ws") // removed after the server has ended
	b := &bench{peer: newPeer(t), dir: dir}
	in := object{"workspace_dir": b.dir}
	with := func(more object) object {
		all := maps.Clone(in)
		maps.Copy(all, more)
		return all
	}
	var project struct {
		ProjectID string `json:"project_id"`
	}
	var run struct {
		RunID string `json:"run_id"`
	}
	b.peer.call("workspace.init", in, nil)
	b.peer.call("workspace.project.create_with_defaults", with(object{"name": "P"}), &project)
	create := with(object{"project_id": project.ProjectID, "agent_id": "agent_x", "provider": "manual"})
	b.peer.call("run.create", create, &run)
	ofRun := with(object{"project_id": project.ProjectID, "run_id": run.RunID})
	other := run
	b.peer.call("run.create", create, &other) // to be discarded
	discard := with(object{"project_id": project.ProjectID, "run_id": other.RunID})
	asking := run
	b.peer.call("run.create", create, &asking)
	b.write(t, workspace.LogFile(project.ProjectID, asking.RunID), `{"type":"interaction.requested","run_id":"r","actor":"a","payload":{"interaction_id":"int_x","kind":"input"}}`+"\n")
	launch := maps.Clone(ofRun)
	launch["argv"] = []any{"true"}
	pack := filepath.Join(b.dir, "work", "projects", project.ProjectID, "share_packs", "share_x")
	manifest := "schema_version: 1\ntype: share_pack\nid: share_x\ncreated_at: 2026-11-20T15:06:57.981Z\nproject_id: " +
		project.ProjectID + "\ncreated_by: human\nvisibility: managers\nincluded_artifacts: []\n"
	if err := errors.Join(os.MkdirAll(pack, 0o750), os.WriteFile(filepath.Join(pack, "manifest.yaml"), []byte(manifest), 0o600)); err != nil {
		t.Fatal(err)
	}
	home := with(object{"scope": "project", "project_id": project.ProjectID})
	there := func(more object) object {
		all := maps.Clone(home)
		maps.Copy(all, more)
		return all
	}
	b.write(t, "work/projects/"+project.ProjectID+"/tasks/task_x.md", "---\nschema_version: 1\ntype: task\nid: task_x\nproject_id: "+project.ProjectID+
		"\ntitle: T\ncreated_at: 2026-11-20T15:06:57.981Z\nstatus: draft\nvisibility: org\nmilestones:\n  - {id: ms_x, title: T, kind: planning, status: ready, acceptance_criteria: []}\n---\n\n## Contract\n\n## Milestones\n")
	b.write(t, "work/projects/"+project.ProjectID+"/artifacts/art_x.md", "---\nschema_version: 1\ntype: milestone_report\nid: art_x\nproject_id: "+project.ProjectID+
		"\ntitle: T\ncreated_at: 2026-11-20T15:06:57.981Z\nvisibility: org\nproduced_by: human\nrun_id: run_x\ncontext_pack_id: ctx_x\ntask_id: task_x\nmilestone_id: ms_x\nevidence_artifacts: []\n---\n\n## Summary\n\n## Evidence\n\n## Next\n")
	b.write(t, "inbox/help_requests/help_x.md", "---\nschema_version: 1\ntype: help_request\nid: help_x\ncreated_at: 2026-11-20T15:06:57.981Z\ntitle: T\nvisibility: org\n"+
		"requester: human\ntarget_manager: human\n---\n\n## Question\n\n## Response\n")
	inProject := with(object{"project_id": project.ProjectID})
	code := with(object{"project_id": project.ProjectID, "code": "x", "worker_agent_id": "agent_nobody"})
	ofTask := with(object{"project_id": project.ProjectID, "task_id": "task_x"})
	ref := with(object{"session_ref": "local_" + run.RunID})
	worker := "agent_secretary_" + project.ProjectID
	propose := with(object{
		"project_id": project.ProjectID, "title": "T", "under_heading": "## Decisions", "insert_lines": []any{"- n"}, "visibility": "org",
		"produced_by": "human", "run_id": "run_manual", "context_pack_id": "ctx_manual",
	})
	var delta struct {
		ArtifactID string `json:"artifact_id"`
	}
	b.peer.call("memory.propose_delta", propose, &delta)
	item := with(object{"project_id": project.ProjectID, "artifact_id": delta.ArtifactID})
	acting := maps.Clone(item)
	maps.Copy(acting, object{"actor_id": "human", "actor_role": "human"})
	flow := object{
		"schema_version": 1, "type": "workflow", "id": "a:b", "name": "N",
		"flow": object{"kind": "task", "agent": object{"name": "Nobody"}, "goal": "g"},
	}
	flowText, err := json.Marshal(flow)
	if err != nil {
		t.Fatal(err)
	}
	b.write(t, "org/workflows/a/b.yaml", string(flowText))
	// A run of the workflow that has ended.
	b.write(t, "work/projects/"+project.ProjectID+"/runs/run_flow/run.yaml", fmt.Sprintf(`schema_version: 1
type: run
id: run_flow
project_id: %s
agent_id: agent_global_manager
provider: workflow
created_at: 2026-11-20T15:02:47.930Z
status: ended
context_pack_id: ctx_x
events_relpath: runs/run_flow/events.jsonl
`, project.ProjectID))
	b.write(t, "work/projects/"+project.ProjectID+"/runs/run_flow/events.jsonl", "")
	b.write(t, "work/projects/"+project.ProjectID+"/runs/run_flow/workflow.yaml", fmt.Sprintf(`{"schema_version":1,"type":"workflow_run",
"run_id":"run_flow","project_id":%q,"templates":[%s],"input":"","inputs":{},"priority":"normal","started_by":{"actor_id":"human","actor_role":"human"},
"status":"succeeded","rounds":[{"round":1,"template":0,"input":"","started_at":"2026-11-20T15:02:47.930Z"}],"steps":[],"cancellation_requested":false}`,
		project.ProjectID, flowText))
	ofFlow := with(object{"project_id": project.ProjectID, "run_id": "run_flow"})
	ofJob := with(object{"project_id": project.ProjectID, "job_id": "job_x"})
	b.valid = map[string]object{
		"context.plan_for_job":       with(object{"project_id": project.ProjectID, "manager_actor_id": "m", "manager_role": "manager", "goal": "g"}),
		"memory.extract_candidates":  with(object{"project_id": project.ProjectID, "job_id": "job_x", "actor_id": "m", "actor_role": "manager"}),
		"pipeline.client_intake.run": with(object{"project_name": "N", "ceo_actor_id": "human_ceo", "executive_manager_agent_id": "agent_global_manager"}),
		"pipeline.department.assign_tasks": with(object{
			"project_id": project.ProjectID, "department_key": "qa", "director_agent_id": "agent_x", "worker_agent_ids": []any{"agent_y"},
			"approved_executive_plan_artifact_id": "art_x",
		}),
		"workspace.bootstrap.enterprise":       {"workspace_dir": filepath.Join(t.TempDir(), "enterprise"), "departments": []any{"qa"}},
		"workspace.enterprise.ensure_defaults": {"workspace_dir": filepath.Join(t.TempDir(), "ensured")},
		"artifact.read":                        acting, "memory.propose_delta": propose, "memory.preview_delta": item, "memory.approve_delta": acting,
		"memory.list_deltas":            with(object{"actor_id": "human", "actor_role": "human"}),
		"usage.reconciliation.record":   with(object{"provider": "codex", "period_start": "2026-11-01", "period_end": "2026-11-30", "billed_cost_usd": 1}),
		"usage.reconciliation.snapshot": in,
		"inbox.list_reviews":            with(object{"limit": 7}),
		"system.ping":                   {}, "system.capabilities": {}, "server.health": {},
		"workspace.open": in, "workspace.validate": in, "workspace.projects.list": in, "workspace.agents.list": in, "workspace.teams.list": in,
		"workspace.doctor": in, "workspace.diagnostics": with(object{"out_dir": filepath.Join(t.TempDir(), "out")}),
		"workspace.init": with(object{"force": true}), "workspace.project.create_with_defaults": with(object{"name": "Q"}),
		"workspace.project.link_repo": with(object{"project_id": project.ProjectID, "repo_id": "r"}),
		"workspace.repo_root.set":     with(object{"repo_id": "r", "repo_path": b.dir, "require_git": false}),
		"workspace.migrate":           in,
		"workspace.export":            with(object{"out_dir": filepath.Join(t.TempDir(), "out")}),
		"workspace.import":            {"src_dir": b.dir, "workspace_dir": filepath.Join(t.TempDir(), "in")},
		"adapter.status":              in, "worktree.cleanup": in, "sharepack.replay": with(object{"project_id": project.ProjectID, "share_pack_id": "share_x"}), "run.create": create, "run.discard": discard, "run.list": in, "run.replay": ofRun, "run.changes": ofRun, "run.land": ofRun, "run.transcript": ofRun,
		"artifact.list": ofRun, "artifact.preview": with(object{"project_id": project.ProjectID, "artifact_ids": []string{"fa_x"}}),
		"artifact.apply":       with(object{"project_id": project.ProjectID, "preview_id": "fp_x"}),
		"artifact.revert":      with(object{"project_id": project.ProjectID, "checkpoint_id": "cp_x"}),
		"artifact.checkpoints": with(object{"project_id": project.ProjectID}),
		"index.rebuild":        in, "index.sync": in, "index.stats": in, "index.list_runs": in, "index.list_events": in, "index.list_event_parse_errors": in,
		"index.list_reviews": in, "index.list_help_requests": in,
		"session.launch": launch, "session.list": in, "session.collect": ref, "session.poll": ref, "session.stop": ref,
		"session.abandon": with(object{"session_ref": "local_x", "reason": "r"}), "hub.status": in, "hub.config": with(object{"settings": object{"beat_ms": 1000}}),
		"worker.list": with(object{"state": "active"}), "worker.invite": with(object{"name": "box", "labels": []any{"gpu"}}),
		"worker.update": with(object{"worker_id": "box", "slots": 2}), "worker.drain": with(object{"worker_id": "box", "on": true}),
		"worker.revoke": with(object{"worker_id": "box"}),
		"pm.snapshot":   home, "pm.recommend_allocations": inProject, "workspace.home.snapshot": in,
		"pm.apply_allocations":       with(object{"project_id": project.ProjectID, "applied_by": "human", "items": []any{}}),
		"desktop.bootstrap.snapshot": there(object{"actor_id": "human", "view": "conversation", "conversation_id": "conv_" + project.ProjectID + "_home"}),
		"conversation.list":          home, "conversation.create_channel": there(object{"name": "n", "slug": "s", "created_by": "human"}),
		"conversation.create_dm":     there(object{"created_by": "human", "peer_agent_id": "agent_x"}),
		"conversation.messages.list": there(object{"conversation_id": "conv_" + project.ProjectID + "_home"}), "conversation.members.sync": with(object{"project_id": project.ProjectID}),
		"conversation.message.send": there(object{"conversation_id": "conv_" + project.ProjectID + "_home", "author_id": "human_ceo", "author_role": "ceo", "body": "b"}),
		"index.sync_worker_status":  {}, "index.sync_worker_flush": {},
		"monitor.snapshot": in, "inbox.snapshot": in, "usage.analytics": in, "resources.snapshot": in, "ui.snapshot": in,
		"agent.profile.snapshot":   with(object{"agent_id": "agent_global_manager"}),
		"comment.add":              with(object{"project_id": project.ProjectID, "author_id": "human", "author_role": "human", "body": "b", "target_run_id": run.RunID}),
		"comment.list":             with(object{"project_id": project.ProjectID}),
		"inbox.list_help_requests": in,
		"skill.list":               in, "skill.read": with(object{"name": "init"}),
		"terminal.list": in, "terminal.shells": in, "terminal.create": with(object{"actor_role": "worker"}),
		"terminal.attach": with(object{"terminal_id": "pty-x"}), "terminal.detach": with(object{"subscription_id": "sub_x"}),
		"terminal.read": with(object{"terminal_id": "pty-x"}), "terminal.write": with(object{"terminal_id": "pty-x", "text": "t"}),
		"terminal.resize": with(object{"terminal_id": "pty-x", "cols": 80, "rows": 24}), "terminal.rename": with(object{"terminal_id": "pty-x", "title": "t"}),
		"terminal.close":     with(object{"terminal_id": "pty-x"}),
		"model.profile.list": in, "model.profile.put": with(object{"name": "n", "provider": "p", "model": "m"}),
		"model.profile.remove": with(object{"name": "n"}), "model.profile.set_default": with(object{"name": "n"}),
		"model.profile.probe": with(object{"base_url": "http://127.0.0.1:1/"}),
		"mcp.server.list":     in, "mcp.server.put": with(object{"server_id": "s", "transport": "stdio", "command": "x"}),
		"mcp.server.remove": with(object{"server_id": "s"}), "mcp.server.replace": with(object{"servers": []any{}}),
		"artifact.evidence":  with(object{"project_id": project.ProjectID, "artifact_id": "art_x"}),
		"inbox.resolve_many": with(object{"items": []any{object{"project_id": project.ProjectID, "artifact_id": "art_x", "decision": "denied"}}, "actor_id": "human", "actor_role": "human"}),
		"run.review": with(object{
			"project_id": project.ProjectID, "run_id": run.RunID, "client_message_id": "m1",
			"comments": []any{object{"path": "a.go", "side": "new", "line": 1, "body": "b"}},
		}),
		"task.get": ofTask, "task.create": with(object{"project_id": project.ProjectID, "title": "t"}),
		"workspace.mend": with(object{"dry_run": true}), "search.query": with(object{"q": "x"}), "usage.series": with(object{"from": "2026-11-01", "to": "2026-11-20"}),
		"needs.list": in, "needs.get": with(object{"need_id": "help:help_x"}), "usage.report": in, "room.read": in,
		"needs.dismiss": with(object{"need_ids": []any{"run_failed:run_x:1"}}), "needs.restore": with(object{"need_ids": []any{"run_failed:run_x:1"}}),
		"help.get": with(object{"help_request_id": "help_x"}), "help.answer": with(object{"help_request_id": "help_x", "body": "b", "tell": "none"}),
		"inbox.resolve": with(object{"project_id": project.ProjectID, "artifact_id": "art_x", "decision": "denied", "actor_id": "human", "actor_role": "human"}),
		"milestone.approve": with(object{
			"project_id": project.ProjectID, "task_id": "task_x", "milestone_id": "ms_x", "report_artifact_id": "art_x", "actor_id": "human", "actor_role": "human",
		}),
		"agent.record_mistake":  with(object{"worker_agent_id": worker, "manager_actor_id": "human", "manager_role": "human", "mistake_key": "k", "summary": "s", "prevention_rule": "r"}),
		"agent.refresh_context": with(object{"agent_id": worker}),
		"agent.self_improve_cycle": with(object{
			"project_id": project.ProjectID, "worker_agent_id": worker, "manager_actor_id": "human", "manager_role": "human",
			"mistake_key": "k2", "summary": "s", "prevention_rule": "r", "proposal_threshold": 1,
		}),
		"run.compact": ofRun, "run.plan.clear": ofRun, "run.attach": with(object{"project_id": project.ProjectID, "run_id": run.RunID, "name": "n", "content_base64": "aGk="}),
		"events.replay": ofRun, "run.interrupt": ofRun, "run.steer": with(object{"project_id": project.ProjectID, "run_id": run.RunID, "text": "t"}),
		"run.continue":        with(object{"project_id": project.ProjectID, "run_id": run.RunID, "prompt_text": "p"}),
		"run.start":           with(object{"project_id": project.ProjectID, "agent_id": "agent_global_manager", "argv": []any{"true"}, "dry_run": true}),
		"run.retry":           ofRun,
		"interaction.respond": with(object{"project_id": project.ProjectID, "run_id": asking.RunID, "interaction_id": "int_x", "decision": "deny"}),
		"run.policy.get":      ofRun, "run.policy.set": with(object{"project_id": project.ProjectID, "run_id": run.RunID, "mode": "plan", "rules": []any{}}),
		"policy.defaults.get": inProject, "policy.defaults.set": with(object{"project_id": project.ProjectID, "mode": "plan"}),
		"interaction.list": in, "interaction.get": with(object{"project_id": project.ProjectID, "run_id": asking.RunID, "interaction_id": "int_x"}),
		"task.list": inProject, "task.update_plan": ofTask,
		"ui.resolve":       with(object{"project_id": project.ProjectID, "artifact_id": "art_x", "decision": "denied", "actor_id": "human", "actor_role": "human"}),
		"heartbeat.status": in, "heartbeat.tick": with(object{"dry_run": true, "reason": "r"}), "heartbeat.config.get": in,
		"heartbeat.config.set": with(object{
			"enabled": false, "tick_interval_minutes": 20, "top_k_workers": 2, "min_wake_score": 3, "ok_suppression_minutes": 60, "due_horizon_minutes": 120,
			"max_auto_actions_per_tick": 10, "max_auto_actions_per_hour": 60, "quiet_hours_start_hour": 22, "quiet_hours_end_hour": 7,
			"stuck_job_running_minutes": 30, "idempotency_ttl_days": 14, "jitter_max_seconds": 90,
		}),
		"workflow.list": in, "workflow.get": with(object{"workflow_id": "a:b"}), "workflow.check": with(object{"template": flow}),
		"workflow.put":    with(object{"template": flow, "actor_id": "human", "actor_role": "human"}),
		"workflow.run":    with(object{"project_id": project.ProjectID, "template": flow}),
		"workflow.status": ofFlow, "workflow.cancel": ofFlow, "workflow.runs": inProject,
		"workflow.continue": with(object{"project_id": project.ProjectID, "run_id": "run_flow", "input": ""}),
		"job.submit":        {"job": jobOf(b.dir, project.ProjectID)}, "job.list": with(object{"project_id": project.ProjectID}),
		"code.explain": code, "code.refactor": code, "code.generate_tests": code, "code.review": code, "code.scan": with(object{"project_id": project.ProjectID, "worker_agent_id": "agent_nobody"}),
		"run.output": ofRun, "feedback.submit": with(object{"project_id": project.ProjectID, "run_id": run.RunID, "signal": "accept"}),
		"job.poll": ofJob, "job.collect": ofJob, "job.cancel": ofJob,
		"events.subscribe": with(object{"subscription_id": "s"}), "events.ack": {"subscription_id": "s"}, "events.unsubscribe": {"subscription_id": "none"},
		"room.subscribe": with(object{"subscription_id": "r"}), "room.unsubscribe": {"subscription_id": "none"},
	}
	return b
}

func (b *bench) write(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join(b.dir, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o750), os.WriteFile(file, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// jobOf returns a job that fits no agent.
func jobOf(dir, project string) object {
	return object{
		"job_id": "job_x", "worker_kind": "codex", "worker_agent_id": "agent_none", "workspace_dir": dir, "project_id": project, "goal": "g",
		"constraints": []string{}, "deliverables": []string{}, "permission_level": "read-only", "context_refs": []any{},
	}
}
