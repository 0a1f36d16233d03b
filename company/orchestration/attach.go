package orchestration

// run.attach and run.plan.clear.

import (
	"cmp"
	"context"
	"encoding/base64"
	"strings"

	"ac/internal/fault"
	"ac/runs"
)

// AttachParams are the params of run.attach.
type AttachParams struct {
	actParams
	Name      string `json:"name" is:"maxbytes=255"`
	MediaType string `json:"media_type" is:"optional,maxbytes=200"`
	Content   string `json:"content_base64" is:"empty"`
}

// CheckFields rejects a blank name and invalid base64.
func (p *AttachParams) CheckFields() (issues []fault.Issue) {
	if strings.TrimSpace(p.Name) == "" {
		issues = append(issues, fault.Issue{Path: []any{"name"}, Code: "custom", Message: "must not be blank"})
	}
	if _, err := base64.StdEncoding.DecodeString(p.Content); err != nil {
		issues = append(issues, fault.Issue{Path: []any{"content_base64"}, Code: "custom", Message: "must be base64"})
	}
	return issues
}

// Attach stores a file with a run.
func (c Operations) Attach(ctx context.Context, p AttachParams) (runs.Attachment, error) {
	content, err := base64.StdEncoding.DecodeString(p.Content)
	if err != nil {
		return runs.Attachment{}, err // unreachable: CheckFields decoded it
	}
	return runs.Attach(ctx, c.Workspace(), p.act(), p.Name, cmp.Or(p.MediaType, "application/octet-stream"), content)
}

// PlanClearParams are the params of run.plan.clear.
type PlanClearParams struct{ actParams }

// PlanCleared is the result of run.plan.clear.
type PlanCleared struct{}

// ClearPlan hides the plan of a run.
func (c Operations) ClearPlan(ctx context.Context, p PlanClearParams) (PlanCleared, error) {
	return PlanCleared{}, runs.ClearPlan(ctx, c.Workspace(), p.act())
}
