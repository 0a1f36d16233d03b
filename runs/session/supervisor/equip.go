package supervisor

// What an agent gets at its start: the workspace's MCP servers and a model profile. The process
// that starts the agent reads their values, which never appear in an order or a record.

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"ac/internal/fault"
	"ac/internal/proc"
	"ac/runs/agent"
	"ac/runs/grant"
	"ac/runs/mcpserver"
	"ac/runs/modelprofile"
	"ac/runs/session"
	"ac/workspace/doc"
)

// equip reads the workspace's MCP servers for a live session's agent, and the session's model
// profile. Their secrets are masked in everything recorded of the session.
func (s *supervisor) equip() error {
	machine, err := s.agentConfig()
	if err != nil || s.order.ModelProfile == "" && (s.order.Live == nil || len(machine.MCPServers) == 0) {
		return err
	}
	secrets := doc.Secrets{} // an order from another machine carries no secrets
	if s.order.Worker == nil {
		if secrets, err = s.w.Secrets(); err != nil {
			return err
		}
	}
	environ := session.EnvironOf(s.order)
	get := func(name string) string { return session.EnvironValue(environ, name) }
	if s.order.Live != nil {
		if s.order.Worker != nil {
			machine.MCPServers = s.serversWithEnv(machine.MCPServers, get)
		}
		handed, err := mcpserver.For(s.order.Live.Driver, machine, secrets, get)
		if err != nil {
			return err
		}
		s.servers = handed.Servers
		s.learn(handed.Secrets)
	}
	if s.order.ModelProfile == "" {
		return nil
	}
	return s.applyProfile(machine, secrets, get)
}

// agentConfig returns the MCP servers and model profiles of the agent's workspace. If that is on
// another machine, they come with the order.
func (s *supervisor) agentConfig() (doc.Machine, error) {
	machine, err := s.w.Machine()
	if away := s.order.Worker; err == nil && away != nil {
		machine.MCPServers, machine.ModelProfiles = away.Servers, nil
		if away.Profile != nil {
			machine.ModelProfiles = map[string]doc.ModelProfile{s.order.ModelProfile: *away.Profile}
		}
	}
	return machine, err
}

// serversWithEnv returns the servers of another machine whose environment variables exist here. It drops
// the others and adds a notice for each.
func (s *supervisor) serversWithEnv(servers map[string]doc.MCPServer, get func(string) string) map[string]doc.MCPServer {
	able := maps.Clone(servers)
	for _, id := range slices.Sorted(maps.Keys(servers)) {
		one := doc.Machine{MCPServers: map[string]doc.MCPServer{id: servers[id]}}
		if _, err := mcpserver.For(s.order.Live.Driver, one, doc.Secrets{}, get); fault.Is(err, fault.EnvMissing) {
			s.missingServerErrors = append(s.missingServerErrors, err.Error())
			delete(able, id)
		}
	}
	return able
}

// applyProfile resolves the session's model profile and applies it.
func (s *supervisor) applyProfile(machine doc.Machine, secrets doc.Secrets, get func(name string) string) error {
	name, profile, err := modelprofile.Find(machine, s.order.ModelProfile)
	if err != nil {
		return err
	}
	if profile, err = modelprofile.Resolve(modelprofile.WithSecrets(profile, secrets.ModelProfiles[name]), get); err != nil {
		return err
	}
	driver := ""
	if s.order.Live != nil {
		driver, profile.Model = s.order.Live.Driver, cmp.Or(s.order.Live.Model, profile.Model)
	}
	kind := modelprofile.FamilyOf(s.order.Provider, driver)
	if s.order.Live == nil && kind == modelprofile.FamilyCodex && !strings.Contains(filepath.Base(s.order.Argv[0]), kind) {
		kind = modelprofile.FamilyCommand // the profile's options are those of codex itself
	}
	if !slices.Contains(modelprofile.ProfileOf(name, profile).Applies, kind) { // the resolved values may rule it out
		return fault.InvalidField("model_profile", "%s does not apply to agents of provider %s", name, s.order.Provider)
	}
	s.profile = modelprofile.For(kind, profile)
	s.learn(s.profile.Secrets)
	if s.order.Live == nil {
		s.order.Argv = s.withProfileArgs(s.order.Argv)
	}
	return nil
}

func (s *supervisor) learn(secrets []string) {
	for _, secret := range secrets {
		s.secrets.Learn(secret)
	}
}

// withProfileArgs inserts the model profile's arguments after the program.
func (s *supervisor) withProfileArgs(argv []string) []string {
	if len(argv) == 0 || len(s.profile.Words) == 0 {
		return argv
	}
	return slices.Concat(argv[:1], s.profile.Words, argv[1:])
}

// environ returns the provider's environment, including the model profile's variables.
func (s *supervisor) environ() []string {
	environ := session.EnvironOf(s.order)
	for _, entry := range s.profile.Environ {
		name, _, _ := strings.Cut(entry, "=")
		environ = slices.DeleteFunc(environ, func(other string) bool { return strings.HasPrefix(other, name+"=") })
		environ = append(environ, entry)
	}
	return environ
}

// serversOf returns all MCP servers that the agent is given. ACP requires the absolute path of a
// program.
func (s *supervisor) serversOf() (servers []agent.Server) {
	if server, ok := s.toolServer(); ok {
		servers = append(servers, server)
	}
	path := session.EnvironValue(session.EnvironOf(s.order), "PATH")
	for _, server := range s.servers {
		if server.Transport == "" && s.order.Live.Driver == session.DriverACP {
			if found, err := proc.LookPath(server.Command, path, s.workdir); err == nil {
				server.Command = found
			}
		}
		servers = append(servers, server)
	}
	return servers
}

// serverConfig writes the MCP configuration file of an agent that gets it on its command line. It
// returns the file's path, "" for none.
func (s *supervisor) serverConfig() (string, error) {
	servers := s.serversOf()
	if s.order.Live.Driver != session.DriverClaude || len(servers) == 0 {
		return "", nil
	}
	text, err := agent.ClaudeServers(servers)
	if err != nil {
		return "", err
	}
	return grant.WriteConfig(s.socket.dir, s.socket.name, text)
}

// learnWorkerSecrets registers the secret values of an order from another machine for masking.
func (s *supervisor) learnWorkerSecrets() {
	if s.order.Worker == nil {
		return
	}
	environ := session.EnvironOf(s.order)
	for _, name := range s.order.Worker.Secrets {
		s.secrets.Learn(session.EnvironValue(environ, name))
	}
}
