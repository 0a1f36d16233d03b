package decisions

// needs.*: what waits for a person.

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"ac/company"
	"ac/governance"
	"ac/governance/needs"
	"ac/governance/policy"
	"ac/index"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/snapshot"
)

// ListNeedsParams are the params of needs.list.
type ListNeedsParams struct {
	company.Dir
	ProjectID string   `json:"project_id" is:"optional,id"`
	Kinds     []string `json:"kinds" is:"optional"`
	State     string   `json:"state" is:"default=open,enum=open|dismissed"`
	Limit     int      `json:"limit" is:"default=200,min=1,cut=1000"`
	Cursor    string   `json:"cursor" is:"optional"`
}

// CheckFields rejects unknown kinds and invalid cursors.
func (p *ListNeedsParams) CheckFields() (issues []fault.Issue) {
	issues = company.UnknownWords("kinds", p.Kinds, needs.Kinds(), "is no kind of needs")
	if _, ok := needAt(p.Cursor); p.Cursor != "" && !ok {
		issues = append(issues, fault.Issue{Path: []any{"cursor"}, Code: "custom", Message: "is not the next_cursor of a list"})
	}
	return issues
}

// ListNeedsResult is the result of needs.list. Total and ByKind count all matches, including
// those beyond the limit.
type ListNeedsResult struct {
	Needs      []needs.Need   `json:"needs"`
	Total      int            `json:"total"`
	ByKind     map[string]int `json:"by_kind"`
	NextCursor string         `json:"next_cursor,omitempty"`
}

// ListNeeds lists what waits for a person: by severity, then oldest first. It needs no server,
// because it syncs the index first.
func (c Operations) ListNeeds(ctx context.Context, p ListNeedsParams) (result ListNeedsResult, err error) {
	found, err := c.needs(ctx, p.ProjectID)
	if err != nil {
		return result, err
	}
	list := found.Open
	if p.State == "dismissed" {
		list = found.Dismissed
	}
	result = ListNeedsResult{Needs: []needs.Need{}, ByKind: map[string]int{}}
	after, _ := needAt(p.Cursor)
	for _, n := range list {
		if len(p.Kinds) > 0 && !slices.Contains(p.Kinds, n.Kind) {
			continue
		}
		result.Total++
		result.ByKind[n.Kind]++
		if p.Cursor != "" && needs.Compare(n, after) <= 0 {
			continue
		}
		if len(result.Needs) < p.Limit {
			result.Needs = append(result.Needs, n)
		} else if result.NextCursor == "" {
			result.NextCursor = needCursor(result.Needs[p.Limit-1])
		}
	}
	return result, nil
}

// needCursor returns the cursor of a need: its position in the order of lists.
func needCursor(n needs.Need) string { return strconv.Itoa(n.Severity) + "~" + n.At + "~" + n.NeedID }

// needAt parses a cursor into a need with only its position set.
func needAt(cursor string) (n needs.Need, ok bool) {
	severity, rest, _ := strings.Cut(cursor, "~")
	at, id, ok := strings.Cut(rest, "~")
	number, err := strconv.Atoi(severity)
	return needs.Need{Severity: number, At: at, NeedID: id}, ok && err == nil
}

// needs returns the needs of a project, or those of all projects if project is "".
func (c Operations) needs(ctx context.Context, project string) (found snapshot.Needs, err error) {
	err = c.View(ctx, index.UpToDate, func(m *snapshot.View) (err error) {
		found, err = m.Needs(project)
		return err
	})
	return found, err
}

// DismissNeedsParams are the params of needs.dismiss and needs.restore.
type DismissNeedsParams struct {
	company.Dir
	NeedIDs []string `json:"need_ids" is:"minitems=1"`
	Note    string   `json:"note,omitempty" is:"optional,empty,maxbytes=2000"`
	company.FilesActor
}

// CheckFields rejects too many needs and invalid need ids.
func (p *DismissNeedsParams) CheckFields() (issues []fault.Issue) {
	if len(p.NeedIDs) > mostNeeds {
		issues = append(issues, fault.Issue{Path: []any{"need_ids"}, Code: "custom", Message: "must have at most 100 items"})
	}
	for i, id := range p.NeedIDs {
		if needs.CheckID("need_ids", id) != nil {
			issues = append(issues, fault.Issue{Path: []any{"need_ids", i}, Code: "custom", Message: "must be the id of a need, such as run_failed:run_…:1"})
		}
	}
	return issues
}

// mostNeeds bounds how many needs one call dismisses.
const mostNeeds = 100

// DismissNeedsResult is the result of needs.dismiss and needs.restore.
type DismissNeedsResult struct {
	Done   []string    `json:"done"`
	Errors []NeedError `json:"errors"`
}

// NeedError is why a need was not changed.
type NeedError struct {
	NeedID  string       `json:"need_id"`
	Reason  fault.Reason `json:"reason"`
	Message string       `json:"message"`
}

// DismissNeeds dismisses needs about runs, for all users of this machine. It is idempotent.
func (c Operations) DismissNeeds(ctx context.Context, p DismissNeedsParams) (DismissNeedsResult, error) {
	return c.changeDismissals(ctx, p, func(found *snapshot.Needs, id string) (needs.Dismissal, bool) {
		for _, n := range slices.Concat(found.Open, found.Dismissed) {
			if n.NeedID == id {
				return needs.Dismissal{NeedID: id, ActorID: p.ActorID, Note: p.Note, Faults: n.Faults}, true
			}
		}
		return needs.Dismissal{}, false
	})
}

// RestoreNeeds restores dismissed needs.
func (c Operations) RestoreNeeds(ctx context.Context, p DismissNeedsParams) (DismissNeedsResult, error) {
	return c.changeDismissals(ctx, p, func(found *snapshot.Needs, id string) (needs.Dismissal, bool) {
		_, known := found.Of[id]
		return needs.Dismissal{NeedID: id, ActorID: p.ActorID, Note: p.Note, Restored: true}, known
	})
}

func (c Operations) changeDismissals(ctx context.Context, p DismissNeedsParams, line func(found *snapshot.Needs, id string) (needs.Dismissal, bool)) (DismissNeedsResult, error) {
	result := DismissNeedsResult{Done: []string{}, Errors: []NeedError{}}
	if _, err := governance.Enforce(ctx, c.Workspace(), "", policy.Question{
		Action: policy.Approve, Actor: p.Actor(), Resource: policy.Resource{ID: "needs", Kind: "needs", Visibility: "managers"},
	}); err != nil {
		return result, err
	}
	found, err := c.needs(ctx, "")
	if err != nil {
		return result, err
	}
	var lines []needs.Dismissal
	for _, id := range p.NeedIDs {
		d, known := line(&found, id)
		switch {
		case slices.Contains(result.Done, id):
		case !needs.Dismissible(id):
			result.Errors = append(result.Errors, NeedError{id, fault.NotDismissible, id + " waits for a decision or an answer"})
		case !known:
			result.Errors = append(result.Errors, NeedError{id, fault.NotFound, "there is no need " + id})
		default:
			lines, result.Done = append(lines, d), append(result.Done, id)
		}
	}
	if len(lines) == 0 {
		return result, nil
	}
	return result, needs.Record(ctx, c.Workspace(), lines)
}

// Settled is the data of fault.Settled: how a need ended and, if known, by whom and when.
type Settled struct {
	How string `json:"how"`
	By  string `json:"by,omitempty"`
	At  string `json:"at,omitempty"`
}

func settled(id string, s Settled) error {
	message := id + " was " + s.How
	if s.By != "" {
		message += " by " + s.By
	}
	if at, ok := clock.Parse(s.At); ok {
		message += " at " + clock.Stamp(at)
	}
	return fault.New(fault.Settled, "%s", message).With(s)
}
