package policy

// The two tables: what a level denies, and what a mode says of each operation.

import (
	"path/filepath"
	"slices"

	"ac/workspace/doc"
)

// InRoot reports whether the resource of a file lies in the working root. One
// that is not known does not.
func InRoot(resource string) bool {
	return filepath.IsLocal(filepath.FromSlash(resource))
}

// deniedByLevel is the table of levels: what none of its modes and rules allows,
// nor a person.
func deniedByLevel(level doc.Level, a Access) bool {
	switch level {
	case doc.LevelRunCommands, doc.LevelFull:
		return false
	case doc.LevelPatch:
		return a.Operation == doc.OpWrite && !InRoot(a.Resource)
	case doc.LevelReadOnly:
	}
	return a.Operation == doc.OpWrite || a.Operation == doc.OpNetwork
}

// rulesMayAllow reports whether a rule may allow an access. At read-only a command
// needs a person: what an agent asks for and gets, it runs outside of its sandbox.
func rulesMayAllow(level doc.Level, a Access) bool {
	return a.Operation != doc.OpExec || AtLeast(level, doc.LevelPatch)
}

// ofMode is the table of modes. Of operations that it does not have it knows
// nothing.
func ofMode(mode doc.Mode, a Access) (effect doc.Effect, known bool) {
	switch a.Operation {
	case doc.OpRead:
		return doc.Allow, true
	case doc.OpWrite, doc.OpExec, doc.OpNetwork, doc.OpMCPTool:
	default:
		return doc.Ask, false
	}
	switch mode {
	case doc.ModeFullAuto:
		return doc.Allow, true
	case doc.ModeAcceptEdits:
		if a.Operation == doc.OpWrite && InRoot(a.Resource) {
			return doc.Allow, true
		}
	case doc.ModePlan:
		if a.Operation != doc.OpMCPTool {
			return doc.Deny, true
		}
	case doc.ModeDefault:
	}
	return doc.Ask, true
}

// levels are all levels, from the least to the most.
func levels() []doc.Level {
	return []doc.Level{doc.LevelReadOnly, doc.LevelPatch, doc.LevelRunCommands, doc.LevelFull}
}

// AtLeast reports whether a level bears all that another one does.
func AtLeast(level, bound doc.Level) bool {
	return slices.Index(levels(), level) >= slices.Index(levels(), bound)
}

// Bears reports whether a level bears a mode.
func Bears(level doc.Level, mode doc.Mode) bool {
	switch mode {
	case doc.ModeDefault, doc.ModePlan:
		return true
	case doc.ModeAcceptEdits:
		return AtLeast(level, doc.LevelPatch)
	case doc.ModeFullAuto:
		return AtLeast(level, doc.LevelRunCommands)
	}
	return false
}

// borne is the mode of a policy, or default where its level does not bear that: a
// record that somebody edited grants nothing.
func borne(p doc.RunPolicy) doc.Mode {
	if !Bears(p.PermissionLevel, p.Mode) {
		return doc.ModeDefault
	}
	return p.Mode
}

// MostMode is the mode of a launch that names none: where somebody can be asked
// the one that asks, otherwise the most that the level bears.
func MostMode(level doc.Level, interactive bool) doc.Mode {
	switch {
	case interactive:
	case Bears(level, doc.ModeFullAuto):
		return doc.ModeFullAuto
	case Bears(level, doc.ModeAcceptEdits):
		return doc.ModeAcceptEdits
	}
	return doc.ModeDefault
}
