//go:build agents

package agentbench

// Usage and cost of runs, including stopped and failed ones, and the reasons of failures.

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ac/internal/proc/proctest"
	"ac/runs/transcript"
)

// TestUsage checks that a run records what the model charged, over several steps
// with cached tokens and reasoning.
func TestUsage(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k kind) {
		step := Usage{Input: 1000, Cached: 400, Output: 50, Reasoning: 20}
		if k.provider == "claude" {
			step.CacheWrite = 30
		}
		c := newCompany(t, k, Steps(Usage{Input: 7, Output: 3},
			Reply{Think: "hm", Text: "First I look.", Calls: []Call{{Run: "echo one"}}, Usage: step},
			Reply{Calls: []Call{{Run: "echo two"}}, Usage: step},
			Reply{Text: "The answer is 42.", Usage: step}))
		r := c.launch("what is the answer?", nil)
		if p := r.end(); p.Status != "ended" || p.ErrorKind != "" {
			t.Fatalf("%+v\n%s", p, show(r.transcript()))
		}
		c.charged(r)
		if reports := k.provider == "claude" || k.provider == "opencode"; reports != (r.record().Usage.CostSource == "provider_reported") {
			t.Errorf("the cost is from %s", r.record().Usage.CostSource)
		}
		c.readable(r)
		c.keep(r)
		if r.record().Session == "" {
			t.Error("the agent's conversation is not kept")
		}
	})
}

// TestColleague runs an agent that delegates work to a subagent. The run must end with the
// agent itself, have its answer, and record what both were charged.
func TestColleague(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k kind) {
		step := Usage{Input: 1000, Cached: 400, Output: 50, Reasoning: 20}
		c := newCompany(t, k, func(r Request) Reply {
			if reply, ok := Bookkeeping(r, Usage{}); ok {
				return reply
			}
			call, is := colleague(r)
			switch {
			case is:
				return Reply{Text: "The colleague found nothing.", Usage: step}
			case r.Step() == 0 && strings.Contains(r.Prompt, "what is the answer?"):
				return Reply{Calls: []Call{call}, Usage: step}
			case r.Step() == 1 && call.Space != "":
				return Reply{Calls: []Call{{Name: "wait_agent", Space: call.Space, Args: object{"timeout_ms": 60000}}}, Usage: step}
			}
			return Reply{Text: "The answer is 42.", Usage: step}
		})
		r := c.launch("what is the answer?", nil)
		p := r.end()
		items := r.transcript()
		if last := lastMessage(items); p.Status != "ended" || p.ErrorKind != "" || last != "The answer is 42." {
			t.Errorf("%+v, %q\n%s", p, last, show(items))
		}
		if k.provider == "opencode" {
			return // it does not report what the subagent used (docs/agents.md)
		}
		c.charged(r)
	})
}

// colleague returns the call by which an agent starts a subagent. is reports whether the request
// comes from a subagent.
func colleague(r Request) (call Call, is bool) {
	given := object{"description": "look", "prompt": "look for it"}
	switch {
	case slices.Contains(r.Tools, "spawn_agent"):
		call = Call{Name: "spawn_agent", Space: "collaboration", Args: object{"message": "look for it", "task_name": "colleague"}}
		return call, len(r.Results) > 0 && !strings.Contains(r.Results[0], "task_name")
	case slices.Contains(r.Tools, "Agent"):
		given["subagent_type"] = "general-purpose"
		return Call{Name: "Agent", Args: given}, false
	case slices.Contains(r.Tools, "task"):
		given["subagent_type"] = "general"
		return Call{Name: "task", Args: given}, false
	case slices.Contains(r.Tools, "invoke_agent"):
		return Call{Name: "invoke_agent", Args: object{"agent_name": "generalist", "prompt": "look for it"}}, false
	}
	return Call{}, true
}

func lastMessage(items []*transcript.Item) (text string) {
	for _, i := range items {
		if i.Kind == transcript.KindMessage {
			text = i.Text
		}
	}
	return text
}

// keep copies the agent's output to the folder that AC_AGENTS_KEEP names. The recordings for
// the tests of runs/transcript are made from it.
func (c *company) keep(r run) {
	dir := os.Getenv("AC_AGENTS_KEEP")
	if dir == "" {
		return
	}
	text, err := os.ReadFile(filepath.Join(r.dir(), "outputs/stdout.txt"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, strings.ReplaceAll(c.kind.name, " ", "-")+".jsonl"), text, 0o644)
	}
	if err != nil {
		c.t.Error(err)
	}
}

// said returns the usage that an agent reports. By ACP, gemini counts cached input as input,
// and omits its thoughts and its bookkeeping. opencode reports only the last step of a turn
// (docs/agents.md).
func (c *company) said() (said Usage) {
	if c.kind.name != "gemini by ACP" && c.kind.name != "opencode by ACP" {
		return c.model.TotalUsage()
	}
	for _, r := range c.model.Requests() {
		switch _, side := Bookkeeping(r, Usage{}); {
		case side:
		case c.kind.provider == "gemini":
			said = said.Plus(Usage{Input: r.Charged.Input + r.Charged.Cached, Output: r.Charged.Output})
		default:
			said = r.Charged
		}
	}
	return said
}

// charged compares the recorded usage with what the model charged.
func (c *company) charged(r run) {
	c.t.Helper()
	want, u := c.said(), r.record().Usage
	if u == nil {
		c.t.Fatalf("no usage is recorded; charged %+v", want)
	}
	got := Usage{Input: u.Input, Cached: u.Cached, Output: u.Output, Reasoning: u.Reasoning}
	want.Input, want.CacheWrite = want.Input+want.CacheWrite, 0
	if got != want || u.Total != want.Total() || u.Source != "provider_reported" {
		c.t.Errorf("recorded %+v (total %d, %s), charged %+v (total %d)", got, u.Total, u.Source, want, want.Total())
	}
}

// readable checks that a transcript of TestUsage has what a person expects.
func (c *company) readable(r run) {
	c.t.Helper()
	items := r.transcript()
	answers, tools := 0, []string{}
	for _, i := range items {
		switch {
		case i.Kind == transcript.KindMessage && strings.Contains(i.Text, "The answer is 42."):
			answers++
		case i.Tool != nil:
			tools = append(tools, i.Tool.Title+" = "+strings.TrimSpace(i.Tool.OutputTail))
		}
		if strings.Contains(i.Text, `"type"`) || strings.Contains(i.Text, `"jsonrpc"`) || i.State != transcript.StateClosed {
			c.t.Errorf("noise, or open: %s", show([]*transcript.Item{i}))
		}
	}
	want := []string{"echo one = one", "echo two = two"}
	if c.kind.name == "gemini by ACP" { // it does not pass on output
		want = []string{"echo one = ", "echo two = "}
	}
	if answers != 1 || !slices.Equal(tools, want) {
		c.t.Errorf("%d answers, tools %q\n%s", answers, tools, show(items))
	}
}

// TestStopped checks that a stop ends everything within two seconds. The run records the
// usage up to then if the agent reports it, else an estimate from the agent's output.
func TestStopped(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k kind) {
		step := Usage{Input: 1000, Cached: 400, Output: 50}
		c := newCompany(t, k, Steps(Usage{}, Reply{Calls: []Call{{Run: "echo one"}}, Usage: step},
			Reply{Text: strings.Repeat("on and on ", 40), Endless: true, Pause: 50 * time.Millisecond, Usage: Usage{Input: 2000}}))
		r := c.launch("talk for ever", nil)
		deadline := time.Now().Add(longest)
		for main := 0; main < 2 && time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
			main = 0
			for _, asked := range c.model.Requests() {
				if _, side := Bookkeeping(asked, Usage{}); !side {
					main++
				}
			}
		}
		// Most agents pass on text at once, some only at the end of a turn.
		for heard := time.Now().Add(3 * time.Second); !strings.Contains(r.log(), "on and on") && time.Now().Before(heard); {
			time.Sleep(50 * time.Millisecond)
		}
		time.Sleep(300 * time.Millisecond) // for the agent to report its earlier usage
		c.call("session.stop", object{"session_ref": r.ref}, nil)
		p := r.end()
		if took := r.stopTook(); p.Status != "stopped" || took > 2*time.Second {
			t.Errorf("%+v after %s", p, took)
		}
		if k.name == "opencode by ACP" { // it reports no usage of a stopped turn
			if u := r.record().Usage; u == nil || u.Source != "estimated_chars" {
				t.Errorf("%+v", u)
			}
			return
		}
		c.charged(r)
	})
}

// stopTook returns the time from a run's stop request to its closing event.
func (r run) stopTook() time.Duration {
	stamp, err := os.ReadFile(filepath.Join(r.dir(), "outputs/stop_requested.flag"))
	if err != nil {
		r.c.t.Fatal(err)
	}
	asked, err := time.Parse(time.RFC3339, strings.TrimSpace(string(stamp)))
	if err != nil {
		r.c.t.Fatal(err)
	}
	return r.closed().Sub(asked)
}

// closed returns when the run's last event was written.
func (r run) closed() time.Time {
	lines := strings.Split(strings.TrimSpace(r.log()), "\n")
	var last struct {
		At time.Time `json:"ts_wallclock"`
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil {
		r.c.t.Fatal(err)
	}
	return last.At
}

// stamped wraps the CLIs in scripts that record when they end.
func (c *company) stamped() {
	dir := c.t.TempDir()
	for _, name := range []string{"codex", "claude", "gemini", "opencode"} {
		script := fmt.Sprintf("#!/bin/sh\n%q \"$@\"\ncode=$?\ndate +%%s%%N > %q\nexit $code\n", filepath.Join(cliDir, name), filepath.Join(c.home, "ended"))
		if err := proctest.WriteProgram(filepath.Join(dir, name), []byte(script)); err != nil {
			c.t.Fatal(err)
		}
	}
	for i, entry := range c.environ {
		if path, ok := strings.CutPrefix(entry, "PATH="); ok {
			c.environ[i] = "PATH=" + dir + ":" + path
		}
	}
}

// newest returns when the newest event of a type was written.
func (r run) newest(kind string) (at time.Time) {
	for line := range strings.Lines(r.log()) {
		var e struct {
			Type string    `json:"type"`
			At   time.Time `json:"ts_wallclock"`
		}
		if json.Unmarshal([]byte(line), &e) == nil && e.Type == kind {
			at = e.At
		}
	}
	return at
}

// agentEnded returns when the agent ended: its program or, if that keeps running,
// its turn.
func (r run) agentEnded() time.Time {
	r.c.t.Helper()
	if r.c.kind.live {
		return r.newest("provider.raw")
	}
	if r.c.kind.argv == nil {
		text, err := os.ReadFile(filepath.Join(r.dir(), "outputs/stdout.txt"))
		if err != nil {
			r.c.t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			var m struct {
				Method string `json:"method"`
				At     int64  `json:"emittedAtMs"`
			}
			if json.Unmarshal([]byte(line), &m) == nil && m.Method == "turn/completed" {
				return time.UnixMilli(m.At)
			}
		}
		r.c.t.Fatalf("no turn ended\n%s", text)
	}
	text, err := os.ReadFile(filepath.Join(r.c.home, "ended"))
	if err != nil {
		r.c.t.Fatal(err)
	}
	nanos, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		r.c.t.Fatal(err)
	}
	return time.Unix(0, nanos)
}

// TestFailures checks that a failed run has the agent's error message and its kind, that it
// closes soon after the agent, and that refused requests cost nothing.
func TestFailures(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k kind) {
		for _, f := range []struct {
			status int
			kind   string
		}{{401, "auth"}, {429, "rate_limit"}, {500, "overloaded"}, {529, "overloaded"}} {
			t.Run(fmt.Sprint(f.status), func(t *testing.T) {
				t.Parallel()
				c := newCompany(t, k, Steps(Usage{}, Reply{Status: f.status, Text: "the bench refuses", RetryAfter: time.Second}))
				c.stamped()
				if k.name == "opencode by ACP" {
					f.kind = "unknown" // it passes on the message but no status
				}
				r := c.launch("try", nil)
				p := r.end()
				if p.Status != "failed" || p.ErrorKind != f.kind || p.Error == "" {
					t.Errorf("%+v\n%s", p, show(r.transcript()))
				}
				if u := r.record().Usage; u != nil && u.Total > 0 {
					t.Errorf("it cost %+v", u)
				}
				told := r.closed()
				if k.live { // the run closes later than the turn, once the agent is ended
					told = r.newest("run.turn_ended")
				}
				took := told.Sub(r.agentEnded())
				if took > time.Second {
					t.Errorf("it was told %s after the agent's end", took)
				}
				t.Logf("%s after %s: %s", p.ErrorKind, took, p.Error)
			})
		}
	})
}
