package supervisor_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ac/internal/fault"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// TestBoundsOfCodex checks how the mode and the level of a run set codex's sandbox and approval
// policy. If neither people nor rules are asked, the sandbox alone limits codex.
func TestBoundsOfCodex(t *testing.T) {
	t.Parallel()
	const asked = " untrusted user"
	for _, c := range []struct {
		name  string
		level doc.Level
		mode  doc.Mode
		asks  bool
		rules []doc.PolicyRule
		want  string
	}{
		{"read-only, asked", doc.LevelReadOnly, doc.ModeDefault, true, nil, "read-only" + asked},
		{"patch, asked", doc.LevelPatch, doc.ModeDefault, true, nil, "workspace-write" + asked},
		{"run-commands, asked", doc.LevelRunCommands, doc.ModeDefault, true, nil, "workspace-write" + asked},
		{"full, asked", doc.LevelFull, doc.ModeDefault, true, nil, "danger-full-access" + asked},
		{"run-commands, unasked", doc.LevelRunCommands, doc.ModeFullAuto, false, nil, "workspace-write never"},
		{"full, unasked", doc.LevelFull, doc.ModeFullAuto, false, nil, "danger-full-access never"},
		{"rules ask in place of people", doc.LevelRunCommands, doc.ModeFullAuto, false, []doc.PolicyRule{{Operation: doc.OpExec, Effect: doc.Deny, Glob: "rm *"}}, "workspace-write" + asked},
		{"mode plan, whatever the level", doc.LevelFull, doc.ModePlan, true, nil, "read-only" + asked},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			k := newStage(t).live("bound", func(l *session.LiveOrder) {
				l.Interactive, l.Policy.PermissionLevel, l.Policy.Mode = c.asks, c.level, c.mode
				if c.rules != nil {
					l.Policy.Rules = c.rules
				}
			})
			if k.end(); k.lastMessage() != c.want {
				t.Errorf("%q, want %q", k.lastMessage(), c.want)
			}
		})
	}
}

// TestUnwritableLog checks that requests that cannot be recorded are refused and do not reach
// the agent. The session ends, because nothing it does could be recorded.
func TestUnwritableLog(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.torn = true // the log lacks what could not be written
	k := s.live("ask touch x; hold", keepOpen)
	id := k.asked()
	log := filepath.Join(k.w.Dir(), filepath.FromSlash(workspace.LogFile(k.project, k.order.RunID)))
	kept := log + ".kept"
	if err := errors.Join(os.Rename(log, kept), os.Mkdir(log, 0o700)); err != nil {
		t.Fatal(err)
	}
	record := k.record(k.order)
	_, answerErr := session.Respond(k.ctx, k.w, record, session.AnswerRequest{Actor: "human", Role: "human", InteractionID: id, Decision: "allow"})
	_, steerErr := session.Steer(k.ctx, k.w, record, session.SteerRequest{Text: "unheard"})
	if err := errors.Join(os.Remove(log), os.Rename(kept, log)); err != nil {
		t.Fatal(err)
	}
	if !fault.Is(answerErr, fault.IO) {
		t.Error(answerErr)
	}
	// The session ends because of this. The second text may arrive at any point of that.
	if !slices.ContainsFunc([]fault.Reason{fault.IO, fault.RunNotLive, fault.SupervisorUnreachable}, func(r fault.Reason) bool { return fault.Is(steerErr, r) }) {
		t.Error(steerErr)
	}
	if record := k.end(); record.Status != doc.StatusFailed {
		t.Errorf("%s: %s", record.Status, record.Error)
	}
	if said := k.output(k.order, "stdout.txt"); strings.Contains(said, "answer: accept") || strings.Contains(said, "unheard") {
		t.Errorf("the agent heard of it: %s", said)
	}
}
