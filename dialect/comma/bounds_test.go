package comma

// Tests of where runs work, how much of a conversation clients receive, and what the daemon
// reports when it cannot read the workspace.

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ac/dialect/dialecttest"

	"ac/workspace/doc"
)

// TestIsolation checks where runs of a repository work: in the repository itself or, with
// worktree isolation, in their own worktree, whose files do not appear in the repository.
func TestIsolation(t *testing.T) {
	t.Parallel()
	for _, isolation := range []string{doc.IsolationNone, doc.IsolationWorktree} {
		t.Run(isolation, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, func(o *Options) { o.Isolation = isolation })
			path := s.strategy("where.json", flowOf(object{"speaker": object{"tools": []string{"write_file"}}}, object{"name": "F", "type": "sequential", "steps": []object{{"agent": "speaker"}}}))
			c := s.dial()
			c.prepare("w", path, object{"cwd": filepath.Join(s.Repo, "src")})
			c.send("start_run", object{"runId": "w", "input": "leave left.txt"})
			list := c.until("w", "strategy_completed")
			where, _ := list[len(list)-1].field("result").(string)
			inside := strings.HasPrefix(where, s.Repo+string(filepath.Separator))
			if filepath.Base(where) != "src" || inside != (isolation == doc.IsolationNone) {
				t.Errorf("it worked in %q, the repository is %s", where, s.Repo)
			}
			if _, err := os.Stat(filepath.Join(where, "x.py")); err != nil {
				t.Errorf("it did not see the repository's files: %v", err)
			}
			if _, err := os.Stat(filepath.Join(s.Repo, "src/left.txt")); (err == nil) != inside {
				t.Errorf("its file in the repository: %v", err)
			}
		})
	}
}

// TestConversationBound checks that run_prepared stays below its size bound. It contains the
// newest calls and inputs whole, even when JSON escaping expands them.
func TestConversationBound(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.dial()
	prepared := func(run string) (m message, records, inputs []any) {
		m = c.ask("prepare_run", object{"runId": run})
		if len(m.raw) > maxConversation || m.Type != "run_prepared" {
			t.Errorf("%s: %d bytes: %.200s", run, len(m.raw), m.raw)
		}
		records, _ = m.field("conversation", "records").([]any)
		inputs, _ = m.field("conversation", "inputs").([]any)
		return m, records, inputs
	}
	calls, agents := make([]object, 9), object{}
	for i := range calls { // each with its own memory, which stays empty
		name := fmt.Sprint("p", i)
		calls[i], agents[name] = object{"agent": name}, object{"model": "ac/Printer"}
	}
	path := s.strategy("long.json", flowOf(agents, object{"name": "F", "type": "sequential", "steps": calls}))
	c.prepare("calls", path, nil)
	c.send("start_run", object{"runId": "calls", "input": strings.Repeat("x", 160<<10)})
	last := c.Await("the end", func(m message) bool { return m.is("strategy_completed", "calls") })
	m, records, inputs := prepared("calls")
	newest, _ := records[len(records)-1].(map[string]any)
	if n := len(m.raw) / len(records); len(m.raw)+n < maxConversation || len(records) == len(calls) || newest["text"] != last.field("result") || len(inputs) != 1 {
		t.Errorf("%d records and %d inputs in %d bytes", len(records), len(inputs), len(m.raw))
	}
	path = s.strategy("said.json", flowOf(object{"user": object{"type": "user"}}, object{"name": "F", "type": "sequential", "steps": []object{{"agent": "user"}}}))
	c.prepare("inputs", path, nil)
	input := strings.Repeat("\x01", 200<<10) // six times as long in JSON
	c.send("start_run", object{"runId": "inputs", "input": input})
	c.Await("the end", func(m message) bool { return m.is("strategy_completed", "inputs") })
	for range 3 {
		prepared("inputs")
		c.send("continue_run", object{"runId": "inputs", "input": input})
		c.Await("the end", func(m message) bool { return m.is("strategy_completed", "inputs") })
	}
	if _, _, inputs := prepared("inputs"); len(inputs) != 1 {
		t.Errorf("%d inputs", len(inputs))
	} else if one, _ := inputs[0].(map[string]any); one["text"] != input {
		t.Error("an input was cut")
	}
}

// TestDegraded checks the health that the daemon reports while it cannot read the workspace, and
// that it recovers.
func TestDegraded(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	if _, body := s.get("/health", http.Header{}); !strings.Contains(body, `{"status":"ok"`) { // healthy at first
		t.Error(body)
	}
	away := s.Dir + "-away"
	if err := os.Rename(s.Dir, away); err != nil {
		t.Fatal(err)
	}
	if status, body := s.get("/health", http.Header{}); status != http.StatusOK || !strings.Contains(body, `{"status":"degraded","uptime":`) || !strings.Contains(body, `"activeRuns":0`) {
		t.Errorf("%d %s", status, body)
	}
	if err := os.Rename(away, s.Dir); err != nil {
		t.Fatal(err)
	}
	dialecttest.Until(t, "its health is good again", func() bool {
		_, body := s.get("/health", http.Header{})
		return strings.Contains(body, `{"status":"ok"`)
	})
}
