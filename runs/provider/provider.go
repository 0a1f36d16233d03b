// Package provider knows the agent CLIs: their names, where their programs are,
// how they are called, what their answers look like, and whether they may be
// used. It starts only short probes; sessions are executed elsewhere.
//
// Invariant: a program is executed only after its name, or that of the file it
// resolves to, was found fit.
package provider

import (
	"slices"
	"strings"

	"ac/workspace/doc"
)

// Driver is a family of CLIs.
type Driver string

// The drivers. Other providers have none: their command is given.
const (
	Codex  Driver = "codex"
	Claude Driver = "claude"
	Gemini Driver = "gemini"
)

// appServerKey is the key of the app server's program in the machine overlay.
const appServerKey = "codex_app_server"

// DriverOf gives the driver of a provider, "" for those without one.
func DriverOf(provider string) Driver {
	switch provider {
	case "codex", "codex_app_server", "codex-app-server":
		return Codex
	case "claude", "claude_code", "claude-code":
		return Claude
	case "gemini", "gemini_cli":
		return Gemini
	}
	return ""
}

// SpeaksAppServer reports whether a provider is driven by the app-server
// protocol.
func SpeaksAppServer(provider string) bool {
	return provider == "codex_app_server" || provider == "codex-app-server"
}

// Binary is the configured program of a provider: under its own name, its
// driver's, or the driver's name itself.
func Binary(machine doc.Machine, provider string) string {
	driver := DriverOf(provider)
	keys := []string{provider}
	if SpeaksAppServer(provider) {
		keys = append(keys, appServerKey)
	}
	for _, key := range append(keys, string(driver)) {
		if bin := machine.ProviderBins[key]; bin != "" {
			return bin
		}
	}
	return string(driver)
}

// ModelFlag is the model to pass for a hint: none when the hint only names a
// provider or a driver.
func ModelFlag(hint string) string {
	names := []string{"codex", "claude", "gemini", "codex_app_server", "codex-app-server", "claude_code", "claude-code", "gemini_cli", "manual", "cmd"}
	if slices.Contains(names, strings.TrimSpace(hint)) {
		return ""
	}
	return hint
}
