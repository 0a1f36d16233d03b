package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"ac/conversation"
	"ac/runs/grant"
	"ac/runs/interaction"
	"ac/workspace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestToolsAreThoseOfTheSession(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	list, err := d.client.ListTools(t.Context(), nil)
	must(t, err)
	var names []string
	for _, tool := range list.Tools {
		names = append(names, fmt.Sprint(tool.Name, " ", tool.Annotations.ReadOnlyHint))
		for _, claimed := range []string{"run_id", "agent_id", "actor_id", "project_id", "workspace_dir"} {
			schema, _ := json.Marshal(tool.InputSchema)
			if strings.Contains(string(schema), `"`+claimed+`"`) {
				t.Errorf("%s takes %s", tool.Name, claimed)
			}
		}
	}
	want := []string{"ask_human true", "launch_job false", "list_jobs true", "my_messages false", "my_task true", "propose_memory false", "report_milestone false", "who_am_i true"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	if server := d.client.InitializeResult().ServerInfo; server.Name != "ac" || server.Version != "1" {
		t.Errorf("the server is %+v", server)
	}
	must(t, d.client.Ping(t.Context(), nil))
	for tool, arguments := range map[string]object{
		"who_am_i": {"run_id": "run_b"}, "my_task": {"task_id": "task_b"}, "my_messages": {"agent_id": "agent_mo"}, "ask_human": {"question": "q", "run_id": "r"},
		"propose_memory": {"scope": "project", "title": "t", "insert_lines": []string{"l"}, "rationale": "r", "produced_by": "human"},
		"list_jobs":      {"project_id": "p"}, "launch_job": {"goal": "g", "manager_actor_id": "human"},
		"report_milestone": {"title": "t", "summary": "s", "actor_id": "human"},
	} {
		d.refused(tool, arguments, "invalid_params: Invalid params: unknown: ")
	}
}

// TestHostileArguments checks that hostile arguments are refused before anything is written.
func TestHostileArguments(t *testing.T) {
	t.Parallel()
	d := newDesk(t, func(_ *desk, id *grant.Identity) { id.Interactive, id.LaunchJobs = true, true })
	for _, c := range []struct {
		tool      string
		arguments object
		want      string
	}{
		{"ask_human", object{"interaction_id": "../../events"}, "invalid_params: "},
		{"ask_human", object{"interaction_id": "int_of_another_run"}, "interaction_not_found: "},
		{"ask_human", object{"question": strings.Repeat("x", 20_000)}, "invalid_params: "},
		{"ask_human", object{"question": strings.Repeat("x", 300_000)}, "too_large: "},
		{"ask_human", object{"question": "clear \x1b[2J"}, "invalid_params: the arguments contain the control character"},
		{"ask_human", object{"question": "q", "options": []string{"a", strings.Repeat("x", 20_000)}}, "invalid_params: "},
		{"ask_human", object{"question": "q", "options": []string{"a", " "}}, "invalid_params: "},
		{"ask_human", object{"question": "q", "wait_ms": -1}, "invalid_params: "},
		{"propose_memory", object{"scope": "agent", "target_agent_id": "../human", "title": "t", "insert_lines": []string{"l"}, "rationale": "r"}, "invalid_params: "},
		{"propose_memory", object{"scope": "project", "title": "t\x00", "insert_lines": []string{"l"}, "rationale": "r"}, "invalid_params: "},
		{"report_milestone", object{"task_id": "../t", "milestone_id": "m", "title": "t", "summary": "s"}, "invalid_params: "},
		{"launch_job", object{"goal": "g", "worker_agent_id": "../a"}, "invalid_params: "},
		{"launch_job", object{"goal": "g", "permission_level": "full"}, "invalid_params: "},
		{"launch_job", object{"goal": strings.Repeat("x", 70_000)}, "invalid_params: "},
	} {
		d.refused(c.tool, c.arguments, c.want)
	}
	if asked, _ := d.supervisor.Asked("int_A"); asked.InteractionID != "" || len(d.supervisor.Jobs()) > 0 {
		t.Errorf("something came of it: %+v %v", asked, d.supervisor.Jobs())
	}
}

func TestWhoAmI(t *testing.T) {
	t.Parallel()
	d := newDesk(t, func(_ *desk, id *grant.Identity) { id.TaskID, id.MilestoneID = "task_a", "ms_1" })
	me := d.must("who_am_i", nil)
	want := object{
		"agent": object{"id": d.agent, "name": "ann", "role": "worker", "team_id": d.team}, "run_id": d.run,
		"project": object{"id": d.project, "name": "Checkout"}, "company": "Acme", "task_id": "task_a", "milestone_id": "ms_1",
		"permission_level": "patch", "mode": "default", "working_dir": "/repo",
	}
	colleagues, _ := me["colleagues"].([]any)
	delete(me, "colleagues")
	if diff := cmp.Diff(want, me); diff != "" {
		t.Error(diff)
	}
	ids := fmt.Sprint(colleagues)
	if !strings.Contains(ids, "agent_mo") || !strings.Contains(ids, "agent_zoe") || strings.Contains(ids, d.agent) {
		t.Errorf("the colleagues are %s", ids)
	}
}

func TestManyColleagues(t *testing.T) {
	t.Parallel()
	d := newDesk(t, func(d *desk, id *grant.Identity) {
		for i := range 110 {
			d.hire(fmt.Sprintf("agent_many_%03d", i), "worker", "team_pay")
		}
		id.AgentID = "agent_without_a_record"
	})
	me := d.must("who_am_i", nil)
	if n := len(me["colleagues"].([]any)); n != 100 || pick(me, "agent", "role") != "worker" {
		t.Errorf("%d colleagues of %v", n, me["agent"])
	}
}

func TestMyTask(t *testing.T) {
	t.Parallel()
	d := newDesk(t, func(d *desk, id *grant.Identity) { id.TaskID = d.task("task_a", "team", d.agent, "ready") })
	task := d.must("my_task", nil)
	if pick(task, "task", "id") != "task_a" || !strings.Contains(pick(task, "task", "body").(string), "Do it.") || len(pick(task, "task", "milestones").([]any)) != 1 ||
		pick(task, "task", "schedule", "planned_start") != "2026-02-01" {
		t.Errorf("%v", task)
	}
	d = newDesk(t, func(d *desk, id *grant.Identity) { id.TaskID = d.task("task_a", "managers", d.agent, "ready") })
	d.refused("my_task", nil, "denied: Policy denied read: vis.managers")
	d = newDesk(t, func(_ *desk, id *grant.Identity) { id.TaskID = "task_none" })
	d.refused("my_task", nil, "not_found: ")
}

func TestAssignedTasks(t *testing.T) {
	t.Parallel()
	d := newDesk(t, func(d *desk, _ *grant.Identity) {
		d.task("task_a", "team", d.agent, "ready")
		d.task("task_b", "private_agent", d.agent, "in_progress")
		d.task("task_done", "team", d.agent, "done")
		d.task("task_hidden", "managers", d.agent, "ready")
		d.task("task_other", "team", "agent_mo", "ready")
	})
	data, _ := json.Marshal(d.must("my_task", nil))
	want := `{"assigned":[{"id":"task_a","status":"ready","title":"Task task_a"},{"id":"task_b","status":"in_progress","title":"Task task_b"}]}`
	if string(data) != want {
		t.Errorf("%s, want %s", data, want)
	}
}

func TestMyMessages(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	ctx := t.Context()
	own, err := conversation.CreateChannel(ctx, d.w, conversation.Space{Project: d.project}, conversation.Channel{Name: "Pay", Slug: "pay", Visibility: "team", CreatedBy: d.manager, TeamIDs: []string{d.team}})
	must(t, err)
	open, err := conversation.CreateChannel(ctx, d.w, conversation.Space{}, conversation.Channel{Name: "All", Slug: "all", Visibility: "org", CreatedBy: d.manager})
	must(t, err)
	closed, err := conversation.CreateChannel(ctx, d.w, conversation.Space{}, conversation.Channel{Name: "Managers", Slug: "m", Visibility: "managers", CreatedBy: d.manager})
	must(t, err)
	send := func(p conversation.Space, id, author, body string, mentions ...string) {
		role := "manager"
		if author == d.agent {
			role = "worker"
		}
		_, _, err := conversation.Send(ctx, d.w, p, id, conversation.Draft{AuthorID: author, AuthorRole: role, Body: body, Kind: "text", Mentions: mentions})
		must(t, err)
	}
	in := conversation.Space{Project: d.project}
	send(in, own.ID, d.manager, "one")
	send(in, own.ID, d.agent, "mine")
	send(conversation.Space{}, open.ID, d.manager, "to nobody")
	send(conversation.Space{}, open.ID, d.manager, "to ann", d.agent)
	send(conversation.Space{}, closed.ID, d.manager, "about ann", d.agent)
	send(in, own.ID, d.manager, "two")
	bodies := func(arguments object) (list []string, more bool) {
		data := d.must("my_messages", arguments)
		for _, m := range data["messages"].([]any) {
			list = append(list, pick(m, "body").(string))
		}
		return list, data["more"].(bool)
	}
	check := func(arguments object, more bool, want ...string) {
		t.Helper()
		if got, left := bodies(arguments); !cmp.Equal(got, want) || left != more {
			t.Errorf("%v: %q %v, want %q %v", arguments, got, left, want, more)
		}
	}
	check(object{"mark_read": false}, false, "one", "to ann", "two")
	check(object{"limit": 2}, true, "one", "to ann")
	check(nil, false, "two")
	check(nil, false)
	check(object{"unread_only": false, "limit": 2}, true, "to ann", "two")
	check(object{"unread_only": false}, false, "one", "mine", "to ann", "two")
	send(in, own.ID, d.manager, "three")
	check(nil, false, "three")
	// A malformed file counts as empty.
	d.put(workspace.ReadPositionsFile(d.agent), "{")
	check(object{"mark_read": false}, false, "one", "to ann", "two", "three")
	first := d.must("my_messages", object{"limit": 1, "mark_read": false})["messages"].([]any)[0].(object)
	if first["from"] != d.manager || first["conversation"] != own.ID || first["at"] == "" || first["id"] == "" {
		t.Errorf("%v", first)
	}
	d.refused("my_messages", object{"limit": 101}, "invalid_params: ")
}

func TestAskHuman(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	asked := d.must("ask_human", object{"question": "Which host?", "wait_ms": 0})
	id := asked["interaction_id"].(string)
	if asked["state"] != "open" {
		t.Errorf("%v", asked)
	}
	answered := make(chan object)
	go func() {
		result, err := d.client.CallTool(context.Background(), &sdk.CallToolParams{Name: "ask_human", Arguments: object{"interaction_id": id, "wait_ms": 600000}})
		if err != nil {
			answered <- object{"failed": err}
			return
		}
		data, _ := result.StructuredContent.(object)
		answered <- data
	}()
	words := "staging"
	d.supervisor.Resolve(t, id, &interaction.Answer{Text: &words, By: "human"})
	if diff := cmp.Diff(object{"interaction_id": id, "state": "answered", "answer": "staging", "by": "human"}, <-answered); diff != "" {
		t.Error(diff)
	}
	choice := d.must("ask_human", object{"question": "Which?", "options": []string{"Red", "Blue", "Green"}, "multi_select": true, "context": "c", "expires_ms": 1000, "wait_ms": 0})["interaction_id"].(string)
	d.supervisor.Resolve(t, choice, &interaction.Answer{Answers: map[string][]string{grant.AnswerID: {"Red", "Green"}}, By: "ann"})
	want := object{"interaction_id": choice, "state": "answered", "answer": "Red, Green", "answers": []any{"Red", "Green"}, "by": "ann"}
	if diff := cmp.Diff(want, d.must("ask_human", object{"interaction_id": choice})); diff != "" {
		t.Error(diff)
	}
	gone := d.must("ask_human", object{"question": "q", "wait_ms": 0})["interaction_id"].(string)
	d.supervisor.Resolve(t, gone, nil)
	if got := d.must("ask_human", object{"interaction_id": gone}); got["state"] != "cancelled" || got["answer"] != nil {
		t.Errorf("%v", got)
	}
	for range grant.MaxOpen {
		d.must("ask_human", object{"question": "q", "wait_ms": 0})
	}
	d.refused("ask_human", object{"question": "q"}, "too_many_open: ")
	d.refused("ask_human", object{"interaction_id": "int_none"}, "interaction_not_found: ")
	for _, wrong := range []object{
		{}, {"question": " "}, {"question": "q", "options": []string{"a"}}, {"question": "q", "options": []string{}}, {"question": "q", "options": strings.Split("123456789", "")},
		{"question": "q", "multi_select": true}, {"question": "q", "wait_ms": 600001}, {"question": "q", "expires_ms": 999}, {"interaction_id": "i", "question": "q"},
		{"interaction_id": "i", "context": "c"}, {"question": strings.Repeat("x", 16<<10+1)},
	} {
		d.refused("ask_human", wrong, "invalid_params: ")
	}
}

func TestNobodyToAsk(t *testing.T) {
	t.Parallel()
	d := newDesk(t, func(_ *desk, id *grant.Identity) { id.Interactive = false })
	d.refused("ask_human", object{"question": "q"}, "not_interactive: ")
}

// TestWaitingCallsAreCalledOff checks that a waiting call does not block other calls, and ends when
// the agent cancels it.
func TestWaitingCallsAreCalledOff(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := d.client.CallTool(ctx, &sdk.CallToolParams{Name: "ask_human", Arguments: object{"question": "q", "wait_ms": 600000}})
		ended <- err
	}()
	for asked := false; !asked; {
		d.must("who_am_i", nil)
		d.now.Add(2) // stay below the rate limit
		_, asked = d.supervisor.Asked("int_A")
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("the call was answered")
	}
	if got := d.must("ask_human", object{"interaction_id": "int_A", "wait_ms": 0}); got["state"] != "open" {
		t.Errorf("%v", got)
	}
}

func TestProposals(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	made := d.must("propose_memory", object{"scope": "project", "title": "Tabs", "insert_lines": []string{"- Use tabs"}, "rationale": "The linter wants them."})
	id := made["artifact_id"].(string)
	if made["status"] != "waiting for approval" {
		t.Errorf("%v", made)
	}
	text, err := d.w.Read(workspace.ArtifactsDir(d.project) + "/" + id + ".md")
	must(t, err)
	for _, part := range []string{"produced_by: " + d.agent, "run_id: " + d.run, "scope_kind: project_memory", "- " + d.run, "The linter wants them."} {
		if !strings.Contains(string(text), part) {
			t.Errorf("the proposal lacks %q:\n%s", part, text)
		}
	}
	for _, target := range []string{d.agent, d.mate} {
		arguments := object{"scope": "agent", "title": "T", "insert_lines": []string{"- l"}, "rationale": "r", "target_agent_id": target, "under_heading": "## Habits"}
		if target == d.agent {
			delete(arguments, "target_agent_id")
		}
		id := d.must("propose_memory", arguments)["artifact_id"].(string)
		if text, err := d.w.Read(workspace.ArtifactsDir(d.project) + "/" + id + ".md"); err != nil || !strings.Contains(string(text), "scope_ref: "+target) {
			t.Errorf("%v:\n%s", err, text)
		}
	}
	d.refused("propose_memory", object{"scope": "project", "title": "t", "insert_lines": []string{"password = hunter2hunter2"}, "rationale": "r"}, "secret_detected: ")
	d.refused("propose_memory", object{"scope": "project", "title": "t", "insert_lines": []string{"l"}, "rationale": "r", "target_agent_id": d.mate}, "invalid_params: ")
	d.refused("propose_memory", object{"scope": "agent", "title": "t", "insert_lines": []string{"l"}, "rationale": "r", "target_agent_id": "agent_none"}, "not_found: ")
	d.refused("propose_memory", object{"scope": "company", "title": "t", "insert_lines": []string{}, "rationale": "r"}, "invalid_params: ")
}

func TestReports(t *testing.T) {
	t.Parallel()
	d := newDesk(t, func(d *desk, id *grant.Identity) {
		id.TaskID, id.MilestoneID = d.task("task_a", "team", d.agent, "in_progress"), "ms_1"
		d.task("task_b", "team", d.mate, "in_progress")
	})
	made := d.must("report_milestone", object{"title": "Done", "summary": "It **works**.", "evidence_artifact_ids": []string{"art_1"}, "tests": []string{"art_2"}})
	text, err := d.w.Read(workspace.ArtifactsDir(d.project) + "/" + made["artifact_id"].(string) + ".md")
	must(t, err)
	for _, part := range []string{"type: milestone_report", "task_id: task_a", "milestone_id: ms_1", "produced_by: " + d.agent, "run_id: " + d.run, "## Summary\n\nIt **works**.\n\n## Evidence\n\n- art_1\n- art_2\n"} {
		if !strings.Contains(string(text), part) {
			t.Errorf("the report lacks %q:\n%s", part, text)
		}
	}
	d.must("report_milestone", object{"task_id": "task_b", "title": "Done", "summary": "s"})
	d.refused("report_milestone", object{"milestone_id": "ms_9", "title": "Done", "summary": "s"}, "not_found: ")
	bare := newDesk(t, nil)
	bare.refused("report_milestone", object{"title": "Done", "summary": "s"}, "invalid_params: ")
}

// TestSecretsOfTheSessionAreMasked checks that the supervisor's mask applies to everything
// recorded.
func TestSecretsOfTheSessionAreMasked(t *testing.T) {
	t.Parallel()
	d := newDesk(t, func(d *desk, id *grant.Identity) {
		id.TaskID, id.MilestoneID = d.task("task_a", "team", d.agent, "in_progress"), "ms_1"
		d.supervisor.Masked = func(value []byte) []byte { return []byte(strings.ReplaceAll(string(value), "hunter2", "[REDACTED]")) }
	})
	made := d.must("report_milestone", object{"title": "Done", "summary": "It is hunter2."})
	text, err := d.w.Read(workspace.ArtifactsDir(d.project) + "/" + made["artifact_id"].(string) + ".md")
	if err != nil || strings.Contains(string(text), "hunter2") || !strings.Contains(string(text), "It is [REDACTED].") {
		t.Errorf("%v:\n%s", err, text)
	}
	shown, _ := d.supervisor.Asked(d.must("ask_human", object{"question": "Is it hunter2?", "wait_ms": 0})["interaction_id"].(string))
	if shown.Prompt != "Is it [REDACTED]?" {
		t.Errorf("people see %s", shown.Prompt)
	}
}

func TestCallsAreLimited(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	for range grant.CallsPerMinute {
		d.must("list_jobs", nil)
	}
	d.refused("list_jobs", nil, "rate_limited: ")
	d.now.Add(60)
	d.must("list_jobs", nil)
}

func TestTheEndOfTheSession(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	d.must("who_am_i", nil)
	d.supervisor.End()
	d.refused("who_am_i", nil, "denied: the session is over")
}
