package oversight

// Finding needs by words of the command line, including settled ones.

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/company/decisions"
	"ac/company/orchestration"
	"ac/governance/needs"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/internal/terminal"
	"ac/snapshot"
)

// Need finds a need in all projects, by its id, the id of its subject, or the end of that. kinds
// restricts the kinds, none means all. For a settled need it returns an error that reports by whom
// it was settled.
func Need(c *cli.Call, word string, kinds ...string) (n needs.Need, err error) {
	ending := strings.TrimPrefix(word, "…")
	if len(ending) < cli.LeastEnding {
		return n, cli.UsageError{Message: fmt.Sprintf("%q is too short for an id; %d letters at least", ending, cli.LeastEnding)}
	}
	hits, err := needsNamed(c, word, kinds)
	switch {
	case err != nil:
		return n, err
	case len(hits) == 1:
		return hits[0], nil
	case len(hits) > 1:
		known := make([]cli.Candidate, len(hits))
		for i, h := range hits {
			known[i] = cli.Candidate{ID: h.Ref(), Line: h.Kind + "  " + terminal.Fit(h.Title, 40)}
		}
		return n, cli.Ambiguous("item", word, known)
	}
	if over, err := settledError(c, word); over != nil || err != nil {
		return n, errors.Join(over, err)
	}
	return n, fault.New(fault.NotFound, "nothing named %s needs you in %s (ac inbox -a)", word, c.Company)
}

// needsNamed returns the open needs that a word names.
func needsNamed(c *cli.Call, word string, kinds []string) (hits []needs.Need, err error) {
	found, err := company.Do(c.Ctx, c.All, decisions.Operations.ListNeeds, decisions.ListNeedsParams{Dir: c.DirParam(), Kinds: kinds, State: "open", Limit: cli.MostInbox})
	if err != nil {
		return nil, err
	}
	for _, n := range found.Needs {
		if n.NeedID == word || n.Ref() == word {
			return []needs.Need{n}, nil
		}
		run, _, _ := strings.Cut(n.Ref(), ":") // after a failed run, ":" and its number of sessions follow
		if cli.EndsIn(n.Ref(), word) || cli.EndsIn(run, word) {
			hits = append(hits, n)
		}
	}
	return hits, nil
}

// settledError returns the error for a settled need that a word names, nil if there is none.
func settledError(c *cli.Call, word string) (over, err error) {
	asked, err := company.Do(c.Ctx, c.All, orchestration.Operations.ListInteractions, orchestration.ListInteractionsParams{
		Dir: c.DirParam(), State: snapshot.InteractionsResolved, Limit: math.MaxInt32,
	})
	if err != nil {
		return nil, err
	}
	for i := range asked.Interactions {
		r := &asked.Interactions[i]
		if r.InteractionID == word || cli.EndsIn(r.InteractionID, word) {
			return overError(c, r.InteractionID, r.State, r.By, r.ResolvedAt), nil
		}
	}
	reviews, err := company.Do(c.Ctx, c.All, decisions.Folder.ListReviews, decisions.ListReviewsParams{Dir: c.DirParam(), Limit: cli.MostInbox})
	for _, r := range reviews {
		if id := r.Subject.ArtifactID; id == word || cli.EndsIn(id, word) {
			return overError(c, id, r.Decision, r.ActorID, r.CreatedAt), err
		}
	}
	return nil, err
}

// overError returns the error for a settled need.
func overError(c *cli.Call, id, how, by, at string) error {
	message := cli.ShortID(id) + " was " + how
	if by != "" {
		message += " by " + by
	}
	if then, ok := clock.Parse(at); ok {
		message += " " + howLongAgo(c, then)
	}
	return fault.New(fault.Settled, "%s", message)
}

// howLongAgo returns how long ago a time was, in words.
func howLongAgo(c *cli.Call, at time.Time) string {
	if age := terminal.FormatAge(at, c.Now); age != "now" {
		return age + " ago"
	}
	return "just now"
}

// Proof reads a need with the details of its subject.
func Proof(c *cli.Call, n needs.Need) (decisions.NeedResult, error) {
	return company.Do(c.Ctx, c.All, decisions.Operations.Need, decisions.NeedParams{Dir: c.DirParam(), NeedID: n.NeedID})
}

// when returns a time with its age.
func when(c *cli.Call, at string) string {
	then, ok := clock.Parse(at)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s (%s)", howLongAgo(c, then), then.Local().Format(time.DateTime))
}
