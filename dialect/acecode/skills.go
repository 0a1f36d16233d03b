package acecode

// Skills: what can be typed after a slash.

import (
	"context"
	"net/http"

	"ac/company/equipment"
	"ac/dialect"
	"ac/dialect/acecode/frames"
	"ac/internal/fault"
)

// skillList is a list of skills in ShapeDocument.
type skillList struct {
	Skills []equipment.Skill `json:"skills"`
}

// skills returns the skills of the repository where sessions work, after the daemon's own commands.
func (s *server) skills(ctx context.Context) ([]equipment.Skill, error) {
	list, err := dialect.Do(ctx, s.Company, equipment.Operations.ListSkills, s.skillsOf())
	return list.Skills, err
}

func (s *server) skillsOf() equipment.SkillParams {
	return equipment.SkillParams{Dir: s.In(), ProjectID: s.ProjectID, RepoID: s.repo}
}

// skillRows returns the skills without the daemon's own commands.
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
	if r.shape == frames.ShapeWire {
		return rows, err
	}
	return skillList{rows}, err
}

func readSkill(s *server, r *request) (any, error) {
	found, err := dialect.Do(r.Context(), s.Company, equipment.Operations.ReadSkill, equipment.SkillTextParams{SkillParams: s.skillsOf(), Name: r.PathValue("name")})
	if fault.Is(err, fault.NotFound) || fault.Is(err, fault.InvalidParams) {
		return nil, refuse(http.StatusNotFound, "skill not found")
	}
	return blob{kind: "text/markdown; charset=utf-8", content: []byte(found.Text)}, err
}

func setSkill(*server, *request) (any, error) {
	return nil, explain(http.StatusNotImplemented, "not served", "the agent's own program loads its skills")
}
