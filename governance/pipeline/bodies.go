package pipeline

// The texts of the drafts of a client intake. They claim nothing that did not happen.

import (
	"fmt"
	"strings"

	"ac/workspace/doc"
)

// briefBody quotes the request, so that a heading in it cannot start a section.
func briefBody(text string) string {
	var quoted strings.Builder
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimRight(text, "\r\n"))
	for line := range strings.SplitSeq(text, "\n") {
		quoted.WriteString(strings.TrimRight("> "+line, " ") + "\n")
	}
	return "## Summary\n\n" + quoted.String() + `
## Success Criteria

- The client accepts the result.
- Every department delivers what its plan says.

## Constraints

- Departments assign work only after the CEO has approved the executive plan.
`
}

func planBody(departments []department) string {
	var bullets strings.Builder
	for _, d := range departments {
		fmt.Fprintf(&bullets, "- %s: plan `%s`, director task `%s`\n", d.label, d.plan, d.task)
	}
	if bullets.Len() == 0 {
		bullets.WriteString("- There is no department with a director yet.\n")
	}
	return "## Executive Summary\n\nThis is a draft. The executive manager completes it with the directors.\n\n## Department Plans\n\n" + bullets.String() +
		"\n## Dependencies\n\n- Not known yet.\n\n## Approval\n\n- approver: CEO\n- status: pending\n- Workers are blocked until the CEO has approved this plan.\n"
}

func departmentBody(d department) string {
	return "## Scope\n\nThis is a draft of the plan of " + d.label + ". The director completes it.\n\n## Deliverables\n\n- Not agreed yet.\n\n" +
		"## Risks\n\n- Not known yet.\n\n## Dependencies\n\n- Not known yet.\n"
}

func transcriptBody(ceo string, executive doc.Agent, departments []department) string {
	var invited strings.Builder
	fmt.Fprintf(&invited, "- %s (CEO), invited\n- %s (executive manager), invited\n", plain(ceo), plain(executive.Name))
	for _, d := range departments {
		fmt.Fprintf(&invited, "- %s (%s), invited\n", plain(d.director.Name), d.label)
	}
	return "## Attendees\n\n" + invited.String() + "\n## Discussion\n\nThe council has not met yet.\n\n## Decisions\n\n- None yet.\n\n## Open Questions\n\n" +
		"- What does each department need from the others?\n"
}
