package provisioning

// ac init: a workspace in or next to a repository, with a project and the agents that are
// installed on the machine.

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ac/company"
	"ac/internal/fault"
	"ac/runs/provider"
	"ac/runs/worktree"
	"ac/workspace"
	"ac/workspace/doc"
)

// SetupParams are the params of ac init. WorkspaceDir is the given folder.
type SetupParams struct {
	company.MaybeDir
	CompanyName string   `json:"company_name" is:"optional"`
	Agents      []string `json:"agents" is:"optional"` // programs, none for all
	NoAgents    bool     `json:"no_agents" is:"optional"`
	NoProbe     bool     `json:"no_probe" is:"optional"`
	Environ     []string `json:"-"`
	Home        string   `json:"-"`
	// Looked, if not nil, is called with the number of agent programs checked so far, of all
	// known ones. Any goroutine may call it, one call at a time.
	Looked func(looked, of int) `json:"-"`
}

// SetupAgent is an agent of the workspace that can run on this machine.
type SetupAgent struct {
	AgentID  string  `json:"agent_id"`
	Name     string  `json:"name"`
	Provider string  `json:"provider"`
	Program  *string `json:"program"`
	Version  *string `json:"version"`
	State    string  `json:"state"` // ready, not_signed_in or unknown
	Created  bool    `json:"created"`
	Hint     string  `json:"-"`
}

// NotUsed is a program that was found but does not work, or was requested but not found.
type NotUsed struct {
	Program string `json:"program"`
	Reason  string `json:"reason"`
}

// SetupResult is what exists after ac init.
type SetupResult struct {
	WorkspaceDir string       `json:"workspace_dir"`
	Created      bool         `json:"created"` // this call created something
	Company      string       `json:"company"`
	TeamID       string       `json:"team_id"`
	ProjectID    string       `json:"project_id"`
	RepoID       *string      `json:"repo_id"`
	Agents       []SetupAgent `json:"agents"`
	NotUsed      []NotUsed    `json:"not_used"`

	Project  string `json:"-"` // its name
	Nested   bool   `json:"-"` // the workspace is inside a repository
	Excluded bool   `json:"-"` // this call excluded the workspace from the repository
}

// place describes where ac init works.
type place struct {
	dir    string // of the workspace
	exists bool
	repo   string // the root of the repository, "" for none
	name   string // of the project
}

// placeOf decides where the workspace for a folder is, or will be.
func placeOf(ctx context.Context, p SetupParams) (at place, err error) {
	dir := workspace.Canonical(p.WorkspaceDir)
	if dir == filepath.Dir(dir) || p.Home != "" && dir == workspace.Canonical(p.Home) {
		return at, fault.New(fault.Denied, "not in your home directory; give a folder: ac init ~/acme")
	}
	st, statErr := os.Stat(dir)
	if statErr == nil && !st.IsDir() {
		return at, fault.New(fault.Conflict, "%s is no folder", dir)
	}
	at = place{dir: dir, name: filepath.Base(dir)}
	if isWorkspace(dir) {
		if at.exists = true; filepath.Base(dir) == nestedName {
			at.name = filepath.Base(filepath.Dir(dir))
		}
	}
	around := dir
	if at.exists {
		around = filepath.Dir(dir)
	}
	if statErr == nil && (!at.exists || filepath.Base(dir) == nestedName) {
		at.repo, _ = worktree.Enclosing(ctx, p.Environ, around)
	}
	entries, readErr := os.ReadDir(dir)
	switch {
	case at.exists:
		return at, nil
	case isWorkspace(filepath.Join(dir, nestedName)):
		at.dir, at.exists = filepath.Join(dir, nestedName), true
	case at.repo != "" && isWorkspace(filepath.Join(at.repo, nestedName)):
		at.dir, at.name, at.exists = filepath.Join(at.repo, nestedName), filepath.Base(at.repo), true
	case errors.Is(readErr, fs.ErrNotExist), readErr == nil && len(entries) == 0:
		at.repo = ""
	case readErr != nil:
		return at, readErr
	case at.repo != "":
		at.dir, at.name = filepath.Join(at.repo, nestedName), filepath.Base(at.repo)
	default:
		at.dir = filepath.Join(dir, nestedName)
	}
	return at, nil
}

// nestedName is the folder name of a workspace inside another folder.
const nestedName = ".ac"

func isWorkspace(dir string) bool {
	st, err := os.Stat(filepath.Join(dir, filepath.FromSlash(workspace.CompanyFile)))
	return err == nil && st.Mode().IsRegular()
}

// Setup creates whatever is missing: the workspace, a team, a project, the link to the
// repository, and an agent for each working agent program. After a failure, the workspace is
// valid and the next call continues.
func (c Folder) Setup(ctx context.Context, p SetupParams) (result SetupResult, err error) {
	at, err := placeOf(ctx, p)
	if err != nil {
		return result, err
	}
	result = SetupResult{WorkspaceDir: at.dir, Agents: []SetupAgent{}, NotUsed: []NotUsed{}}
	if !at.exists {
		name := strings.TrimSpace(p.CompanyName)
		if name == "" {
			name = at.name
		}
		if err := workspace.Init(ctx, c.Host().Env(), at.dir, workspace.InitOptions{CompanyName: name}); err != nil {
			return result, err
		}
		result.Created = true
	}
	if at.repo != "" && filepath.Base(at.dir) == nestedName && filepath.Dir(at.dir) == at.repo {
		result.Nested = true
		if result.Excluded, err = worktree.Nest(ctx, p.Environ, at.repo, nestedName); err != nil {
			return result, err
		}
	}
	in, err := c.Host().In(at.dir).Enter(ctx)
	if err != nil {
		return result, err
	}
	w := in.Workspace()
	if found, err := w.Company(); err == nil {
		result.Company = found.Name
	}
	if err := result.found(ctx, w, at); err != nil {
		return result, err
	}
	return result, result.staff(ctx, w, p)
}

// found creates the team, the project and its link to the repository, if missing.
func (r *SetupResult) found(ctx context.Context, w *workspace.Workspace, at place) error {
	teams, err := w.Teams()
	if err != nil {
		return err
	}
	for i := range teams {
		if i == 0 || teams[i].Name == "Team" {
			r.TeamID = teams[i].ID
		}
	}
	if len(teams) == 0 {
		if r.TeamID, err = w.NewTeam(ctx, "Team"); err != nil {
			return err
		}
		r.Created = true
	}
	projects, err := w.Projects()
	if err != nil {
		return err
	}
	if len(projects) > 0 {
		r.ProjectID, r.Project = projects[0].ID, projects[0].Name
	} else {
		made, err := w.CreateProjectWithDefaults(ctx, at.name, "", nil)
		if err != nil {
			return err
		}
		r.ProjectID, r.Project, r.Created = made.ID, at.name, true
	}
	return r.link(ctx, w, at)
}

// link links the repository to the project and records its location on this machine.
func (r *SetupResult) link(ctx context.Context, w *workspace.Workspace, at place) error {
	links, err := w.RepoLinks(r.ProjectID)
	if err != nil {
		return err
	}
	if len(links) > 0 {
		r.RepoID = &links[0].RepoID
	}
	if at.repo == "" {
		return nil
	}
	machine, err := w.Machine()
	if err != nil {
		return err
	}
	for _, link := range links {
		if machine.RepoRoots[link.RepoID] == at.repo {
			r.RepoID = &link.RepoID
			return nil
		}
	}
	id := RepoIDOf(filepath.Base(at.repo))
	if _, err := w.SetRepoRoot(ctx, id, at.repo, false); err != nil {
		return err
	}
	if _, err := w.LinkRepo(ctx, r.ProjectID, id, ""); err != nil {
		return err
	}
	r.RepoID, r.Created = &id, true
	return nil
}

// RepoIDOf derives the id of a repository from the name of its folder: lowercase letters, digits
// and hyphens.
func RepoIDOf(name string) string {
	id := strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, name), "-")
	if id == "" {
		return "repo"
	}
	return id
}

// staff creates an agent for commands, and one for each working agent program, unless its
// provider has one.
func (r *SetupResult) staff(ctx context.Context, w *workspace.Workspace, p SetupParams) error {
	var found []provider.Installed
	if !p.NoAgents {
		found = provider.LookForAgents(ctx, p.Environ, !p.NoProbe, p.Looked)
	}
	for _, a := range found {
		wanted := len(p.Agents) == 0 || slices.Contains(p.Agents, a.Program)
		switch {
		case !a.Found && len(p.Agents) > 0 && wanted:
			r.NotUsed = append(r.NotUsed, NotUsed{a.Program, "it is not in PATH"})
		case !a.Found || !wanted:
		case a.Reason != "":
			r.NotUsed = append(r.NotUsed, NotUsed{a.Program, a.Reason})
		default:
			if err := r.employ(ctx, w, a); err != nil {
				return err
			}
		}
	}
	return r.employ(ctx, w, provider.Installed{Name: "Shell", Provider: "cmd", State: provider.Ready})
}

// employ creates an agent unless its provider has a worker.
func (r *SetupResult) employ(ctx context.Context, w *workspace.Workspace, a provider.Installed) error {
	agents, err := w.Agents()
	if err != nil {
		return err
	}
	row := SetupAgent{Name: a.Name, Provider: a.Provider, State: a.State, Program: company.OrNil(a.Path), Version: company.OrNil(a.Version), Hint: a.Hint}
	for _, known := range agents {
		if known.Role == "worker" && !strings.HasPrefix(known.ID, workspace.SecretaryPrefix) && known.Provider == a.Provider && row.AgentID == "" {
			row.AgentID, row.Name = known.ID, known.Name
		}
	}
	if row.AgentID == "" {
		row.AgentID, err = w.NewAgent(ctx, workspace.AgentSpec{Name: a.Name, Role: "worker", Provider: a.Provider, TeamID: r.TeamID})
		row.Created, r.Created = true, true
	}
	if err == nil && len(a.Command) > 0 {
		err = r.command(ctx, w, a)
	}
	r.Agents = append(r.Agents, row)
	return err
}

// command sets the command line of a live agent, unless its provider has one.
func (r *SetupResult) command(ctx context.Context, w *workspace.Workspace, a provider.Installed) error {
	machine, err := w.Machine()
	if err != nil || len(machine.AgentCommands[a.Provider]) > 0 {
		return err
	}
	return w.UpdateMachine(ctx, func(m *doc.Machine) {
		if m.AgentCommands == nil {
			m.AgentCommands = map[string][]string{}
		}
		m.AgentCommands[a.Provider] = a.Command
	})
}
