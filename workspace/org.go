package workspace

// The teams and agents of a company.

import (
	"context"
	"fmt"
	"path"

	"ac/internal/clock"
	"ac/internal/collation"
	"ac/internal/fault"
	"ac/internal/shape"
	"ac/internal/yamldoc"
	"ac/workspace/doc"
)

// Company reads the company's identity.
func (w *Workspace) Company() (doc.Company, error) { return Load(w, doc.CompanyCodec, CompanyFile) }

// Team reads one team.
func (w *Workspace) Team(id string) (doc.Team, error) {
	team, err := Load(w, doc.TeamCodec, TeamFile(id))
	if err != nil {
		return team, err
	}
	return team, CheckID(TeamFile(id), id, team.ID)
}

// Agent reads one agent.
func (w *Workspace) Agent(id string) (doc.Agent, error) {
	agent, err := Load(w, doc.AgentCodec, AgentFile(id))
	if err != nil {
		return agent, missing(err, "agent", id)
	}
	return agent, CheckID(AgentFile(id), id, agent.ID)
}

// Teams lists the readable teams, sorted by name.
func (w *Workspace) Teams() ([]doc.Team, error) {
	teams, err := w.teams()
	collation.SortBy(teams, func(t doc.Team) string { return t.Name }, func(t doc.Team) string { return t.ID })
	return teams, err
}

// Agents lists the readable agents, sorted by name.
func (w *Workspace) Agents() ([]doc.Agent, error) {
	agents, err := w.agents()
	collation.SortBy(agents, func(a doc.Agent) string { return a.Name }, func(a doc.Agent) string { return a.ID })
	return agents, err
}

// teams returns the readable teams, sorted by id.
func (w *Workspace) teams() ([]doc.Team, error) {
	return LoadFolders(w, doc.TeamCodec, TeamsDir, TeamFile, func(id string, team doc.Team) (doc.Team, error) {
		return team, CheckID(TeamFile(id), id, team.ID)
	})
}

// agents returns the readable agents, sorted by id.
func (w *Workspace) agents() ([]doc.Agent, error) {
	return LoadFolders(w, doc.AgentCodec, AgentsDir, AgentFile, func(id string, agent doc.Agent) (doc.Agent, error) {
		return agent, CheckID(AgentFile(id), id, agent.ID)
	})
}

// NewTeam creates a team and returns its id.
func (w *Workspace) NewTeam(ctx context.Context, name string) (string, error) {
	return w.NewDepartment(ctx, name, doc.Department{})
}

// NewDepartment creates a team that is a department and returns its id. The fields of
// department may be empty.
func (w *Workspace) NewDepartment(ctx context.Context, name string, department doc.Department) (id string, err error) {
	err = w.Update(ctx, func(u *Unit) error {
		id, err = u.CreateTeam(name, department)
		return err
	})
	return id, err
}

// CreateTeam is NewDepartment within a unit.
func (u *Unit) CreateTeam(name string, department doc.Department) (id string, err error) {
	id = u.w.Env.IDs.New("team")
	now := clock.Stamp(u.w.Env.Clock.Now())
	team := doc.Team{SchemaVersion: doc.Version, Type: "team", ID: id, Name: name, Department: department, CreatedAt: now}
	tree, err := documentTree(doc.TeamCodec, "team.yaml", team)
	if err != nil {
		return "", err
	}
	u.teams = append(u.teams, team)
	tree.Files = append(tree.Files, TreeFile{"memory.md", []byte("# Team memory of " + oneLine(name) + "\n\n## Principles\n\n## Decisions\n\n## Links\n\n")})
	return id, u.Create(path.Join(TeamsDir, id), tree)
}

// AgentSpec describes a new agent.
type AgentSpec struct {
	ID           string // generated if empty
	Name         string
	DisplayTitle string
	ModelHint    string
	Role         string
	Provider     string
	TeamID       string
	// Files are additional files of the agent's directory, relative to it.
	Files []TreeFile
}

// NewAgent creates an agent and returns its id. Its team, if set, must exist.
func (w *Workspace) NewAgent(ctx context.Context, spec AgentSpec) (string, error) {
	if spec.ID == "" {
		spec.ID = w.Env.IDs.New("agent")
	}
	if spec.TeamID != "" {
		if why := shape.CheckID(spec.TeamID); why != "" {
			return "", fault.InvalidField("team_id", "%s", why)
		}
	}
	return spec.ID, w.Update(ctx, func(u *Unit) error {
		if spec.TeamID != "" {
			if _, err := w.Team(spec.TeamID); err != nil {
				return fmt.Errorf("team %s: %w", spec.TeamID, err)
			}
		}
		return u.createAgent(spec)
	})
}

// CreateAgent creates an agent within a unit and returns its id. Its team, if set, must exist
// or be created by the same unit.
func (u *Unit) CreateAgent(spec AgentSpec) (id string, err error) {
	if spec.ID == "" {
		spec.ID = u.w.Env.IDs.New("agent")
	}
	return spec.ID, u.createAgent(spec)
}

func (u *Unit) createAgent(spec AgentSpec) error {
	now := clock.Stamp(u.w.Env.Clock.Now())
	agent := doc.Agent{
		SchemaVersion: doc.Version, Type: "agent", ID: spec.ID, Name: spec.Name, DisplayTitle: spec.DisplayTitle, ModelHint: spec.ModelHint,
		Role: spec.Role, Provider: spec.Provider, TeamID: spec.TeamID, CreatedAt: now, Launcher: doc.EmptyMap(),
	}
	tree, err := documentTree(doc.AgentCodec, "agent.yaml", agent)
	if err != nil {
		return err
	}
	u.agents = append(u.agents, agent)
	dir := path.Join(AgentsDir, spec.ID)
	journal := []byte(fmt.Sprintf("# Journal of %s\n\n- created_at: %s\n- agent_id: %s\n\n## Entries\n", oneLine(spec.Name), now, spec.ID))
	if !u.w.Exists(dir) {
		tree.Files = append(append(tree.Files, TreeFile{"journal.md", journal}), spec.Files...)
		return u.Create(dir, tree)
	}
	// The directory exists without its document: keep what else is there.
	if !u.Exists(path.Join(dir, "journal.md")) {
		if err := u.Write(path.Join(dir, "journal.md"), journal, 0o644); err != nil {
			return err
		}
	}
	return u.Write(AgentFile(spec.ID), tree.Files[0].Content, 0o644)
}

// documentTree returns a directory with one document.
func documentTree[T any](codec yamldoc.Codec[T], name string, document T) (Tree, error) {
	text, err := codec.Encode(document)
	return Tree{Files: []TreeFile{{name, text}}}, err
}

// oneLine replaces line breaks in a name, which would break out of a heading.
func oneLine(name string) string {
	line := []rune(name)
	for i, r := range line {
		if r == '\n' || r == '\r' {
			line[i] = ' '
		}
	}
	return string(line)
}

// AgentTeam returns the team of an agent, "" if it has none or cannot be read.
func (w *Workspace) AgentTeam(agentID string) string {
	agent, err := w.Agent(agentID)
	if err != nil {
		return ""
	}
	return agent.TeamID
}

// missing turns a missing document into an error that names the thing.
func missing(err error, thing, id string) error {
	if fault.Is(err, fault.NotFound) {
		return fault.New(fault.NotFound, "%s %s does not exist", thing, id)
	}
	return err
}

// SafeID reports whether free text may be looked up as an id.
func SafeID(text string) bool { return shape.CheckID(text) == "" }
