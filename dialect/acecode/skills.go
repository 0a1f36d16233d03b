package acecode

// Skills: what can be typed behind a slash.

import (
	"context"
	"net/http"
)

// skillRow is a skill in a list.
type skillRow struct {
	Name        string `json:"name"`
	CommandKey  string `json:"command_key"`
	Description string `json:"description"`
	Category    string `json:"category"`
	Enabled     bool   `json:"enabled"`
}

// skillList is the list as the document has it.
type skillList struct {
	Skills []skillRow `json:"skills"`
}

// skills are the commands that the daemon itself carries out.
func (s *server) skills(context.Context) ([]skillRow, error) {
	rows := []skillRow{}
	for _, c := range builtins() {
		rows = append(rows, skillRow{c.Name, "/" + c.Name, c.Description, "builtin", true})
	}
	return rows, nil
}

// skillRows are the skills of the repository, beside the daemon's own commands.
func (s *server) skillRows(ctx context.Context) ([]commandRow, error) {
	list, err := s.skills(ctx)
	rows := []commandRow{}
	for _, skill := range list {
		if skill.Category != "builtin" {
			rows = append(rows, commandRow{skill.Name, skill.Description})
		}
	}
	return rows, err
}

func listSkills(s *server, r *request) (any, error) {
	rows, err := s.skills(r.Context())
	if r.shape == shapeWire {
		return rows, err
	}
	return skillList{rows}, err
}

func readSkill(_ *server, r *request) (any, error) {
	if r.PathValue("name") == "init" {
		return blob{kind: "text/markdown; charset=utf-8", content: []byte(initPrompt)}, nil
	}
	return nil, refuse(http.StatusNotFound, "skill not found")
}

func setSkill(*server, *request) (any, error) {
	return nil, explain(http.StatusNotImplemented, "not served", "the agent's own program loads its skills")
}
