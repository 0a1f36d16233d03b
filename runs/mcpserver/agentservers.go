package mcpserver

// Resolving the MCP servers that an agent gets at startup.

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"ac/internal/fault"
	"ac/internal/redact"
	"ac/runs/agent"
	"ac/workspace/doc"
)

// AgentServers holds the servers for an agent, and the secret values in them, which must not be
// recorded.
type AgentServers struct {
	Servers []agent.Server
	Secrets []string
}

// For resolves the enabled servers that agents of a driver get, sorted by id. lookup reads the
// session's environment. The error is env_missing if it lacks a variable.
func For(driver string, machine doc.Machine, secrets doc.Secrets, lookup func(name string) string) (h AgentServers, err error) {
	for _, id := range slices.Sorted(maps.Keys(machine.MCPServers)) {
		s := machine.MCPServers[id]
		if !s.Enabled || !slices.Contains(Drivers(id, s), driver) {
			continue
		}
		s = withSecrets(s, secrets.MCPServers[id])
		if err := errors.Join(CheckID(id), check(id, s)); err != nil {
			return h, err // somebody edited the file by hand
		}
		server, err := h.resolve(id, s, lookup)
		if err != nil {
			return h, err
		}
		h.Servers = append(h.Servers, server)
	}
	return h, nil
}

// resolve expands the variables that a server references.
func (h *AgentServers) resolve(id string, s doc.MCPServer, lookup func(string) string) (server agent.Server, err error) {
	server = agent.Server{Name: id, Command: s.Command, Args: s.Args, TimeoutSeconds: s.TimeoutSeconds}
	if server.Env, err = h.expand(id, s.Env, lookup); err != nil || s.Transport == doc.TransportStdio {
		return server, err
	}
	server.Transport, server.URL = s.Transport, s.URL
	if server.Headers, err = h.expand(id, s.Headers, lookup); err != nil || s.AuthToken == "" {
		return server, err
	}
	token, missing := doc.ExpandEnv(s.AuthToken, lookup)
	if missing != "" {
		return server, envMissing(id, missing)
	}
	h.Secrets = append(h.Secrets, token)
	if server.Headers == nil {
		server.Headers = map[string]string{}
	}
	for name := range server.Headers {
		if strings.EqualFold(name, "Authorization") {
			return server, nil
		}
	}
	server.Headers["Authorization"] = "Bearer " + token
	return server, nil
}

func (h *AgentServers) expand(id string, values map[string]string, lookup func(string) string) (map[string]string, error) {
	values = maps.Clone(values)
	for name, value := range values {
		expanded, missing := doc.ExpandEnv(value, lookup)
		if missing != "" {
			return nil, envMissing(id, missing)
		}
		values[name] = expanded
		h.Secrets = append(h.Secrets, secretsIn(name, value, expanded)...)
	}
	return values, nil
}

// secretsIn returns the strings in a value that must not be recorded. That is the whole value if
// its name or form marks it as a secret, and the token without a leading scheme.
func secretsIn(name, value, expanded string) (secrets []string) {
	named := redact.SecretName(name) || strings.EqualFold(name, "Cookie") || strings.Contains(value, "{env:") && redact.SecretName(value)
	if !named && redact.Find(expanded).Total() == 0 {
		return nil
	}
	secrets = append(secrets, expanded)
	if scheme, token, ok := strings.Cut(expanded, " "); ok && len(scheme) <= 10 && len(token) >= 8 {
		secrets = append(secrets, token)
	}
	return secrets
}

func envMissing(id, name string) error {
	return fault.New(fault.EnvMissing, "MCP server %s needs the variable %s, which is not set", id, name).With(missingData{name})
}

// missingData is the error data of env_missing.
type missingData struct {
	Name string `json:"name"`
}
