package provisioning

// Founding companies. Only commands do this.

import (
	"context"

	"ac/company"
	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/founding"
)

// BootstrapParams are the params of Bootstrap. Blank names get defaults.
type BootstrapParams struct {
	company.Dir
	CompanyName string   `json:"company_name" is:"optional"`
	ProjectName string   `json:"project_name" is:"optional"`
	Departments []string `json:"departments" is:"optional"`
	Force       bool     `json:"force" is:"optional"`
	NoCEO       bool     `json:"no_ceo" is:"optional"`
	NoDirector  bool     `json:"no_director" is:"optional"`
}

// BootstrapResult is the result of Bootstrap.
type BootstrapResult struct {
	WorkspaceDir string `json:"workspace_dir"`
	CompanyName  string `json:"company_name"`
	founding.Company
	// Unknown lists the unknown departments.
	Unknown []string `json:"-"`
}

// Bootstrap creates a workspace with a company of departments, atomically. The result lists
// unknown departments even after an error.
func (c Folder) Bootstrap(ctx context.Context, o BootstrapParams) (result BootstrapResult, err error) {
	chosen, unknown, err := founding.Choose(o.Departments)
	if err != nil {
		return BootstrapResult{Unknown: unknown}, err
	}
	plan := founding.Plan{
		CompanyName: orDefault(o.CompanyName, "AgentCompany"), ProjectName: orDefault(o.ProjectName, "AgentCompany Ops"),
		Departments: chosen, NoCEO: o.NoCEO, NoDirector: o.NoDirector,
	}
	result = BootstrapResult{WorkspaceDir: c.Given(), CompanyName: plan.CompanyName, Unknown: unknown}
	f := workspace.CreateOptions{CompanyName: plan.CompanyName, Busy: idleCheckWithGrace(ctx), ForceHint: "replace the existing workspace"}
	f.Build = func(w *workspace.Workspace) (err error) {
		result.Company, err = plan.Bootstrap(ctx, w)
		return err
	}
	if o.Force {
		err = workspace.Recreate(ctx, c.Host().Env(), c.Path(), f)
	} else {
		err = workspace.Create(ctx, c.Host().Env(), c.Path(), f)
	}
	return result, err
}

// Demo creates a workspace with a demo company, atomically. With Force, it adds a workspace to a
// directory that is not empty, and keeps everything there.
func (c Folder) Demo(ctx context.Context, p InitParams) (made founding.DemoCompany, err error) {
	build := func(w *workspace.Workspace) (err error) {
		made, err = founding.Demo(ctx, w)
		return err
	}
	err = workspace.Create(ctx, c.Host().Env(), c.Path(), workspace.CreateOptions{CompanyName: p.CompanyName, Build: build})
	if !p.Force || !fault.Is(err, fault.NotEmpty) {
		return made, err
	}
	if err := workspace.Init(ctx, c.Host().Env(), c.Path(), workspace.InitOptions{CompanyName: p.CompanyName, Force: true}); err != nil {
		return made, err
	}
	in, err := c.Enter(ctx)
	if err != nil {
		return made, err
	}
	return made, build(in.Workspace())
}
