package doc

// AGENTS.md, the guidance of an agent: its initial text. People edit it afterwards.

import "strings"

// The section of the guidance that receives recurring mistakes, and the comment that marks
// it.
const (
	MistakesHeading = "## Recurring Mistakes To Avoid"
	MistakesMarker  = "<!-- managed: recurring-mistakes -->"
)

// NewGuidance returns the initial guidance of an agent.
func NewGuidance(agent string) []byte {
	return []byte("# AGENTS.md - " + OneLine(agent) + `

## Operating Rules

- Follow the contract of the task: its scope, deliverables and acceptance criteria.
- Bring evidence for coding milestones: the patch, and the results of the tests.
- Report blockers early, with what would remove them.

` + MistakesHeading + "\n" + MistakesMarker + "\n")
}

// OneLine replaces the line breaks of a text, so that it fits on one line of Markdown.
func OneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ReplaceAll(text, "\r\n", " "))
}
