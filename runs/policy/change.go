package policy

// Changing the policy of a run, and the policy that a launch begins with.

import (
	"slices"

	"ac/internal/fault"
	"ac/workspace/doc"
)

// Change is what somebody asks for. What is empty stays; Rules replaces all.
type Change struct {
	Mode  doc.Mode
	Level doc.Level
	Rules *[]doc.PolicyRule
}

// levelData stands beside the reason exceeds_permission_level: the level that
// holds.
type levelData struct {
	Level doc.Level `json:"level"`
}

func exceeds(level doc.Level, format string, args ...any) error {
	return fault.New(fault.ExceedsPermissionLevel, format, args...).With(levelData{level})
}

// Default is the policy of a run for which nobody set one.
func Default() doc.RunPolicy {
	return doc.RunPolicy{Mode: doc.ModeDefault, PermissionLevel: doc.LevelRunCommands, Rules: []doc.PolicyRule{}}
}

// Of is the policy of a run as its record has it.
func Of(run doc.Run) doc.RunPolicy {
	if run.Live == nil {
		return Default()
	}
	return run.Live.Policy
}

// Causes of a change.
const (
	BySetting = "set"
	ByAnswer  = "answer"
)

// ChangeEvent is the payload of run.policy_changed.
type ChangeEvent struct {
	By     string        `json:"by"`
	Before doc.RunPolicy `json:"before"`
	After  doc.RunPolicy `json:"after"`
	Cause  string        `json:"cause"`
}

// Equal reports whether two policies are the same.
func Equal(a, b doc.RunPolicy) bool {
	return a.Mode == b.Mode && a.PermissionLevel == b.PermissionLevel && slices.Equal(a.Rules, b.Rules)
}

// Changed is a policy with a change. Raiser says that who asks may raise the
// level: a person or a manager. The error is exceeds_permission_level for a level
// above the present one without that, and for a mode that the level does not
// bear.
func Changed(p doc.RunPolicy, c Change, raiser bool) (doc.RunPolicy, error) {
	if c.Level != "" {
		if !AtLeast(p.PermissionLevel, c.Level) && !raiser {
			return p, exceeds(p.PermissionLevel, "permission level %s is above %s, the level of the run", c.Level, p.PermissionLevel)
		}
		p.PermissionLevel = c.Level
	}
	if c.Mode != "" {
		p.Mode = c.Mode
	}
	if !Bears(p.PermissionLevel, p.Mode) {
		return p, exceeds(p.PermissionLevel, "mode %s is above what permission level %s bears", p.Mode, p.PermissionLevel)
	}
	if c.Rules != nil {
		rules, err := Numbered(p.Rules, *c.Rules)
		if err != nil {
			return p, err
		}
		p.Rules = rules
	}
	return p, nil
}
