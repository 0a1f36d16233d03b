package index

// A view is one read transaction of the index, so all its answers are consistent (snapshot
// isolation).

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"

	"ac/workspace"
)

// View answers from one read transaction. It is not safe for concurrent use,
// and valid only until the function that received it returns.
type View struct {
	ctx  context.Context //nolint:containedctx // a view lives for one call of a function
	conn *dbConn
	w    *workspace.Workspace
}

// View runs fn in one read transaction. It never waits for a writer. It calls fn again if the
// file was deleted or replaced meanwhile. If there is no usable index the error is
// fault.NoIndex, and nothing is created.
func (ix *Index) View(ctx context.Context, fn func(*View) error) error {
	var own error // the error of fn itself
	err := ix.retryTransient(func() error {
		err := ix.withConn(ctx, false, func(conn *dbConn) error {
			quiet := context.WithoutCancel(ctx)
			if err := conn.exec(quiet, "BEGIN"); err != nil {
				return err
			}
			generation, err := ix.readGeneration(quiet, conn)
			if err == nil {
				err = conn.invalidateStale(quiet, generation)
			}
			if own = nil; err == nil {
				own = fn(&View{ctx: quiet, conn: conn, w: ix.w})
			}
			ended := conn.exec(quiet, "ROLLBACK")
			return errors.Join(err, ended)
		})
		if own != nil {
			return own
		}
		return err
	})
	switch {
	case own != nil && isUnusable(own):
		ix.markBroken()
		return noIndex(own)
	case own != nil:
		return own
	case err != nil && (errors.Is(err, fs.ErrNotExist) || isUnusable(err)):
		return noIndex(err)
	}
	return err
}

// Stats has the number of rows of each kind.
type Stats struct {
	Runs             int `json:"runs"`
	Events           int `json:"events"`
	EventParseErrors int `json:"event_parse_errors"`
	Artifacts        int `json:"artifacts"`
	Reviews          int `json:"reviews"`
	HelpRequests     int `json:"help_requests"`
	Conversations    int `json:"conversations"`
	Messages         int `json:"messages"`
	Tasks            int `json:"tasks"`
	TaskMilestones   int `json:"task_milestones"`
	AgentCounters    int `json:"agent_counters"`
}

const countRows = `SELECT (SELECT count(*) FROM ac_runs), (SELECT COALESCE(sum(events),0) FROM ac_run_stats),
 (SELECT COALESCE(sum(parse_errors),0) FROM ac_run_stats), (SELECT count(*) FROM ac_artifacts), (SELECT count(*) FROM ac_reviews),
 (SELECT count(*) FROM ac_help_requests), (SELECT count(*) FROM ac_conversations), (SELECT messages FROM ac_state),
 (SELECT count(*) FROM ac_tasks), (SELECT count(*) FROM ac_task_milestones), (SELECT count(*) FROM ac_agent_counters)`

func readStats(ctx context.Context, conn *dbConn) (s Stats, err error) {
	err = conn.queryRow(ctx, countRows, nil, &s.Runs, &s.Events, &s.EventParseErrors, &s.Artifacts, &s.Reviews,
		&s.HelpRequests, &s.Conversations, &s.Messages, &s.Tasks, &s.TaskMilestones, &s.AgentCounters)
	return s, err
}

// countTotals is countRows without the sums over runs. It covers the totals of a sync.
const countTotals = `SELECT (SELECT count(*) FROM ac_runs), (SELECT count(*) FROM ac_artifacts), (SELECT count(*) FROM ac_reviews),
 (SELECT count(*) FROM ac_help_requests), (SELECT count(*) FROM ac_conversations), (SELECT messages FROM ac_state),
 (SELECT count(*) FROM ac_tasks), (SELECT count(*) FROM ac_task_milestones), (SELECT count(*) FROM ac_agent_counters)`

func readTotals(ctx context.Context, conn *dbConn) (s Stats, err error) {
	err = conn.queryRow(ctx, countTotals, nil, &s.Runs, &s.Artifacts, &s.Reviews, &s.HelpRequests, &s.Conversations, &s.Messages,
		&s.Tasks, &s.TaskMilestones, &s.AgentCounters)
	return s, err
}

// Stats counts the rows.
func (v *View) Stats() (Stats, error) { return readStats(v.ctx, v.conn) }

func (s Stats) rebuildResult(path string) RebuildResult {
	return RebuildResult{
		DBPath: path, RunsIndexed: s.Runs, EventsIndexed: s.Events, EventParseErrors: s.EventParseErrors, ArtifactsIndexed: s.Artifacts,
		ReviewsIndexed: s.Reviews, HelpRequestsIndexed: s.HelpRequests, ConversationsIndexed: s.Conversations, MessagesIndexed: s.Messages,
		TasksIndexed: s.Tasks, TaskMilestonesIndexed: s.TaskMilestones, AgentCountersIndexed: s.AgentCounters,
	}
}

// syncResult converts the result of a rebuild to that of the sync that needed it.
func (b RebuildResult) syncResult() SyncResult {
	return SyncResult{
		DBPath: b.DBPath, DBCreated: true, RunsUpserted: b.RunsIndexed, EventsIndexed: b.EventsIndexed, EventParseErrorsIndexed: b.EventParseErrors,
		ArtifactsUpserted: b.ArtifactsIndexed, ReviewsUpserted: b.ReviewsIndexed, HelpRequestsUpserted: b.HelpRequestsIndexed,
		ConversationsUpserted: b.ConversationsIndexed, MessagesIndexed: b.MessagesIndexed, TasksUpserted: b.TasksIndexed,
		TaskMilestonesIndexed: b.TaskMilestonesIndexed, AgentCountersUpserted: b.AgentCountersIndexed,
	}
}

// fillTotals writes the current totals of the workspace into a sync result.
func (s Stats) fillTotals(into *SyncResult) {
	into.RunsUpserted, into.ArtifactsUpserted, into.ReviewsUpserted, into.HelpRequestsUpserted = s.Runs, s.Artifacts, s.Reviews, s.HelpRequests
	into.ConversationsUpserted, into.MessagesIndexed = s.Conversations, s.Messages
	into.TasksUpserted, into.TaskMilestonesIndexed, into.AgentCountersUpserted = s.Tasks, s.TaskMilestones, s.AgentCounters
}

// query collects the rows of a query. The result is never nil.
func query[R any](v *View, text string, args []any, scan func(*sql.Rows, *R) error) ([]R, error) {
	rows, err := v.conn.query(v.ctx, text, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	list := []R{}
	for rows.Next() {
		var row R
		if err := scan(rows, &row); err != nil {
			return nil, err
		}
		list = append(list, row)
	}
	return list, rows.Err()
}

// conditions builds the WHERE clause of a query.
type conditions struct {
	text string
	args []any
}

func (c *conditions) add(text string, args ...any) {
	word := " AND "
	if c.text == "" {
		word = " WHERE "
	}
	c.text += word + text
	c.args = append(c.args, args...)
}

func (c *conditions) equal(column, value string) {
	if value != "" {
		c.add(column+"=?", value)
	}
}
