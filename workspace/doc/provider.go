package doc

// The names of providers. The CLIs behind them are in runs/provider; all other
// code that knows providers by name asks here.

import (
	"slices"
	"strings"
)

// Driver is a family of agent CLIs. Its name is also the worker_kind of jobs.
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

// Provider is what a provider name in a document stands for.
type Provider struct {
	Name   string
	Driver Driver // "" for none
	// AppServer: it is driven by the app-server protocol.
	AppServer bool
	// Live is how its agent can be spoken with: a driver of live sessions, "" for not
	// at all. Spoken: it always is. LiveWords stand behind its program then; where
	// there are none the driver makes them, or somebody has to name them.
	Live      string
	Spoken    bool
	LiveWords []string
	// LiveEnv is what the environment of a live session holds beside, unless it has
	// these variables: what makes an agent ask that acts unasked by itself.
	LiveEnv []string
	// As is the provider whose policy holds where this one has none, "" for none.
	As string
	// Policy is its default execution policy, nil for none of its own.
	Policy *ExecutionPolicy
}

// Drivers of live sessions.
const (
	LiveCodex  = "codex"
	LiveClaude = "claude"
	LiveACP    = "acp"
	// LiveCommand is an agent that is a command of its own document: one process a turn.
	LiveCommand = "command"
)

// Providers lists what ac knows. Any other name is a provider too, whose command is
// given.
func Providers() []Provider {
	subscribed := func(d Driver) *ExecutionPolicy {
		return &ExecutionPolicy{
			Channel: "subscription_cli", RequireSubscriptionProof: true,
			ProofStrategy: string(d) + "_cli", AllowedBinPatterns: []string{string(d)},
		}
	}
	return []Provider{
		{Name: ProviderCodex, Driver: Codex, Live: LiveCodex, Policy: subscribed(Codex)},
		{Name: KindAppServer, Driver: Codex, AppServer: true, Live: LiveCodex, Spoken: true, As: ProviderCodex, Policy: subscribed(Codex)},
		{Name: "codex-app-server", Driver: Codex, AppServer: true, Live: LiveCodex, Spoken: true, As: KindAppServer},
		{Name: "claude", Driver: Claude, Live: LiveClaude, Policy: subscribed(Claude)},
		{Name: ProviderClaudeCode, Driver: Claude, Live: LiveClaude, As: "claude", Policy: subscribed(Claude)},
		{Name: "claude-code", Driver: Claude, Live: LiveClaude, As: ProviderClaudeCode},
		{Name: ProviderGemini, Driver: Gemini, Live: LiveACP, LiveWords: []string{"--acp"}, Policy: &ExecutionPolicy{Channel: "api", AllowedBinPatterns: []string{string(Gemini)}}},
		{Name: "gemini_cli", Driver: Gemini, Live: LiveACP, LiveWords: []string{"--acp"}},
		{Name: "opencode", Live: LiveACP, LiveWords: []string{"acp"}, LiveEnv: []string{`OPENCODE_PERMISSION={"edit":"ask","bash":"ask","webfetch":"ask"}`}},
		{Name: "acp", Live: LiveACP, Spoken: true},
		{Name: "manager", Policy: &ExecutionPolicy{Channel: "api", AllowedBinPatterns: []string{}}},
		{Name: "manual"},
		{Name: "cmd"},
	}
}

// ProviderNamed returns a known provider, or one with just a name.
func ProviderNamed(name string) Provider {
	all := Providers()
	if i := slices.IndexFunc(all, func(p Provider) bool { return p.Name == name }); i >= 0 {
		return all[i]
	}
	if strings.HasPrefix(name, "acp_") || strings.HasPrefix(name, "acp-") {
		return Provider{Name: name, Live: LiveACP, Spoken: true}
	}
	return Provider{Name: name}
}

// Vendors are the providers of models by name, with the driver whose agents use their models.
func Vendors() map[string]Driver {
	return map[string]Driver{"anthropic": Claude, "openai": Codex, "google": Gemini}
}

// WorkerKinds are the drivers by the names that jobs use.
func WorkerKinds() (kinds []string) {
	for _, p := range Providers() {
		if kind := string(p.Driver); kind != "" && !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// WorkerKindOf is the worker_kind that a provider's name begins with; "" for
// none.
func WorkerKindOf(name string) string {
	for _, kind := range WorkerKinds() {
		if strings.HasPrefix(strings.ToLower(name), kind) {
			return kind
		}
	}
	return ""
}

// The kinds of workers that no driver has: agents that speak ACP, and commands.
// job.yaml does not know them; order.json does.
const (
	WorkerACP = "acp"
	WorkerCmd = "cmd"
)

// AnyWorkerKindOf is the kind of worker that a provider makes: that of its driver,
// else WorkerACP or WorkerCmd.
func AnyWorkerKindOf(name string) string {
	if kind := WorkerKindOf(name); kind != "" {
		return kind
	}
	if ProviderNamed(name).Live == LiveACP {
		return WorkerACP
	}
	return WorkerCmd
}
