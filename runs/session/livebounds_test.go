package session_test

import (
	"testing"

	"ac/runs/session"
	"ac/workspace/doc"
)

// TestBoundsOfCodex holds the mode and the level of a run to what codex is bound by, and
// to whom it asks: the sandbox alone where nobody is asked.
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
