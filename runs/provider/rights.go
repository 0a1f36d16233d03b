package provider

// Rights: the one table that maps permission levels to the flags of each CLI.
// An agent never runs with more than its level; an agent's own list of tools
// can only narrow that.

import (
	"slices"
	"strings"

	"ac/workspace/doc"
)

// Permission levels, from the lowest to the highest.
const (
	ReadOnly    = string(doc.LevelReadOnly)
	Patch       = string(doc.LevelPatch)
	RunCommands = string(doc.LevelRunCommands)
	Full        = string(doc.LevelFull)
)

// Sandbox is codex's sandbox for a level. At patch, only patches are written in
// it (CodexFiles).
func Sandbox(level string) string {
	switch level {
	case ReadOnly:
		return "read-only"
	case Full:
		return "danger-full-access"
	}
	return "workspace-write"
}

// claudeTools are the tools of claude that a level allows; nil for all.
func claudeTools(level string) []string {
	reads := []string{"Read", "Glob", "Grep"}
	switch level {
	case ReadOnly:
		return reads
	case Patch:
		return append(reads, "Edit", "MultiEdit", "Write", "NotebookEdit")
	}
	return nil
}

// claudeRights are the options of claude for a level. Its acceptEdits mode runs
// some commands that only touch files; where a level allows no commands, Bash
// is denied.
func claudeRights(level string, tools []string) []string {
	mode := "acceptEdits"
	var allowed, denied []string
	switch level {
	case ReadOnly:
		mode, allowed = "dontAsk", claudeTools(level)
	case Patch:
		denied = []string{"Bash"}
	default:
		allowed = []string{"Bash"}
	}
	if len(tools) > 0 {
		mode, allowed = "dontAsk", narrowed(tools, claudeTools(level))
	}
	argv := []string{"--permission-mode", mode}
	if len(allowed) > 0 {
		argv = append(argv, "--allowedTools="+strings.Join(allowed, ","))
	}
	if len(denied) > 0 {
		argv = append(argv, "--disallowedTools="+strings.Join(denied, ","))
	}
	return argv
}

// narrowed are the tools of an agent's own list that its level allows. A tool
// may have a pattern, as in Bash(git log:*). Tools of MCP servers are not
// restricted here.
func narrowed(tools, level []string) []string {
	if level == nil {
		return tools
	}
	return slices.DeleteFunc(slices.Clone(tools), func(tool string) bool {
		name, _, _ := strings.Cut(tool, "(")
		return !slices.Contains(level, name) && !strings.HasPrefix(name, "mcp__")
	})
}

// geminiRights are the options of gemini for a level. Trusting a folder
// activates its settings and hooks. So it is passed only if an authorized
// person chose the folder, and for this call only.
func geminiRights(level string, trusted bool) []string {
	mode := "yolo"
	switch level {
	case ReadOnly:
		mode = "plan"
	case Patch:
		mode = "auto_edit"
	}
	argv := []string{"--approval-mode=" + mode}
	if trusted {
		argv = append([]string{"--skip-trust"}, argv...)
	}
	return argv
}
