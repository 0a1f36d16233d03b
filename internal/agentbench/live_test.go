//go:build agents

package agentbench

// Live sessions of the real agents: questions, steering, interrupts, continuation, compaction.

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// liveKinds returns the agents that can run live sessions.
func liveKinds() []kind {
	return []kind{
		{name: "codex", provider: "codex_app_server"}, {name: "claude", provider: "claude"},
		{name: "gemini", provider: "gemini"}, {name: "opencode", provider: "opencode"},
	}
}

func eachLive(t *testing.T, test func(t *testing.T, k kind)) {
	t.Helper()
	for _, k := range liveKinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			test(t, k)
		})
	}
}

// asking makes opencode ask before commands and edits. By default it does not.
func (c *company) asking() *company {
	file := filepath.Join(c.home, ".config/opencode/opencode.json")
	text, err := os.ReadFile(file)
	if err != nil {
		c.t.Fatal(err)
	}
	asks := strings.Replace(string(text), `{"autoupdate":false,`, `{"autoupdate":false,"permission":{"bash":"ask","edit":"ask"},`, 1)
	if err := os.WriteFile(file, []byte(asks), 0o600); err != nil {
		c.t.Fatal(err)
	}
	return c
}

// speak launches a live session.
func (c *company) speak(prompt string, more object) run {
	params := object{"interactive": true, "mode": "default"}
	for name, value := range more {
		params[name] = value
	}
	return c.launch(prompt, params)
}

// logged is an event of a run.
type logged struct {
	Type    string `json:"type"`
	Ref     string `json:"session_ref"`
	Payload struct {
		InteractionID string `json:"interaction_id"`
		Turn          int    `json:"turn"`
		Status        string `json:"status"`
		How           string `json:"how"`
		Resumed       string `json:"resumed"`
		ResumeError   string `json:"resume_error"`
		State         string `json:"state"`
		OK            bool   `json:"ok"`
		Error         string `json:"error"`
		Operation     string `json:"operation"`
		Resource      string `json:"resource"`
	} `json:"payload"`
}

func (r run) await(kind string, fits func(logged) bool) logged {
	r.c.t.Helper()
	for deadline := time.Now().Add(longest); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		for line := range strings.Lines(r.log()) {
			var e logged
			if json.Unmarshal([]byte(line), &e) == nil && e.Type == kind && (fits == nil || fits(e)) {
				return e
			}
		}
		if p := r.poll(); p.Status != "running" && kind != "run.turn_ended" {
			r.c.t.Fatalf("%s: %s, before %s\n%s", p.Status, p.Error, kind, r.log())
		}
	}
	r.c.t.Fatalf("never %s\n%s", kind, r.log())
	return logged{}
}

func (r run) act(method string, more object, result any) {
	r.c.t.Helper()
	params := object{"project_id": r.c.project, "run_id": r.id}
	for name, value := range more {
		params[name] = value
	}
	r.c.call(method, params, result)
}

func (r run) last() string {
	text, err := os.ReadFile(filepath.Join(r.dir(), "outputs/last_message.md"))
	if err != nil {
		r.c.t.Fatal(err)
	}
	return string(text)
}

// awaitLast waits until the agent's last message, which is written after its turn, ends in text.
func (r run) awaitLast(text string) {
	r.c.t.Helper()
	for deadline := time.Now().Add(longest); ; time.Sleep(100 * time.Millisecond) {
		if said, err := os.ReadFile(filepath.Join(r.dir(), "outputs/last_message.md")); err == nil && strings.HasSuffix(string(said), text) {
			return
		}
		if time.Now().After(deadline) {
			r.c.t.Fatalf("it never said %q\n%s", text, r.log())
		}
	}
}

// TestLiveAnswers checks that each agent asks before it runs a command, and runs it only if
// allowed.
func TestLiveAnswers(t *testing.T) {
	t.Parallel()
	eachLive(t, func(t *testing.T, k kind) {
		for _, decision := range []string{"allow", "deny"} {
			c := newCompany(t, k, Steps(Usage{}, Reply{Calls: []Call{{Run: "touch asked.txt && echo made"}}, Usage: Usage{Input: 10, Output: 5}}, Reply{Text: "All done.", Usage: Usage{Input: 20, Output: 7}})).asking()
			r := c.speak("make a file", nil)
			asked := r.await("interaction.requested", nil)
			if asked.Payload.Operation != "fs_exec" || asked.Payload.Resource != "touch asked.txt && echo made" {
				t.Errorf("%+v", asked.Payload)
			}
			var answered struct {
				State      string `json:"state"`
				HandedOver bool   `json:"handed_over"`
			}
			r.act("interaction.respond", object{"interaction_id": asked.Payload.InteractionID, "decision": decision}, &answered)
			if !answered.HandedOver {
				t.Errorf("%+v", answered)
			}
			p := r.end()
			_, err := os.Stat(filepath.Join(c.dir, "asked.txt"))
			if (err == nil) != (decision == "allow") {
				t.Errorf("%s: the file: %v; %s %s\n%s", decision, err, p.Status, p.Error, r.log())
			}
			if decision == "allow" && (p.Status != "ended" || r.last() != "All done.") {
				t.Errorf("%+v: %q\n%s", p, r.last(), r.log())
			}
		}
	})
}

// TestLiveSteers checks that a text sent during a turn reaches the model.
func TestLiveSteers(t *testing.T) {
	t.Parallel()
	eachLive(t, func(t *testing.T, k kind) {
		c := newCompany(t, k, func(r Request) Reply {
			if answer, ok := Bookkeeping(r, Usage{}); ok {
				return answer
			}
			for _, text := range r.Texts {
				if strings.Contains(text, "say banana") {
					return Reply{Text: "banana"}
				}
			}
			if r.Step() == 0 {
				return Reply{Calls: []Call{{Run: "sleep 3; echo slept"}}}
			}
			return Reply{Text: "done"}
		})
		r := c.speak("work", object{"mode": "full_auto", "keep_open": true})
		r.await("run.turn_started", nil)
		r.await("provider.raw", nil)
		var said struct {
			SteerID  string `json:"steer_id"`
			Delivery string `json:"delivery"`
		}
		r.act("run.steer", object{"text": "now say banana"}, &said)
		applied := r.await("run.steer_applied", nil)
		t.Logf("%s: delivery %s, how %s", k.name, said.Delivery, applied.Payload.How)
		r.awaitLast("banana")
		c.call("session.stop", object{"session_ref": r.ref}, nil)
		if p := r.end(); p.Status != "stopped" {
			t.Errorf("%+v", p)
		}
	})
}

// TestLiveInterrupts checks that an interrupt ends the turn, and that the session accepts another.
func TestLiveInterrupts(t *testing.T) {
	t.Parallel()
	eachLive(t, func(t *testing.T, k kind) {
		c := newCompany(t, k, func(r Request) Reply {
			if answer, ok := Bookkeeping(r, Usage{}); ok {
				return answer
			}
			if strings.Contains(r.Prompt, "again") {
				return Reply{Text: "here I am"}
			}
			return Reply{Text: "word after word ", Endless: true, Pause: 50 * time.Millisecond}
		})
		r := c.speak("talk", object{"keep_open": true})
		r.await("provider.raw", func(logged) bool { return strings.Contains(r.log(), "word after") || strings.Contains(r.log(), "word") })
		var done struct {
			Interrupted bool `json:"interrupted"`
		}
		r.act("run.interrupt", nil, &done)
		if ended := r.await("run.turn_ended", nil); !done.Interrupted || ended.Payload.Status != "interrupted" {
			t.Errorf("%+v %+v\n%s", done, ended, r.log())
		}
		r.act("run.steer", object{"text": "again"}, nil)
		r.await("run.turn_ended", func(e logged) bool { return e.Payload.Turn == 2 && e.Payload.Status == "completed" })
		r.awaitLast("here I am")
		c.call("session.stop", object{"session_ref": r.ref}, nil)
		r.end()
	})
}

// TestLiveContinues checks that the next session of a run knows what was said before. It
// resumes the agent's own conversation if the agent finds that, else it uses a digest.
func TestLiveContinues(t *testing.T) {
	t.Parallel()
	eachLive(t, func(t *testing.T, k kind) {
		c := newCompany(t, k, func(r Request) Reply {
			if answer, ok := Bookkeeping(r, Usage{}); ok {
				return answer
			}
			if !strings.Contains(r.Prompt, "what was the word") {
				return Reply{Text: "I keep it, with plugh."}
			}
			for _, word := range []string{"swordfish", "plugh"} { // said by us, and by the agent
				if !strings.Contains(string(r.Body), word) {
					return Reply{Text: "nobody said " + word}
				}
			}
			return Reply{Text: "swordfish and plugh"}
		})
		r := c.speak("the word is swordfish", nil)
		if p := r.end(); p.Status != "ended" {
			t.Fatalf("%+v\n%s", p, r.log())
		}
		for _, want := range []struct{ resume, resumed string }{{"auto", "provider"}, {"digest", "digest"}} {
			var next struct {
				Ref string `json:"session_ref"`
			}
			r.act("run.continue", object{"prompt_text": "what was the word?", "resume": want.resume}, &next)
			r.ref = next.Ref
			if p := r.end(); p.Status != "ended" || r.last() != "swordfish and plugh" {
				t.Errorf("%s: %+v: %q\n%s", want.resume, p, r.last(), r.log())
			}
			began := r.await("agent.started", func(e logged) bool { return e.Ref == next.Ref }).Payload
			if k.name == "gemini" && began.Resumed == "digest" {
				want.resumed = "digest" // it rarely finds the conversation of an earlier process
			}
			if began.Resumed != want.resumed || (began.ResumeError != "") != (want.resume == "auto" && want.resumed == "digest") {
				t.Errorf("%s: %+v", want.resume, began)
			}
		}
	})
}

// TestLiveCompacts checks that each agent's conversation can be compacted and continued.
// codex and claude compact it by their own means.
func TestLiveCompacts(t *testing.T) {
	t.Parallel()
	eachLive(t, func(t *testing.T, k kind) {
		c := newCompany(t, k, func(r Request) Reply {
			if answer, ok := Bookkeeping(r, Usage{}); ok {
				return answer
			}
			return Reply{Text: "said to " + r.Prompt[max(0, len(r.Prompt)-20):], Usage: Usage{Input: 10, Output: 5}}
		})
		r := c.speak("the first words", object{"keep_open": true})
		r.await("run.turn_ended", nil)
		var asked struct {
			How string `json:"how"`
		}
		r.act("run.compact", nil, &asked)
		r.await("run.compacted", nil)
		r.act("run.steer", object{"text": "the second words"}, nil)
		r.await("run.turn_ended", func(e logged) bool { return e.Payload.Turn == 2 && e.Payload.Status == "completed" })
		done := r.await("run.compacted", nil).Payload
		t.Logf("%s: %s, %t %s", k.name, asked.How, done.OK, done.Error)
		if !done.OK {
			t.Errorf("%+v\n%s", done, r.log())
		}
		r.awaitLast("second words")
		c.call("session.stop", object{"session_ref": r.ref}, nil)
		r.end()
	})
}

// TestLiveRights checks that an unattended agent does only what its level allows, and does
// not wait for permission. opencode asks here because its settings say so.
func TestLiveRights(t *testing.T) {
	t.Parallel()
	eachLive(t, func(t *testing.T, k kind) {
		for _, level := range []string{"read-only", "patch", "run-commands"} {
			t.Run(level, func(t *testing.T) {
				t.Parallel()
				c := newCompany(t, k, Steps(Usage{}, Reply{Calls: []Call{{Write: "written.txt", Content: "x\n"}}}, Reply{Calls: []Call{{Run: "echo x > ran.txt"}}}, Reply{Text: "done"})).asking()
				driver := map[string]string{"codex": "codex", "claude": "claude"}[k.name]
				if driver == "" {
					driver = "acp"
				}
				mode := map[string]string{"read-only": "default", "patch": "accept_edits", "run-commands": "full_auto"}[level]
				r := c.launch("work", object{"mode": mode, "permission_level": level, "driver": driver})
				p := r.end()
				there := func(name string) bool {
					_, err := os.Stat(filepath.Join(c.dir, name))
					return err == nil
				}
				// The sandbox limits an unattended codex: it can run commands wherever it can write.
				runs := level == "run-commands" || k.name == "codex" && level == "patch"
				if there("ran.txt") != runs || there("written.txt") != (level != "read-only") {
					t.Errorf("ran %v, wrote %v: %+v\n%s", there("ran.txt"), there("written.txt"), p, show(r.transcript()))
				}
			})
		}
	})
}
