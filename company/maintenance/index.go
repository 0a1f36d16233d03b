package maintenance

// index.*: rebuilding, syncing and listing the index of a workspace.

import (
	"context"

	"ac/company"
	"ac/index"
)

// RebuildIndex rebuilds the index.
func (c Operations) RebuildIndex(ctx context.Context, _ company.Dir) (index.RebuildResult, error) {
	built, err := c.Index().Rebuild(ctx)
	built.DBPath = index.Path(c.Given())
	return built, err
}

// SyncIndex brings the index up to date, and builds a missing one.
func (c Operations) SyncIndex(ctx context.Context, _ company.Dir) (index.SyncResult, error) {
	synced, err := c.Index().Sync(ctx)
	synced.DBPath = index.Path(c.Given())
	return synced, err
}

// queryIndex runs a query on the index.
func queryIndex[R any](ctx context.Context, c Operations, ask func(*index.View) (R, error)) (result R, err error) {
	err = c.Index().View(ctx, func(v *index.View) error {
		result, err = ask(v)
		return err
	})
	return result, err
}

// rows lists rows of the index that match a filter.
func rows[F, R any](ctx context.Context, c Operations, list func(*index.View, F) ([]R, error), f F) ([]R, error) {
	return queryIndex(ctx, c, func(v *index.View) ([]R, error) { return list(v, f) })
}

// IndexStats counts the rows of the index.
func (c Operations) IndexStats(ctx context.Context, _ company.Dir) (index.Stats, error) {
	return queryIndex(ctx, c, (*index.View).Stats)
}

// IndexRunsParams are the params of index.list_runs.
type IndexRunsParams struct {
	company.Dir
	ProjectID string `json:"project_id,omitempty" is:"optional,id"`
	Status    string `json:"status,omitempty" is:"optional,enum=running|ended|failed|stopped"`
	Limit     int    `json:"limit" is:"default=200,min=1,cut=5000"`
}

// IndexRuns lists runs from the index.
func (c Operations) IndexRuns(ctx context.Context, p IndexRunsParams) ([]index.Run, error) {
	return rows(ctx, c, (*index.View).Runs, index.RunFilter{ProjectID: p.ProjectID, Status: p.Status, Limit: p.Limit})
}

// IndexEventsParams are the params of index.list_events.
type IndexEventsParams struct {
	company.Dir
	ProjectID string `json:"project_id,omitempty" is:"optional,id"`
	RunID     string `json:"run_id,omitempty" is:"optional,id"`
	Type      string `json:"type,omitempty" is:"optional"`
	SinceSeq  int64  `json:"since_seq,omitempty" is:"optional,min=0"`
	Limit     int    `json:"limit" is:"default=500,min=1,cut=5000"`
	Order     string `json:"order" is:"default=desc,enum=asc|desc"`
}

// IndexEvents lists events from the index, with their texts from the logs.
func (c Operations) IndexEvents(ctx context.Context, p IndexEventsParams) ([]index.Event, error) {
	f := index.EventFilter{ProjectID: p.ProjectID, RunID: p.RunID, SinceSeq: p.SinceSeq, Limit: p.Limit, Ascending: p.Order == "asc"}
	if p.Type != "" {
		f.Types = []string{p.Type}
	}
	return rows(ctx, c, (*index.View).Events, f)
}

// IndexParseErrorsParams are the params of index.list_event_parse_errors.
type IndexParseErrorsParams struct {
	company.Dir
	ProjectID string `json:"project_id,omitempty" is:"optional,id"`
	RunID     string `json:"run_id,omitempty" is:"optional,id"`
	Limit     int    `json:"limit" is:"default=200,min=1,cut=5000"`
}

// IndexParseErrors lists the log lines that are not valid events.
func (c Operations) IndexParseErrors(ctx context.Context, p IndexParseErrorsParams) ([]index.ParseError, error) {
	return rows(ctx, c, (*index.View).ParseErrors, index.ParseErrorFilter{ProjectID: p.ProjectID, RunID: p.RunID, Limit: p.Limit})
}

// IndexReviewsParams are the params of index.list_reviews.
type IndexReviewsParams struct {
	company.Dir
	ProjectID string `json:"project_id,omitempty" is:"optional,id"`
	Decision  string `json:"decision,omitempty" is:"optional,enum=approved|denied"`
	Limit     int    `json:"limit" is:"default=200,min=1,cut=5000"`
}

// IndexReviews lists reviews from the index.
func (c Operations) IndexReviews(ctx context.Context, p IndexReviewsParams) ([]index.Review, error) {
	return rows(ctx, c, (*index.View).Reviews, index.ReviewFilter{ProjectID: p.ProjectID, Decision: p.Decision, Limit: p.Limit})
}

// IndexHelpRequestsParams are the params of index.list_help_requests.
type IndexHelpRequestsParams struct {
	company.Dir
	TargetManager string `json:"target_manager,omitempty" is:"optional"`
	ProjectID     string `json:"project_id,omitempty" is:"optional,id"`
	Limit         int    `json:"limit" is:"default=200,min=1,cut=5000"`
}

// IndexHelpRequests lists help requests from the index.
func (c Operations) IndexHelpRequests(ctx context.Context, p IndexHelpRequestsParams) ([]index.HelpRequest, error) {
	return rows(ctx, c, (*index.View).HelpRequests, index.HelpRequestFilter{TargetManager: p.TargetManager, ProjectID: p.ProjectID, Limit: p.Limit})
}
