package supervisor

// What an agent is equipped with at its start: the MCP servers of its workspace and a
// model profile. Their values are read here, in the process that starts the agent, and
// are in no order and no record.

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

// equip reads the MCP servers of the workspace that the agent of a live session is told
// of, and the model profile that it is started with. What is secret in them is so in
// everything recorded of the session.
func (s *supervisor) equip() error {
	machine, err := s.belongings()
	if err != nil || s.order.ModelProfile == "" && (s.order.Live == nil || len(machine.MCPServers) == 0) {
		return err
	}
	secrets := doc.Secrets{} // none of another machine came along
	if s.order.Away == nil {
		if secrets, err = s.w.Secrets(); err != nil {
			return err
		}
	}
	environ := session.EnvironOf(s.order)
	get := func(name string) string { return session.EnvironValue(environ, name) }
	if s.order.Live != nil {
		if s.order.Away != nil {
			machine.MCPServers = s.able(machine.MCPServers, get)
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
	return s.borrow(machine, secrets, get)
}

// belongings has the MCP servers and model profiles of the agent's workspace: those that came
// along where it is on another machine.
func (s *supervisor) belongings() (doc.Machine, error) {
	machine, err := s.w.Machine()
	if away := s.order.Away; err == nil && away != nil {
		machine.MCPServers, machine.ModelProfiles = away.Servers, nil
		if away.Profile != nil {
			machine.ModelProfiles = map[string]doc.ModelProfile{s.order.ModelProfile: *away.Profile}
		}
	}
	return machine, err
}

// able are those of the servers of another machine whose variables this one has. The others
// are left out, with a notice.
func (s *supervisor) able(servers map[string]doc.MCPServer, get func(string) string) map[string]doc.MCPServer {
	able := maps.Clone(servers)
	for _, id := range slices.Sorted(maps.Keys(servers)) {
		one := doc.Machine{MCPServers: map[string]doc.MCPServer{id: servers[id]}}
		if _, err := mcpserver.For(s.order.Live.Driver, one, doc.Secrets{}, get); fault.Is(err, fault.EnvMissing) {
			s.lacks = append(s.lacks, err.Error())
			delete(able, id)
		}
	}
	return able
}

// borrow reads the model profile of the session.
func (s *supervisor) borrow(machine doc.Machine, secrets doc.Secrets, get func(name string) string) error {
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
		kind = modelprofile.FamilyCommand // its options are those of codex alone
	}
	if !slices.Contains(modelprofile.Shown(name, profile).Applies, kind) { // with its values it may fit no more
		return fault.InvalidField("model_profile", "%s does not apply to agents of provider %s", name, s.order.Provider)
	}
	s.lent = modelprofile.For(kind, profile)
	s.learn(s.lent.Secrets)
	if s.order.Live == nil {
		s.order.Argv = s.withLent(s.order.Argv)
	}
	return nil
}

func (s *supervisor) learn(secrets []string) {
	for _, secret := range secrets {
		s.secrets.Learn(secret)
	}
}

// withLent puts the words of the model profile behind the program.
func (s *supervisor) withLent(argv []string) []string {
	if len(argv) == 0 || len(s.lent.Words) == 0 {
		return argv
	}
	return slices.Concat(argv[:1], s.lent.Words, argv[1:])
}

// environ is the environment of the provider, with what the model profile lends it.
func (s *supervisor) environ() []string {
	environ := session.EnvironOf(s.order)
	for _, entry := range s.lent.Environ {
		name, _, _ := strings.Cut(entry, "=")
		environ = slices.DeleteFunc(environ, func(other string) bool { return strings.HasPrefix(other, name+"=") })
		environ = append(environ, entry)
	}
	return environ
}

// serversOf are all MCP servers that the agent is told of. The protocol of ACP wants the
// whole path of a program.
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

// serverConfig writes the file that tells an agent of its MCP servers which is told of
// them on its command line; "" for none.
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

// learnAway has the values of the secrets of an order masked.
func (s *supervisor) learnAway() {
	if s.order.Away == nil {
		return
	}
	environ := session.EnvironOf(s.order)
	for _, name := range s.order.Away.Secrets {
		s.secrets.Learn(session.EnvironValue(environ, name))
	}
}
