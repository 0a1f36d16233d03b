package policy

// The two tables: what a level denies, and how a mode decides each operation.

import (
	"path/filepath"
	"slices"

	"ac/workspace/doc"
)

// InRoot reports whether a file's resource lies in the working root. An unknown one ("") does
// not.
func InRoot(resource string) bool {
	return filepath.IsLocal(filepath.FromSlash(resource))
}

// deniedByLevel is the table of levels. No mode, rule or person can allow what it denies.
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

// rulesMayAllow reports whether a rule may allow an access. At read-only, only a person may
// allow a command, because the agent runs an approved command outside its sandbox.
func rulesMayAllow(level doc.Level, a Access) bool {
	return a.Operation != doc.OpExec || AtLeast(level, doc.LevelPatch)
}

// ofMode is the table of modes. known is false for operations that the table does not contain.
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

// levels returns all levels, from lowest to highest.
func levels() []doc.Level {
	return []doc.Level{doc.LevelReadOnly, doc.LevelPatch, doc.LevelRunCommands, doc.LevelFull}
}

// AtLeast reports whether level is at least as high as bound.
func AtLeast(level, bound doc.Level) bool {
	return slices.Index(levels(), level) >= slices.Index(levels(), bound)
}

// Permits reports whether a level permits a mode.
func Permits(level doc.Level, mode doc.Mode) bool {
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

// effectiveMode returns the mode of a policy, or default if its level does not permit that mode. A
// manually edited record therefore grants nothing more.
func effectiveMode(p doc.RunPolicy) doc.Mode {
	if !Permits(p.PermissionLevel, p.Mode) {
		return doc.ModeDefault
	}
	return p.Mode
}

// MostMode returns the mode of a launch that names none. It is default if people can be asked,
// otherwise the most permissive mode that the level permits.
func MostMode(level doc.Level, interactive bool) doc.Mode {
	switch {
	case interactive:
	case Permits(level, doc.ModeFullAuto):
		return doc.ModeFullAuto
	case Permits(level, doc.ModeAcceptEdits):
		return doc.ModeAcceptEdits
	}
	return doc.ModeDefault
}
