package enterprise

// The initial files of a new agent of an enterprise.

import (
	"fmt"
	"strings"

	"ac/workspace"
	"ac/workspace/doc"
)

// starterFiles returns the guidance, the role and the skills of a new agent.
func starterFiles(spec workspace.AgentSpec) []workspace.TreeFile {
	return []workspace.TreeFile{
		{Name: "AGENTS.md", Content: doc.NewGuidance(spec.ID)},
		{Name: "role.md", Content: roleText(spec)},
		{Name: "skills_index.md", Content: []byte("# Skills Index - " + oneLine(spec.Name) + `

## Approved Skills

- None yet. Somebody who approves a skill adds it here, with where it lies.

## Approved References

- The memory of the project, and the guidance in AGENTS.md.

## Forbidden

- Writing secrets into files, logs or messages.
- Work outside the task and its folder.
`)},
	}
}

func roleText(spec workspace.AgentSpec) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# Role - %s\n\n- role: %s\n", oneLine(spec.Name), spec.Role)
	for _, bullet := range [][2]string{{"display_title", spec.DisplayTitle}, {"provider", spec.Provider}, {"team_id", spec.TeamID}} {
		if bullet[1] != "" {
			fmt.Fprintf(&b, "- %s: %s\n", bullet[0], oneLine(bullet[1]))
		}
	}
	duties, boundaries, escalation := wordsOf(spec.Role)
	fmt.Fprintf(&b, "\n## Duties\n\n- %s\n\n## Boundaries\n\n- %s\n\n## Escalation\n\n- %s\n", duties, boundaries, escalation)
	return []byte(b.String())
}

// wordsOf returns the duties, boundaries and escalation of a role.
func wordsOf(role string) (duties, boundaries, escalation string) {
	switch role {
	case "ceo":
		return "Set goals, approve executive plans, and decide between departments.",
			"Leave the work of departments to their directors.",
			"Ask the people who own the company."
	case "manager":
		return "Turn goals into plans, bring them to the CEO for approval, and follow them up.",
			"Start no work of a plan that was not approved.",
			"Bring conflicts between departments to the CEO, with a proposal."
	case "director":
		return "Plan the work of the department, assign it, and review its results.",
			"Assign work to agents of the own team only.",
			"Report risks and missing decisions to the manager, with their cost."
	}
	return "Do the assigned tasks and bring evidence for their acceptance criteria.",
		"Stay within the task and its folder.",
		"Report blockers to the director early, with what would remove them."
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
