package search

// The query syntax for people.

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"ac/internal/clock"
	"ac/internal/fault"
)

// Kinds of hits.
const (
	KindRun       = "run"
	KindTask      = "task"
	KindMilestone = "milestone"
	KindPerson    = "person"
	KindArtifact  = "artifact"
	KindMessage   = "message"
	KindComment   = "comment"
	KindHelp      = "help"
)

// Kinds lists the kinds of hits.
func Kinds() []string {
	return []string{KindRun, KindTask, KindMilestone, KindPerson, KindArtifact, KindMessage, KindComment, KindHelp}
}

// Query is a parsed query. Empty fields do not filter.
type Query struct {
	match    string // FTS5 expression, "" for none
	id       string // the query's only word, which may be an ID
	kinds    []string
	projects []string // names or ids
	agents   []string
	statuses []string
	after    int64 // in Unix milliseconds, 0 for no bound
}

// Parse parses a query. All of its words must match, the last one as a prefix. It also accepts
// phrases in quotes, and the filters kind:, agent:, project:, status: and after:. Nothing else
// is syntax. An invalid filter value is fault.BadQuery.
func Parse(text string) (q Query, err error) {
	var terms []string
	words := split(text)
	for i, w := range words {
		name, value, isFilter := strings.Cut(w.text, ":")
		if !w.quoted && isFilter && isFilterName(name) {
			if err := q.filter(name, strings.Trim(value, `"`)); err != nil {
				return q, err
			}
			continue
		}
		if !findable(w.text) {
			continue
		}
		term := `"` + strings.ReplaceAll(w.text, `"`, `""`) + `"`
		if i == len(words)-1 && !w.quoted {
			term += "*"
		}
		terms = append(terms, term)
		q.id = w.text
	}
	if len(terms) != 1 {
		q.id = ""
	}
	q.match = strings.Join(terms, " AND ")
	return q, nil
}

func isFilterName(name string) bool {
	return slices.Contains([]string{"kind", "agent", "project", "status", "after"}, name)
}

func (q *Query) filter(name, value string) error {
	if value == "" {
		return fault.New(fault.BadQuery, "%s: needs a value", name)
	}
	switch name {
	case "kind":
		if !slices.Contains(Kinds(), value) {
			return fault.New(fault.BadQuery, "kind:%s is none of %s", value, strings.Join(Kinds(), ", "))
		}
		q.kinds = append(q.kinds, value)
	case "agent":
		q.agents = append(q.agents, value)
	case "project":
		q.projects = append(q.projects, value)
	case "status":
		q.statuses = append(q.statuses, value)
	case "after":
		at, ok := clock.ParseDate(value)
		if !ok {
			return fault.New(fault.BadQuery, "after:%s is no day such as 2026-11-20", value)
		}
		q.after = at.UnixMilli()
	}
	return nil
}

// word is a word or a phrase of a query.
type word struct {
	text   string
	quoted bool
}

// split splits a query at white space outside of quotes. The value of a filter may be quoted.
// An unclosed quote is an ordinary character.
func split(text string) (words []word) {
	for {
		text = strings.TrimLeftFunc(text, blank)
		if text == "" {
			return words
		}
		if text[0] == '"' {
			if phrase, rest, closed := strings.Cut(text[1:], `"`); closed {
				words, text = append(words, word{phrase, true}), rest
				continue
			}
		}
		end := strings.IndexFunc(text, blank)
		if end < 0 {
			end = len(text)
		}
		if name, _, ok := strings.Cut(text[:end], `:"`); ok && isFilterName(name) {
			if inside, _, closed := strings.Cut(text[len(name)+2:], `"`); closed {
				words, text = append(words, word{name + ":" + inside, false}), text[len(name)+2+len(inside)+1:]
				continue
			}
		}
		words, text = append(words, word{text[:end], false}), text[end:]
	}
}

func blank(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }

// findable reports whether a text has any character that the index can match.
func findable(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(unicode.Co, r)
	})
}

// Narrow adds the caller's filters to those of the query text.
func (q *Query) Narrow(kinds []string, project string) {
	if len(kinds) > 0 && len(q.kinds) > 0 {
		kinds = slices.DeleteFunc(slices.Clone(kinds), func(kind string) bool { return !slices.Contains(q.kinds, kind) })
		if len(kinds) == 0 {
			kinds = []string{""} // a kind that no row has
		}
	}
	if len(kinds) > 0 {
		q.kinds = kinds
	}
	if project != "" {
		q.projects = append(q.projects, project)
	}
}

// Projects replaces the names of projects by the IDs that id returns.
func (q *Query) Projects(id func(name string) string) {
	for i, name := range q.projects {
		if found := id(name); found != "" {
			q.projects[i] = found
		}
	}
}

// halfLife is the age at which a hit's score is halved.
const halfLife = 30 * 24 * time.Hour
