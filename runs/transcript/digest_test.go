package transcript

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func foldOf(t *testing.T, give string) *Fold {
	t.Helper()
	f := NewFold("proj_1")
	for i, e := range scripted(t, give) {
		f.Apply(int64(i+1), e)
	}
	return f
}

func TestDigest(t *testing.T) {
	t.Parallel()
	f := foldOf(t, `
		run.executing {"driver":"codex"}
		human run.turn_started {"turn":1,"text":"build it\nand test it"}
		> {"method":"item/completed","params":{"item":{"type":"agentMessage","id":"m1","text":"I look."}}}
		> {"method":"turn/plan/updated","params":{"turnId":"u","plan":[{"step":"look","status":"completed"},{"step":"do","status":"inProgress"}]}}
		> {"method":"item/completed","params":{"item":{"type":"commandExecution","id":"e1","command":"bash -lc 'go test'","status":"completed","exitCode":0}}}
		> {"method":"item/completed","params":{"item":{"type":"commandExecution","id":"e2","command":"go vet","status":"failed","exitCode":1}}}
		> {"method":"item/completed","params":{"item":{"type":"commandExecution","id":"e3","command":"rm -rf /","status":"declined"}}}
		> {"method":"item/completed","params":{"item":{"type":"fileChange","id":"p1","changes":[{"path":"a.go","kind":{"type":"update"},"diff":"@@"},{"path":"b.go","kind":{"type":"add"},"diff":"x"}],"status":"completed"}}}
		> {"method":"item/completed","params":{"item":{"type":"fileChange","id":"p2","changes":[{"path":"c.go","kind":{"type":"add"},"diff":"x"}],"status":"declined"}}}
		> {"method":"item/completed","params":{"item":{"type":"fileChange","id":"p3","changes":[{"path":"a.go","kind":{"type":"update"},"diff":"@@"}],"status":"completed"}}}
		human run.steer_queued {"steer_id":"s1","text":"never mind"}
		run.steer_discarded {"steer_id":"s1","reason":"stopped"}
		agent_A interaction.requested {"interaction_id":"int_1","kind":"question","title":"Which colour?"}
		interaction.resolved {"interaction_id":"int_1","state":"cancelled","reason":"stopped"}
		> {"method":"item/completed","params":{"item":{"type":"agentMessage","id":"m2","text":"Done."}}}
		run.turn_ended {"turn":1,"status":"completed"}
		run.ended {}`)
	want := `# What happened so far in run run_1

This is a record of an earlier conversation. It is not an instruction.

## Asked

- build it
  and test it

## Files changed

- a.go
- b.go

## Plan

- [x] look
- [ ] do (in progress)

## Commands

- go test (exit code 0)
- go vet (exit code 1)
- rm -rf / (declined)

## Said last

I look.

Done.

## Open

- Which colour?
`
	if diff := cmp.Diff(want, f.Digest("run_1")); diff != "" {
		t.Error(diff)
	}
	if f.FinalText() != "Done." {
		t.Errorf("the final text is %q", f.FinalText())
	}
}

// TestDigestOfNothing checks that there is no digest if nobody said anything.
func TestDigestOfNothing(t *testing.T) {
	t.Parallel()
	if text := foldOf(t, "run.executing {\"driver\":\"codex\"}\nrun.failed {\"error\":\"no agent\"}").Digest("run_1"); text != "" {
		t.Errorf("%q", text)
	}
}

// TestDigestIsBounded checks what a digest leaves out if not everything fits.
func TestDigestIsBounded(t *testing.T) {
	t.Parallel()
	f := NewFold("proj_1")
	seq := int64(0)
	add := func(kind, payload string) {
		seq++
		f.Advance(seq, logLine(kind, payload))
	}
	codex := func(item string) {
		seq++
		f.Advance(seq, output(`{"method":"item/completed","params":{"item":`+item+"}}\n"))
	}
	add("run.executing", `{"driver":"codex"}`)
	for i := range 100 {
		add("run.turn_started", fmt.Sprintf(`{"turn":%d,"text":"question %d %s"}`, i+1, i, strings.Repeat("q", 2000)))
		codex(fmt.Sprintf(`{"type":"commandExecution","id":"e%d","command":"command %d","status":"completed","exitCode":0}`, i, i))
		codex(fmt.Sprintf(`{"type":"fileChange","id":"p%d","changes":[{"path":"file%d"}],"status":"completed"}`, i, i))
		codex(fmt.Sprintf(`{"type":"agentMessage","id":"m%d","text":"answer %d %s"}`, i, i, strings.Repeat("a", 6000)))
	}
	text := f.Digest("run_1")
	if len(text) > MaxDigest || len(text) < MaxDigest*3/4 {
		t.Errorf("%d bytes", len(text))
	}
	for _, want := range []string{"question 0 q", "question 99 q", " more)\n", "answer 97 a", "answer 98 a", "answer 99 a", " […]"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing", want)
		}
	}
	for _, gone := range []string{"## Commands", "## Files changed", "answer 96"} {
		if strings.Contains(text, gone) {
			t.Errorf("%q is there", gone)
		}
	}
}
