package files

// The directory that proposed files go to.

import (
	"slices"

	"ac/internal/fault"
	"ac/runs/worktree"
	"ac/workspace"
	"ac/workspace/checkpoint"
	"ac/workspace/doc"
)

// Place is a target with its directory.
type Place struct {
	checkpoint.Target
	dir string
}

// Candidates is the data of fault.TargetAmbiguous.
type Candidates struct {
	RepoIDs []string `json:"repo_ids"`
}

// target returns the requested target. The default is the repository that the files were made
// for, or the only linked repository on this machine.
func (s *Service) target(project string, asked checkpoint.Target, madeFor string) (Place, error) {
	if asked.RunID != "" {
		return s.runTarget(project, asked.RunID)
	}
	links, err := s.Workspace.RepoLinks(project)
	if err != nil {
		return Place{}, err
	}
	linked := func(repo string) bool {
		return slices.ContainsFunc(links, func(l doc.RepoLink) bool { return l.RepoID == repo })
	}
	switch {
	case asked.RepoID != "" && !linked(asked.RepoID):
		return Place{}, fault.New(fault.NoTarget, "repository %s is not linked to project %s", asked.RepoID, project)
	case asked.RepoID != "":
		return s.repoTarget(asked.RepoID)
	case madeFor != "":
		return s.repoTarget(madeFor)
	}
	var here []string
	for _, link := range links {
		if _, err := worktree.Root(s.Machine, link.RepoID); err == nil {
			here = append(here, link.RepoID)
		}
	}
	switch len(here) {
	case 0:
		return Place{}, fault.New(fault.NoTarget, "project %s has no linked repository on this machine; name a target", project)
	case 1:
		return s.repoTarget(here[0])
	}
	return Place{}, fault.New(fault.TargetAmbiguous, "project %s has several repositories on this machine; name a target", project).With(Candidates{here})
}

// commonTarget returns the requested target, or the default of files that were made for several
// repositories. Unless these files all have the same default, the error is
// fault.TargetAmbiguous.
func (s *Service) commonTarget(project string, asked checkpoint.Target, madeFor []string) (place Place, err error) {
	if asked != (checkpoint.Target{}) || len(madeFor) == 0 {
		return s.target(project, asked, "")
	}
	var defaults []string
	for _, repo := range slices.Sorted(slices.Values(madeFor)) {
		if place, err = s.target(project, asked, repo); err != nil {
			return Place{}, err
		}
		if !slices.Contains(defaults, place.RepoID) {
			defaults = append(defaults, place.RepoID)
		}
	}
	if slices.Sort(defaults); len(defaults) > 1 {
		return Place{}, fault.New(fault.TargetAmbiguous, "the files were made for several repositories; name a target").With(Candidates{defaults})
	}
	return place, nil
}

func (s *Service) repoTarget(repo string) (Place, error) {
	root, err := worktree.Root(s.Machine, repo)
	if err != nil {
		return Place{}, fault.New(fault.NoTarget, "%w", err)
	}
	return Place{checkpoint.Target{RepoID: repo}, root}, nil
}

func (s *Service) runTarget(project, run string) (Place, error) {
	record, err := workspace.Load(s.Workspace, doc.RunCodec, workspace.RunFile(project, run))
	if fault.Is(err, fault.NotFound) {
		return Place{}, fault.New(fault.NotFound, "run %s does not exist in project %s", run, project)
	}
	if err != nil {
		return Place{}, err
	}
	dir, err := worktree.Find(s.Workspace, record)
	if err == nil && dir == "" {
		err = fault.New(fault.NoTarget, "run %s has no worktree any more", run)
	}
	return Place{checkpoint.Target{RunID: run}, dir}, err
}

// idle returns fault.TargetBusy if a run is working in the target worktree.
func (s *Service) idle(project string, p Place) error {
	if p.RunID == "" {
		return nil
	}
	record, err := workspace.Load(s.Workspace, doc.RunCodec, workspace.RunFile(project, p.RunID))
	if err != nil {
		return err
	}
	users, err := worktree.RunsIn(s.Workspace, record)
	if err != nil {
		return err
	}
	for _, user := range users {
		if s.Alive(user.ProjectID, user.RunID) {
			return fault.New(fault.TargetBusy, "run %s is at work in the worktree of run %s", user.RunID, p.RunID)
		}
	}
	return nil
}
