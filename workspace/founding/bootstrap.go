package founding

// Bootstrapping a company: its leaders and its departments.

import (
	"context"
	"slices"
	"strings"

	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/doc"
)

// Department is a preset: a team with its manager and worker.
type Department struct {
	Key      string
	Label    string
	Provider string // of manager and worker
}

// Departments returns the presets, in order.
func Departments() []Department {
	return []Department{
		{"engineering", "Engineering", doc.ProviderCodex},
		{"product", "Product", doc.ProviderClaudeCode},
		{"design", "Design", doc.ProviderClaudeCode},
		{"operations", "Operations", doc.ProviderCodex},
		{"qa", "QA", doc.ProviderCodex},
		{"security", "Security", doc.ProviderCodex},
		{"data", "Data", doc.ProviderClaudeCode},
	}
}

// Choose returns the presets with these keys, without duplicates and in the order of the
// keys, and the unknown keys. It returns an error if no department is left.
func Choose(keys []string) (chosen []Department, unknown []string, err error) {
	presets := Departments()
	for _, key := range keys {
		key = strings.ToLower(strings.TrimSpace(key))
		i := slices.IndexFunc(presets, func(d Department) bool { return d.Key == key })
		switch {
		case i < 0:
			unknown = append(unknown, key)
		case !slices.Contains(chosen, presets[i]):
			chosen = append(chosen, presets[i])
		}
	}
	if len(chosen) == 0 {
		known := make([]string, len(presets))
		for i, d := range presets {
			known[i] = d.Key
		}
		return nil, unknown, fault.New(fault.NotFound, "no department is left; there are: %s", strings.Join(known, ", "))
	}
	return chosen, unknown, nil
}

// Plan is the company that Bootstrap creates.
type Plan struct {
	CompanyName string
	ProjectName string
	Departments []Department
	NoCEO       bool
	NoDirector  bool
}

// Company is the result of Bootstrap.
type Company struct {
	ProjectID   string          `json:"project_id"`
	Departments []DepartmentIDs `json:"departments"`
	Leaders     Leaders         `json:"agents"`
	Session     DefaultSession  `json:"default_session"`
}

// DepartmentIDs holds the ids of a new department.
type DepartmentIDs struct {
	Key            string `json:"key"`
	TeamID         string `json:"team_id"`
	ManagerAgentID string `json:"manager_agent_id"`
	WorkerAgentID  string `json:"worker_agent_id"`
}

// Leaders holds the ids of the agents without a team. Agents that were not created are
// absent.
type Leaders struct {
	CEO      string `json:"ceo_agent_id,omitempty"`
	Director string `json:"director_agent_id,omitempty"`
}

// DefaultSession is the actor that a desktop app starts with.
type DefaultSession struct {
	ProjectID   string `json:"project_id"`
	ActorID     string `json:"actor_id"`
	ActorRole   string `json:"actor_role"`
	ActorTeamID string `json:"actor_team_id"`
}

// Bootstrap fills an empty workspace with the planned company.
func (p Plan) Bootstrap(ctx context.Context, w *workspace.Workspace) (made Company, err error) {
	m := &maker{ctx: ctx, w: w}
	if !p.NoCEO {
		made.Leaders.CEO = m.agent("CEO", "ceo", "manual", "")
	}
	if !p.NoDirector {
		made.Leaders.Director = m.agent("Director", "director", doc.ProviderCodex, "")
	}
	for _, d := range p.Departments {
		team := m.team(d.Label)
		made.Departments = append(made.Departments, DepartmentIDs{
			Key: d.Key, TeamID: team,
			ManagerAgentID: m.agent(d.Label+" Manager", "manager", d.Provider, team),
			WorkerAgentID:  m.agent(d.Label+" Worker", "worker", d.Provider, team),
		})
	}
	if m.err != nil {
		return made, m.err
	}
	project, err := w.CreateProjectWithDefaults(ctx, p.ProjectName, made.Leaders.CEO, nil)
	if err != nil {
		return made, err
	}
	made.ProjectID = project.ID
	made.Session = DefaultSession{
		ProjectID: project.ID, ActorID: made.Leaders.Director, ActorRole: "director", ActorTeamID: made.Departments[0].TeamID,
	}
	if p.NoDirector {
		made.Session.ActorID, made.Session.ActorRole = made.Departments[0].ManagerAgentID, "manager"
	}
	m.workflows(made)
	return made, m.err
}

// maker creates things one by one and does nothing after the first failure.
type maker struct {
	ctx context.Context //nolint:containedctx // a maker lives for one call
	w   *workspace.Workspace
	err error
}

func (m *maker) team(name string) (id string) {
	if m.err == nil {
		id, m.err = m.w.NewTeam(m.ctx, name)
	}
	return id
}

func (m *maker) agent(name, role, provider, team string) (id string) {
	if m.err == nil {
		id, m.err = m.w.NewAgent(m.ctx, workspace.AgentSpec{Name: name, Role: role, Provider: provider, TeamID: team})
	}
	return id
}

func (m *maker) project(name string) (id string) {
	if m.err == nil {
		id, m.err = m.w.NewProject(m.ctx, name)
	}
	return id
}
