package main

// Needs that words on the command line name, and what is known of those that are over.

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"ac/company"
	"ac/company/decisions"
	"ac/company/orchestration"
	"ac/governance/needs"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/internal/terminal"
	"ac/snapshot"
)

// need finds a need of some kinds, of all without any, in all projects: by its id, the id
// of what it is about, or the end of that. One that is over is an error that says by whom.
func (c *call) need(word string, kinds ...string) (n needs.Need, err error) {
	ending := strings.TrimPrefix(word, "…")
	if len(ending) < leastEnding {
		return n, usageError{fmt.Sprintf("%q is too short for an id; %d letters at least", ending, leastEnding)}
	}
	hits, err := c.needsNamed(word, kinds)
	switch {
	case err != nil:
		return n, err
	case len(hits) == 1:
		return hits[0], nil
	case len(hits) > 1:
		known := make([]candidate, len(hits))
		for i, h := range hits {
			known[i] = candidate{id: h.Ref(), line: h.Kind + "  " + terminal.Fit(h.Title, 40)}
		}
		return n, ambiguous("item", word, known)
	}
	if over, err := c.settled(word); over != nil || err != nil {
		return n, errors.Join(over, err)
	}
	return n, fault.New(fault.NotFound, "nothing named %s needs you in %s (ac inbox -a)", word, c.company)
}

// needsNamed are the open needs that a word names.
func (c *call) needsNamed(word string, kinds []string) (hits []needs.Need, err error) {
	found, err := company.Do(c.ctx, c.all, decisions.Operations.ListNeeds, decisions.ListNeedsParams{Dir: c.dirParam(), Kinds: kinds, State: "open", Limit: mostInbox})
	if err != nil {
		return nil, err
	}
	for _, n := range found.Needs {
		if n.NeedID == word || n.Ref() == word {
			return []needs.Need{n}, nil
		}
		run, _, _ := strings.Cut(n.Ref(), ":") // of failures the session follows
		if endsIn(n.Ref(), word) || endsIn(run, word) {
			hits = append(hits, n)
		}
	}
	return hits, nil
}

// settled says how a need ended that a word names, nil if there was none.
func (c *call) settled(word string) (over, err error) {
	asked, err := company.Do(c.ctx, c.all, orchestration.Operations.ListInteractions, orchestration.ListInteractionsParams{
		Dir: c.dirParam(), State: snapshot.InteractionsResolved, Limit: math.MaxInt32,
	})
	if err != nil {
		return nil, err
	}
	for i := range asked.Interactions {
		r := &asked.Interactions[i]
		if r.InteractionID == word || endsIn(r.InteractionID, word) {
			return c.over(r.InteractionID, r.State, r.By, r.ResolvedAt), nil
		}
	}
	reviews, err := company.Do(c.ctx, c.all, decisions.Folder.ListReviews, decisions.ListReviewsParams{Dir: c.dirParam(), Limit: mostInbox})
	for _, r := range reviews {
		if id := r.Subject.ArtifactID; id == word || endsIn(id, word) {
			return c.over(id, r.Decision, r.ActorID, r.CreatedAt), err
		}
	}
	return nil, err
}

// over is the error about a need that is over.
func (c *call) over(id, how, by, at string) error {
	message := shortID(id) + " was " + how
	if by != "" {
		message += " by " + by
	}
	if then, ok := clock.Parse(at); ok {
		message += " " + c.ago(then)
	}
	return fault.New(fault.Settled, "%s", message)
}

// ago is how long ago something was, in words.
func (c *call) ago(at time.Time) string {
	if age := terminal.Age(at, c.now); age != "now" {
		return age + " ago"
	}
	return "just now"
}

// proof reads a need with what it is about.
func (c *call) proof(n needs.Need) (decisions.NeedResult, error) {
	return company.Do(c.ctx, c.all, decisions.Operations.Need, decisions.NeedParams{Dir: c.dirParam(), NeedID: n.NeedID})
}
