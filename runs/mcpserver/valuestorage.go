package mcpserver

// Storage of a server's values: references to variables go to machine.yaml, all others to
// secrets.yaml.

import (
	"maps"

	"ac/workspace/doc"
)

// Put stores a server and replaces any with the same id.
func Put(machine *doc.Machine, secrets *doc.Secrets, id string, s doc.MCPServer) {
	public := ServerOf(id, s).MCPServer
	hidden := doc.MCPSecrets{Env: hiddenOf(s.Env), Headers: hiddenOf(s.Headers)}
	if public.AuthToken == doc.Hidden {
		hidden.AuthToken = s.AuthToken
	}
	Remove(machine, secrets, id)
	if machine.MCPServers == nil {
		machine.MCPServers = map[string]doc.MCPServer{}
	}
	machine.MCPServers[id] = public
	if len(hidden.Env) > 0 || len(hidden.Headers) > 0 || hidden.AuthToken != "" {
		if secrets.MCPServers == nil {
			secrets.MCPServers = map[string]doc.MCPSecrets{}
		}
		secrets.MCPServers[id] = hidden
	}
}

// Remove deletes a server and its values.
func Remove(machine *doc.Machine, secrets *doc.Secrets, id string) {
	delete(machine.MCPServers, id)
	delete(secrets.MCPServers, id)
}

func hiddenOf(values map[string]string) map[string]string {
	hidden := map[string]string{}
	for name, value := range values {
		if !doc.OnlyEnvReference(value) {
			hidden[name] = value
		}
	}
	if len(hidden) == 0 {
		return nil
	}
	return hidden
}

// Stored reports whether this machine stores a value of the server, that is, anything other than
// a reference to a variable.
func Stored(s doc.MCPServer) bool {
	return len(hiddenOf(s.Env)) > 0 || len(hiddenOf(s.Headers)) > 0 || s.AuthToken != "" && !doc.OnlyEnvReference(s.AuthToken)
}

// withSecrets returns the server with its plaintext values.
func withSecrets(s doc.MCPServer, secrets doc.MCPSecrets) doc.MCPServer {
	s.Env, s.Headers = restoreHidden(s.Env, secrets.Env), restoreHidden(s.Headers, secrets.Headers)
	if s.AuthToken == doc.Hidden {
		s.AuthToken = secrets.AuthToken
	}
	return s
}

// restoreHidden replaces doc.Hidden with the stored values. It removes entries without a stored value.
func restoreHidden(values, secrets map[string]string) map[string]string {
	values = maps.Clone(values)
	for name, value := range values {
		if value != doc.Hidden {
			continue
		}
		if kept, known := secrets[name]; known {
			values[name] = kept
		} else {
			delete(values, name)
		}
	}
	return values
}
