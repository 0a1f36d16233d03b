package comma

// Tests of the order of messages, of policies and of subscriptions.

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ac/dialect/dialecttest"

	"github.com/google/go-cmp/cmp"
)

// TestOrder checks that a delayed answer delays only messages that name its run, and that it
// precedes that run's events.
func TestOrder(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.server.delay = 2 * time.Second // long enough even on a busy machine
	c := s.dial()
	path := s.strategy("user.json", flowOf(object{"user": object{"type": "user"}}, object{"name": "F", "type": "sequential", "steps": []object{{"agent": "user"}}}))
	c.send("prepare_run", object{"runId": "o", "strategyPath": path})
	c.send("ping", nil)
	c.send("start_run", object{"runId": "o"})
	c.send("ping", nil)
	var got []string
	for len(got) < 6 {
		got = append(got, c.Next("the order").Type)
	}
	if got[0] != "pong" || got[1] != "run_prepared" {
		t.Error(got)
	}
	s.server.delay = prepareDelay
	late := s.dial()
	late.send("prepare_run", object{"runId": "o"})
	if first, second := late.Next("the answer"), late.Next("the open prompt"); first.Type != "run_prepared" || second.Type != "request_input" {
		t.Errorf("%s %s", first.raw, second.raw)
	}
	back := s.dial()
	if code, _ := back.refused("user_input", object{"runId": "o", "agentName": "nobody", "text": "x"}); code != "NO_PENDING_INPUT" {
		t.Error(code)
	}
	back.Await("it is subscribed by that", func(m message) bool { return m.Type == "request_input" })
}

// TestPolicy checks the policy rules of a run: which it reports, and when they can be set.
func TestPolicy(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.dial()
	c.prepare("p", s.one(), nil)
	if code, text := c.refused("update_policy", object{"runId": "p", "mode": "read", "allow": []string{"**"}}); code+" "+text != "RUN_NOT_FOUND No active run found for runId p" {
		t.Errorf("%s %s", code, text)
	}
	release := filepath.Join(t.TempDir(), "go")
	c.send("start_run", object{"runId": "p", "input": "hold " + release})
	c.Await("it works", func(m message) bool { return strings.Contains(string(m.Event), "holding") })
	c.send("update_policy", object{"runId": "p", "tool": "write_file", "mode": "write", "allow": []string{"src/**"}, "deny": []string{"src/x.py"}, "default": "ask"})
	m := c.Await("the rules", func(m message) bool { return m.is("policy_updated", "p") })
	want := []any{}
	for _, rule := range []string{"deny fs_write src/x.py", "deny fs_exec src/x.py", "allow fs_write src/**", "allow fs_exec src/**", "ask fs_write **", "ask fs_exec **"} {
		want = append(want, map[string]any{"name": rule})
	}
	if diff := cmp.Diff(any(want), m.field("policies")); diff != "" || m.field("tool") != "*" {
		t.Error(diff, m.raw)
	}
	c.send("update_policy", object{"runId": "p", "mode": "read"})
	c.Await("the rules as they are", func(m message) bool { return m.is("policy_updated", "p") })
	dialecttest.Write(t, release, "")
	c.Await("the end", func(m message) bool { return m.is("strategy_completed", "p") })
	if code, _ := c.refused("update_policy", object{"runId": "p", "mode": "read", "default": "deny"}); code != "RUN_NOT_FOUND" {
		t.Error(code)
	}
}

// TestSubscriptions checks that a subscriber receives no past events, and none after it
// unsubscribes.
func TestSubscriptions(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c, other := s.dial(), s.dial()
	if code, text := other.refused("subscribe", object{"runId": "x"}); code+" "+text != "SUBSCRIBE_ERROR Run x not found" {
		t.Errorf("%s %s", code, text)
	}
	release := filepath.Join(t.TempDir(), "go")
	c.prepare("x", s.one(), nil)
	other.send("subscribe", object{"runId": "x"}) // prepared runs can be subscribed to
	other.ask("ping", nil)
	c.send("start_run", object{"runId": "x", "input": "hold " + release})
	other.Await("it works", func(m message) bool { return strings.Contains(string(m.Event), "holding") })
	late, gone := s.dial(), s.dial()
	for _, client := range []*client{late, gone} {
		client.send("subscribe", object{"runId": "x"})
		client.ask("ping", nil)
	}
	gone.send("unsubscribe", object{"runId": "x"})
	gone.send("unsubscribe", object{"runId": "none"})
	gone.ask("ping", nil)
	c.send("steer_run", object{"runId": "x", "text": "mark"})
	late.Await("it hears from now on", func(m message) bool { return m.Type == "steer_queued" })
	for _, m := range late.Kept {
		if m.Type != "pong" {
			t.Errorf("of the past: %s", m.raw)
		}
	}
	dialecttest.Write(t, release, "")
	list := late.until("x", "strategy_completed")
	if strings.Contains(list[0].raw, "holding") || list[0].Type != "agent_streaming" || !strings.Contains(list[0].raw, "released") {
		t.Errorf("%s", list[0].raw)
	}
	over := s.dial()
	over.send("subscribe", object{"runId": "x"}) // and ended ones
	if m := over.ask("ping", nil); len(over.Kept) != 0 || m.Type != "pong" {
		t.Error(over.Kept)
	}
	if gone.ask("ping", nil); len(gone.Kept) != 0 {
		t.Error(gone.Kept)
	}
}

// TestIDs checks that invalid run ids are refused and create no files.
func TestIDs(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.dial()
	path := s.one()
	seen := func() (names []string) {
		_ = filepath.Walk(filepath.Dir(s.Dir), func(name string, _ os.FileInfo, err error) error {
			if err == nil && !strings.Contains(name, ".local") {
				names = append(names, name)
			}
			return nil
		})
		return names
	}
	before := seen()
	for _, id := range []string{"..", "a/b", "a b", "x\x00y", strings.Repeat("x", 101), "é", "a.b"} {
		if code, text := c.refused("prepare_run", object{"runId": id, "strategyPath": path}); code+" "+text != "PREPARE_FAILED Invalid runId" {
			t.Errorf("%q: %s %s", id, code, text)
		}
		for kind, want := range map[string]string{
			"start_run": "START_FAILED", "continue_run": "CONTINUE_FAILED", "subscribe": "SUBSCRIBE_ERROR", "steer_run": "RUN_NOT_STEERABLE", "user_input": "NO_PENDING_INPUT",
			"permission_decision": "NO_PENDING_PERMISSION", "question_response": "NO_PENDING_QUESTION", "update_policy": "RUN_NOT_FOUND",
		} {
			code, _ := c.refused(kind, object{
				"runId": id, "input": "", "text": "t", "agentName": "a", "permissionRequestId": id, "questionRequestId": id, "decision": "allow", "response": "r", "mode": "read",
			})
			if code != want {
				t.Errorf("%s of %q: %s", kind, id, code)
			}
		}
		c.send("unsubscribe", object{"runId": id})
		c.send("stop_run", object{"runId": id})
	}
	c.ask("ping", nil)
	if diff := cmp.Diff(before, seen()); diff != "" {
		t.Error(diff)
	}
}
