//go:build agents

package agentbench

// Workflows with the real agent CLIs: a maker with a checker, and parallel tasks.

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// flow runs a flow to its end and returns its text.
func (c *company) flow(flow object) string {
	c.t.Helper()
	text, err := json.Marshal(object{"schema_version": 1, "type": "workflow", "id": "bench:flow", "name": "Flow", "flow": flow})
	if err != nil {
		c.t.Fatal(err)
	}
	file := filepath.Join(c.t.TempDir(), "flow.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		c.t.Fatal(err)
	}
	return c.ac("workflow:run", c.dir, "--project", c.project, "--file", file, "--wait")
}

func (c *company) task(goal string) object {
	return object{"kind": "task", "agent": object{"agent_id": c.agent}, "goal": goal}
}

func asks(r Request, words string) bool { return strings.Contains(strings.Join(r.Texts, "\n"), words) }

// TestMakerChecker lets a checker reject a text once.
func TestMakerChecker(t *testing.T) {
	t.Parallel()
	eachWorker(t, func(t *testing.T, k kind) {
		var made, checked atomic.Int32
		c := companyOf(t, k, true, func(r Request) Reply {
			if reply, ok := Bookkeeping(r, Usage{}); ok {
				return reply
			}
			if asks(r, "one answer of kind verdict") {
				if r.Step() == 0 {
					checked.Add(1)
				}
				return final(r, object{"approved": asks(r, "SECOND DRAFT"), "text": "say it shorter", "cannot": nil})
			}
			if r.Step() == 0 {
				made.Add(1)
			}
			draft := "FIRST DRAFT"
			if asks(r, "say it shorter") {
				draft = "SECOND DRAFT"
			}
			return final(r, object{"text": draft, "summary": nil, "cannot": nil})
		})
		text := c.flow(object{
			"kind": "maker_checker", "maker": c.task("Write. {{feedback}}"), "checker": c.task("Check this: {{input}}"),
		})
		if text != "SECOND DRAFT" || made.Load() != 2 || checked.Load() != 2 {
			t.Errorf("%q after %d drafts and %d checks", text, made.Load(), checked.Load())
		}
	})
}

// TestSideBySide runs two tasks in parallel and passes their texts to a third.
func TestSideBySide(t *testing.T) {
	t.Parallel()
	eachWorker(t, func(t *testing.T, k kind) {
		c := companyOf(t, k, true, func(r Request) Reply {
			if reply, ok := Bookkeeping(r, Usage{}); ok {
				return reply
			}
			switch {
			case asks(r, "Sum up: LEFT and RIGHT"):
				return final(r, object{"text": "BOTH", "summary": nil, "cannot": nil})
			case asks(r, "Look left"):
				return final(r, object{"text": "LEFT", "summary": nil, "cannot": nil})
			}
			return final(r, object{"text": "RIGHT", "summary": nil, "cannot": nil})
		})
		text := c.flow(object{"kind": "sequence", "steps": []object{
			{"kind": "parallel", "separator": " and ", "steps": []object{c.task("Look left."), c.task("Look right.")}},
			c.task("Sum up: {{input}}"),
		}})
		if text != "BOTH" {
			t.Errorf("%q", text)
		}
	})
}

// TestProseOfATask checks that agents can answer in prose, over their live protocols.
func TestProseOfATask(t *testing.T) {
	t.Parallel()
	eachWorker(t, func(t *testing.T, k kind) {
		c := companyOf(t, k, true, func(r Request) Reply {
			if reply, ok := Bookkeeping(r, Usage{}); ok {
				return reply
			}
			return Reply{Text: "Good morning.", Usage: Usage{Input: 100, Output: 10}}
		})
		task := c.task("Greet me.")
		task["answer"], task["interactive"] = "prose", true
		if text := c.flow(task); text != "Good morning." {
			t.Errorf("%q", text)
		}
	})
}
