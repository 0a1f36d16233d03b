package workforce

// workspace.project.* and workspace.repo_root.set: projects and their repositories.

import (
	"context"
	"strings"

	"ac/company"
	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/doc"
)

// CreateProjectParams are the params of workspace.project.create_with_defaults.
type CreateProjectParams struct {
	company.Dir
	Name       string   `json:"name"`
	CEOActorID string   `json:"ceo_actor_id" is:"optional"`
	RepoIDs    []string `json:"repo_ids" is:"optional"`
	ExecutiveManagerParam
}

// ExecutiveManagerParam names the agent who leads conversations along with the CEO.
type ExecutiveManagerParam struct {
	ExecutiveManager string `json:"executive_manager_agent_id,omitempty" is:"optional,empty"`
}

// Executive returns the trimmed id of the Executive Manager, "" if none is named. The id must be
// that of an agent.
func (p ExecutiveManagerParam) Executive(w *workspace.Workspace) (string, error) {
	id := strings.TrimSpace(p.ExecutiveManager)
	if id == "" {
		return "", nil
	}
	if !workspace.SafeID(id) {
		return "", fault.New(fault.NotFound, "agent %q does not exist", id)
	}
	_, err := w.Agent(id)
	return id, err
}

// CheckFields rejects a blank name.
func (p *CreateProjectParams) CheckFields() []fault.Issue { return company.NotBlank("name", p.Name) }

// CreateProjectResult is the result of workspace.project.create_with_defaults.
type CreateProjectResult struct {
	ProjectID       string         `json:"project_id"`
	GlobalManagerID string         `json:"global_manager_agent_id"`
	SecretaryID     string         `json:"project_secretary_agent_id"`
	ConversationIDs []string       `json:"conversation_ids"`
	RepoLinks       []doc.RepoLink `json:"repo_links"`
}

// CreateProject creates a project with its defaults, atomically.
func (c Operations) CreateProject(ctx context.Context, p CreateProjectParams) (CreateProjectResult, error) {
	executive, err := p.Executive(c.Workspace())
	if err != nil {
		return CreateProjectResult{}, err
	}
	made, err := c.Workspace().MakeProject(ctx, workspace.ProjectSpec{Name: p.Name, CEOActor: p.CEOActorID, RepoIDs: p.RepoIDs, ExecutiveManager: executive})
	return CreateProjectResult{made.ID, workspace.GlobalManagerID, made.SecretaryID, made.ConversationIDs, made.RepoLinks}, err
}

// LinkRepoParams are the params of workspace.project.link_repo.
type LinkRepoParams struct {
	company.Dir
	ProjectID string `json:"project_id" is:"id"`
	RepoID    string `json:"repo_id"`
	Label     string `json:"label" is:"optional"`
}

// CheckFields rejects a blank repository id.
func (p *LinkRepoParams) CheckFields() []fault.Issue { return company.NotBlank("repo_id", p.RepoID) }

// LinkRepoResult is the result of workspace.project.link_repo.
type LinkRepoResult struct {
	WorkspaceDir string         `json:"workspace_dir"`
	ProjectID    string         `json:"project_id"`
	Repos        []doc.RepoLink `json:"repos"`
}

// LinkRepo links a repository to a project.
func (c Operations) LinkRepo(ctx context.Context, p LinkRepoParams) (result LinkRepoResult, err error) {
	result = LinkRepoResult{WorkspaceDir: c.Given(), ProjectID: p.ProjectID}
	result.Repos, err = c.Workspace().LinkRepo(ctx, p.ProjectID, p.RepoID, p.Label)
	return result, err
}

// RepoRootParams are the params of workspace.repo_root.set.
type RepoRootParams struct {
	company.Dir
	RepoID     string `json:"repo_id"`
	RepoPath   string `json:"repo_path" is:"path"`
	RequireGit bool   `json:"require_git" is:"default=true"`
}

// RepoRootResult is the result of workspace.repo_root.set.
type RepoRootResult struct {
	WorkspaceDir string `json:"workspace_dir"`
	RepoID       string `json:"repo_id"`
	RepoPath     string `json:"repo_path"`
}

// SetRepoRoot maps a repository to a directory of this machine.
func (c Operations) SetRepoRoot(ctx context.Context, p RepoRootParams) (result RepoRootResult, err error) {
	result = RepoRootResult{WorkspaceDir: c.Given(), RepoID: p.RepoID}
	result.RepoPath, err = c.Workspace().SetRepoRoot(ctx, p.RepoID, p.RepoPath, p.RequireGit)
	return result, err
}
