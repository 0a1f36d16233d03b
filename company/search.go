package company

// search.query: full-text search over what people read in a workspace.

import (
	"cmp"
	"context"
	"math"
	"strconv"
	"strings"
	"time"

	"ac/conversation"
	"ac/governance"
	"ac/governance/policy"
	"ac/index/search"
	"ac/internal/fault"
	"ac/workspace/doc"
)

// searchPatience is how long a query waits for the search index by default.
const searchPatience = 300 * time.Millisecond

// SearchParams are the params of search.query.
type SearchParams struct {
	Dir
	Q         string   `json:"q" is:"maxbytes=1000"`
	Kinds     []string `json:"kinds,omitempty" is:"optional"`
	ProjectID string   `json:"project_id" is:"optional,id"`
	Limit     int      `json:"limit" is:"default=30,min=1,cut=100"`
	Cursor    string   `json:"cursor" is:"optional"`
	FilesActor
	// Patience is how long a command waits for the index, 0 for the default of the Host.
	Patience time.Duration `json:"-"`
}

// mostQuery is the maximum length of a query, in characters.
const mostQuery = 200

// CheckFields rejects blank and long queries, unknown kinds, and invalid cursors.
func (p *SearchParams) CheckFields() (issues []fault.Issue) {
	if strings.TrimSpace(p.Q) == "" {
		issues = append(issues, fault.Issue{Path: []any{"q"}, Code: "custom", Message: "must not be blank"})
	}
	if len([]rune(p.Q)) > mostQuery {
		issues = append(issues, fault.Issue{Path: []any{"q"}, Code: "too_big", Maximum: new(float64(mostQuery)), Message: "must have at most 200 characters"})
	}
	issues = append(issues, UnknownWords("kinds", p.Kinds, search.Kinds(), "is no kind of hits")...)
	if n, err := strconv.Atoi(p.Cursor); p.Cursor != "" && (err != nil || n < 1) {
		issues = append(issues, fault.Issue{Path: []any{"cursor"}, Code: "custom", Message: "is not the next_cursor of a search"})
	}
	return issues
}

// SearchResult is the result of search.query. Behind counts changed runs and documents that
// are not indexed yet.
type SearchResult struct {
	Q          string       `json:"q"`
	Hits       []search.Hit `json:"hits"`
	More       bool         `json:"more"`
	NextCursor string       `json:"next_cursor,omitempty"`
	Behind     int          `json:"behind"`
	TookMS     int64        `json:"took_ms"`
}

// Search finds what the actor may see. It first updates the search index, for a limited time. An
// invalid filter is fault.BadQuery.
func (c *Company) Search(ctx context.Context, p SearchParams) (result SearchResult, err error) {
	began := c.w.Env.Clock.Now()
	result = SearchResult{Q: p.Q, Hits: []search.Hit{}}
	q, err := search.Parse(p.Q)
	if err != nil {
		return result, err
	}
	q.Narrow(p.Kinds, p.ProjectID)
	projects, err := c.w.Projects()
	if err != nil {
		return result, err
	}
	q.Projects(func(name string) string {
		for _, project := range projects {
			if strings.EqualFold(project.Name, name) {
				return project.ID
			}
		}
		return ""
	})
	if result.Behind, err = c.refreshSearch(ctx, cmp.Or(p.Patience, c.host.patience)); err != nil {
		return result, err
	}
	from, _ := strconv.Atoi(p.Cursor) // 0 for none
	hits, more, err := c.host.entryOf(c.w).search.Find(ctx, q, began, from, p.Limit, c.mayFind(p.Actor()))
	if err != nil {
		return result, err
	}
	if result.Hits = append(result.Hits, hits...); more {
		result.More, result.NextCursor = true, strconv.Itoa(from+len(hits))
	}
	result.TookMS = c.w.Env.Clock.Since(began).Milliseconds()
	return result, nil
}

// refreshSearch updates the search index for at most patience. behind counts what is not indexed
// yet.
func (c *Company) refreshSearch(ctx context.Context, patience time.Duration) (behind int, err error) {
	if behind, err = c.host.entryOf(c.w).search.Update(ctx, patience, searchSources{c}.all); err == nil {
		err = ctx.Err()
	}
	return behind, err
}

// mayFind returns a filter of hits: an actor may find what it may open.
func (c *Company) mayFind(actor policy.Actor) search.CanSee {
	return func(kind, ref, project, guard string) bool {
		visibility, producer, _ := strings.Cut(guard, guardCut)
		switch kind {
		case search.KindArtifact:
			return governance.MayReadArtifact(c.w, ref, visibility, producer, actor)
		case search.KindHelp:
			return governance.MayReadHelp(c.w, doc.HelpRequest{ID: ref, Visibility: visibility, Requester: producer}, actor)
		case search.KindMessage:
			conv, err := conversation.Get(c.w, conversation.Space{Project: project}, ref)
			return err == nil && conversation.Admits(conv, conversation.Actor{ID: actor.ID, Role: actor.Role, Team: actor.Team})
		}
		return policy.Ask(c.w, policy.Question{
			Action: policy.Read, Actor: actor, Resource: policy.Resource{ID: ref, Kind: kind, Visibility: visibility, Producer: producer},
		}).Decision.Allowed
	}
}

// guardCut separates the visibility of a source from its author.
const guardCut = "\n"

// noLimit is a limit that no list reaches.
const noLimit = math.MaxInt32
