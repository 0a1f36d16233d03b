package main

// Names and endings of ids: the first of three steps that has a hit decides. They are the
// full id, the whole name, and the end of an id.

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// candidate is something that a word may name.
type candidate struct {
	id, name string
	also     string // another name, of a channel: with its #
	line     string // what tells it from the others, for people
}

// choiceError is an error that lists what could have been meant. Its first line is whole;
// the candidates follow, indented.
type choiceError struct {
	message string
	lines   []string
}

func (e choiceError) Error() string { return e.message }

// Bounds of lookups.
const (
	leastEnding    = 4 // letters of the end of an id
	mostCandidates = 10
	shownEnding    = 6 // letters that lists show
)

// lookup finds what a word names among the candidates of a kind. where is the company's
// name.
func lookup(kind, word, where string, known []candidate) (candidate, error) {
	for _, step := range []func(candidate) bool{
		func(c candidate) bool { return c.id == word },
		func(c candidate) bool { return word != "" && (c.name == word || c.also == word) },
		func(c candidate) bool { return c.named(word) },
		func(c candidate) bool { return endsIn(c.id, word) },
	} {
		var hits []candidate
		for _, c := range known {
			if step(c) {
				hits = append(hits, c)
			}
		}
		switch len(hits) {
		case 0:
		case 1:
			return hits[0], nil
		default:
			return candidate{}, ambiguous(kind, word, hits)
		}
	}
	if !hasNames(kind) && len(word) < leastEnding {
		return candidate{}, usageError{fmt.Sprintf("%q is too short for an id; %d letters at least", word, leastEnding)}
	}
	return candidate{}, unknownName(kind, word, where, known)
}

// named reports whether a thing has this name, in any case; channels with or without #.
func (c candidate) named(word string) bool {
	return c.name != "" && strings.EqualFold(c.name, word) || c.also != "" && strings.EqualFold(c.also, "#"+strings.TrimPrefix(word, "#"))
}

// endsIn reports whether an id ends in a word of at least leastEnding letters, in any case.
func endsIn(id, word string) bool {
	word = strings.TrimPrefix(word, "…")
	return len(word) >= leastEnding && strings.HasSuffix(strings.ToUpper(id), strings.ToUpper(word))
}

// ambiguous lists what a word may mean.
func ambiguous(kind, word string, hits []candidate) error {
	ids := make([]string, len(hits))
	for i, c := range hits {
		ids[i] = c.id
	}
	short := endings(ids)
	e := choiceError{message: fmt.Sprintf("%s is %d %ss; say more of it", word, len(hits), kind)}
	for i, c := range hits {
		if i == mostCandidates {
			e.lines = append(e.lines, fmt.Sprintf("… %d more", len(hits)-mostCandidates))
			break
		}
		e.lines = append(e.lines, strings.Join(slices.DeleteFunc([]string{short[c.id], c.name, c.line}, func(s string) bool { return s == "" }), "  "))
	}
	return e
}

// unknownName says that nothing has a name, and what there is.
func unknownName(kind, word, where string, known []candidate) error {
	message := fmt.Sprintf("%s %s does not exist in %s", kind, word, where)
	var names, near []string
	for _, c := range known {
		if c.name == "" {
			continue
		}
		if names = append(names, c.name); editDistance(strings.ToLower(c.name), strings.ToLower(word)) <= typos {
			near = append(near, c.name)
		}
	}
	switch {
	case len(near) > 0:
		message += "; did you mean " + strings.Join(near[:min(len(near), 3)], " or ") + "?"
	case len(names) > mostCandidates:
		message += fmt.Sprintf("; there are: %s, … %d more", strings.Join(names[:mostCandidates], ", "), len(names)-mostCandidates)
	case len(names) > 0:
		message += "; there are: " + strings.Join(names, ", ")
	}
	return choiceError{message: message}
}

// endings are the ends of ids that people see: six letters, more where two end alike.
func endings(ids []string) map[string]string {
	short := make(map[string]string, len(ids))
	left := slices.Compact(slices.Sorted(slices.Values(ids)))
	for length := shownEnding; len(left) > 0; length++ {
		of := map[string][]string{}
		for _, id := range left {
			end := id[max(0, len(id)-length):]
			of[end] = append(of[end], id)
		}
		left = nil
		for end, same := range of {
			for _, id := range same {
				if len(same) == 1 || len(end) == len(id) {
					short[id] = end
				} else {
					left = append(left, id)
				}
			}
		}
	}
	return short
}

// editDistance is how many letters must be changed, added or removed to make b of a.
func editDistance(a, b string) int {
	if d := utf8.RuneCountInString(a) - utf8.RuneCountInString(b); d > typos || -d > typos {
		return typos + 1 // no need to count
	}
	to := []rune(b)
	row := make([]int, len(to)+1)
	for i := range row {
		row[i] = i
	}
	n := 0
	for _, x := range a {
		n++
		diagonal := row[0]
		row[0] = n
		for j, y := range to {
			change := diagonal
			if x != y {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(to)]
}
