package enterprise

// Creating a company of departments, or its missing parts.

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"ac/heartbeat"
	"ac/workspace"
	"ac/workspace/doc"
)

// Plan describes the desired company.
type Plan struct {
	Mode                 string
	ProjectName          string
	ExecutiveManagerName string
	Departments          []Department
	WorkersPerDepartment int
	IncludeCEO           bool
	IncludeDirector      bool // in a standard company
}

// Company is the company of a plan after Build.
type Company struct {
	ProjectID   string          `json:"project_id"`
	Mode        string          `json:"org_mode"`
	Departments []DepartmentIDs `json:"departments"`
	Leaders     Leaders         `json:"agents"`
	Session     DefaultSession  `json:"default_session"`
}

// DepartmentIDs holds the ids of a department.
type DepartmentIDs struct {
	Key       string   `json:"department_key"`
	Label     string   `json:"department_label"`
	TeamID    string   `json:"team_id"`
	Director  string   `json:"director_agent_id"`
	WorkerIDs []string `json:"worker_agent_ids"`
}

// Leaders holds the ids of the agents without a team. Missing ones are absent.
type Leaders struct {
	CEO              string `json:"ceo_agent_id,omitempty"`
	Director         string `json:"director_agent_id,omitempty"`
	ExecutiveManager string `json:"executive_manager_agent_id,omitempty"`
}

// DefaultSession is the actor that a desktop app starts with.
type DefaultSession struct {
	ProjectID   string `json:"project_id"`
	ActorID     string `json:"actor_id"`
	ActorRole   string `json:"actor_role"`
	ActorTeamID string `json:"actor_team_id,omitempty"`
}

// builder builds a plan in a unit. It stops at the first failure.
type builder struct {
	Plan
	u      *workspace.Unit
	agents []doc.Agent // existing agents, by id
	teams  []doc.Team
	err    error
}

// Build queues the missing parts of a company in a unit: agents, teams, the project with its
// conversations and, for an enterprise, the heartbeat's hierarchy.
func (p Plan) Build(u *workspace.Unit) (made Company, err error) {
	b := &builder{Plan: p, u: u}
	w := u.Workspace()
	if b.agents, err = w.Agents(); err != nil {
		return made, err
	}
	if b.teams, err = w.Teams(); err != nil {
		return made, err
	}
	slices.SortFunc(b.agents, func(x, y doc.Agent) int { return cmp.Compare(x.ID, y.ID) })
	slices.SortFunc(b.teams, func(x, y doc.Team) int { return cmp.Compare(x.ID, y.ID) })
	made.Mode = p.Mode
	if p.IncludeCEO {
		made.Leaders.CEO = b.leader(workspace.AgentSpec{Name: "CEO", Role: "ceo", Provider: "manual"})
	}
	if p.Mode == ModeEnterprise {
		made.Leaders.ExecutiveManager = b.leader(workspace.AgentSpec{
			Name: p.ExecutiveManagerName, DisplayTitle: workspace.ExecutiveManagerTitle, Role: "manager", Provider: doc.ProviderGemini,
		})
	} else if p.IncludeDirector {
		made.Leaders.Director = b.leader(workspace.AgentSpec{Name: "Director", Role: "director", Provider: doc.ProviderCodex})
	}
	for _, d := range p.Departments {
		made.Departments = append(made.Departments, b.department(d))
	}
	if b.err != nil {
		return made, b.err
	}
	if made.ProjectID, err = b.project(made.Leaders); err != nil {
		return made, err
	}
	made.Session = made.session()
	if p.Mode != ModeEnterprise {
		return made, nil
	}
	return made, b.hierarchy(made.Leaders.ExecutiveManager)
}

// leader returns the agent with this role and title, and creates it if there is none. A
// director must have no team.
func (b *builder) leader(spec workspace.AgentSpec) string {
	for _, a := range b.agents {
		same := a.Role == spec.Role && a.DisplayTitle == spec.DisplayTitle
		if spec.Role == "ceo" {
			same = a.Role == spec.Role
		}
		if same && (spec.Role != "director" || a.TeamID == "") {
			return a.ID
		}
	}
	return b.agent(spec)
}

func (b *builder) agent(spec workspace.AgentSpec) (id string) {
	if b.err != nil {
		return ""
	}
	spec.ID = b.u.Workspace().Env.IDs.New("agent")
	spec.Files = starterFiles(spec)
	id, b.err = b.u.CreateAgent(spec)
	return id
}

// department returns the team with a key, its director and at least the desired number of
// workers. It creates whatever is missing.
func (b *builder) department(d Department) DepartmentIDs {
	built := DepartmentIDs{Key: d.Key, Label: d.Label, WorkerIDs: []string{}}
	if at := slices.IndexFunc(b.teams, func(t doc.Team) bool { return strings.EqualFold(t.DepartmentKey, d.Key) }); at >= 0 {
		built.TeamID, built.Label = b.teams[at].ID, cmp.Or(b.teams[at].DepartmentLabel, b.teams[at].Name)
	} else if b.err == nil {
		built.TeamID, b.err = b.u.CreateTeam(d.Label, d.team())
	}
	for _, a := range b.agents {
		switch {
		case a.TeamID != built.TeamID:
		case a.Role == "director" && built.Director == "":
			built.Director = a.ID
		case a.Role == "worker":
			built.WorkerIDs = append(built.WorkerIDs, a.ID)
		}
	}
	if built.Director == "" {
		built.Director = b.agent(workspace.AgentSpec{Name: d.Label + " Director", Role: "director", Provider: d.Provider, TeamID: built.TeamID})
	}
	for n := len(built.WorkerIDs) + 1; n <= b.WorkersPerDepartment; n++ {
		built.WorkerIDs = append(built.WorkerIDs, b.agent(workspace.AgentSpec{
			Name: workerName(d.Label, n, b.WorkersPerDepartment), Role: "worker", Provider: d.Provider, TeamID: built.TeamID,
		}))
	}
	return built
}

func workerName(label string, n, of int) string {
	if of == 1 {
		return label + " Worker"
	}
	return label + " Worker " + strconv.Itoa(n)
}

// project returns the active project with the desired name. It creates the project with its
// conversations if there is none.
func (b *builder) project(lead Leaders) (string, error) {
	projects, err := b.u.Workspace().Projects()
	if err != nil {
		return "", err
	}
	for _, p := range projects {
		if p.Name == b.ProjectName && p.Status == "active" {
			return p.ID, nil
		}
	}
	made, err := b.u.CreateProject(workspace.ProjectSpec{Name: b.ProjectName, CEOActor: lead.CEO, ExecutiveManager: lead.ExecutiveManager})
	return made.ID, err
}

// hierarchy makes the heartbeat wake directors as well.
func (b *builder) hierarchy(executive string) error {
	yes := true
	want := doc.HeartbeatHierarchy{HierarchyMode: doc.HierarchyEnterprise, ExecutiveManagerAgentID: executive, AllowDirectorToSpawnWorkers: &yes}
	return heartbeat.SetHierarchy(b.u, want)
}

func (c Company) session() DefaultSession {
	s := DefaultSession{ProjectID: c.ProjectID}
	if len(c.Departments) > 0 {
		s.ActorTeamID = c.Departments[0].TeamID
	}
	switch {
	case c.Mode == ModeEnterprise:
		s.ActorID, s.ActorRole = c.Leaders.ExecutiveManager, "manager"
	case c.Leaders.Director != "":
		s.ActorID, s.ActorRole = c.Leaders.Director, "director"
	default:
		s.ActorID, s.ActorRole = c.Departments[0].Director, "director"
	}
	return s
}
