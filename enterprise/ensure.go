package enterprise

// The readiness of an enterprise, and reasons for what was done about it.

import (
	"cmp"
	"strings"

	"ac/workspace"
	"ac/workspace/doc"
)

// Reasons for the outcome of ensuring an enterprise.
const (
	AlreadyReady = "already_ready"
	Bootstrapped = "bootstrapped_empty_workspace"
	KeptExisting = "kept_existing_company"
)

// Readiness describes how complete a workspace is as an enterprise.
type Readiness struct {
	Ready        bool              `json:"ready"`
	Empty        bool              `json:"-"` // neither projects, nor teams, nor agents of its own
	ProjectCount int               `json:"project_count"`
	Departments  []DepartmentStaff `json:"departments"`
	Leaders      ReadyLeaders      `json:"agents"`
}

// DepartmentStaff is a department with the sizes of its staff.
type DepartmentStaff struct {
	Key       string `json:"department_key"`
	Label     string `json:"department_label"`
	TeamID    string `json:"team_id"`
	Directors int    `json:"director_count"`
	Workers   int    `json:"worker_count"`
}

// ReadyLeaders holds the ids of an enterprise's leaders. Missing ones are absent.
type ReadyLeaders struct {
	CEO              string `json:"ceo_agent_id,omitempty"`
	ExecutiveManager string `json:"executive_manager_agent_id,omitempty"`
}

// CheckReadiness determines the readiness of a workspace. It is read-only.
func CheckReadiness(w *workspace.Workspace) (r Readiness, err error) {
	r.Departments = []DepartmentStaff{}
	projects, err := w.Projects()
	if err != nil {
		return r, err
	}
	agents, err := w.Agents()
	if err != nil {
		return r, err
	}
	teams, err := w.Teams()
	if err != nil {
		return r, err
	}
	r.ProjectCount = len(projects)
	if r.Empty, err = empty(w); err != nil {
		return r, err
	}
	for _, a := range agents {
		if a.Role == "ceo" && (r.Leaders.CEO == "" || a.ID < r.Leaders.CEO) {
			r.Leaders.CEO = a.ID
		}
	}
	executive, _ := workspace.ExecutiveManager(agents)
	r.Leaders.ExecutiveManager = executive.ID
	r.Ready = executive.ID != ""
	for _, t := range teams {
		if t.DepartmentKey == "" {
			continue
		}
		d := staffOf(t, agents)
		r.Ready = r.Ready && d.Directors > 0 && d.Workers > 0
		r.Departments = append(r.Departments, d)
	}
	r.Ready = r.Ready && len(r.Departments) > 0
	return r, nil
}

// empty reports whether there is no project, no team, and no agent but those that every
// company has. An unreadable entry counts as existing.
func empty(w *workspace.Workspace) (bool, error) {
	for _, dir := range []string{workspace.ProjectsDir, workspace.TeamsDir, workspace.AgentsDir} {
		names, err := workspace.Dirs(w.FS, dir)
		if err != nil {
			return false, err
		}
		for _, name := range names {
			if dir != workspace.AgentsDir || name != workspace.GlobalManagerID && !strings.HasPrefix(name, workspace.SecretaryPrefix) {
				return false, nil
			}
		}
	}
	return true, nil
}

func staffOf(t doc.Team, agents []doc.Agent) DepartmentStaff {
	d := DepartmentStaff{Key: t.DepartmentKey, Label: cmp.Or(t.DepartmentLabel, t.Name), TeamID: t.ID}
	for _, a := range agents {
		switch {
		case a.TeamID != t.ID:
		case a.Role == "director":
			d.Directors++
		case a.Role == "worker":
			d.Workers++
		}
	}
	return d
}

// Readiness returns the readiness of a company that was just built.
func (c Company) Readiness() Readiness {
	r := Readiness{Ready: true, ProjectCount: 1, Departments: []DepartmentStaff{}, Leaders: ReadyLeaders{c.Leaders.CEO, c.Leaders.ExecutiveManager}}
	for _, d := range c.Departments {
		r.Departments = append(r.Departments, DepartmentStaff{d.Key, d.Label, d.TeamID, 1, len(d.WorkerIDs)})
	}
	return r
}
