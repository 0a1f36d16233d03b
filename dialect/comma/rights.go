package comma

import (
	"slices"

	"ac/internal/shape"
	"ac/workspace/doc"
)

// The permissions of a strategy's agent: its tools determine them, up to the listener's limit.

// task returns the task node for an agent.
func (t *translator) task(a *strategyAgent) shape.Value {
	picked := t.picked[a.key]
	node := obj("kind", str(doc.NodeTask), "name", str(a.key), "agent", obj("agent_id", str(picked[0])),
		"goal", str("{{input}}"), "answer", str(doc.AnswerProse), "interactive", boolean(true), "attempts", num(1),
		"timeout_ms", num(callTimeout), "remember", str(a.key))
	if picked[1] != "" {
		put(&node, "model", str(picked[1]))
	}
	if text := t.system[a.key]; text != "" {
		put(&node, "instructions", str(text))
	}
	commands := slices.Contains(a.llm.Tools, "run_command")
	writes := slices.ContainsFunc(a.llm.Tools, func(tool string) bool { return slices.Contains(writingTools(), tool) })
	level := doc.LevelReadOnly
	switch {
	case commands:
		level = doc.LevelRunCommands
	case writes:
		level = doc.LevelPatch
	}
	level = lower(level, t.level)
	mode := doc.ModeAcceptEdits
	if level == doc.LevelReadOnly {
		mode = doc.ModeDefault
	}
	rules := listOf()
	deny := func(op doc.Operation) {
		rules.Items = append(rules.Items, obj("operation", str(string(op)), "effect", str(string(doc.Deny)), "glob", str("**")))
	}
	if !commands {
		deny(doc.OpExec)
	}
	if !writes {
		deny(doc.OpWrite)
	}
	put(&node, "permission_level", str(string(level)))
	put(&node, "mode", str(string(mode)))
	put(&node, "rules", rules)
	return node
}

// writingTools returns the tools of strategies that change files.
func writingTools() []string {
	return []string{"create_file", "write_file", "edit_file", "delete_file", "restore_file", "move_file", "apply_patch"}
}

// lower returns the lower of two levels.
func lower(a, b doc.Level) doc.Level {
	order := []doc.Level{doc.LevelReadOnly, doc.LevelPatch, doc.LevelRunCommands}
	return order[min(max(0, slices.Index(order, a)), max(0, slices.Index(order, b)))]
}
