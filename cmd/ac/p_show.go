package main

// ac show: one thing of any kind, whole.

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ac/company"
	"ac/company/decisions"
	"ac/company/orchestration"
	"ac/events"
	"ac/governance/needs"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/internal/terminal"
	"ac/runs/interaction"
	"ac/runs/transcript"
)

func showCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "show <id>", Short: "Show a run, an item of the inbox, a task, a job, an agent, a team or a project", Args: args("id"),
		Long: `Show one thing: a run with the end of its transcript and what can be done with it, an
item of the inbox with what its approval would change, a task, a job, an agent, a team or
a project. It is named by its id, the end of its id, or its name.`,
		Example: "  ac show 4WKKE6\n  ac show B8N4WE --json",
	}
	a.short(cmd, func(c *call, given []string) error {
		found, err := c.anything(given[0])
		if err != nil {
			return err
		}
		return found.show()
	})
	return cmd
}

// thing is what a word names.
type thing struct {
	candidate

	kind string
	show func() error
}

// anything finds what a word names among all kinds. Hits in two kinds are ambiguous.
func (c *call) anything(word string) (thing, error) {
	var hits []thing
	var missing error // the error of the first kind that has nothing
	for _, find := range []func(*call, string) (thing, error){runThing, needThing, agentThing, teamThing, projectThing, taskThing, jobThing} {
		found, err := find(c, word)
		choice, isChoice := errors.AsType[choiceError](err)
		switch {
		case err == nil:
			hits = append(hits, found)
		case isChoice && len(choice.lines) > 0, fault.Is(err, fault.Settled) && len(hits) == 0:
			return thing{}, err
		case missing == nil:
			missing = err
		}
	}
	switch {
	case len(hits) == 1:
		return hits[0], nil
	case len(hits) == 0 && word == newestRun:
		return thing{}, missing
	case len(hits) == 0:
		if _, wrong := errors.AsType[usageError](missing); wrong {
			return thing{}, missing // it is too short for an id
		}
		return thing{}, fault.New(fault.NotFound, "nothing is named %s in %s (ac ps -a, ac inbox -a)", word, c.company)
	}
	e := choiceError{message: word + " names several things; say more of it"}
	for _, h := range hits {
		e.lines = append(e.lines, strings.TrimSpace(fmt.Sprintf("%s  %s  %s", h.kind, h.id, h.name)))
	}
	return thing{}, e
}

func runThing(c *call, word string) (thing, error) {
	row, err := c.run(word)
	return thing{candidate{id: row.RunID}, "run", func() error { return c.showRun(&row) }}, err
}

func needThing(c *call, word string) (thing, error) {
	n, err := c.need(word, needs.Words()...) // the others are about runs, which are found themselves
	return thing{candidate{id: n.Ref(), name: n.Title}, n.Kind, func() error {
		seen, err := c.proof(n)
		if err != nil {
			return err
		}
		if c.asJSON {
			return c.printShown(n.Kind, seen)
		}
		return c.showNeed(seen)
	}}, err
}

// printShown prints anything as JSON: its kind, then its own members.
func (c *call) printShown(kind string, item any) error {
	text, err := json.Marshal(item)
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(text, []byte("{")) || events.Text(text, "kind") != "" {
		return c.printJSON(item)
	}
	head := fmt.Sprintf(`{"kind":%q`, kind)
	if len(text) > len("{}") {
		head += ","
	}
	return c.printJSON(json.RawMessage(head + string(text[1:])))
}

// sheet is a text with a head of names and values.
type sheet struct {
	strings.Builder

	call *call
}

// sheet is an empty sheet.
func (c *call) sheet() *sheet { return &sheet{call: c} }

// line adds a line, of which nothing acts on the terminal.
func (s *sheet) line(format string, args ...any) {
	s.WriteString(terminal.QuoteLines(fmt.Sprintf(format, args...)) + "\n")
}

// field adds a name and its value, unless that is empty.
func (s *sheet) field(name, value string) {
	if value != "" {
		s.line("%s%s", terminal.Fit(name, 10), value)
	}
}

// linked adds a name and its value as a link to an address.
func (s *sheet) linked(name, value, address string) {
	if value != "" {
		s.WriteString(terminal.Fit(name, 10) + terminal.Link(address, terminal.QuoteLines(value)) + "\n")
	}
}

// title adds a line with something at its end.
func (s *sheet) title(left, right string) {
	width := s.call.width()
	left = terminal.Fit(left, min(terminal.Columns(terminal.Printable(left)), max(width-terminal.Columns(right)-gapToRight, shownEnding)))
	blanks := max(gapToRight, width-terminal.Columns(left)-terminal.Columns(right))
	s.line("%s%s%s", left, strings.Repeat(" ", blanks), right)
}

// gapToRight is between a title and what stands at its end.
const gapToRight = 2

// print prints the sheet, through a pager where it is long.
func (s *sheet) print() error { return s.call.paged(s.String()) }

// when is a time with its age.
func (c *call) when(at string) string {
	then, ok := clock.Parse(at)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s (%s)", c.ago(then), then.Local().Format(time.DateTime))
}

// showRun shows a run.
func (c *call) showRun(row *company.RunRow) error {
	items, err := c.lastItems(row)
	if err != nil {
		return err
	}
	changed, changesErr := company.Do(c.ctx, c.all, (*company.Company).Changes, company.ChangesParams{
		Dir: c.dirParam(), ProjectID: row.ProjectID, RunID: row.RunID, Context: 3, Form: "rows", Mask: true,
	})
	if c.asJSON {
		return c.printShown("run", row)
	}
	s := c.sheet()
	sign, _ := stateSign(row, terminal.Unicode(os.Getenv))
	s.title(fmt.Sprintf("run %s   %s %s", shortID(row.RunID), sign, row.State), fmt.Sprintf("%s (%s) · %s", orUnknown(row.Agent, row.AgentID), row.Provider, c.projectNamed(row.ProjectID)))
	s.line("\n%s\n", orUnknown(row.What, ""))
	s.linked("id", row.RunID, c.runLink(row.ProjectID, row.RunID))
	s.field("created", c.when(orEmpty(row.CreatedAt)))
	s.field("started", c.when(orEmpty(row.StartedAt)))
	s.field("ended", c.when(orEmpty(row.EndedAt)))
	s.field("took", strings.TrimPrefix(took(row), terminal.Unknown))
	if row.Tokens != nil {
		s.field("usage", fmt.Sprintf("%s tokens, %s", tokens(row), terminal.Cost(row.CostUSD)))
	}
	s.linked("place", orEmpty(row.Worktree), c.changedLink(row, "."))
	if changesErr == nil && changed.ChangeRows != nil {
		s.field("files", fmt.Sprintf("%d files +%d -%d", changed.Totals.Files, changed.Totals.Added, changed.Totals.Removed))
	}
	s.field("error", orEmpty(row.Error))
	for i, item := range items {
		if i == 0 {
			s.line("")
		}
		s.WriteString(terminal.QuoteLines(transcript.Render(item)) + "\n")
	}
	s.line("\n%s", strings.Join(c.actsOn(row, changesErr == nil && changed.ChangeRows != nil), "   "))
	return s.print()
}

// shownItems is how many items of a transcript show has.
const shownItems = 10

// lastItems are the newest items of the transcript of an agent's run.
func (c *call) lastItems(row *company.RunRow) ([]*transcript.Item, error) {
	if !row.Spoken {
		return nil, nil
	}
	page, err := company.Do(c.ctx, c.all, orchestration.Operations.Transcript, orchestration.TranscriptParams{
		Dir: c.dirParam(), ProjectID: row.ProjectID, RunID: row.RunID, Tail: shownItems,
	})
	return page.Items, err
}

// actsOn are the commands that make sense for a run.
func (c *call) actsOn(row *company.RunRow, changed bool) (acts []string) {
	short := shortID(row.RunID)
	if row.State == company.StateAsks {
		acts = append(acts, "ac answer")
	}
	acts = append(acts, "ac logs "+short)
	if changed {
		acts = append(acts, "ac diff "+short)
	}
	if row.Live() || row.State == company.StateNew {
		acts = append(acts, "ac stop "+short)
	}
	return acts
}

// showNeed shows what waits for somebody's word: what it is, what it would change, and how
// to answer.
func (c *call) showNeed(seen decisions.NeedResult) error {
	s := c.sheet()
	names, err := c.agentNames()
	if err != nil {
		return err
	}
	at, _ := clock.Parse(seen.At)
	s.title(cmp.Or(seen.Title, seen.Kind), fmt.Sprintf("%s, by %s, %s", strings.TrimSuffix(c.what(seen), " "+seen.Title), cmp.Or(names[seen.Who], seen.Who, "nobody known"), c.ago(at)))
	if rule, known := c.rule(seen); known && rule.Allowed {
		s.line("may be approved by you: %s", rule.RuleID)
	} else if known {
		s.line("may not be approved by you: %s", rule.RuleID)
	}
	if expires, ok := clock.Parse(seen.ExpiresAt); ok {
		s.line("%s left", terminal.Took(max(0, expires.Sub(c.now))))
	}
	c.proofText(s, seen)
	short := shortID(seen.Ref())
	switch seen.Kind {
	case needs.Question, needs.Input, needs.Help:
		s.line("\nac answer %s TEXT", short)
	case needs.Permission, needs.Plan:
		s.line("\nac approve %s   ac deny %s   ac answer %s session", short, short, short)
	default:
		s.line("\nac approve %s   ac deny %s", short, short)
	}
	return s.print()
}

// proofText adds what a need is about.
func (c *call) proofText(s *sheet, seen decisions.NeedResult) {
	p := &seen.Proof
	switch {
	case p.Delta != nil:
		s.line("\n  %s", p.Delta.TargetFile)
		if p.Delta.Reason != "" {
			s.line("  %s: %s", p.Delta.State, p.Delta.Reason)
		}
		s.diff(p.Delta.Diff)
	case p.Files != nil:
		for _, row := range p.Files.Files {
			s.line("\n  %s  %s  +%d -%d  %s", row.Action, row.Path, row.Added, row.Removed, cmp.Or(row.Problem, row.Message))
			s.diff(row.Diff)
		}
	case p.Artifact != nil:
		s.line("\n%s", p.Artifact.Markdown)
	case p.Help != nil:
		s.line("\n%s", cmp.Or(p.Help.Question, p.Help.Frontmatter.Title))
	case p.Interaction != nil:
		s.asks(p.Interaction)
	}
}

// diff adds a diff with its colours.
func (s *sheet) diff(text string) {
	for line := range strings.Lines(s.call.coloured(text)) {
		s.WriteString("  " + line)
	}
}

// asks adds what an agent asks, with its choices.
func (s *sheet) asks(r *interaction.Record) {
	s.line("\n%s", cmp.Or(r.Prompt, r.Title))
	if r.Diff != "" {
		s.diff(r.Diff)
	}
	for _, q := range r.Questions {
		if q.Question != r.Prompt && q.Question != "" {
			s.line("%s", q.Question)
		}
		for i, option := range q.Options {
			s.line("  %d  %s  %s", i+1, option.Label, option.Description)
		}
	}
	if len(r.Questions) == 0 {
		for i, option := range r.Options {
			s.line("  %d  %s", i+1, option.Label)
		}
	}
}
