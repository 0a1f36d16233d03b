package doc

// Secrets: values in .local/secrets.yaml that no API method returns, and their placeholder
// elsewhere.

import (
	"strings"

	"ac/internal/lazyregexp"
	"ac/internal/yamldoc"
)

// Hidden replaces a value that is stored in secrets.yaml. In a request it leaves the stored
// value unchanged.
const Hidden = "***"

// Secrets is .local/secrets.yaml, readable by this user only. Exports, share packs and
// diagnostics exclude it.
type Secrets struct {
	SchemaVersion int                       `json:"schema_version" is:"min=1"`
	Type          string                    `json:"type" is:"enum=secrets"`
	MCPServers    map[string]MCPSecrets     `json:"mcp_servers" is:"optional"`
	ModelProfiles map[string]ProfileSecrets `json:"model_profiles" is:"optional"`
}

// Empty reports whether there are no secrets.
func (s Secrets) Empty() bool { return len(s.MCPServers)+len(s.ModelProfiles) == 0 }

// MCPSecrets holds the secret values of an MCP server, by name. machine.yaml does not contain
// them.
type MCPSecrets struct {
	Env       map[string]string `json:"env" is:"optional"`
	Headers   map[string]string `json:"headers" is:"optional"`
	AuthToken string            `json:"auth_token" is:"optional"`
}

// ProfileSecrets holds the secret values of a model profile. machine.yaml does not contain
// them.
type ProfileSecrets struct {
	APIKey  string            `json:"api_key" is:"optional"`
	Headers map[string]string `json:"request_headers" is:"optional"`
}

// SecretsCodec reads and writes secrets.yaml.
var SecretsCodec = yamldoc.For[Secrets]()

var envReference = lazyregexp.New(`\{env:([A-Za-z_][A-Za-z0-9_]{0,63})\}`)

// OnlyEnvReference reports whether a value consists of exactly one {env:NAME}.
func OnlyEnvReference(value string) bool {
	at := envReference().FindStringIndex(value)
	return at != nil && at[0] == 0 && at[1] == len(value)
}

// ExpandEnv replaces each {env:NAME} with the variable's value. missing is the first name
// whose value is empty or unknown to lookup.
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
