package cli

// The scope of a short command: the workspace, the project, and the actor. Each comes from an
// option, the environment, the current folder, or what `ac use` saved.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"ac/company"
	"ac/company/workforce"
	"ac/workspace"
)

// Scope is the scope of a short command, and the source of each part.
type Scope struct {
	Dir, DirFrom         string
	Company              string // the company's name
	Project, ProjectFrom string // "" for none
	ProjectName          string
	Projects             []Candidate
	Actor, Role, Team    string
	ActorFrom            string
}

// ErrNoWorkspace means that a command found no workspace.
var ErrNoWorkspace = errors.New("no workspace here; make one with: ac workspace:init DIR --name COMPANY")

// Scope determines the scope of a command. A project is optional.
func (a *App) Scope(ctx context.Context, all *company.Host, o ShortFlags) (s Scope, err error) {
	kept := a.ReadContext()
	if s.Dir, s.DirFrom, err = findWorkspace(o.InWorkspace, kept); err != nil {
		return s, err
	}
	d := company.Dir{WorkspaceDir: s.Dir}
	if s.Company, err = company.Do(ctx, all, (*company.Company).Name, d); err != nil {
		return s, err
	}
	projects, err := company.Do(ctx, all, workforce.Operations.ProjectNames, d)
	if err != nil {
		return s, err
	}
	for _, p := range projects {
		s.Projects = append(s.Projects, Candidate{ID: p.ID, Name: p.Name})
	}
	if err := s.findProject(o.inProject, kept); err != nil {
		return s, err
	}
	return s, s.findActor(ctx, all, o.as)
}

// findWorkspace chooses the workspace: the named one, else the enclosing folder, else the only
// registered one.
func findWorkspace(named string, kept KeptContext) (dir, from string, err error) {
	for _, given := range []struct{ dir, from string }{{named, "-C"}, {os.Getenv("AC_WORKSPACE"), "AC_WORKSPACE"}} {
		if given.dir == "" {
			continue
		}
		if dir, ok := workspaceIn(given.dir); ok {
			return dir, given.from, nil
		}
		return "", "", fmt.Errorf("%s is not a workspace (%s)", given.dir, given.from)
	}
	here, err := os.Getwd()
	if err != nil {
		return "", "", err
	}
	for at := here; ; at = filepath.Dir(at) {
		if dir, ok := workspaceIn(at); ok {
			return dir, "enclosing folder", nil
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	var there []string
	for _, w := range kept.Workspaces {
		if _, ok := workspaceIn(w.Path); ok {
			there = append(there, w.Path)
		}
	}
	switch len(there) {
	case 0:
		return "", "", ErrNoWorkspace
	case 1:
		return there[0], "the only one registered", nil
	}
	return "", "", ChoiceError{Message: "which workspace? (ac -C DIR COMMAND)", Lines: there}
}

// workspaceIn returns the workspace at dir or in its folder .ac.
func workspaceIn(dir string) (string, bool) {
	for _, at := range []string{dir, filepath.Join(dir, ".ac")} {
		if st, err := os.Stat(filepath.Join(at, filepath.FromSlash(workspace.CompanyFile))); err == nil && st.Mode().IsRegular() {
			return at, true
		}
	}
	return "", false
}

// findProject chooses the project. It chooses none if there are several and none is named or in
// use.
func (s *Scope) findProject(named string, kept KeptContext) error {
	for _, given := range []struct{ word, from string }{{named, "-p"}, {os.Getenv("AC_PROJECT"), "AC_PROJECT"}} {
		if given.word == "" {
			continue
		}
		found, err := Lookup("project", given.word, s.Company, s.Projects)
		s.Project, s.ProjectName, s.ProjectFrom = found.ID, found.Name, given.from
		return err
	}
	used := kept.Project(s.Dir)
	for _, p := range s.Projects {
		if p.ID == used {
			s.Project, s.ProjectName, s.ProjectFrom = p.ID, p.Name, "ac use"
			return nil
		}
	}
	if len(s.Projects) == 1 {
		s.Project, s.ProjectName, s.ProjectFrom = s.Projects[0].ID, s.Projects[0].Name, "the only one"
	}
	return nil
}

// findActor chooses the actor: a person, or an agent with its recorded role and team.
func (s *Scope) findActor(ctx context.Context, all *company.Host, named string) error {
	word, from := "human", "default"
	if env := os.Getenv("AC_ACTOR"); env != "" {
		word, from = env, "AC_ACTOR"
	}
	if named != "" {
		word, from = named, "--as"
	}
	if word == "human" {
		if named != "" && os.Getenv("AC_RUN") != "" {
			return UsageError{"an agent's session cannot act as human"}
		}
		s.Actor, s.Role, s.ActorFrom = "human", "human", from
		return nil
	}
	agents, err := company.Do(ctx, all, (*company.Folder).Agents, company.AgentsParams{Dir: company.Dir{WorkspaceDir: s.Dir}})
	if err != nil {
		return err
	}
	known := make([]Candidate, len(agents))
	for i, agent := range agents {
		known[i] = Candidate{ID: agent.AgentID, Name: agent.Name, Line: agent.Role}
	}
	found, err := Lookup("agent", word, s.Company, known)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(agents, func(r company.AgentRow) bool { return r.AgentID == found.ID })
	s.Actor, s.Role, s.Team, s.ActorFrom = found.ID, agents[at].Role, agents[at].TeamID, from
	return nil
}
