package doc

// The names of providers. Package runs/provider runs the CLIs behind them. All other code
// that knows providers by name uses this file.

import (
	"slices"
	"strings"
)

// Driver is a family of agent CLIs. Its name is also a job's worker_kind.
type Driver string

// The drivers. Other providers have none: their command is configured.
const (
	Codex  Driver = "codex"
	Claude Driver = "claude"
	Gemini Driver = "gemini"
)

// Names of providers that new companies use.
const (
	ProviderCodex      = "codex"
	ProviderClaudeCode = "claude_code"
	ProviderGemini     = "gemini"
)

// Provider describes the provider that a name in a document stands for.
type Provider struct {
	Name   string
	Driver Driver // "" for none
	// AppServer is set if the app-server protocol drives it.
	AppServer bool
	// Live is the driver of its live sessions, "" if it cannot have any. Spoken is set if all
	// its sessions are live. LiveArgs are its program's arguments in a live session. If nil,
	// the driver supplies them, or the configuration must.
	Live       string
	AlwaysLive bool
	LiveArgs   []string
	// LiveEnv is added to the environment of live sessions, except variables that are already
	// set. It makes an agent ask for permission that would otherwise act without asking.
	LiveEnv []string
	// PolicyFrom names the provider whose policy applies if this one has none, "" for none.
	PolicyFrom string
	// Policy is the default execution policy, nil if it has none of its own.
	Policy *ExecutionPolicy
}

// Drivers of live sessions.
const (
	LiveCodex  = "codex"
	LiveClaude = "claude"
	LiveACP    = "acp"
	// LiveCommand drives an agent by the command in its own document, one process a turn.
	LiveCommand = "command"
)

// Providers lists the providers that ac knows. Any other name is also a provider, whose
// command is configured.
func Providers() []Provider {
	subscribed := func(d Driver) *ExecutionPolicy {
		return &ExecutionPolicy{
			Channel: "subscription_cli", RequireSubscriptionProof: true,
			ProofStrategy: string(d) + "_cli", AllowedBinPatterns: []string{string(d)},
		}
	}
	return []Provider{
		{Name: ProviderCodex, Driver: Codex, Live: LiveCodex, Policy: subscribed(Codex)},
		{Name: KindAppServer, Driver: Codex, AppServer: true, Live: LiveCodex, AlwaysLive: true, PolicyFrom: ProviderCodex, Policy: subscribed(Codex)},
		{Name: "codex-app-server", Driver: Codex, AppServer: true, Live: LiveCodex, AlwaysLive: true, PolicyFrom: KindAppServer},
		{Name: "claude", Driver: Claude, Live: LiveClaude, Policy: subscribed(Claude)},
		{Name: ProviderClaudeCode, Driver: Claude, Live: LiveClaude, PolicyFrom: "claude", Policy: subscribed(Claude)},
		{Name: "claude-code", Driver: Claude, Live: LiveClaude, PolicyFrom: ProviderClaudeCode},
		{Name: ProviderGemini, Driver: Gemini, Live: LiveACP, LiveArgs: []string{"--acp"}, Policy: &ExecutionPolicy{Channel: "api", AllowedBinPatterns: []string{string(Gemini)}}},
		{Name: "gemini_cli", Driver: Gemini, Live: LiveACP, LiveArgs: []string{"--acp"}},
		{Name: "opencode", Live: LiveACP, LiveArgs: []string{"acp"}, LiveEnv: []string{`OPENCODE_PERMISSION={"edit":"ask","bash":"ask","webfetch":"ask"}`}},
		{Name: "acp", Live: LiveACP, AlwaysLive: true},
		{Name: "manager", Policy: &ExecutionPolicy{Channel: "api", AllowedBinPatterns: []string{}}},
		{Name: "manual"},
		{Name: "cmd"},
	}
}

// ProviderNamed returns a known provider, or else one with only a name.
func ProviderNamed(name string) Provider {
	all := Providers()
	if i := slices.IndexFunc(all, func(p Provider) bool { return p.Name == name }); i >= 0 {
		return all[i]
	}
	if strings.HasPrefix(name, "acp_") || strings.HasPrefix(name, "acp-") {
		return Provider{Name: name, Live: LiveACP, AlwaysLive: true}
	}
	return Provider{Name: name}
}

// Vendors returns the vendors of models by name, with the driver whose agents use their
// models.
func Vendors() map[string]Driver {
	return map[string]Driver{"anthropic": Claude, "openai": Codex, "google": Gemini}
}

// WorkerKinds returns the drivers by the names that jobs use.
func WorkerKinds() (kinds []string) {
	for _, p := range Providers() {
		if kind := string(p.Driver); kind != "" && !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// WorkerKindOf returns the worker_kind that a provider's name starts with, "" for none.
func WorkerKindOf(name string) string {
	for _, kind := range WorkerKinds() {
		if strings.HasPrefix(strings.ToLower(name), kind) {
			return kind
		}
	}
	return ""
}

// Kinds of workers without a driver: agents that speak ACP, and commands. job.yaml cannot
// name them, order.json can.
const (
	WorkerACP = "acp"
	WorkerCmd = "cmd"
)

// AnyWorkerKindOf returns a provider's kind of worker: that of its driver, else WorkerACP or
// WorkerCmd.
func AnyWorkerKindOf(name string) string {
	if kind := WorkerKindOf(name); kind != "" {
		return kind
	}
	if ProviderNamed(name).Live == LiveACP {
		return WorkerACP
	}
	return WorkerCmd
}
