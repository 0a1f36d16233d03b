package provisioning

// workspace.init: creating an empty workspace.

import (
	"context"

	"ac/company"
	"ac/internal/fault"
	"ac/workspace"
)

// InitParams are the params of workspace.init.
type InitParams struct {
	company.Dir
	CompanyName string `json:"company_name" is:"default=AgentCompany"`
	Force       bool   `json:"force" is:"default=false"`
}

// CheckFields rejects a blank name.
func (p *InitParams) CheckFields() []fault.Issue {
	return company.NotBlank("company_name", p.CompanyName)
}

// Init turns a folder into a workspace.
func (c Folder) Init(ctx context.Context, p InitParams) (company.OK, error) {
	err := workspace.Init(ctx, c.Host().Env(), c.Path(), workspace.InitOptions{CompanyName: p.CompanyName, Force: p.Force})
	return company.OK{OK: err == nil}, err
}
