// Package provider describes the agent CLIs: their names and programs, their command lines,
// their answers, and whether they may be used. It starts only short probes; package runs/session
// executes sessions.
//
// Invariant: before a program is executed, its name or that of the file it resolves to has been
// approved.
package provider

import (
	"slices"
	"strings"

	"ac/workspace/doc"
)

// Driver is a family of CLIs.
type Driver = doc.Driver

// The drivers, by their names in documents.
const (
	Codex  = doc.Codex
	Claude = doc.Claude
	Gemini = doc.Gemini
)

// family is everything that ac knows about the CLI of a driver except its names (see
// doc.Providers).
type family struct {
	driver Driver
	cli    CLI
	// triedWith is the release that this build was tested with, in the program's own format.
	triedWith string
	// adapters are the ways to drive the CLI.
	adapters []Adapter
}

// families returns the only table of CLIs. To add one, also add its names to doc.Providers, its
// output format to runs/transcript, and its usage to runs/usage.
func families() []family {
	codex := Capabilities{true, true, true, true, true, false, "recommended"}
	return []family{
		{Codex, codexCLI{}, "codex-cli 0.169.0", []Adapter{
			{Name: doc.KindAppServer, Provider: string(Codex), Mode: protocolMode, Capabilities: codex},
			{Name: "codex_cli", Provider: string(Codex), Mode: "cli", Capabilities: codex},
		}},
		{Claude, claudeCLI{}, "2.1.330 (Claude Code)", []Adapter{
			{Name: "claude_cli", Provider: string(Claude), Mode: "cli", Capabilities: Capabilities{true, false, true, true, false, false, "unsupported"}},
		}},
		{Gemini, geminiCLI{}, "0.61.0", []Adapter{
			{Name: "gemini_cli", Provider: string(Gemini), Mode: "cli", Capabilities: Capabilities{true, false, true, false, false, false, "unsupported"}},
		}},
	}
}

func familyOf(d Driver) (f family, ok bool) {
	all := families()
	i := slices.IndexFunc(all, func(f family) bool { return f.driver == d })
	if i < 0 {
		return f, false
	}
	return all[i], true
}

// DriverOf returns the driver of a provider, "" for a provider without one.
func DriverOf(provider string) Driver { return doc.ProviderNamed(provider).Driver }

// SpeaksAppServer reports whether ac drives a provider through the app-server protocol.
func SpeaksAppServer(provider string) bool { return doc.ProviderNamed(provider).AppServer }

// Binary returns the program configured for a provider. It looks up the provider's name, then
// the app server's if the provider speaks that protocol, then the driver's. The fallback is the
// name of the driver, or of the provider if it has no driver.
func Binary(machine doc.Machine, provider string) string {
	driver := DriverOf(provider)
	keys := []string{provider}
	if SpeaksAppServer(provider) {
		keys = append(keys, doc.KindAppServer)
	}
	for _, key := range append(keys, string(driver)) {
		if bin := machine.ProviderBins[key]; bin != "" {
			return bin
		}
	}
	if driver == "" {
		return provider
	}
	return string(driver)
}

// ModelFlag returns the model to pass for a hint, "" if the hint is only the name of a provider
// or driver.
func ModelFlag(hint string) string {
	named := strings.TrimSpace(hint)
	if slices.ContainsFunc(doc.Providers(), func(p doc.Provider) bool { return p.Name == named && p.Name != managerPolicy }) {
		return ""
	}
	return hint
}

// managerPolicy is a policy key in doc.Providers that does not name a provider of agents.
const managerPolicy = "manager"
