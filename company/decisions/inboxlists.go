package decisions

// inbox.list_*: the help requests and reviews of any folder. A folder that is not a workspace has
// none.

import (
	"context"

	"ac/company"
	"ac/governance"
	"ac/internal/fault"
	"ac/workspace/doc"
)

// ListInboxParams are the params of inbox.list_help_requests.
type ListInboxParams struct {
	company.Dir
	Limit int `json:"limit" is:"default=200,min=1,cut=1000"`
}

// ListHelpRequests lists the help requests, newest first.
func (c Folder) ListHelpRequests(ctx context.Context, p ListInboxParams) ([]doc.HelpRequest, error) {
	in, err := c.Enter(ctx)
	if fault.Is(err, fault.NotAWorkspace) {
		return []doc.HelpRequest{}, nil
	}
	if err != nil {
		return nil, err
	}
	return governance.HelpRequests(in.Workspace(), p.Limit)
}

// ListReviewsParams are the params of inbox.list_reviews.
type ListReviewsParams struct {
	company.Dir
	Limit int `json:"limit" is:"default=200,min=1,cut=1000"`
}

// ListReviews lists the reviews, newest first.
func (c Folder) ListReviews(ctx context.Context, p ListReviewsParams) ([]doc.Review, error) {
	in, err := c.Enter(ctx)
	if fault.Is(err, fault.NotAWorkspace) {
		return []doc.Review{}, nil
	}
	if err != nil {
		return nil, err
	}
	return governance.Reviews(in.Workspace(), p.Limit)
}
