package company

// Founding companies, which only commands do.

import (
	"context"
	"strings"

	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/founding"
)

// BootstrapOptions are the choices of Bootstrap. Blank names are the defaults.
type BootstrapOptions struct {
	CompanyName string
	ProjectName string
	Departments []string
	Force       bool
	NoCEO       bool
	NoDirector  bool
}

// BootstrapResult is what Bootstrap made.
type BootstrapResult struct {
	WorkspaceDir string `json:"workspace_dir"`
	CompanyName  string `json:"company_name"`
	founding.Company
}

// Bootstrap makes a workspace with a company of departments, all or nothing, and
// tells the department keys that it does not know.
func (c *Company) Bootstrap(ctx context.Context, o BootstrapOptions) (result BootstrapResult, unknown []string, err error) {
	chosen, unknown, err := founding.Choose(o.Departments)
	if err != nil {
		return result, unknown, err
	}
	plan := founding.Plan{
		CompanyName: orDefault(o.CompanyName, "AgentCompany"), ProjectName: orDefault(o.ProjectName, "AgentCompany Ops"),
		Departments: chosen, NoCEO: o.NoCEO, NoDirector: o.NoDirector,
	}
	result = BootstrapResult{WorkspaceDir: c.given, CompanyName: plan.CompanyName}
	f := workspace.Founding{CompanyName: plan.CompanyName, Busy: atRestSoon(ctx), Forced: "replace the workspace that is there"}
	f.Build = func(w *workspace.Workspace) (err error) {
		result.Company, err = plan.Bootstrap(ctx, w)
		return err
	}
	if o.Force {
		err = workspace.Refound(ctx, c.all.env, c.dir, f)
	} else {
		err = workspace.Found(ctx, c.all.env, c.dir, f)
	}
	return result, unknown, err
}

// Demo makes a workspace with a small company to look around in, all or nothing.
// With force it adds one to a directory that has something in it, of which
// nothing is lost.
func (c *Company) Demo(ctx context.Context, name string, force bool) (made founding.DemoCompany, err error) {
	build := func(w *workspace.Workspace) (err error) {
		made, err = founding.Demo(ctx, w)
		return err
	}
	err = workspace.Found(ctx, c.all.env, c.dir, workspace.Founding{CompanyName: name, Build: build})
	if !force || !fault.Is(err, fault.NotEmpty) {
		return made, err
	}
	if err := workspace.Init(ctx, c.all.env, c.dir, workspace.InitOptions{CompanyName: name, Force: true}); err != nil {
		return made, err
	}
	w, err := c.workspace(ctx)
	if err != nil {
		return made, err
	}
	return made, build(w)
}

func orDefault(text, standard string) string {
	if strings.TrimSpace(text) == "" {
		return standard
	}
	return text
}
