package grant

// The identity of a run's agent, for the tool who_am_i.

import (
	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/doc"
)

// Brief is an agent as its colleagues know it.
type Brief struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Role   string `json:"role"`
	TeamID string `json:"team_id,omitempty"`
}

// BriefOf is an agent in short.
func BriefOf(a doc.Agent) Brief { return Brief{a.ID, a.Name, a.Role, a.TeamID} }

// maxColleagues bounds how many colleagues an agent is shown.
const maxColleagues = 100

// Self is what an agent may know of where it is.
type Self struct {
	Agent   Brief  `json:"agent"`
	RunID   string `json:"run_id"`
	Project struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"project"`
	Company    string  `json:"company"`
	Colleagues []Brief `json:"colleagues"`
}

// SelfOf says who the agent of a run is and with whom it works. One without a record has the
// fewest rights.
func SelfOf(w *workspace.Workspace, projectID, runID, agentID string) (self Self, err error) {
	self = Self{RunID: runID, Colleagues: []Brief{}}
	agent, err := w.Agent(agentID)
	if fault.Is(err, fault.NotFound) {
		agent, err = doc.Agent{ID: agentID, Name: agentID, Role: "worker"}, nil
	}
	if err != nil {
		return self, err
	}
	self.Agent = BriefOf(agent)
	project, err := w.Project(projectID)
	if err != nil {
		return self, err
	}
	self.Project.ID, self.Project.Name = project.ID, project.Name
	company, err := w.Company()
	if err != nil {
		return self, err
	}
	self.Company = company.Name
	agents, err := w.Agents()
	for _, a := range agents {
		if a.ID != agentID && len(self.Colleagues) < maxColleagues {
			self.Colleagues = append(self.Colleagues, BriefOf(a))
		}
	}
	return self, err
}
