package comma

// Choosing the workspace's agent for each agent of a strategy, and where a run works.

import (
	"cmp"
	"context"
	"path/filepath"
	"strings"

	"ac/company"
	"ac/company/workforce"
	"ac/dialect"
	"ac/internal/fault"
	"ac/workspace/doc"
)

// agents returns the agents of the workspace, by name.
func (s *server) agents(ctx context.Context) ([]company.AgentRow, error) {
	return dialect.Do(ctx, s.Company, (*company.Folder).Agents, company.AgentsParams{Dir: s.In()})
}

// chooser returns a function that finds the workspace's agent and the model for an agent of a
// strategy. If overridden is set, an agent of the same name takes no precedence over the model.
func (s *server) chooser(ctx context.Context, overridden bool) (func(key, model string) (agent, chosen string, err error), error) {
	rows, err := s.agents(ctx)
	if err != nil {
		return nil, err
	}
	byDefault := ""
	if s.AgentID != "" {
		a, ok := dialect.FindAgent(rows, s.AgentID)
		if !ok {
			return nil, fail(codePrepare, "agent %s does not exist", s.AgentID)
		}
		byDefault = a.AgentID
	}
	return func(key, model string) (agent, chosen string, err error) {
		if id, direct := strings.CutPrefix(model, "ac/"); direct {
			if a, ok := dialect.FindAgent(rows, id); ok {
				return a.AgentID, "", nil
			}
			return "", "", fail(codePrepare, "Agent %q: there is no agent %q in this workspace", key, id)
		}
		if a, ok := dialect.FindAgent(rows, key); ok && !overridden {
			return a.AgentID, "", nil
		}
		if byDefault != "" {
			return byDefault, "", nil
		}
		if model == "" {
			return "", "", fail(codePrepare, "Agent %q: it names no model, and no agent of this workspace is called so; start the server with --agent, or use model %q", key, "ac/<agent>")
		}
		family, rest, _ := strings.Cut(model, "/")
		if a, ok := s.ofFamily(ctx, rows, familyOf(family)); ok && rest != "" {
			return a.AgentID, rest, nil
		}
		return "", "", fail(codePrepare, "Agent %q: no agent of this workspace serves model %q; start the server with --agent, or use model %q", key, model, "ac/<agent>")
	}, nil
}

// familyOf returns the family of agent programs for a provider of models.
func familyOf(name string) string {
	name = strings.ToLower(name)
	if strings.HasPrefix(name, "google") { // google-vertex
		name = "google"
	}
	return cmp.Or(string(doc.Vendors()[name]), doc.WorkerKindOf(name), name)
}

// ofFamily returns the first agent of a family that can work, by name, workers first.
func (s *server) ofFamily(ctx context.Context, rows []company.AgentRow, family string) (company.AgentRow, bool) {
	adapters := s.programs.Adapters(ctx)
	for _, workers := range []bool{true, false} {
		for _, a := range rows {
			if (a.Role == "worker") != workers || familyOf(a.Provider) != family {
				continue
			}
			if why, _ := dialect.UnavailableReason(a, adapters); why == "" {
				return a, true
			}
		}
	}
	return company.AgentRow{}, false
}

// place returns where a run works, nil for the workspace. It refuses a directory that is outside
// all linked repositories.
func (s *server) place(ctx context.Context, cwd string) (*doc.JobPlace, error) {
	workspace := resolved(s.dir)
	if cwd == "" || resolved(absolute(cwd, "", s.dir)) == workspace {
		if s.RepoID == "" {
			return nil, nil //nolint:nilnil // the workspace is no place of its own
		}
		repo, _, err := s.Repository(ctx)
		return &doc.JobPlace{RepoID: repo.RepoID, Isolation: s.opts.Isolation}, err
	}
	repos, err := s.repositories(ctx)
	if err != nil {
		return nil, err
	}
	if !filepath.IsAbs(cwd) {
		repos = nil
	}
	for _, repo := range repos {
		rel, err := filepath.Rel(resolved(repo.Root), resolved(filepath.Clean(cwd)))
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		place := &doc.JobPlace{RepoID: repo.RepoID, Isolation: s.opts.Isolation}
		if rel != "." {
			place.WorkdirRel = filepath.ToSlash(rel)
		}
		return place, nil
	}
	return nil, fail(codePrepare, "cwd %s is not inside a repository linked to this project", cwd)
}

func (s *server) repositories(ctx context.Context) ([]workforce.Repository, error) {
	return dialect.Do(ctx, s.Company, workforce.Operations.Repositories, company.ProjectParams{Dir: s.In(), ProjectID: s.ProjectID})
}

// directory returns the directory where a run works, as clients see it.
func (s *server) directory(ctx context.Context, place *doc.JobPlace) string {
	if place == nil {
		return s.dir
	}
	repos, err := s.repositories(ctx)
	for _, repo := range repos {
		if err == nil && repo.RepoID == place.RepoID {
			return filepath.Join(repo.Root, filepath.FromSlash(place.WorkdirRel))
		}
	}
	return s.dir
}

// unknown reports whether an error means that an id names nothing or is invalid.
func unknown(err error) bool {
	return fault.Is(err, fault.NotFound) || fault.Is(err, fault.InvalidParams)
}

// model returns the provider and model to show for an agent's call.
func (s *server) model(ctx context.Context, agent string, task *doc.TaskNode) string {
	rows, err := s.agents(ctx)
	if err != nil {
		return ""
	}
	a, ok := dialect.FindAgent(rows, agent)
	if !ok {
		return ""
	}
	model := a.ModelHint
	if task != nil && task.Model != "" {
		model = task.Model
	}
	return a.Provider + "/" + cmp.Or(model, "default")
}
