//go:build browser

package browser

// The company that the fake server serves, in the shapes of the protocol.

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// brokenRun has a log whose third event was changed.
const brokenRun = "run_01M7WQSZBK0009"

func (f *fake) company() {
	people := []struct{ id, name, title, role, team, provider string }{
		{"agent_global_manager", "General Manager", "Global Assistant", "manager", "", "codex"},
		{"agent_vera", "Vera Lindqvist", "Head of Platform", "director", "team_platform", "claude"},
		{"agent_ada", "Ada Okafor", "Payments", "worker", "team_payments", "codex"},
		{"agent_noor", "Noor Haddad", "Ledger", "worker", "team_payments", "claude"},
		{"agent_kei", "Kei Tanaka", "Build and release", "worker", "team_platform", "codex"},
		{"agent_ilse", "Ilse Brandt", "Search", "worker", "team_platform", "gemini"},
	}
	for _, p := range people {
		agent := object{"agent_id": p.id, "name": p.name, "display_title": p.title, "role": p.role, "provider": p.provider, "created_at": f.at(80 * 24 * time.Hour)}
		if p.team != "" {
			agent["team_id"] = p.team
		}
		f.agents = append(f.agents, agent)
	}
	titles := []string{"Design the ledger schema", "Build idempotent transfers", "Reconcile the nightly batch", "Rewrite the retry queue", "Ship the admin view", "Load test at 2,000 a second", "Write the runbook", "Cut over from the old store"}
	status := []string{"done", "in_progress", "in_progress", "blocked", "ready", "ready", "draft", "ready"}
	for i, title := range titles {
		f.tasks = append(f.tasks, object{"id": fmt.Sprintf("task_%d", i), "title": title, "status": status[i]})
	}
	for i := range 14 {
		f.addRun(i)
	}
	for i, title := range []string{"Retry only idempotent transfers", "Never log card numbers", "Ledger schema is agreed", "Wake Kei for the flaky build"} {
		kind := []string{"memory_delta", "memory_delta", "milestone_report", "heartbeat_action_proposal"}[i]
		f.pending = append(f.pending, object{"project_id": "proj_atlas", "artifact_id": fmt.Sprintf("art_01M7WQTMXJEXMA%02d", i), "artifact_type": kind, "title": title, "visibility": "managers",
			"produced_by": people[2+i%4].id, "run_id": "run_01M7WQSZBK0002", "created_at": f.at(time.Duration(i*17+4) * time.Minute), "parse_error_count": 0})
	}
	for i, decision := range []string{"approved", "approved", "denied"} {
		f.decisions = append(f.decisions, object{"review_id": fmt.Sprintf("rev_old%d", i), "created_at": f.at(time.Duration(i*5+2) * time.Hour), "decision": decision, "actor_id": "human_ceo", "actor_role": "manager",
			"subject_kind": "memory_delta", "subject_artifact_id": fmt.Sprintf("art_01M7WPAAAAEXMA%02d", i), "project_id": "proj_atlas", "notes": []any{"Good catch.", nil, "This belongs in the runbook, not in everyone's memory."}[i], "artifact_type": "memory_delta", "run_id": nil, "parse_error_count": 0})
	}
	for i, body := range []string{"Morning. The nightly batch left 14 rows unmatched, I am on it.", "All 14 have the same cause: a retry after a timeout was counted twice.", "Then retries must carry the key of the first try. I have proposed that for the project's memory.", "Looks right to me. Who checks the old rows?", "I do, before the cut-over. Report by noon."} {
		f.messages = append(f.messages, object{"id": fmt.Sprintf("msg_%d", i), "created_at": f.at(time.Duration(50-i*4) * time.Minute), "author_id": []string{"agent_noor", "agent_noor", "agent_ada", "human_ceo", "agent_noor"}[i], "author_role": []string{"worker", "worker", "worker", "manager", "worker"}[i], "kind": "text", "visibility": "org", "body": body})
	}
	f.comments = []object{{"id": "cmt_0", "created_at": f.at(20 * time.Minute), "author_id": "human_ceo", "author_role": "manager", "body": "Please keep the migration reversible.", "target": object{"project_id": "proj_atlas", "agent_id": "agent_ada", "run_id": "run_01M7WQSZBK0000"}}}
}

func (f *fake) addRun(i int) {
	id := fmt.Sprintf("run_01M7WQSZBK%04d", i)
	status := "ended"
	switch {
	case i < 2:
		status = "running"
	case i == 4 || i == 9:
		status = "failed"
	case i == 7:
		status = "stopped"
	}
	ago := time.Duration(i*i*13+3) * time.Minute
	began := f.origin.Add(-ago)
	row := object{"project_id": "proj_atlas", "run_id": id, "created_at": f.at(ago), "run_status": status, "provider": []string{"codex", "claude", "codex", "gemini"}[i%4], "agent_id": []string{"agent_ada", "agent_noor", "agent_kei", "agent_ilse"}[i%4],
		"context_pack_id": "ctx_" + id, "session_ref": "local_" + id, "live_status": status, "live_exit_code": nil, "live_signal": nil, "session_started_at_ms": began.UnixMilli(),
		"last_event": object{"seq": 9, "type": "run." + status, "ts_wallclock": f.at(ago - 4*time.Minute), "actor": "system", "visibility": "org"}, "parse_error_count": 0,
		"policy_decision_count": 1, "policy_denied_count": 0, "budget_decision_count": 1, "budget_alert_count": 0, "budget_exceeded_count": 0,
		"latest_policy_decision": object{"allowed": true, "rule_id": "launch.manager", "reason": "manager_may_launch", "action": "launch"}}
	if status != "running" {
		row["session_ended_at_ms"] = began.Add(time.Duration(3+i) * time.Minute).UnixMilli()
		usage := object{"source": "provider_reported", "confidence": "high", "total_tokens": 18000 + i*7321}
		if i%4 == 3 {
			usage["source"], usage["confidence"] = "estimated_chars", "low"
		} else {
			usage["cost_usd"] = 0.21 + float64(i)*0.083
		}
		row["token_usage"] = usage
	}
	if i == 4 {
		row["budget_exceeded_count"], row["budget_alert_count"] = 1, 1
		row["latest_budget_decision"] = object{"scope": "run", "metric": "tokens", "severity": "hard", "result": "exceeded", "actual": 61000, "threshold": 50000}
	}
	if i == 9 {
		row["policy_denied_count"] = 1
	}
	f.runs = append(f.runs, row)
	f.logs[id] = f.logOf(id, began, status)
}

func (f *fake) logOf(id string, began time.Time, status string) (log []object) {
	add := func(after time.Duration, kind string, payload object) {
		log = append(log, object{"schema_version": 1, "ts_wallclock": began.Add(after).Format("2006-01-02T15:04:05.000Z"), "run_id": id, "session_ref": "local_" + id, "actor": "system", "visibility": "org", "type": kind, "payload": payload, "event_id": fmt.Sprintf("evt_%s_%d", id, len(log)+1)})
	}
	say := func(after time.Duration, value object) {
		line, _ := json.Marshal(value)
		add(after, "provider.raw", object{"stream": "stdout", "chunk": string(line) + "\n"})
	}
	item := func(after time.Duration, item object) { say(after, object{"type": "item.completed", "item": item}) }
	add(0, "run.started", object{"project_id": "proj_atlas", "agent_id": "agent_ada", "provider": "codex", "context_pack_id": "ctx"})
	add(time.Second, "policy.decision", object{"allowed": true, "rule_id": "launch.manager", "reason": "manager_may_launch", "action": "launch", "resource_kind": "run"})
	add(time.Second, "budget.decision", object{"scope": "run", "metric": "tokens", "severity": "soft", "threshold": 60000, "actual": 0, "result": "ok", "phase": "preflight"})
	add(2*time.Second, "run.executing", object{"argv": []string{"codex", "exec", "--json"}})
	item(9*time.Second, object{"id": "i0", "type": "reasoning", "text": "The duplicate rows share an external reference, so the retry path is the first suspect."})
	item(14*time.Second, object{"id": "i1", "type": "agent_message", "text": "I will look at how a transfer is retried after a timeout, then write a test that fails for the reason we see in production."})
	item(31*time.Second, object{"id": "i2", "type": "command_execution", "command": "go test ./ledger -run TestRetryAfterTimeout", "aggregated_output": "--- FAIL: TestRetryAfterTimeout (0.02s)\n    retry_test.go:41: transfer booked twice\nFAIL", "exit_code": 1, "status": "failed"})
	add(32*time.Second, "usage.reported", object{"total_tokens": 9100})
	item(55*time.Second, object{"id": "i3", "type": "file_change", "changes": []object{{"path": "ledger/retry.go", "kind": "update"}, {"path": "ledger/retry_test.go", "kind": "add"}}})
	add(60*time.Second, "usage.reported", object{"total_tokens": 21400})
	item(80*time.Second, object{"id": "i4", "type": "command_execution", "command": "go test ./ledger", "aggregated_output": "ok  \tledger\t1.204s", "exit_code": 0, "status": "completed"})
	item(84*time.Second, object{"id": "i5", "type": "todo_list", "items": []object{{"text": "Reproduce the double booking", "completed": true}, {"text": "Carry the key of the first try", "completed": true}, {"text": "Check the 14 old rows", "completed": false}}})
	add(90*time.Second, "usage.reported", object{"total_tokens": 38250})
	item(97*time.Second, object{"id": "i6", "type": "agent_message", "text": "A retry now carries the idempotency key of the first try, and the test that booked twice passes. Next I compare the 14 unmatched rows against it."})
	if status != "running" {
		add(120*time.Second, "run."+status, object{"exit_code": 0, "signal": nil, "stopped": false, "budget_exceeded": false})
	}
	return log
}

func (f *fake) snapshot() object {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	live := 0
	for _, r := range f.runs {
		if r["live_status"] == "running" {
			live++
		}
	}
	colleagues := []object{}
	for i, a := range f.agents {
		c := object{"active_runs": 0, "total_runs": 3, "pending_reviews": 0, "recent_decisions": 0, "last_seen_at": f.at(time.Duration(i*31+2) * time.Minute), "status": "idle"}
		for k, v := range a {
			c[k] = v
		}
		switch i {
		case 2:
			c["active_runs"], c["status"] = 1, "active"
		case 3:
			c["pending_reviews"], c["status"] = 1, "needs_review"
		}
		colleagues = append(colleagues, c)
	}
	return object{
		"workspace_dir": "/home/ada/acme", "generated_at": now,
		"index_sync_worker": object{"enabled": true, "running": false, "pending_workspaces": 0},
		"heartbeat":         object{"enabled": true, "running": false, "tick_interval_minutes": 20, "top_k_workers": 2, "min_wake_score": 3, "last_tick_at": f.at(8 * time.Minute), "next_tick_at": f.at(-12 * time.Minute), "stats": object{"ticks_total": 41, "workers_woken_total": 17, "actions_executed_total": 6, "approvals_queued_total": 2}},
		"monitor":           object{"generated_at": now, "jobs": object{"queued": 1, "running": 1, "completed": 7, "canceled": 0}, "rows": append([]object{}, f.runs...)},
		"review_inbox":      object{"parse_errors": object{"has_parse_errors": false}, "pending": append([]object{}, f.pending...), "recent_decisions": append([]object{}, f.decisions...)},
		"usage_analytics":   object{}, "colleagues": colleagues, "comments": append([]object{}, f.comments...),
	}
}

func (f *fake) call(w http.ResponseWriter, r *http.Request) {
	var p struct {
		Method string
		Params object
	}
	_ = json.NewDecoder(r.Body).Decode(&p)
	f.note(p.Method)
	f.mu.Lock()
	result := f.result(p.Method, p.Params)
	f.mu.Unlock()
	if p.Method == "ui.resolve" {
		result = f.resolve(p.Params)
	}
	if result == nil {
		reply400(w, http.StatusNotFound, "Unknown method: "+p.Method)
		return
	}
	f.give(w, object{"result": result})
}

func (f *fake) result(method string, p object) any {
	id, _ := p["artifact_id"].(string)
	switch method {
	case "workspace.agents.list":
		return f.agents
	case "workspace.teams.list":
		return []object{{"team_id": "team_payments", "name": "Payments"}, {"team_id": "team_platform", "name": "Platform"}}
	case "task.list":
		tasks := []object{}
		for _, t := range f.tasks {
			tasks = append(tasks, object{"task_id": t["id"], "frontmatter": t})
		}
		return object{"tasks": tasks}
	case "index.list_runs":
		return f.indexed()
	case "index.list_events":
		list := []object{}
		log := f.logs[p["run_id"].(string)]
		for i := len(log) - 1; i >= 0; i-- {
			list = append(list, object{"seq": i + 1, "type": log[i]["type"], "payload_json": f.told(log[i]["payload"])})
		}
		return list
	case "run.transcript":
		tail, _ := p["tail"].(float64)
		return f.transcribed(p["run_id"].(string), int(tail))
	case "interaction.list":
		return object{"interactions": f.asks(), "open": 2}
	case "run.policy.get":
		return object{"run_id": p["run_id"], "live": false, "policy": object{"mode": "default", "permission_level": "run-commands", "rules": []object{{"operation": "fs_exec", "effect": "allow", "glob": "git *", "id": "rule_1"}}}}
	case "run.replay":
		if p["run_id"] == brokenRun {
			return object{"events": f.logs[brokenRun], "parse_issues": []any{}, "verification_issues": []object{{"seq": 3, "code": "event_hash_mismatch", "message": "the hash is not that of the event"}}, "deterministic_ok": false}
		}
		return object{"events": append([]object{}, f.logs[p["run_id"].(string)]...), "parse_issues": []any{}, "verification_issues": []any{}, "deterministic_ok": true}
	case "session.stop":
		for _, run := range f.runs {
			if run["session_ref"] == p["session_ref"] {
				run["live_status"], run["run_status"] = "stopped", "stopped"
			}
		}
		return object{"status": "running"}
	case "memory.preview_delta":
		return object{"artifact_id": id, "target_file": "work/projects/proj_atlas/memory.md", "state": "fits", "hash": "5f2c", "decision": "pending",
			"diff": "--- work/projects/proj_atlas/memory.md\n+++ work/projects/proj_atlas/memory.md\n@@ -12,6 +12,8 @@\n ## Transfers\n \n - A transfer has exactly one booking on each side.\n+- A retry carries the idempotency key of the first try; a retry without one is refused.\n+- Timeouts are retried after 2, 8 and 30 seconds, then handed to a person.\n - Amounts are integers of the smallest unit.\n \n ## Reports\n"}
	case "artifact.read":
		return object{"artifact_id": id, "frontmatter": object{"evidence": []string{"art_evidence_01"}}, "markdown": "---\ntype: memory_delta\n---\n\n## Summary\n\nTransfers were booked twice when a retry followed a timeout. Both rules come from run 0002, where the fix was tested.\n\n## Evidence\n\n- The test `TestRetryAfterTimeout` fails without the key.\n- 14 rows of the nightly batch have this cause.\n"}
	case "inbox.list_reviews":
		list := []object{}
		for _, d := range f.decisions {
			list = append(list, object{"id": d["review_id"], "policy": object{"allowed": true, "rule_id": "approve.manager", "reason": "manager_may_approve"}})
		}
		return list
	case "pm.snapshot":
		return f.plan()
	case "pm.recommend_allocations":
		list := []object{}
		for i, t := range f.tasks[3:] {
			list = append(list, object{"task_id": t["id"], "preferred_agent_id": []string{"agent_kei", "agent_ada", "agent_noor"}[i%3], "preferred_provider": "codex", "token_budget_hint": 12000 + i*6000, "rationale": "Kei Tanaka has the lowest load in the team of this task."})
		}
		return object{"recommendations": list}
	case "pm.apply_allocations":
		return object{"updated_task_ids": []string{"task_3", "task_4"}}
	case "agent.profile.snapshot":
		return object{"agent": object{"tenure_days": 80}, "metrics": object{"total_runs": 31, "running_runs": 1, "failed_runs": 2, "total_tokens": 1284000, "total_cost_usd": 18.42, "context_cycles_count": 4}}
	}
	return f.machinery(method, p)
}

// machinery answers for conversations and health.
func (f *fake) machinery(method string, p object) any {
	switch method {
	case "conversation.list":
		channel := func(id, kind, name, scope, visibility string) object {
			return object{"id": id, "scope": scope, "project_id": "proj_atlas", "kind": kind, "name": name, "slug": name, "visibility": visibility, "participants": object{"agent_ids": []string{"human_ceo", "agent_global_manager", "agent_noor", "agent_ada"}, "team_ids": []string{}}}
		}
		if p["scope"] == "workspace" {
			return []object{channel("conv_workspace_home", "home", "Workspace Home", "workspace", "org")}
		}
		dm := channel("conv_dm", "dm", "DM: agent_kei", "project", "private_agent")
		dm["dm_peer_agent_id"] = "agent_kei"
		return []object{channel("conv_home", "home", "Home", "project", "org"), channel("conv_exec", "channel", "Executive Meeting", "project", "org"), channel("conv_pay", "channel", "Payments", "project", "team"), dm}
	case "conversation.messages.list":
		if p["conversation_id"] == "conv_dm" {
			return []object{}
		}
		return append([]object{}, f.messages...)
	case "conversation.message.send":
		m := object{"id": fmt.Sprintf("msg_%d", len(f.messages)), "created_at": f.at(0), "author_id": "human_ceo", "author_role": "manager", "kind": "text", "body": p["body"]}
		f.messages = append(f.messages, m)
		return object{"message": m}
	case "workspace.doctor":
		return object{"ok": true, "checks": []object{
			{"id": "workspace.schema", "status": "pass", "message": "every document fits its schema", "duration_ms": 14},
			{"id": "machine.config", "status": "pass", "message": ".local/machine.yaml can be read", "duration_ms": 1},
			{"id": "providers.cli", "status": "warn", "message": "one of three agent CLIs is missing", "details": []string{"gemini_cli: binary not found: gemini"}, "hint": "Install gemini so that it is in PATH, or say where it lies under provider_bins in .local/machine.yaml.", "duration_ms": 31},
			{"id": "repos.mappings", "status": "pass", "message": "2 repository mappings can be used", "duration_ms": 2},
			{"id": "index.rebuild", "status": "pass", "message": "the index is fresh", "duration_ms": 5}}}
	case "adapter.status":
		return []object{{"name": "codex_app_server", "available": true}, {"name": "codex_cli", "available": true}, {"name": "claude_cli", "available": true}, {"name": "gemini_cli", "available": false, "reason": "binary not found: gemini"}}
	case "index.sync_worker_status":
		return object{"enabled": true, "running": false, "pending_workspaces": 0, "last_run_at_ms": f.origin.UnixMilli(), "total_workspace_sync_attempts": 312, "total_workspace_sync_errors": 0, "last_error_message": nil}
	case "workspace.projects.list":
		return object{"projects": []object{{"project_id": "proj_atlas", "name": "Atlas payments", "repo_links": []object{{"repo_id": "repo_ledger", "label": "ledger"}, {"repo_id": "repo_admin", "label": "admin"}}}}}
	}
	return nil
}

// asks are what two agents wait for.
func (f *fake) asks() []object {
	ask := func(id, kind, run, agent, title string, more object) object {
		record := object{"interaction_id": id, "kind": kind, "run_id": run, "project_id": "proj_atlas", "agent_id": agent, "turn": 1, "title": title, "prompt": "", "requested_at": f.at(time.Minute), "expires_at": f.at(-4 * time.Minute), "on_timeout": "deny", "state": "open"}
		for k, v := range more {
			record[k] = v
		}
		return record
	}
	return []object{
		ask("int_01", "permission", "run_01M7WQSZBK0000", "agent_ada", "Edit ledger/retry.go", object{"prompt": "The agent wants to change a file.", "tool": "fileChange", "operation": "fs_write", "resource": "ledger/retry.go",
			"diff":    "--- a/ledger/retry.go\n+++ b/ledger/retry.go\n@@ -40,3 +40,4 @@\n func retry(t Transfer) error {\n-\treturn book(t)\n+\tt.Key = first(t).Key\n+\treturn book(t)\n }\n",
			"options": []object{{"option_id": "allow", "label": "Allow once", "effect": "allow", "scope": "once"}, {"option_id": "allow_session", "label": "Allow for this session", "effect": "allow", "scope": "session"}, {"option_id": "deny", "label": "Deny", "effect": "deny", "scope": "once"}}}),
		ask("int_02", "question", "run_01M7WQSZBK0001", "agent_noor", "Which rows first?", object{"expires_at": nil, "questions": []object{{"question_id": "q1", "header": "Rows", "question": "Which rows shall I compare first?", "multi_select": true, "free_text": true, "secret": false, "options": []object{{"label": "The 14 unmatched ones"}, {"label": "All of last night"}}}}}),
	}
}

func (f *fake) indexed() []object {
	list := []object{}
	for i, r := range f.runs {
		row := object{"project_id": "proj_atlas", "run_id": r["run_id"], "created_at": r["created_at"], "status": r["run_status"], "provider": r["provider"], "agent_id": r["agent_id"], "usage_total_tokens": nil, "usage_cost_usd": nil, "usage_source": nil, "spec_task_id": fmt.Sprintf("task_%d", i%len(f.tasks))}
		if u, ok := r["token_usage"].(object); ok {
			row["usage_total_tokens"], row["usage_cost_usd"], row["usage_source"] = u["total_tokens"], u["cost_usd"], u["source"]
		}
		list = append(list, row)
	}
	for i := range 60 {
		row := object{"project_id": "proj_atlas", "run_id": fmt.Sprintf("run_past%d", i), "created_at": f.at(time.Duration(26+i*11) * time.Hour), "status": "ended", "provider": []string{"codex", "claude", "gemini"}[i%3], "agent_id": []string{"agent_ada", "agent_noor", "agent_kei", "agent_ilse"}[i%4], "usage_total_tokens": 12000 + (i*7919)%61000, "usage_cost_usd": 0.2 + float64((i*37)%90)/40, "usage_source": "provider_reported"}
		if i%3 == 2 {
			row["usage_source"], row["usage_cost_usd"] = "estimated_chars", nil
		}
		list = append(list, row)
	}
	return list
}

func (f *fake) plan() object {
	base := f.origin.Truncate(24 * time.Hour).Add(-6 * 24 * time.Hour)
	from, days, slack := []int{0, 3, 3, 6, 8, 12, 9, 15}, []int{3, 5, 3, 4, 4, 3, 2, 3}, []float64{0, 0, 2, 2, 0, 0, 7, 0}
	done := []float64{100, 60, 45, 20, 0, 0, 0, 0}
	needs := [][]string{{}, {"task_0"}, {"task_0"}, {"task_2"}, {"task_1"}, {"task_4"}, {"task_1"}, {"task_5", "task_3"}}
	tasks := []object{}
	for i, t := range f.tasks {
		start := base.Add(time.Duration(from[i]) * 24 * time.Hour)
		tasks = append(tasks, object{"task_id": t["id"], "title": t["title"], "status": t["status"], "assignee_agent_id": []string{"agent_ada", "agent_ada", "agent_noor", "agent_kei"}[i%4], "progress_pct": done[i], "start_at": start.Format(time.RFC3339), "end_at": start.Add(time.Duration(days[i]) * 24 * time.Hour).Format(time.RFC3339), "duration_days": days[i], "slack_days": slack[i], "critical": slack[i] == 0, "depends_on_task_ids": needs[i]})
	}
	return object{
		"workspace": object{"summary": object{"project_count": 3, "active_runs": 2, "pending_reviews": 4, "total_tokens": 4812000, "progress_pct": 41.3, "blocked_projects": 1},
			"projects": []object{
				{"project_id": "proj_atlas", "name": "Atlas payments", "task_count": 8, "progress_pct": 28.1, "blocked_tasks": 1, "active_runs": 2, "pending_reviews": 4, "risk_flags": []string{"blocked_tasks", "pending_reviews"}},
				{"project_id": "proj_search", "name": "Search relevance", "task_count": 5, "progress_pct": 72, "blocked_tasks": 0, "active_runs": 0, "pending_reviews": 0, "risk_flags": []string{}},
				{"project_id": "proj_site", "name": "Public site", "task_count": 3, "progress_pct": 23.8, "blocked_tasks": 0, "active_runs": 0, "pending_reviews": 0, "risk_flags": []string{}}}},
		"project": object{"project_id": "proj_atlas", "summary": object{"task_count": 8, "done_tasks": 1, "blocked_tasks": 1, "in_progress_tasks": 2, "progress_pct": 28.1}, "gantt": object{"cpm_status": "ok", "project_span_days": 18, "tasks": tasks}},
	}
}
