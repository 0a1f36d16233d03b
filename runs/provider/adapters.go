package provider

// adapter.status: which CLIs could be used on this machine.

import (
	"context"
	"errors"
	"os"
	"sync"

	"ac/workspace/doc"
)

// Adapter is one way to reach an agent CLI, and whether it is there.
type Adapter struct {
	Name         string       `json:"name"`
	Provider     string       `json:"provider"`
	Mode         string       `json:"mode"`
	Available    bool         `json:"available"`
	Reason       string       `json:"reason,omitempty"`
	Capabilities Capabilities `json:"capabilities"`
}

// Capabilities are what an adapter supports.
type Capabilities struct {
	StreamingEvents   bool   `json:"supports_streaming_events"`
	ResumableSession  bool   `json:"supports_resumable_session"`
	StructuredOutput  bool   `json:"supports_structured_output"`
	TokenUsage        bool   `json:"supports_token_usage"`
	PatchExport       bool   `json:"supports_patch_export"`
	ApprovalCallbacks bool   `json:"supports_interactive_approval_callbacks"`
	WorktreeIsolation string `json:"supports_worktree_isolation"`
}

// adapters lists what exists, in the order in which it is told.
func adapters() []Adapter {
	codex := Capabilities{true, true, true, true, true, false, "recommended"}
	return []Adapter{
		{Name: "codex_app_server", Provider: "codex", Mode: "protocol", Capabilities: codex},
		{Name: "codex_cli", Provider: "codex", Mode: "cli", Capabilities: codex},
		{Name: "claude_cli", Provider: "claude", Mode: "cli", Capabilities: Capabilities{true, false, true, true, false, false, "unsupported"}},
		{Name: "gemini_cli", Provider: "gemini", Mode: "cli", Capabilities: Capabilities{true, false, true, false, false, false, "unsupported"}},
	}
}

// Status looks for every adapter, side by side. Programs whose name is not
// approved are not executed.
func Status(ctx context.Context, machine doc.Machine) []Adapter {
	all := adapters()
	var group sync.WaitGroup
	for i := range all {
		group.Go(func() { all[i].look(ctx, machine) })
	}
	group.Wait()
	return all
}

func (a *Adapter) look(ctx context.Context, machine doc.Machine) {
	protocol := a.Mode == "protocol"
	key := a.Provider
	if protocol {
		key = appServerKey
	}
	program, err := Find(Binary(machine, key), os.Getenv("PATH"))
	approval := program.Approve([]string{a.Provider})
	switch {
	case errors.Is(approval, ErrNotApproved):
		a.Reason = "name not allowed: " + approval.Error()
	case err != nil:
		a.Reason = "binary not found: " + err.Error()
	case protocol && !ask(ctx, os.Environ(), probeLimit, program.Path, "app-server", "--help").ok:
		a.Reason = "app-server command not available: " + program.Path + " app-server --help did not succeed"
	default:
		a.Available = true
	}
}
