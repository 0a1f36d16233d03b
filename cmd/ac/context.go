package main

// What a short command is about: the workspace, the project, and who acts. Each comes from
// an option, the environment, the folder, or what `ac use` keeps.

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

// scope is what a short command is about, and where each part came from.
type scope struct {
	dir, dirFrom         string
	company              string // its name
	project, projectFrom string // "" for none
	projectName          string
	projects             []candidate
	actor, role, team    string
	actorFrom            string
}

// errNoWorkspace means that a command found no workspace to work on.
var errNoWorkspace = errors.New("no workspace here; make one with: ac workspace:init DIR --name COMPANY")

// scope finds what a command is about. A project is not required.
func (a *app) scope(ctx context.Context, all *company.Host, o shortFlags) (s scope, err error) {
	kept := a.readContext()
	if s.dir, s.dirFrom, err = findWorkspace(o.inWorkspace, kept); err != nil {
		return s, err
	}
	d := company.Dir{WorkspaceDir: s.dir}
	if s.company, err = company.Do(ctx, all, (*company.Company).Name, d); err != nil {
		return s, err
	}
	projects, err := company.Do(ctx, all, workforce.Operations.ProjectNames, d)
	if err != nil {
		return s, err
	}
	for _, p := range projects {
		s.projects = append(s.projects, candidate{id: p.ID, name: p.Name})
	}
	if err := s.findProject(o.inProject, kept); err != nil {
		return s, err
	}
	return s, s.findActor(ctx, all, o.as)
}

// findWorkspace chooses the workspace: the one that is named, else the enclosing folder,
// else the only one that is registered.
func findWorkspace(named string, kept keptContext) (dir, from string, err error) {
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
		return "", "", errNoWorkspace
	case 1:
		return there[0], "the only one registered", nil
	}
	return "", "", choiceError{message: "which workspace? (ac -C DIR COMMAND)", lines: there}
}

// workspaceIn is the workspace that a folder is, or has in its .ac.
func workspaceIn(dir string) (string, bool) {
	for _, at := range []string{dir, filepath.Join(dir, ".ac")} {
		if st, err := os.Stat(filepath.Join(at, filepath.FromSlash(workspace.CompanyFile))); err == nil && st.Mode().IsRegular() {
			return at, true
		}
	}
	return "", false
}

// findProject chooses the project, none where there are several and none is named.
func (s *scope) findProject(named string, kept keptContext) error {
	for _, given := range []struct{ word, from string }{{named, "-p"}, {os.Getenv("AC_PROJECT"), "AC_PROJECT"}} {
		if given.word == "" {
			continue
		}
		found, err := lookup("project", given.word, s.company, s.projects)
		s.project, s.projectName, s.projectFrom = found.id, found.name, given.from
		return err
	}
	used := kept.project(s.dir)
	for _, p := range s.projects {
		if p.id == used {
			s.project, s.projectName, s.projectFrom = p.id, p.name, "ac use"
			return nil
		}
	}
	if len(s.projects) == 1 {
		s.project, s.projectName, s.projectFrom = s.projects[0].id, s.projects[0].name, "the only one"
	}
	return nil
}

// findActor chooses who acts: a person, or an agent with its recorded role and team.
func (s *scope) findActor(ctx context.Context, all *company.Host, named string) error {
	word, from := "human", "default"
	if env := os.Getenv("AC_ACTOR"); env != "" {
		word, from = env, "AC_ACTOR"
	}
	if named != "" {
		word, from = named, "--as"
	}
	if word == "human" {
		if named != "" && os.Getenv("AC_RUN") != "" {
			return usageError{"an agent's session cannot act as human"}
		}
		s.actor, s.role, s.actorFrom = "human", "human", from
		return nil
	}
	agents, err := company.Do(ctx, all, (*company.Folder).Agents, company.AgentsParams{Dir: company.Dir{WorkspaceDir: s.dir}})
	if err != nil {
		return err
	}
	known := make([]candidate, len(agents))
	for i, agent := range agents {
		known[i] = candidate{id: agent.AgentID, name: agent.Name, line: agent.Role}
	}
	found, err := lookup("agent", word, s.company, known)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(agents, func(r company.AgentRow) bool { return r.AgentID == found.id })
	s.actor, s.role, s.team, s.actorFrom = found.id, agents[at].Role, agents[at].TeamID, from
	return nil
}
