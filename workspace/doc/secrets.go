package doc

// Values that no method returns: .local/secrets.yaml, and what stands for them elsewhere.

import (
	"strings"

	"ac/internal/lazyregexp"
	"ac/internal/yamldoc"
)

// Hidden stands where a value is that is kept in secrets.yaml. In a request it keeps the
// value that is there.
const Hidden = "***"

// Secrets is .local/secrets.yaml, which only this user may read. It is in no export, no
// share pack and no diagnostics.
type Secrets struct {
	SchemaVersion int                       `json:"schema_version" is:"min=1"`
	Type          string                    `json:"type" is:"enum=secrets"`
	MCPServers    map[string]MCPSecrets     `json:"mcp_servers" is:"optional"`
	ModelProfiles map[string]ProfileSecrets `json:"model_profiles" is:"optional"`
}

// Empty reports whether nothing is kept.
func (s Secrets) Empty() bool { return len(s.MCPServers)+len(s.ModelProfiles) == 0 }

// MCPSecrets are the values that machine.yaml does not hold of an MCP server, by name.
type MCPSecrets struct {
	Env       map[string]string `json:"env" is:"optional"`
	Headers   map[string]string `json:"headers" is:"optional"`
	AuthToken string            `json:"auth_token" is:"optional"`
}

// ProfileSecrets are the values that machine.yaml does not hold of a model profile.
type ProfileSecrets struct {
	APIKey  string            `json:"api_key" is:"optional"`
	Headers map[string]string `json:"request_headers" is:"optional"`
}

// SecretsCodec is the codec of secrets.yaml.
var SecretsCodec = yamldoc.For[Secrets]()

var envReference = lazyregexp.New(`\{env:([A-Za-z_][A-Za-z0-9_]{0,63})\}`)

// OnlyEnvReference reports whether a value is nothing but {env:NAME}.
func OnlyEnvReference(value string) bool {
	at := envReference().FindStringIndex(value)
	return at != nil && at[0] == 0 && at[1] == len(value)
}

// ExpandEnv puts the values of variables in the place of {env:NAME}. missing is the first
// name that lookup does not know, or knows as empty.
func ExpandEnv(value string, lookup func(name string) string) (expanded, missing string) {
	expanded = envReference().ReplaceAllStringFunc(value, func(found string) string {
		name := strings.TrimSuffix(strings.TrimPrefix(found, "{env:"), "}")
		text := lookup(name)
		if text == "" && missing == "" {
			missing = name
		}
		return text
	})
	return expanded, missing
}
