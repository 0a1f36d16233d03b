package transcript

// The text form of a transcript, for terminals and files.

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ac/internal/terminal"
	"ac/runs/interaction"
)

// shownOutput is how many lines of a command's output are shown.
const shownOutput = 10

// Ordered returns the items in the order of the text form. People's queued texts are placed at
// their delivery. Those still waiting come last.
func Ordered(items []*Item) []*Item {
	place := func(i *Item) int64 {
		switch {
		case i.Kind != KindMessage || i.Role != RoleUser:
			return i.SeqFirst
		case i.State == StateOpen:
			return 1 << 62
		}
		return i.SeqLast
	}
	ordered := slices.Clone(items)
	slices.SortStableFunc(ordered, func(a, b *Item) int {
		switch pa, pb := place(a), place(b); {
		case pa < pb:
			return -1
		case pa > pb:
			return 1
		}
		return 0
	})
	return ordered
}

// Render returns an item as text: complete lines, "" for an empty item. It escapes control
// characters as \x1b and the like.
func Render(i *Item) string {
	switch i.Kind {
	case KindMessage:
		if i.Role == RoleUser {
			return renderUser(i)
		}
		return indented("« ", i.Text)
	case KindReasoning:
		return indented("· ", i.Text)
	case KindTool:
		return renderTool(i.Tool)
	case KindFileChange:
		return renderChange(i.Tool)
	case KindPlan:
		return renderPlan(i)
	case KindQuestion, KindPermission:
		return renderInteraction(i.Interaction)
	case KindUsage:
		return renderUsage(i.Usage)
	}
	return indented("! ", i.Text)
}

func renderUser(i *Item) string {
	who := "you"
	if i.Actor != "" && i.Actor != "human" {
		who = i.Actor
	}
	switch {
	case i.Note != "":
		who += " (" + i.Note + ")"
	case i.State == StateOpen:
		who += " (waiting)"
	}
	return indented("» "+who+": ", i.Text)
}

func renderTool(t *Tool) string {
	if t == nil {
		return ""
	}
	text := indented("$ ", t.Title+outcome(t))
	output := terminal.QuoteLines(strings.TrimRight(t.OutputTail, "\n"))
	if strings.TrimSpace(output) == "" || t.Kind != "execute" {
		return text
	}
	lines := strings.Split(output, "\n")
	if len(lines) > shownOutput || t.OutputBytes > int64(len(t.OutputTail)) {
		lines = append([]string{"…"}, lines[max(0, len(lines)-shownOutput):]...)
	}
	return text + "  " + strings.Join(lines, "\n  ") + "\n"
}

// outcome returns a tool's result if it did not succeed.
func outcome(t *Tool) string {
	switch {
	case t.ExitCode != nil && *t.ExitCode != 0:
		return " [exit " + strconv.Itoa(*t.ExitCode) + "]"
	case t.ExitCode == nil && t.Status != ToolCompleted:
		return " [" + t.Status + "]"
	}
	return ""
}

func renderChange(t *Tool) string {
	if t == nil {
		return ""
	}
	var paths []string
	for _, l := range t.Locations {
		paths = append(paths, l.Path)
	}
	text := firstOf(strings.Join(paths, ", "), t.Title)
	if added, removed := CountChangedLines(t.Diff); added+removed > 0 {
		text += fmt.Sprintf(" +%d −%d", added, removed)
	}
	return indented("± ", text+outcome(t))
}

func renderPlan(i *Item) string {
	if len(i.Plan) == 0 {
		return indented("☐ ", i.Text)
	}
	var b strings.Builder
	for _, s := range i.Plan {
		mark := "☐ "
		if s.Status == ToolCompleted {
			mark = "☑ "
		}
		text := s.Text
		if s.Status == ToolInProgress {
			text += " …"
		}
		b.WriteString(indented(mark, text))
	}
	return b.String()
}

func renderInteraction(r *interaction.Record) string {
	if r == nil {
		return ""
	}
	text := indented("? ", firstOf(r.Title, r.Prompt))
	who := ""
	if r.By != "" {
		who = " by " + r.By
	}
	switch r.State {
	case interaction.Allowed:
		if r.Scope == "session" {
			who += " for this session"
		}
		return text + indented("✓ ", "allowed"+who)
	case interaction.Answered:
		return text + indented("✓ ", "answered"+who+answerWords(r))
	case interaction.Denied:
		return text + indented("✗ ", "denied"+who+answerWords(r))
	case interaction.TimedOut:
		return text + indented("✗ ", "nobody answered in time")
	case interaction.Cancelled:
		return text + indented("✗ ", "cancelled"+inParentheses(r.Reason))
	}
	return text
}

// answerWords returns the answer, after a colon.
func answerWords(r *interaction.Record) string {
	words := []string{}
	for _, q := range r.Questions {
		words = append(words, r.Answers[q.QuestionID]...)
	}
	switch {
	case r.Text != nil && *r.Text != "":
		words = append(words, *r.Text)
	case r.OptionID != "" && len(words) == 0 && r.State == interaction.Answered:
		words = append(words, r.OptionID)
	}
	if len(words) == 0 {
		return ""
	}
	return ": " + strings.Join(words, ", ")
}

func renderUsage(u *Usage) string {
	if u == nil {
		return ""
	}
	text := grouped(u.TotalTokens) + " tokens"
	if u.CostUSD != nil {
		text += ", $" + strconv.FormatFloat(*u.CostUSD, 'f', max(2, decimals(*u.CostUSD)), 64)
	}
	return "= " + text + "\n"
}

// decimals returns how many decimal places an amount needs, four at most.
func decimals(amount float64) int {
	digits := strings.TrimRight(strconv.FormatFloat(amount, 'f', 4, 64), "0")
	return len(digits) - strings.IndexByte(digits, '.') - 1
}

// grouped formats a number with a comma between groups of three digits.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// indented returns a text after a mark. Its further lines are indented.
func indented(mark, text string) string {
	text = strings.TrimRight(terminal.QuoteLines(text), " \t\n")
	if text == "" {
		return ""
	}
	return terminal.QuoteLines(mark) + strings.ReplaceAll(text, "\n", "\n  ") + "\n"
}
