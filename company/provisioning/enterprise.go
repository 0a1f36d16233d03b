package provisioning

// workspace.bootstrap.enterprise and workspace.enterprise.ensure_defaults: companies with
// departments.

import (
	"context"
	"errors"
	"strings"
	"time"

	"ac/company"
	"ac/enterprise"
	"ac/internal/fault"
	"ac/workspace"
)

// EnterpriseParams describe a company with departments. Blank names get defaults.
type EnterpriseParams struct {
	_ struct{} `is:"strict"`
	company.Dir
	CompanyName          string   `json:"company_name,omitempty" is:"optional,empty"`
	ProjectName          string   `json:"project_name,omitempty" is:"optional,empty"`
	ExecutiveManagerName string   `json:"executive_manager_name,omitempty" is:"optional,empty"`
	Departments          []string `json:"departments,omitempty" is:"optional"`
	WorkersPerDept       int      `json:"workers_per_dept,omitempty" is:"default=2,min=1,cut=20"`
}

// plan returns the requested company and the unknown departments.
func (p EnterpriseParams) plan(mode string) (plan enterprise.Plan, ignored []string, err error) {
	plan = enterprise.Plan{
		Mode: mode, ProjectName: orDefault(p.ProjectName, "AgentCompany Ops"), WorkersPerDepartment: p.WorkersPerDept,
		ExecutiveManagerName: orDefault(p.ExecutiveManagerName, workspace.ExecutiveManagerTitle), IncludeCEO: true,
	}
	plan.Departments, ignored, err = enterprise.Choose(mode, p.Departments)
	return plan, ignored, err
}

func orDefault(text, standard string) string {
	if strings.TrimSpace(text) == "" {
		return standard
	}
	return text
}

// BootstrapEnterpriseParams are the params of workspace.bootstrap.enterprise.
type BootstrapEnterpriseParams struct {
	_ struct{} `is:"strict"`
	EnterpriseParams
	OrgMode         string `json:"org_mode,omitempty" is:"default=enterprise,enum=enterprise|standard"`
	IncludeCEO      bool   `json:"include_ceo" is:"default=true"`
	IncludeDirector bool   `json:"include_director" is:"default=true"`
	Force           bool   `json:"force,omitempty" is:"default=false"`
}

// BootstrapEnterpriseResult is the result of workspace.bootstrap.enterprise.
type BootstrapEnterpriseResult struct {
	WorkspaceDir string `json:"workspace_dir"`
	CompanyName  string `json:"company_name"`
	enterprise.Company
	// Ignored lists the unknown departments.
	Ignored []string `json:"ignored_departments,omitempty"`
}

// BootstrapEnterprise creates a company with departments, or the missing parts of an existing
// one, atomically.
func (c Folder) BootstrapEnterprise(ctx context.Context, p BootstrapEnterpriseParams) (BootstrapEnterpriseResult, error) {
	result := BootstrapEnterpriseResult{WorkspaceDir: c.Given(), CompanyName: orDefault(p.CompanyName, "AgentCompany")}
	plan, ignored, err := p.plan(p.OrgMode)
	if err != nil {
		return result, err
	}
	plan.IncludeCEO, plan.IncludeDirector, result.Ignored = p.IncludeCEO, p.IncludeDirector, ignored
	f := c.founding(ctx, result.CompanyName, plan, &result.Company)
	if p.Force {
		return result, workspace.Recreate(ctx, c.Host().Env(), c.Path(), f)
	}
	w, founded, err := c.enterOrFound(ctx, f)
	if founded || err != nil {
		return result, err
	}
	if company, err := w.Company(); err == nil {
		result.CompanyName = company.Name
	}
	err = w.Update(ctx, func(u *workspace.Unit) error {
		result.Company, err = plan.Build(u)
		return err
	})
	return result, err
}

// enterOrFound opens the workspace in the folder or creates one. It also opens a workspace that
// another process creates meanwhile. A directory with other content is fault.Conflict.
func (c Folder) enterOrFound(ctx context.Context, f workspace.CreateOptions) (w *workspace.Workspace, founded bool, err error) {
	in, err := c.Enter(ctx)
	if !fault.Is(err, fault.NotAWorkspace) {
		return in.Workspace(), false, err
	}
	if err = c.found(ctx, f); err == nil {
		return nil, true, nil
	}
	if in, again := c.Enter(ctx); again == nil {
		return in.Workspace(), false, nil
	}
	return nil, false, conflicting(err)
}

// founding returns a plan as the initial content of a new workspace.
func (c Folder) founding(ctx context.Context, name string, plan enterprise.Plan, made *enterprise.Company) workspace.CreateOptions {
	return workspace.CreateOptions{
		CompanyName: name, Busy: idleCheckWithGrace(ctx), ForceHint: "replace the existing workspace",
		Build: func(w *workspace.Workspace) error {
			return w.Update(ctx, func(u *workspace.Unit) (err error) {
				*made, err = plan.Build(u)
				return err
			})
		},
	}
}

// How long a call waits for another process that is creating the workspace.
const (
	createTimeout      = 5 * time.Second
	createPollInterval = 20 * time.Millisecond
)

// found calls workspace.Create. If another process is creating the workspace, found waits and
// retries.
func (c Folder) found(ctx context.Context, f workspace.CreateOptions) error {
	for left := createTimeout; ; left -= createPollInterval {
		err := workspace.Create(ctx, c.Host().Env(), c.Path(), f)
		if !errors.Is(err, workspace.ErrBeingMade) || left <= 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(createPollInterval):
		}
	}
}

// conflicting returns fault.Conflict for a directory that is neither empty nor a workspace. It
// returns other errors unchanged.
func conflicting(err error) error {
	if e, ok := errors.AsType[*fault.Error](err); ok && e.Reason == fault.NotEmpty {
		return &fault.Error{Reason: fault.Conflict, Message: e.Message, Cause: err}
	}
	return err
}

// EnsureEnterpriseResult is the result of workspace.enterprise.ensure_defaults.
type EnsureEnterpriseResult struct {
	WorkspaceDir string `json:"workspace_dir"`
	Bootstrapped bool   `json:"bootstrapped"`
	Reason       string `json:"reason"`
	OrgMode      string `json:"org_mode"`
	enterprise.Readiness
	ProjectID string `json:"bootstrap_project_id,omitempty"`
	// Ignored lists the unknown department keys, if a company was created.
	Ignored []string `json:"ignored_departments,omitempty"`
}

// EnsureEnterprise creates a company with departments if the workspace has no company yet. It
// does not change an existing one.
func (c Folder) EnsureEnterprise(ctx context.Context, p EnterpriseParams) (EnsureEnterpriseResult, error) {
	result := EnsureEnterpriseResult{WorkspaceDir: c.Given(), OrgMode: enterprise.ModeEnterprise}
	plan, ignored, err := p.plan(enterprise.ModeEnterprise)
	if err != nil {
		return result, err
	}
	var made enterprise.Company
	w, founded, err := c.enterOrFound(ctx, c.founding(ctx, orDefault(p.CompanyName, "AgentCompany"), plan, &made))
	if err != nil {
		return result, err
	}
	if founded {
		return result.built(made, ignored), nil
	}
	result.Readiness, err = enterprise.CheckReadiness(w)
	if err != nil || !result.Empty {
		return result.kept(), err
	}
	err = w.Update(ctx, func(u *workspace.Unit) error {
		if result.Readiness, err = enterprise.CheckReadiness(w); err != nil || !result.Empty {
			return err
		}
		made, err = plan.Build(u)
		return err
	})
	if err != nil || !result.Empty {
		return result.kept(), err
	}
	return result.built(made, ignored), nil
}

// kept returns the result for a company that was not changed.
func (r EnsureEnterpriseResult) kept() EnsureEnterpriseResult {
	if r.Reason = enterprise.KeptExisting; r.Ready {
		r.Reason = enterprise.AlreadyReady
	}
	return r
}

// built returns the result for a new company.
func (r EnsureEnterpriseResult) built(made enterprise.Company, ignored []string) EnsureEnterpriseResult {
	r.Bootstrapped, r.Reason, r.Readiness, r.ProjectID, r.Ignored = true, enterprise.Bootstrapped, made.Readiness(), made.ProjectID, ignored
	return r
}
