package provider

// Codex without commands. It reads files by running commands, so a codex that
// must not run any is served file tools instead (docs/adr/0012).

import (
	"slices"

	"ac/internal/canonjson"
)

// CodexFiles is the command that serves codex read-only file tools in place of
// its tools that run commands; nil if codex keeps those.
type CodexFiles []string

// FilesFor is the command for a level. Only patch, which may write files but
// not run commands, needs it. dirs are the directories that the agent works
// with, its working directory first.
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

// Without are the features of codex to disable: those that run commands.
func (f CodexFiles) Without() []string {
	if f == nil {
		return nil
	}
	return []string{"shell_tool", "unified_exec"}
}

// words are the options for codex exec. Values are TOML, whose strings and
// lists are written like JSON's.
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
