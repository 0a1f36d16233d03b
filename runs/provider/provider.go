// Package provider knows the agent CLIs: their names and programs, how to call
// them, how to read their answers, and whether they may be used. It starts only
// short probes; package runs/session executes sessions.
//
// Invariant: a program is executed only after its name, or that of the file it
// resolves to, was approved.
package provider

import (
	"slices"
	"strings"

	"ac/workspace/doc"
)

// Driver is a family of CLIs.
type Driver = doc.Driver

// The drivers, as documents name them.
const (
	Codex  = doc.Codex
	Claude = doc.Claude
	Gemini = doc.Gemini
)

// family is what ac knows about the CLI of a driver, besides its names
// (doc.Providers).
type family struct {
	driver Driver
	cli    CLI
	// triedWith is the release that this build was tested with, as the program
	// prints it.
	triedWith string
	// adapters are the ways to use it.
	adapters []Adapter
}

// families is the one table of CLIs. To add one, also add its names to
// doc.Providers, its output to runs/transcript, and its usage to runs/usage.
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

// DriverOf is the driver of a provider, "" for those without one.
func DriverOf(provider string) Driver { return doc.ProviderNamed(provider).Driver }

// SpeaksAppServer reports whether a provider is driven by the app-server
// protocol.
func SpeaksAppServer(provider string) bool { return doc.ProviderNamed(provider).AppServer }

// Binary is the configured program of a provider: under its own name, its
// driver's, or the driver's name itself.
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

// ModelFlag is the model to pass for a hint: none if the hint is the name of a
// provider or a driver.
func ModelFlag(hint string) string {
	named := strings.TrimSpace(hint)
	if slices.ContainsFunc(doc.Providers(), func(p doc.Provider) bool { return p.Name == named && p.Name != managerPolicy }) {
		return ""
	}
	return hint
}

// managerPolicy is the key of a policy that is not a provider of agents.
const managerPolicy = "manager"
