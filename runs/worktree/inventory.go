package worktree

// The worktrees of all runs.

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"ac/workspace"
	"ac/workspace/doc"
)

// owner is a run with a worktree.
type owner struct {
	project, id string
	record      doc.Run
	location    string // cleaned, relative to the workspace
	inside      bool   // location is below Area
}

// ownerIndex is an index of all runs with worktrees.
type ownerIndex struct {
	runs  []owner
	taken map[string][]owner // runs by location
	above map[string]bool    // parent directories of locations
}

// inventory reads the runs of all projects, ordered by project and run. It skips runs that are
// unreadable or have no worktree.
func inventory(w *workspace.Workspace) (ownerIndex, error) {
	known := ownerIndex{taken: map[string][]owner{}, above: map[string]bool{}}
	projects, err := workspace.Dirs(w.FS, workspace.ProjectsDir)
	if err != nil {
		return known, err
	}
	for _, project := range projects {
		runs, err := workspace.Dirs(w.FS, workspace.RunsDir(project))
		if err != nil {
			return known, err
		}
		for _, id := range runs {
			record, err := workspace.Load(w, doc.RunCodec, workspace.RunFile(project, id))
			if err != nil || record.ID != id {
				continue
			}
			if record.Spec == nil { // e.g. a workflow run, which executes nothing itself
				record.Spec = &doc.Spec{RepoID: record.WorktreeRepoID, WorktreeRel: record.WorktreeRel, WorktreeBranch: record.WorktreeBranch}
			}
			if record.Spec.WorktreeRel == "" {
				continue
			}
			known.add(owner{project: project, id: id, record: record})
		}
	}
	return known, nil
}

func (p *ownerIndex) add(run owner) {
	rel := run.record.Spec.WorktreeRel
	run.location = path.Clean(filepath.ToSlash(rel))
	run.inside = !strings.ContainsRune(rel, 0) && filepath.IsLocal(filepath.FromSlash(run.location)) && strings.HasPrefix(run.location, Area+"/")
	p.runs = append(p.runs, run)
	if !run.inside {
		return
	}
	p.taken[run.location] = append(p.taken[run.location], run)
	for dir := path.Dir(run.location); dir != Area; dir = path.Dir(dir) {
		p.above[dir] = true
	}
}

// nested reports whether the worktree of another run lies inside or around that of this run.
func (p *ownerIndex) nested(run owner) bool {
	if p.above[run.location] {
		return true
	}
	for dir := path.Dir(run.location); dir != Area; dir = path.Dir(dir) {
		if len(p.taken[dir]) > 0 {
			return true
		}
	}
	return false
}

// sharers returns the other runs that use the same worktree.
func (p *ownerIndex) sharers(run owner) []owner {
	return slices.DeleteFunc(slices.Clone(p.taken[run.location]), func(o owner) bool { return o.project == run.project && o.id == run.id })
}
