package provider

// Codex without command tools. Codex reads files by running commands. If its level forbids
// commands, ac serves it file tools instead (docs/adr/0012).

import (
	"slices"

	"ac/internal/canonjson"
)

// CodexFiles is the command that serves read-only file tools to codex in place of its command
// tools. It is nil if codex keeps its command tools.
type CodexFiles []string

// FilesFor returns the command for a level. Only Patch, which may write files but not run
// commands, needs one. dirs are the directories that the agent works in, starting with its
// working directory.
func FilesFor(level, executable string, dirs ...string) CodexFiles {
	if level != Patch {
		return nil
	}
	argv := CodexFiles{executable, "mcp:files"}
	for _, dir := range dirs {
		argv = append(argv, "--dir", dir)
	}
	return argv
}

// Without returns the codex features to disable: those that run commands.
func (f CodexFiles) Without() []string {
	if f == nil {
		return nil
	}
	return []string{"shell_tool", "unified_exec"}
}

// words returns the options for codex exec. Their values are TOML, whose strings and lists share
// JSON's syntax.
func (f CodexFiles) words() (argv []string) {
	if f == nil {
		return nil
	}
	for _, name := range f.Without() {
		argv = append(argv, "--disable", name)
	}
	list := []byte{'['}
	for i, word := range f[1:] {
		if i > 0 {
			list = append(list, ',')
		}
		list = canonjson.AppendString(list, word)
	}
	command := string(canonjson.AppendString(nil, f[0]))
	return slices.Concat(argv, []string{"-c", "mcp_servers.ac.command=" + command, "-c", "mcp_servers.ac.args=" + string(list) + "]"})
}
