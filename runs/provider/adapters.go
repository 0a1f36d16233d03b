package provider

// adapter.status: which agent CLIs this machine can use.

import (
	"context"
	"errors"

	"ac/workspace/doc"
)

// Adapter is one way to use an agent CLI, and whether it is available.
type Adapter struct {
	Name         string       `json:"name"`
	Provider     string       `json:"provider"`
	Mode         string       `json:"mode"`
	Available    bool         `json:"available"`
	Reason       string       `json:"reason,omitempty"`
	Program      string       `json:"program,omitempty"` // its file; "" if there is none
	Capabilities Capabilities `json:"capabilities"`
	// Version is the version that the program reports. TriedWith is the release that this build
	// was tested with. Both are "" if unknown.
	Version   string `json:"version,omitempty"`
	TriedWith string `json:"tried_with,omitempty"`
	// Probe is the result of trying the adapter without calling a model; nil until the probe
	// finishes.
	Probe *TryResult `json:"probe,omitempty"`
}

// TryResult reports whether the program accepted the command line of a run.
type TryResult struct {
	OK     bool   `json:"ok"`
	Detail string `json:"detail,omitempty"` // the program's error message
}

// protocolMode is the mode of adapters that ac drives through a protocol.
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

// adapters lists all adapters in the order in which reports show them.
func adapters() (all []Adapter) {
	for _, f := range families() {
		all = append(all, f.adapters...)
	}
	return all
}

// Describe describes the state of an adapter in one line.
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
		return text + "; not probed yet"
	case !a.Probe.OK:
		return text + "; it rejects the command line of a run: " + a.Probe.Detail
	}
	return text + "; it accepts the command line of a run"
}

// findProgram finds the program of an adapter, checks its name, and sets whether the adapter is
// available.
func (a *Adapter) findProgram(ctx context.Context, machine doc.Machine, environ []string) Program {
	key := a.Provider
	if a.Mode == protocolMode {
		key = doc.KindAppServer
	}
	program, err := Find(Binary(machine, key), value(environ, "PATH"))
	approval := program.Approve([]string{a.Provider})
	if err == nil {
		a.Program = program.Path
	}
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
