package grant

// The identity of a run's agent, for the tool who_am_i.

import (
	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/doc"
)

// Brief is the short form of an agent that its colleagues see.
type Brief struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Role   string `json:"role"`
	TeamID string `json:"team_id,omitempty"`
}

// BriefOf returns the short form of an agent.
func BriefOf(a doc.Agent) Brief { return Brief{a.ID, a.Name, a.Role, a.TeamID} }

// maxColleagues bounds the colleagues listed in Self.
const maxColleagues = 100

// Self is what who_am_i reports about an agent and its surroundings.
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

// SelfOf reads the Self of a run's agent from the workspace. An agent without a record gets the
// role worker, which has the fewest rights.
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
