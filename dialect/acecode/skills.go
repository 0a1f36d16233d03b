package acecode

// Skills: what can be typed behind a slash.

import "net/http"

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
func (s *server) skills() []skillRow {
	known := builtins()
	rows := make([]skillRow, 0, len(known))
	for _, c := range known {
		rows = append(rows, skillRow{c.Name, "/" + c.Name, c.Description, "builtin", true})
	}
	return rows
}

func listSkills(s *server, r *request) (any, error) {
	rows := s.skills()
	if r.shape == shapeWire {
		return rows, nil
	}
	return skillList{rows}, nil
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
