package modelprofile

// Resolving what an agent gets from a profile at startup.

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"ac/internal/canonjson"
	"ac/internal/fault"
	"ac/internal/lazyregexp"
	"ac/workspace/doc"
)

// AgentSettings holds what a profile adds to an agent's start. Environ are entries for its environment.
// Words are arguments that follow its program. Secrets must not be recorded.
type AgentSettings struct {
	Environ []string
	Words   []string
	Secrets []string
}

// keyName and headerName name the variables that pass secrets to codex. Its command line
// contains only these names.
const (
	keyName    = "AC_MODEL_API_KEY"
	headerName = "AC_MODEL_HEADER_"
)

// Resolve expands the variables that a profile references. The error is env_missing if one is
// not set.
func Resolve(p doc.ModelProfile, lookup func(name string) string) (doc.ModelProfile, error) {
	missing := ""
	expand := func(value string) string {
		expanded, name := doc.ExpandEnv(value, lookup)
		if missing == "" {
			missing = name
		}
		return expanded
	}
	p.APIKey = expand(p.APIKey)
	p.RequestHeaders = maps.Clone(p.RequestHeaders)
	for _, header := range slices.Sorted(maps.Keys(p.RequestHeaders)) {
		p.RequestHeaders[header] = expand(p.RequestHeaders[header])
	}
	if missing != "" {
		return p, fault.New(fault.EnvMissing, "the model profile needs the variable %s, which is not set", missing)
	}
	return p, nil
}

// For returns what an agent of a family gets from a resolved profile.
func For(kind string, p doc.ModelProfile) (l AgentSettings) {
	set := func(name, value string) {
		if value != "" {
			l.Environ = append(l.Environ, name+"="+value)
		}
	}
	headers := lines(p.RequestHeaders)
	switch kind {
	case FamilyClaude:
		set("ANTHROPIC_BASE_URL", p.BaseURL)
		set("ANTHROPIC_CUSTOM_HEADERS", headers)
		if p.BaseURL == "" {
			set("ANTHROPIC_API_KEY", p.APIKey)
		} else if !authorized(p) {
			set("ANTHROPIC_AUTH_TOKEN", p.APIKey)
		}
	case FamilyCodex:
		l.codex(p, set)
	case FamilyGemini:
		set("GEMINI_MODEL", p.Model)
		set("GOOGLE_GEMINI_BASE_URL", p.BaseURL)
		set("GEMINI_API_KEY", p.APIKey)
		given, _ := geminiHeaders(p.RequestHeaders) // ok for a profile that applies
		set("GEMINI_CLI_CUSTOM_HEADERS", given)
	default:
		set("AC_MODEL", p.Model)
		set("AC_MODEL_BASE_URL", p.BaseURL)
		set(keyName, p.APIKey)
		set("AC_MODEL_HEADERS", headers)
	}
	l.learn(p, headers)
	return l
}

// learn collects the secrets: the key, the combined headers, and each secret header value.
func (l *AgentSettings) learn(p doc.ModelProfile, headers string) {
	if p.APIKey != "" {
		l.Secrets = append(l.Secrets, p.APIKey)
	}
	for header, value := range p.RequestHeaders {
		if secret(header, value) {
			l.Secrets = append(l.Secrets, value)
			if _, token, ok := strings.Cut(value, " "); ok && len(token) >= 8 {
				l.Secrets = append(l.Secrets, token)
			}
		}
	}
	if headers != "" {
		l.Secrets = append(l.Secrets, headers)
	}
}

// codex defines a model provider for codex whose secrets come from the environment. Arguments
// are TOML, whose strings and keys share JSON's syntax.
func (l *AgentSettings) codex(p doc.ModelProfile, set func(name, value string)) {
	if p.BaseURL == "" && len(p.RequestHeaders) == 0 {
		set("OPENAI_API_KEY", p.APIKey)
		set("CODEX_API_KEY", p.APIKey)
		return
	}
	quoted := func(text string) string { return string(canonjson.AppendString(nil, text)) }
	l.configure("model_provider", quoted("ac_profile"))
	l.configure("model_providers.ac_profile.name", quoted("ac profile"))
	if p.BaseURL != "" {
		l.configure("model_providers.ac_profile.base_url", quoted(p.BaseURL))
	} else {
		l.configure("model_providers.ac_profile.base_url", quoted("https://api.openai.com/v1"))
	}
	l.configure("model_providers.ac_profile.wire_api", quoted("responses"))
	if p.APIKey != "" && !authorized(p) {
		set(keyName, p.APIKey)
		l.configure("model_providers.ac_profile.env_key", quoted(keyName))
	}
	for i, header := range slices.Sorted(maps.Keys(p.RequestHeaders)) {
		name := fmt.Sprintf("%s%d", headerName, i+1)
		set(name, p.RequestHeaders[header])
		l.configure("model_providers.ac_profile.env_http_headers."+header, quoted(name))
	}
}

func (l *AgentSettings) configure(key, value string) { l.Words = append(l.Words, "-c", key+"="+value) }

// authorized reports whether an Authorization header exists, which takes precedence over the
// key.
func authorized(p doc.ModelProfile) bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(p.RequestHeaders)), func(name string) bool { return strings.EqualFold(name, "Authorization") })
}

// lines formats headers as NAME: VALUE, one per line.
func lines(headers map[string]string) string {
	list := make([]string, 0, len(headers))
	for _, header := range slices.Sorted(maps.Keys(headers)) {
		list = append(list, header+": "+headers[header])
	}
	return strings.Join(list, "\n")
}

// geminiHeaders formats headers in gemini's syntax, separated by commas. ok is false if gemini
// would mistake part of a value for another header.
func geminiHeaders(headers map[string]string) (text string, ok bool) {
	list := make([]string, 0, len(headers))
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		if value := headers[name]; nextHeader().MatchString(value) {
			return "", false
		}
		list = append(list, name+": "+headers[name])
	}
	return strings.Join(list, ","), true
}

// nextHeader matches where gemini splits headers.
var nextHeader = lazyregexp.New(`,\s*[^,:]+:`)

// Authorize returns the headers that authenticate requests to the profile's server.
func Authorize(p doc.ModelProfile) http.Header {
	h := http.Header{}
	if p.APIKey != "" && !authorized(p) {
		switch family(p.Provider) {
		case FamilyClaude:
			h.Set("X-Api-Key", p.APIKey)
			h.Set("Anthropic-Version", "2023-06-01")
		case FamilyGemini:
			h.Set("X-Goog-Api-Key", p.APIKey)
		default:
			h.Set("Authorization", "Bearer "+p.APIKey)
		}
	}
	for name, value := range p.RequestHeaders {
		h.Set(name, value)
	}
	return h
}
