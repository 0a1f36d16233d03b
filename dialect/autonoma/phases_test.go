package autonoma

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"ac/runs/transcript"
)

// stamp returns a timestamp n seconds into the test.
func stamp(n int) string { return fmt.Sprintf("2026-01-02T00:%02d:%02d.000Z", n/60%60, n%60) }

func done(kind, tool, text string, at int) *transcript.Item {
	i := &transcript.Item{Kind: kind, Role: transcript.RoleAssistant, Text: text, State: transcript.StateClosed, StartedAt: stamp(at), EndedAt: stamp(at)}
	if tool != "" {
		i.Tool = &transcript.Tool{Kind: tool}
	}
	return i
}

// TestPhases checks which phase an execution is in, given its history.
func TestPhases(t *testing.T) {
	t.Parallel()
	at := attemptHistory{started: stamp(1), checked: stamp(2), allowed: stamp(3), executing: stamp(4)}
	with := func(items ...*transcript.Item) attemptHistory {
		a := at
		a.output, a.items = stamp(5), items
		return a
	}
	h := func(attempts ...attemptHistory) history { return history{created: stamp(0), attempts: attempts} }
	read, edit, run := done("tool", "read", "", 6), done("tool", "edit", "", 7), done("tool", "execute", "", 8)
	long := done("message", "", `{"text":"it is done"}`, 9)
	open := done("message", "", "```", 9)
	open.State = transcript.StateOpen
	prompt := done("message", "", `{"the prompt"}`, 5)
	prompt.Role = transcript.RoleUser
	over := h(with(read, edit))
	over.over, over.succeeded, over.resultAt, over.endedAt = true, true, stamp(10), stamp(10)
	failed := over
	failed.succeeded = false
	ended := with(read, edit)
	ended.ended = stamp(20)
	again := with()
	again.again = true
	for name, c := range map[string]struct {
		h     history
		phase string
		part  int
	}{
		"made": {h(), "research", 0}, "started": {h(attemptHistory{started: stamp(1)}), "research", 20},
		"checked": {h(attemptHistory{started: stamp(1), checked: stamp(2)}), "research", 40}, "executing": {h(at), "research", 80},
		"output": {h(with()), "inspect", 0}, "prompt": {h(with(prompt)), "inspect", 0}, "read": {h(with(read)), "inspect", 15},
		"much read": {h(with(read, read, read, read, read, read, read)), "inspect", 90},
		"executed":  {h(with(run)), "inspect", 15}, "edited": {h(with(read, edit)), "generate", 20}, "writing": {h(with(open)), "generate", 20}, "wrote": {h(with(long)), "generate", 60},
		"tried": {h(with(edit, run)), "optimize", 30}, "tried and wrote": {h(with(edit, run, edit)), "optimize", 60}, "attempt over": {h(ended), "optimize", 0},
		"repaired": {h(ended, with()), "optimize", 30}, "retried": {h(with(read), again), "inspect", 15},
		"over": {over, "review", 100}, "failed": {failed, "generate", 20},
	} {
		phases := phasesOf(c.h)
		for _, p := range phases {
			if p.Name == c.phase && p.Progress != c.part {
				t.Errorf("%s: %+v, want %d", name, p, c.part)
			}
		}
		if got := phaseOf(phases); got != c.phase {
			t.Errorf("%s is in %s, want %s: %+v", name, got, c.phase, phases)
		}
	}
	p := phasesOf(over)
	if *p[research].Duration != 5000 || *p[generate].Duration != 3000 || p[optimize].Duration != nil {
		t.Errorf("durations: %+v", p)
	}
}

// TestPhasesOnlyRise searches for a history whose phases go back when more happens, or are out of
// order.
func TestPhasesOnlyRise(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		kinds := []string{"message", "reasoning", "plan", "tool", "file_change", "notice", "question"}
		tools := []string{"read", "edit", "delete", "execute", "think", ""}
		var h history
		h.created = stamp(0)
		now, before := 0, phasesOf(h)
		step := func(what string) {
			now++
			after := phasesOf(h)
			inOrder(t, after)
			if progressOf(after) < progressOf(before) {
				t.Fatalf("%s: fell from %+v to %+v", what, before, after)
			}
			for i := range after {
				if before[i].Status == phaseCompleted && after[i].Status != phaseCompleted {
					t.Fatalf("%s: %+v is not completed any more: %+v", what, before[i], after[i])
				}
			}
			before = after
		}
		for n := range rapid.IntRange(0, 3).Draw(t, "attempts") {
			h.attempts = append(h.attempts, attemptHistory{again: n > 0 && rapid.Bool().Draw(t, "again")})
			a := &h.attempts[n]
			for _, at := range []*string{&a.started, &a.checked, &a.allowed, &a.executing, &a.output} {
				if rapid.Bool().Draw(t, "happens") {
					*at = stamp(now)
					step("begun")
				}
			}
			for range rapid.IntRange(0, 12).Draw(t, "items") {
				i := done(rapid.SampledFrom(kinds).Draw(t, "kind"), "", rapid.SampledFrom([]string{"", "x", "{", "```go"}).Draw(t, "text"), now)
				if i.Kind == transcript.KindTool {
					i.Tool = &transcript.Tool{Kind: rapid.SampledFrom(tools).Draw(t, "tool")}
				}
				i.State = transcript.StateOpen
				a.items = append(a.items, i)
				step("item begins")
				i.State = transcript.StateClosed
				step("item ends")
			}
			a.ended = stamp(now)
			step("attempt ends")
		}
		h.resultAt, h.over, h.endedAt = stamp(now), true, stamp(now)
		h.succeeded = rapid.Bool().Draw(t, "succeeds")
		step("over")
		if h.succeeded && progressOf(before) != 100 {
			t.Fatalf("over: %+v", before)
		}
	})
}

// inOrder checks the order of phases: completed ones, at most one that runs or failed, pending
// ones.
func inOrder(t *rapid.T, phases [phaseCount]phase) {
	rank := map[string]int{phaseCompleted: 0, phaseRunning: 1, phaseFailed: 1, phasePending: 2}
	last, at := 0, 0
	for _, p := range phases {
		r := rank[p.Status]
		if r < last || r == 1 && at > 0 || p.Progress < 0 || p.Progress > 100 || p.Status == phasePending && p.Progress > 0 {
			t.Fatalf("not in order: %+v", phases)
		}
		if last = r; r == 1 {
			at++
		}
	}
}

// TestFilesRead checks that each file that a tool read successfully counts once.
func TestFilesRead(t *testing.T) {
	t.Parallel()
	tool := func(kind, status string, paths ...string) *transcript.Item {
		made := &transcript.Tool{Kind: kind, Status: status}
		for _, p := range paths {
			made.Locations = append(made.Locations, transcript.Location{Path: p})
		}
		return &transcript.Item{Kind: transcript.KindTool, Tool: made}
	}
	items := []*transcript.Item{
		{Kind: transcript.KindMessage}, tool("read", "completed", "a.go", "b.go"), tool("read", "completed", "a.go"), tool("edit", "completed", "c.go"),
		tool("read", "failed", "d.go"), tool("read", "completed"),
	}
	if got := filesRead(items); got != 2 {
		t.Errorf("%d files", got)
	}
}

// TestPhaseBetweenTwoLooks checks that a phase that began and ended between two polls is reported
// as completed. A phase in which nothing happened is not reported.
func TestPhaseBetweenTwoLooks(t *testing.T) {
	t.Parallel()
	w := newPhaseWalk(stamp(1))
	w.raise(80)
	w.enter(generate, stamp(2))
	got := []phaseUpdate{}
	for _, n := range phaseNews("job_a", [phaseCount]phase{}, w.phases) {
		got = append(got, n.update)
	}
	want := []phaseUpdate{
		{"job_a", "research", "running", 0}, {"job_a", "research", "completed", 100},
		{"job_a", "inspect", "completed", 100}, {"job_a", "generate", "running", 0},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}
