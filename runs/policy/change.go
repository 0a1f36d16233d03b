package policy

// Changing the policy of a run, and the initial policy of a launch.

import (
	"slices"

	"ac/internal/fault"
	"ac/workspace/doc"
)

// Change is a requested change of a policy. Empty fields leave the policy as it is. Rules
// replaces all rules. First replaces the rules of the run's workflow, which precede all others.
type Change struct {
	Mode  doc.Mode
	Level doc.Level
	Rules *[]doc.PolicyRule
	First *[]doc.PolicyRule
}

// levelData is the error data of exceeds_permission_level: the level in force.
type levelData struct {
	Level doc.Level `json:"level"`
}

func exceeds(level doc.Level, format string, args ...any) error {
	return fault.New(fault.ExceedsPermissionLevel, format, args...).With(levelData{level})
}

// Default returns the policy of a run for which nobody set one.
func Default() doc.RunPolicy {
	return doc.RunPolicy{Mode: doc.ModeDefault, PermissionLevel: doc.LevelRunCommands, Rules: []doc.PolicyRule{}}
}

// Of returns the policy in a run's record, or the default.
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

// Equal reports whether two policies are equal.
func Equal(a, b doc.RunPolicy) bool {
	return a.Mode == b.Mode && a.PermissionLevel == b.PermissionLevel && slices.Equal(a.Rules, b.Rules)
}

// ApplyChange returns the policy after a change. raiser allows the requester, a person or a manager,
// to raise the level. The error is exceeds_permission_level if the change raises the level
// without raiser, or if the level does not permit the mode.
func ApplyChange(p doc.RunPolicy, c Change, raiser bool) (doc.RunPolicy, error) {
	if c.Level != "" {
		if !AtLeast(p.PermissionLevel, c.Level) && !raiser {
			return p, exceeds(p.PermissionLevel, "permission level %s is above %s, the level of the run", c.Level, p.PermissionLevel)
		}
		p.PermissionLevel = c.Level
	}
	if c.Mode != "" {
		p.Mode = c.Mode
	}
	if !Permits(p.PermissionLevel, p.Mode) {
		return p, exceeds(p.PermissionLevel, "mode %s is above what permission level %s bears", p.Mode, p.PermissionLevel)
	}
	if c.Rules != nil {
		rules, err := NumberRules(p.Rules, *c.Rules)
		if err != nil {
			return p, err
		}
		p.Rules = rules
	}
	if c.First != nil {
		rules, err := PrependRules(*c.First, slices.DeleteFunc(slices.Clone(p.Rules), ofWorkflow))
		if err != nil {
			return p, err
		}
		p.Rules = rules
	}
	return p, nil
}
