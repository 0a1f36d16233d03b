package provider

// adapter.status: which CLIs could be used on this machine.

import (
	"context"
	"errors"

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
	// Version is what the program says of itself, TriedWith the release that this
	// build was tried with; "" while unknown.
	Version   string `json:"version,omitempty"`
	TriedWith string `json:"tried_with,omitempty"`
	// Probe is what trying the real path showed, up to the model call; nil while
	// nobody has waited long enough for it.
	Probe *TryResult `json:"probe,omitempty"`
}

// TryResult is whether the command line of a run was taken.
type TryResult struct {
	OK     bool   `json:"ok"`
	Detail string `json:"detail,omitempty"` // why not, in the program's words
}

// protocolMode is the mode of adapters that are spoken with.
const protocolMode = "protocol"

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
func adapters() (all []Adapter) {
	for _, f := range families() {
		all = append(all, f.adapters...)
	}
	return all
}

// Describe says in a line how an adapter is.
func (a Adapter) Describe() string {
	if !a.Available {
		return a.Reason
	}
	text := "available"
	if a.Version != "" {
		text += ", version " + a.Version
		if a.Version != a.TriedWith {
			text += " (this build was tried with " + a.TriedWith + ")"
		}
	}
	switch {
	case a.Probe == nil:
		return text + "; it has not said anything of itself yet"
	case !a.Probe.OK:
		return text + "; it refuses a run: " + a.Probe.Detail
	}
	return text + "; it takes a run"
}

// look finds the program of an adapter and says whether it may be used.
func (a *Adapter) look(ctx context.Context, machine doc.Machine, environ []string) Program {
	key := a.Provider
	if a.Mode == protocolMode {
		key = doc.KindAppServer
	}
	program, err := Find(Binary(machine, key), value(environ, "PATH"))
	approval := program.Approve([]string{a.Provider})
	switch {
	case errors.Is(approval, ErrNotApproved):
		a.Reason = "name not allowed: " + approval.Error()
	case err != nil:
		a.Reason = "binary not found: " + err.Error()
	case a.Mode == protocolMode && !ask(ctx, environ, probeLimit, program.Path, "app-server", "--help").ok:
		a.Reason = "app-server command not available: " + program.Path + " app-server --help did not succeed"
	default:
		a.Available = true
	}
	return program
}
