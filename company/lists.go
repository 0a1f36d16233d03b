package company

// Lists of any folder: one that is no workspace has none.

import (
	"context"

	"ac/runs"
)

// ListRunsParams are the params of run.list.
type ListRunsParams struct {
	Dir
	ProjectID string `json:"project_id" is:"optional,id"`
}

// ListRuns lists runs, newest first.
func (c *Folder) ListRuns(ctx context.Context, p ListRunsParams) ([]runs.ListRow, error) {
	w, err := c.workspace(ctx)
	if none(err) {
		return []runs.ListRow{}, nil
	}
	if err != nil {
		return nil, err
	}
	return runs.List(w, p.ProjectID)
}
