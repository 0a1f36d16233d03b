package cli

// A text with a header of names and values, for ac show.

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"ac/company/decisions"
	"ac/internal/clock"
	"ac/internal/terminal"
	"ac/runs/interaction"
)

// Age returns the age of a timestamp in its largest unit, "?" if it is invalid.
func Age(at string, now time.Time) string {
	then, ok := clock.Parse(at)
	if !ok {
		return "?"
	}
	passed := max(now.Sub(then), 0)
	switch {
	case passed < time.Minute:
		return fmt.Sprintf("%ds", passed/time.Second)
	case passed < time.Hour:
		return fmt.Sprintf("%dm", passed/time.Minute)
	case passed < 24*time.Hour:
		return fmt.Sprintf("%dh", passed/time.Hour)
	}
	return fmt.Sprintf("%dd", passed/(24*time.Hour))
}

// Coloured returns a patch for a terminal, with its control characters escaped and, if wanted,
// colors.
func (c *Call) Coloured(patch string) string {
	if !c.Colours() {
		return terminal.QuoteLines(patch)
	}
	var b strings.Builder
	for line := range strings.Lines(patch) {
		text := terminal.QuoteLines(strings.TrimSuffix(line, "\n"))
		colour := terminal.None
		switch {
		case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"), strings.HasPrefix(line, "diff --git "):
			colour = terminal.Dim
		case strings.HasPrefix(line, "@@"):
			colour = terminal.Cyan
		case strings.HasPrefix(line, "+"):
			colour = terminal.Green
		case strings.HasPrefix(line, "-"):
			colour = terminal.Red
		}
		b.WriteString(colour.Paint(text) + "\n")
	}
	return b.String()
}

// Sheet is a text with a header of names and values.
type Sheet struct {
	strings.Builder

	Call *Call
}

// Sheet returns an empty sheet.
func (c *Call) Sheet() *Sheet { return &Sheet{Call: c} }

// Line adds a line with its control characters escaped.
func (s *Sheet) Line(format string, args ...any) {
	s.WriteString(terminal.QuoteLines(fmt.Sprintf(format, args...)) + "\n")
}

// Field adds a name and its value, unless the value is empty.
func (s *Sheet) Field(name, value string) {
	if value != "" {
		s.Line("%s%s", terminal.Fit(name, 10), value)
	}
}

// Linked adds a name and its value as a link, unless the value is empty.
func (s *Sheet) Linked(name, value, address string) {
	if value != "" {
		s.WriteString(terminal.Fit(name, 10) + terminal.Link(address, terminal.QuoteLines(value)) + "\n")
	}
}

// Title adds a line with left-aligned and right-aligned text.
func (s *Sheet) Title(left, right string) {
	width := s.Call.Width()
	left = terminal.Fit(left, min(terminal.Columns(terminal.Printable(left)), max(width-terminal.Columns(right)-GapToRight, ShownEnding)))
	blanks := max(GapToRight, width-terminal.Columns(left)-terminal.Columns(right))
	s.Line("%s%s%s", left, strings.Repeat(" ", blanks), right)
}

// GapToRight is the minimum gap between the two texts of a title.
const GapToRight = 2

// Print prints the sheet, through a pager if it is long.
func (s *Sheet) Print() error { return s.Call.Paged(s.String()) }

// ProofText adds what a person has to see before deciding on a need.
func (c *Call) ProofText(s *Sheet, seen decisions.NeedResult) {
	p := &seen.Proof
	switch {
	case p.Delta != nil:
		s.Line("\n  %s", p.Delta.TargetFile)
		if p.Delta.Reason != "" {
			s.Line("  %s: %s", p.Delta.State, p.Delta.Reason)
		}
		s.diff(p.Delta.Diff)
	case p.Files != nil:
		for _, row := range p.Files.Files {
			s.Line("\n  %s  %s  +%d -%d  %s", row.Action, row.Path, row.Added, row.Removed, cmp.Or(row.Problem, row.Message))
			s.diff(row.Diff)
		}
	case p.Artifact != nil:
		s.Line("\n%s", p.Artifact.Markdown)
	case p.Help != nil:
		s.Line("\n%s", cmp.Or(p.Help.Question, p.Help.Frontmatter.Title))
	case p.Interaction != nil:
		s.asks(p.Interaction)
	}
}

// diff adds a diff, in color if wanted.
func (s *Sheet) diff(text string) {
	for line := range strings.Lines(s.Call.Coloured(text)) {
		s.WriteString("  " + line)
	}
}

// asks adds the question of an agent with its choices.
func (s *Sheet) asks(r *interaction.Record) {
	s.Line("\n%s", cmp.Or(r.Prompt, r.Title))
	if r.Diff != "" {
		s.diff(r.Diff)
	}
	for _, q := range r.Questions {
		if q.Question != r.Prompt && q.Question != "" {
			s.Line("%s", q.Question)
		}
		for i, option := range q.Options {
			s.Line("  %d  %s  %s", i+1, option.Label, option.Description)
		}
	}
	if len(r.Questions) == 0 {
		for i, option := range r.Options {
			s.Line("  %d  %s", i+1, option.Label)
		}
	}
}
