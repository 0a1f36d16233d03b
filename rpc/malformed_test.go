package rpc

// Malformed params, generated from the table: every method, every param, every
// way to get it wrong, alone and in pairs.

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// filters lists params that name records but never become part of a path, so any
// text is valid.
var filters = map[string][]string{
	"session.list":                  {"project_id", "run_id"},
	"comment.add":                   {"author_id"},
	"index.list_runs":               {"project_id"},
	"index.list_events":             {"project_id", "run_id"},
	"index.list_event_parse_errors": {"project_id", "run_id"},
	"index.list_reviews":            {"project_id"},
	"index.list_help_requests":      {"project_id"},
	"events.subscribe":              {"project_id", "run_id", "subscription_id"},
	"events.unsubscribe":            {"subscription_id"},
	"events.ack":                    {"subscription_id"},
	"room.subscribe":                {"subscription_id"},
	"room.unsubscribe":              {"subscription_id"},
	"workspace.agents.list":         {"team_id"},
	"session.launch":                {"repo_id", "actor_id", "actor_team_id"},
	"run.start":                     {"repo_id", "actor_id", "actor_team_id", "client_message_id", "expect_plan"},
	"run.retry":                     {"actor_id", "actor_team_id", "client_message_id", "expect_plan"},
	"run.policy.set":                {"actor_id", "actor_team_id"},
	"policy.defaults.set":           {"actor_id", "actor_team_id"},
	"inbox.resolve":                 {"actor_id", "actor_team_id"},
	"run.steer":                     {"actor_id", "actor_team_id", "client_message_id"},
	"run.interrupt":                 {"actor_id", "actor_team_id"},
	"run.attach":                    {"actor_id", "actor_team_id"},
	"run.compact":                   {"actor_id", "actor_team_id"},
	"run.plan.clear":                {"actor_id", "actor_team_id"},
	"feedback.submit":               {"actor_id", "actor_team_id"},
	"code.explain":                  {"actor_id", "repo_id"},
	"code.review":                   {"actor_id", "repo_id"},
	"code.refactor":                 {"actor_id", "repo_id"},
	"code.generate_tests":           {"actor_id", "repo_id"},
	"code.scan":                     {"actor_id", "repo_id"},
	"run.continue":                  {"actor_id", "actor_team_id", "client_message_id"},
	"interaction.respond":           {"actor_id", "actor_team_id", "option_id"},
	"ui.resolve":                    {"actor_id", "actor_team_id"},
	"needs.get":                     {"need_id"},
	"artifact.evidence":             {"actor_id", "actor_team_id"},
	"inbox.resolve_many":            {"actor_id", "actor_team_id"},
	"run.review":                    {"actor_id", "actor_team_id", "client_message_id"},
	"task.create":                   {"actor_id", "actor_team_id"},
	"workspace.mend":                {"actor_id", "actor_team_id"},
	"search.query":                  {"actor_id", "actor_team_id"},
	"model.profile.put":             {"actor_id", "actor_team_id"},
	"hub.config":                    {"actor_id", "actor_team_id"},
	"worker.invite":                 {"actor_id", "actor_team_id"},
	"worker.update":                 {"actor_id", "actor_team_id"},
	"worker.drain":                  {"actor_id", "actor_team_id"},
	"worker.revoke":                 {"actor_id", "actor_team_id"},
	"session.abandon":               {"actor_id", "actor_team_id"},
	"skill.list":                    {"repo_id"}, "skill.read": {"repo_id"},
	"terminal.create":                        {"actor_id", "actor_team_id"},
	"terminal.read":                          {"terminal_id", "actor_id", "actor_team_id"},
	"terminal.attach":                        {"terminal_id", "actor_id", "actor_team_id"},
	"terminal.write":                         {"terminal_id", "actor_id", "actor_team_id"},
	"terminal.resize":                        {"terminal_id", "actor_id", "actor_team_id"},
	"terminal.rename":                        {"terminal_id", "actor_id", "actor_team_id"},
	"terminal.close":                         {"terminal_id", "actor_id", "actor_team_id"},
	"terminal.detach":                        {"subscription_id"},
	"model.profile.remove":                   {"actor_id", "actor_team_id"},
	"model.profile.set_default":              {"actor_id", "actor_team_id"},
	"model.profile.probe":                    {"actor_id", "actor_team_id"},
	"mcp.server.put":                         {"actor_id", "actor_team_id"},
	"mcp.server.remove":                      {"actor_id", "actor_team_id"},
	"mcp.server.replace":                     {"actor_id", "actor_team_id"},
	"needs.dismiss":                          {"actor_id", "actor_team_id"},
	"needs.restore":                          {"actor_id", "actor_team_id"},
	"help.get":                               {"actor_id", "actor_team_id"},
	"help.answer":                            {"actor_id", "actor_team_id"},
	"milestone.approve":                      {"actor_id", "actor_team_id"},
	"artifact.read":                          {"actor_id", "actor_team_id"},
	"artifact.apply":                         {"actor_id", "actor_team_id", "preview_id"},
	"artifact.revert":                        {"actor_id", "actor_team_id"},
	"run.land":                               {"actor_id", "actor_team_id"},
	"memory.approve_delta":                   {"actor_id", "actor_team_id"},
	"memory.propose_delta":                   {"run_id", "context_pack_id", "scope_ref"},
	"usage.reconciliation.record":            {"statement_id"},
	"pipeline.client_intake.run":             {"ceo_actor_id"},
	"context.plan_for_job":                   {"manager_actor_id", "manager_team_id"},
	"memory.extract_candidates":              {"actor_id", "actor_team_id"},
	"memory.list_deltas":                     {"actor_id", "actor_team_id"},
	"workspace.repo_root.set":                {"repo_id"},
	"workflow.put":                           {"actor_id"},
	"workflow.run":                           {"actor_id", "workflow_id"},
	"workflow.continue":                      {"actor_id"},
	"workflow.runs":                          {"workflow_id"},
	"workflow.get":                           {"workflow_id"},
	"workflow.check":                         {"workflow_id"},
	"agent.record_mistake":                   {"manager_actor_id"},
	"agent.self_improve_cycle":               {"manager_actor_id", "evaluation_repo_id"},
	"workspace.project.link_repo":            {"repo_id"},
	"workspace.project.create_with_defaults": {"ceo_actor_id", "executive_manager_agent_id"},
	"desktop.bootstrap.snapshot":             {"actor_id"},
	"conversation.create_dm":                 {"peer_agent_id"},
	"conversation.message.send":              {"author_id"},
	"conversation.members.sync":              {"ceo_actor_id", "executive_manager_agent_id"},
}

// bench is a workspace with one project and one run, and valid params for every
// method.
type bench struct {
	peer  *peer
	dir   string
	valid map[string]object
}

// TestMalformedParams sends at least 5,000 malformed requests. Each is answered
// once, with its id, -32602 and every bad field. Nothing is written. A valid
// request sent after it succeeds.
func TestMalformedParams(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	before := tree(t, b.dir)
	total := 0
	for _, m := range NewTable("").Methods() {
		valid, known := b.valid[m.Name]
		if !known {
			t.Errorf("%s has no valid params here", m.Name)
			continue
		}
		for _, bad := range malformedOf(m) {
			if m.Name == "model.profile.set_default" && strings.Contains(bad.what, "name null") {
				continue // null is valid: no default
			}
			params := maps.Clone(valid)
			bad.change(params)
			b.refused(t, m.Name, params, bad)
			total++
		}
		for _, params := range []any{[]any{}, []any{valid}, "text", 7, 1.5, true, false, ""} {
			b.refused(t, m.Name, params, malformed{what: fmt.Sprintf("params %v", params), fields: []string{""}})
			total++
		}
	}
	if after := tree(t, b.dir); !maps.Equal(truth(before), truth(after)) {
		t.Errorf("something was written:\n%v\n%v", before, after)
	}
	if total < 5000 {
		t.Errorf("only %d malformed requests", total)
	}
	t.Logf("%d malformed requests", total)
	notLive := []string{"run.continue", "run.review", "run.retry", "run.compact", "run.steer", "run.interrupt", "interaction.respond"}
	for _, m := range NewTable("").Methods() {
		if slices.Contains(notLive, m.Name) {
			continue // well formed, but the run has no live session
		}
		if strings.HasPrefix(m.Name, "job.") || m.Name == "pipeline.department.assign_tasks" || m.Name == "memory.extract_candidates" {
			continue // well formed, but what it names does not exist
		}
		if strings.HasPrefix(m.Name, "terminal.") || m.Name == "model.profile.set_default" || m.Name == "model.profile.probe" {
			continue // well formed, but the console or profile does not exist
		}
		if strings.HasPrefix(m.Name, "worker.") && m.Name != "worker.list" || m.Name == "hub.config" || m.Name == "session.abandon" {
			continue // well formed, but the hub does not run
		}
		if strings.HasPrefix(m.Name, "code.") {
			continue // well formed, but the agent does not exist
		}
		if m.Name == "run.changes" || m.Name == "run.land" || strings.HasPrefix(m.Name, "artifact.") && m.Name != "artifact.read" && m.Name != "artifact.checkpoints" {
			continue // well formed, but the run has no worktree
		}
		b.peer.call(m.Name, b.valid[m.Name], nil)
	}
	b.awaitRunners(t)
}

// awaitRunners waits until no job runner holds a lock of the workspace.
func (b *bench) awaitRunners(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		held, err := filepath.Glob(filepath.Join(b.dir, ".local/locks/job-*"))
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("runners hold %v (%v)", held, err)
		}
		if len(held) == 0 {
			return
		}
	}
}

// truth removes from a tree the index, which the server refreshes by itself, and the
// entries of the folders .local and locks.
func truth(tree map[string]string) map[string]string {
	maps.DeleteFunc(tree, func(name, _ string) bool {
		base := filepath.Base(name)
		return strings.HasPrefix(base, "index.") || base == ".local" || base == "locks"
	})
	return tree
}

// malformedOf lists the malformed requests of a method: each fault alone, then
// pairs of faults of different params.
func malformedOf(m Method) (list []malformed) {
	schema := m.params().Schema()
	byField := map[string][]malformed{}
	for _, field := range m.params().Names() {
		byField[field] = wrongs(m.Name, field, schema.Properties[field], slices.Contains(schema.Required, field))
		list = append(list, byField[field]...)
	}
	const pairs = 12 // per fault
	names := m.params().Names()
	for i, first := range names {
		for j, bad := range byField[first] {
			for k := range min(pairs, len(names)-1) {
				second := names[(i+1+(j+k)%(len(names)-1))%len(names)]
				other := byField[second][(j+k)%len(byField[second])]
				list = append(list, malformed{
					what:   bad.what + " and " + other.what,
					change: func(p object) { bad.change(p); other.change(p) },
					fields: []string{first, second},
				})
			}
		}
	}
	return list
}

var ids = []string{"1", `"a"`, "null", "-0.5", `""`, "1e3", "9007199254740993"}

func (b *bench) refused(t *testing.T, method string, params any, bad malformed) {
	t.Helper()
	text, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	b.peer.serial++
	id := ids[b.peer.serial%len(ids)]
	b.peer.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":` + string(text) + "}\n" + pingLine(`"then"`) + "\n")
	line := b.peer.next()
	a := b.peer.read(line)
	if string(a.ID) != id || a.Error == nil || a.Error.Code != CodeInvalidParams || a.Error.Message != "Invalid params" {
		t.Errorf("%s, %s: %s", method, bad.what, line)
	} else {
		for _, field := range bad.fields {
			want := `["` + field + `"`
			if field == "" {
				want = "[]"
			}
			if !slices.ContainsFunc(a.paths(t), func(path string) bool { return strings.HasPrefix(path, want) }) {
				t.Errorf("%s, %s: %s is not named: %s", method, bad.what, field, line)
			}
		}
	}
	if got := b.peer.next(); got != pong(`"then"`) {
		t.Fatalf("%s, %s: then %s", method, bad.what, got)
	}
}

// tree maps every path below a folder to its mode, time and content hash.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		var text []byte
		if e.Type().IsRegular() {
			if text, err = os.ReadFile(name); err != nil {
				return err
			}
		}
		found[name] = fmt.Sprintf("%v %v %x", info.Mode(), info.ModTime(), sha256.Sum256(text))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
