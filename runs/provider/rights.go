package provider

// Rights: the only table that maps permission levels to the flags of each CLI. An agent never
// runs with more rights than its level. An agent's own list of tools can only narrow them.

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

// Sandbox returns the codex sandbox for a level. At Patch, the sandbox permits writes and
// CodexFiles removes the command tools, so that codex writes only patches.
func Sandbox(level string) string {
	switch level {
	case ReadOnly:
		return "read-only"
	case Full:
		return "danger-full-access"
	}
	return "workspace-write"
}

// claudeTools returns the claude tools that a level allows, nil for all tools.
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

// claudeRights returns the claude options for a level. The acceptEdits mode runs some commands
// that only touch files. At Patch, claudeRights therefore denies Bash.
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

// narrowed returns the tools in an agent's own list that its level allows. A tool may carry a
// pattern, as in Bash(git log:*). Tools of MCP servers always pass.
func narrowed(tools, level []string) []string {
	if level == nil {
		return tools
	}
	return slices.DeleteFunc(slices.Clone(tools), func(tool string) bool {
		name, _, _ := strings.Cut(tool, "(")
		return !slices.Contains(level, name) && !strings.HasPrefix(name, "mcp__")
	})
}

// geminiRights returns the gemini options for a level. Trusting a folder activates its settings
// and hooks. The trust option is passed only if an authorized person chose the folder, and
// applies to this call only.
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
