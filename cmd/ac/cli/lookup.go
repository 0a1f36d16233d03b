package cli

// Lookup of names and id suffixes. It tries the full id, the exact name, the name in any case, and
// the end of an id. The first step with a match decides.

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Candidate is something that a word may name.
type Candidate struct {
	ID, Name string
	Also     string // another name, such as a channel's with its #
	Line     string // distinguishes it from the others, for people
}

// ChoiceError is an error that lists the candidates. The message is printed first. The candidates
// follow, indented.
type ChoiceError struct {
	Message string
	Lines   []string
}

func (e ChoiceError) Error() string { return e.Message }

// Limits of lookups.
const (
	LeastEnding    = 4 // minimum length of an id suffix
	MostCandidates = 10
	ShownEnding    = 6 // length of the id suffix in lists
)

// Lookup finds the candidate of a kind that a word names. where is the company's name, for the
// error.
func Lookup(kind, word, where string, known []Candidate) (Candidate, error) {
	for _, step := range []func(Candidate) bool{
		func(c Candidate) bool { return c.ID == word },
		func(c Candidate) bool { return word != "" && (c.Name == word || c.Also == word) },
		func(c Candidate) bool { return c.named(word) },
		func(c Candidate) bool { return EndsIn(c.ID, word) },
	} {
		var hits []Candidate
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
			return Candidate{}, Ambiguous(kind, word, hits)
		}
	}
	if !hasNames(kind) && len(word) < LeastEnding {
		return Candidate{}, UsageError{fmt.Sprintf("%q is too short for an id; %d letters at least", word, LeastEnding)}
	}
	return Candidate{}, UnknownName(kind, word, where, known)
}

// named reports whether a candidate has this name, in any case. The # of a channel is optional.
func (c Candidate) named(word string) bool {
	return c.Name != "" && strings.EqualFold(c.Name, word) || c.Also != "" && strings.EqualFold(c.Also, "#"+strings.TrimPrefix(word, "#"))
}

// EndsIn reports whether an id ends in word, in any case. word must have at least LeastEnding
// letters.
func EndsIn(id, word string) bool {
	word = strings.TrimPrefix(word, "…")
	return len(word) >= LeastEnding && strings.HasSuffix(strings.ToUpper(id), strings.ToUpper(word))
}

// Ambiguous returns an error that lists what a word may mean.
func Ambiguous(kind, word string, hits []Candidate) error {
	ids := make([]string, len(hits))
	for i, c := range hits {
		ids[i] = c.ID
	}
	short := Endings(ids)
	e := ChoiceError{Message: fmt.Sprintf("%s is %d %ss; say more of it", word, len(hits), kind)}
	for i, c := range hits {
		if i == MostCandidates {
			e.Lines = append(e.Lines, fmt.Sprintf("… %d more", len(hits)-MostCandidates))
			break
		}
		e.Lines = append(e.Lines, strings.Join(slices.DeleteFunc([]string{short[c.ID], c.Name, c.Line}, func(s string) bool { return s == "" }), "  "))
	}
	return e
}

// UnknownName returns an error for a name that does not exist. It suggests similar names, or else
// lists the existing ones.
func UnknownName(kind, word, where string, known []Candidate) error {
	message := fmt.Sprintf("%s %s does not exist in %s", kind, word, where)
	var names, near []string
	for _, c := range known {
		if c.Name == "" {
			continue
		}
		if names = append(names, c.Name); editDistance(strings.ToLower(c.Name), strings.ToLower(word)) <= typos {
			near = append(near, c.Name)
		}
	}
	switch {
	case len(near) > 0:
		message += "; did you mean " + strings.Join(near[:min(len(near), 3)], " or ") + "?"
	case len(names) > MostCandidates:
		message += fmt.Sprintf("; there are: %s, … %d more", strings.Join(names[:MostCandidates], ", "), len(names)-MostCandidates)
	case len(names) > 0:
		message += "; there are: " + strings.Join(names, ", ")
	}
	return ChoiceError{Message: message}
}

// Endings returns the displayed suffix of each id: six letters, or more if needed to be unique.
func Endings(ids []string) map[string]string {
	short := make(map[string]string, len(ids))
	left := slices.Compact(slices.Sorted(slices.Values(ids)))
	for length := ShownEnding; len(left) > 0; length++ {
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

// editDistance returns how many letters must be changed, added or removed to turn a into b. It
// stops counting beyond typos.
func editDistance(a, b string) int {
	if d := utf8.RuneCountInString(a) - utf8.RuneCountInString(b); d > typos || -d > typos {
		return typos + 1 // the lengths alone differ too much
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
