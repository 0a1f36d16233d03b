// Package modelprofile manages the model profiles of a workspace: which records are valid, which
// fields are shown, and what an agent gets from a profile at startup.
//
// Invariants: Shown returns no key and no value of a header whose name or form marks it as a
// secret. No command line contains a key or a header value. A key goes only to its profile's
// address, or to an agent of the profile's own provider.
package modelprofile

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"ac/internal/fault"
	"ac/internal/redact"
	"ac/runs/mcpserver"
	"ac/workspace/doc"
)

// Profile is a model profile as returned by methods.
type Profile struct {
	Name           string            `json:"name"`
	Provider       string            `json:"provider"`
	Model          string            `json:"model"`
	BaseURL        string            `json:"base_url,omitempty"`
	RequestHeaders map[string]string `json:"request_headers,omitempty"`
	ContextWindow  int64             `json:"context_window,omitempty"`
	AgentID        string            `json:"agent_id,omitempty"`
	HasAPIKey      bool              `json:"has_api_key"`
	KeySource      string            `json:"key_source"` // stored, env or none
	// Applies lists the families of agents that can use the profile.
	Applies []string `json:"applies"`
}

// Sources of keys.
const (
	KeyStored = "stored"
	KeyEnv    = "env"
	KeyNone   = "none"
)

// Families of agents, as in Profile.Applies: one per driver, one for all other ACP agents, and
// one for commands.
const (
	FamilyACP     = "acp"
	FamilyClaude  = string(doc.Claude)
	FamilyCodex   = string(doc.Codex)
	FamilyCommand = "command"
	FamilyGemini  = string(doc.Gemini)
)

// Change is a requested change of a profile. A nil field leaves the value as it is.
type Change struct {
	Provider       *string            `json:"provider" is:"optional"`
	Model          *string            `json:"model" is:"optional"`
	BaseURL        *string            `json:"base_url" is:"optional,empty"`
	RequestHeaders *map[string]string `json:"request_headers" is:"optional,empty"`
	ContextWindow  *int64             `json:"context_window" is:"optional,min=0"`
	AgentID        *string            `json:"agent_id" is:"optional,id"`
	APIKey         *string            `json:"api_key" is:"optional,empty"`
}

// MaxProfiles is the limit of profiles in a workspace.
const MaxProfiles = 256

const (
	maxName = 64 // characters
	maxText = 200
	maxKey  = 8 << 10
)

// CheckName returns why a profile name is invalid, "" if it is valid.
func CheckName(name string) string {
	switch {
	case strings.TrimSpace(name) == "" || len([]rune(name)) > maxName:
		return "must be 1 to 64 characters"
	case strings.ContainsFunc(name, func(r rune) bool { return r == '/' || unicode.IsControl(r) || r == unicode.ReplacementChar }):
		return "must not contain / or control characters"
	}
	return ""
}

// Find returns a profile by name, ignoring case, and its name as stored. An exact match takes
// precedence.
func Find(machine doc.Machine, name string) (kept string, p doc.ModelProfile, err error) {
	if p, known := machine.ModelProfiles[name]; known {
		return name, p, nil
	}
	for kept, p := range machine.ModelProfiles {
		if strings.EqualFold(kept, name) {
			return kept, p, nil
		}
	}
	return "", p, fault.New(fault.ProfileNotFound, "there is no model profile %s", name)
}

// ProfileOf returns the profile with its secret values hidden.
func ProfileOf(name string, p doc.ModelProfile) Profile {
	shown := Profile{
		Name: name, Provider: p.Provider, Model: p.Model, BaseURL: p.BaseURL, ContextWindow: p.ContextWindow, AgentID: p.AgentID,
		RequestHeaders: maps.Clone(p.RequestHeaders), HasAPIKey: p.APIKey != "", KeySource: KeyNone, Applies: applies(p),
	}
	for header, value := range shown.RequestHeaders {
		if secret(header, value) {
			shown.RequestHeaders[header] = doc.Hidden
		}
	}
	if p.APIKey != "" {
		shown.KeySource = KeyStored
	}
	if doc.OnlyEnvReference(p.APIKey) {
		shown.KeySource = KeyEnv
	}
	return shown
}

// Stored reports whether this machine stores a secret of the profile: its key, or a header that
// is never shown.
func Stored(p doc.ModelProfile) bool {
	if p.APIKey != "" && !doc.OnlyEnvReference(p.APIKey) {
		return true
	}
	for header, value := range p.RequestHeaders {
		if value == doc.Hidden || secret(header, value) {
			return true
		}
	}
	return false
}

// secret reports whether a header's value must never be shown.
func secret(header, value string) bool {
	if doc.OnlyEnvReference(value) {
		return false
	}
	return redact.SecretName(header) || strings.EqualFold(header, "Cookie") || redact.Find(value).Total() > 0
}

// family returns the family of agents that a provider's name denotes, "" if none.
func family(provider string) string {
	word := strings.ToLower(provider)
	for vendor, driver := range doc.Vendors() {
		if strings.HasPrefix(word, vendor) {
			return string(driver)
		}
	}
	return doc.WorkerKindOf(word)
}

// applies returns the families that can use a profile. A key without an address would go to the
// agent's own servers. Such a profile is therefore only for agents of its own provider.
func applies(p doc.ModelProfile) []string {
	all := []string{FamilyACP, FamilyClaude, FamilyCodex, FamilyCommand, FamilyGemini}
	return slices.DeleteFunc(all, func(kind string) bool {
		switch kind {
		case FamilyACP, FamilyCommand:
			return false
		case FamilyGemini:
			if _, ok := geminiHeaders(p.RequestHeaders); !ok {
				return true
			}
		}
		foreign := family(p.Provider) != kind
		return foreign && p.BaseURL == "" && (p.APIKey != "" || len(p.RequestHeaders) > 0)
	})
}

// FamilyOf returns the family of a provider's agent, live or not. driver is its driver for live
// sessions, "" for none.
func FamilyOf(provider, driver string) string {
	if d := doc.ProviderNamed(provider).Driver; d != "" {
		return string(d)
	}
	if driver == doc.LiveACP {
		return FamilyACP
	}
	return FamilyCommand
}

// Apply applies the change to a profile, nil for a new one. It returns the complete profile with
// plaintext values.
func (c Change) Apply(old *doc.ModelProfile, secrets doc.ProfileSecrets) (p doc.ModelProfile, err error) {
	if old != nil {
		p = WithSecrets(*old, secrets)
	}
	before := p
	assign(&p.Provider, c.Provider)
	assign(&p.Model, c.Model)
	assign(&p.BaseURL, c.BaseURL)
	assign(&p.ContextWindow, c.ContextWindow)
	assign(&p.AgentID, c.AgentID)
	if c.APIKey != nil && *c.APIKey != doc.Hidden {
		p.APIKey = *c.APIKey
	}
	if c.RequestHeaders != nil {
		p.RequestHeaders = maps.Clone(*c.RequestHeaders)
		for header, value := range p.RequestHeaders {
			if value == doc.Hidden {
				kept, known := before.RequestHeaders[header]
				if !known {
					return p, fault.New(fault.InvalidHeader, "request_headers %q has no value that %s could keep", header, doc.Hidden)
				}
				p.RequestHeaders[header] = kept
			}
		}
	}
	if len(p.RequestHeaders) == 0 {
		p.RequestHeaders = nil
	}
	return p, check(p)
}

func assign[T any](to, given *T) {
	if given != nil {
		*to = *given
	}
}

func check(p doc.ModelProfile) error {
	for _, text := range []struct{ name, value string }{{"provider", p.Provider}, {"model", p.Model}} {
		if strings.TrimSpace(text.value) == "" || len(text.value) > maxText || strings.ContainsFunc(text.value, unicode.IsControl) {
			return fault.InvalidField(text.name, "must be 1 to 200 bytes without control characters")
		}
	}
	if strings.HasPrefix(p.Model, "-") {
		return fault.InvalidField("model", "must not begin with -")
	}
	if len(p.APIKey) > maxKey || strings.ContainsAny(p.APIKey, "\r\n\x00") {
		return fault.InvalidField("api_key", "must be one line of at most 8192 bytes")
	}
	if why := mcpserver.CheckHeaders(p.RequestHeaders); why != "" {
		return fault.New(fault.InvalidHeader, "request_headers %s", why)
	}
	if p.BaseURL != "" {
		if err := mcpserver.CheckURL(p.BaseURL); err != nil {
			return fault.New(fault.InvalidURL, "base_url %v", err)
		}
	}
	return nil
}

// Put stores a profile and replaces any with the same name.
func Put(machine *doc.Machine, secrets *doc.Secrets, name string, p doc.ModelProfile) {
	hidden := doc.ProfileSecrets{}
	shown := p
	shown.RequestHeaders = maps.Clone(p.RequestHeaders)
	for header, value := range p.RequestHeaders {
		if secret(header, value) {
			if hidden.Headers == nil {
				hidden.Headers = map[string]string{}
			}
			shown.RequestHeaders[header], hidden.Headers[header] = doc.Hidden, value
		}
	}
	if p.APIKey != "" && !doc.OnlyEnvReference(p.APIKey) {
		shown.APIKey, hidden.APIKey = doc.Hidden, p.APIKey
	}
	Remove(machine, secrets, name)
	if machine.ModelProfiles == nil {
		machine.ModelProfiles = map[string]doc.ModelProfile{}
	}
	machine.ModelProfiles[name] = shown
	if hidden.APIKey != "" || hidden.Headers != nil {
		if secrets.ModelProfiles == nil {
			secrets.ModelProfiles = map[string]doc.ProfileSecrets{}
		}
		secrets.ModelProfiles[name] = hidden
	}
}

// Remove deletes a profile and its values.
func Remove(machine *doc.Machine, secrets *doc.Secrets, name string) {
	delete(machine.ModelProfiles, name)
	delete(secrets.ModelProfiles, name)
}

// WithSecrets returns the profile with its plaintext values. It removes entries without a stored
// value.
func WithSecrets(p doc.ModelProfile, secrets doc.ProfileSecrets) doc.ModelProfile {
	if p.APIKey == doc.Hidden {
		p.APIKey = secrets.APIKey
	}
	p.RequestHeaders = maps.Clone(p.RequestHeaders)
	for header, value := range p.RequestHeaders {
		if value != doc.Hidden {
			continue
		}
		if kept, known := secrets.Headers[header]; known {
			p.RequestHeaders[header] = kept
		} else {
			delete(p.RequestHeaders, header)
		}
	}
	return p
}
