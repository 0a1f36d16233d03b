package workspace_test

// Creating and replacing whole workspaces under faults.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"ac/internal/durable/faultfs"
	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/validate"
)

// TestInitFaults creates a workspace under every fault. A failure leaves nothing behind. A death
// leaves either no target folder or a complete workspace.
func TestInitFaults(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds() {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			n := 1
			for initAt(t, kind, n) && !t.Failed() {
				n += step()
			}
			if n < 10 {
				t.Errorf("only %d calls were seen", n)
			}
		})
	}
}

func initAt(t *testing.T, kind faultfs.Kind, n int) bool {
	t.Helper()
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "above", "ws")
	plan := faultfs.NewPlan(n, kind)
	env := workspace.SystemEnv()
	env.OpenFS = plan.Open
	env.PID = deadPID
	failure := workspace.Init(ctx, env, dir, workspace.InitOptions{CompanyName: "Acme"})
	hit := plan.Hit()
	if err := plan.CloseAll(); err != nil {
		t.Error(err)
	}
	calm := workspace.SystemEnv()
	calm.OpenFS = faultfs.NewPlan(0, faultfs.Broken).Open
	if failure != nil {
		if hit == "" {
			t.Fatalf("without a fault: %v", failure)
		}
		if kind == faultfs.Death && isWorkspace(t, calm, dir) {
			return true // it died after everything was put in place
		}
		if _, err := os.Stat(filepath.Dir(dir)); err == nil {
			t.Errorf("%s: something is left of a workspace that could not be made", hit)
		}
		if err := workspace.Init(ctx, calm, dir, workspace.InitOptions{CompanyName: "Acme"}); err != nil {
			t.Errorf("%s: it cannot be made afterwards: %v", hit, err)
		}
	}
	if findings := validate.Folder(calm, dir); len(findings.Issues) > 0 {
		t.Errorf("%s: issues: %+v", hit, findings.Issues)
	}
	return hit != ""
}

// isWorkspace reports whether a workspace exists. If so, it must be complete.
func isWorkspace(t *testing.T, env workspace.Env, dir string) bool {
	t.Helper()
	w, err := workspace.Open(env, dir)
	if err != nil {
		return false
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if findings := validate.Folder(env, dir); len(findings.Issues) > 0 {
		t.Errorf("it opens, with issues: %+v", findings.Issues)
	}
	return true
}

// TestInitDeath kills an init with force, and lets another one complete the folder. A document
// that was invalid before is always kept.
func TestInitDeath(t *testing.T) {
	t.Parallel()
	for n := 1; ; n += step() {
		ctx := context.Background()
		dir := t.TempDir()
		spoilt := "type: nonsense\n"
		if err := errors.Join(
			os.WriteFile(filepath.Join(dir, "mine"), nil, 0o600), os.Mkdir(filepath.Join(dir, "company"), 0o750),
			os.WriteFile(filepath.Join(dir, "company", "policy.yaml"), []byte(spoilt), 0o600),
		); err != nil {
			t.Fatal(err)
		}
		plan := faultfs.NewPlan(n, faultfs.Death)
		env := workspace.SystemEnv()
		env.OpenFS = plan.Open
		env.PID = deadPID
		force := workspace.InitOptions{CompanyName: "Acme", Force: true}
		failure := workspace.Init(ctx, env, dir, force)
		if err := plan.CloseAll(); err != nil {
			t.Error(err)
		}
		if plan.Hit() == "" {
			if failure != nil {
				t.Fatal(failure)
			}
			return
		}
		aged(t, dir)
		calm := workspace.SystemEnv()
		calm.OpenFS = faultfs.NewPlan(0, faultfs.Broken).Open
		if w, err := workspace.Open(calm, dir); err == nil {
			if err := errors.Join(w.Recover(ctx), w.Close()); err != nil {
				t.Errorf("%s: %v", plan.Hit(), err)
			}
			if findings := validate.Folder(calm, dir); len(findings.Issues) > 0 {
				t.Errorf("%s: it opens, with issues: %+v", plan.Hit(), findings.Issues)
			}
		}
		if err := workspace.Init(ctx, calm, dir, force); err != nil {
			t.Errorf("%s: %v", plan.Hit(), err)
		}
		if findings := validate.Folder(calm, dir); len(findings.Issues) > 0 {
			t.Errorf("%s: issues: %+v", plan.Hit(), findings.Issues)
		}
		if _, err := os.Stat(filepath.Join(dir, "mine")); err != nil {
			t.Error(err)
		}
		kept, err := filepath.Glob(filepath.Join(dir, "company", "policy.yaml.invalid-*"))
		if err != nil || len(kept) != 1 {
			t.Errorf("%s: the invalid document is kept as %v (%v)", plan.Hit(), kept, err)
		}
		if t.Failed() {
			t.Fatal(fmt.Sprint("stopped at ", n))
		}
	}
}

// TestRefoundUnderFaults replaces one company with another under every fault. Afterwards one of
// the two is there, complete, and other files in the folder are untouched.
func TestRefoundUnderFaults(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds() {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			n := 1
			for refoundAt(t, kind, n) && !t.Failed() {
				n += 4 * step()
			}
		})
	}
}

func founding(t *testing.T, name string) workspace.CreateOptions {
	t.Helper()
	return workspace.CreateOptions{
		CompanyName: name, Busy: func(*workspace.Workspace) error { return nil },
		Build: func(w *workspace.Workspace) error {
			_, err := w.NewProject(context.Background(), name)
			return err
		},
	}
}

func refoundAt(t *testing.T, kind faultfs.Kind, n int) bool {
	t.Helper()
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "ws")
	calm := workspace.SystemEnv()
	calm.OpenFS = faultfs.NewPlan(0, faultfs.Broken).Open
	if err := errors.Join(workspace.Create(ctx, calm, dir, founding(t, "Old")), os.WriteFile(filepath.Join(dir, "mine"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	plan := faultfs.NewPlan(n, kind)
	env := workspace.SystemEnv()
	env.OpenFS, env.PID = plan.Open, deadPID
	failure := workspace.Recreate(ctx, env, dir, founding(t, "New"))
	if err := plan.CloseAll(); err != nil {
		t.Error(err)
	}
	if plan.Hit() == "" && failure != nil {
		t.Fatal(failure)
	}
	aged(t, dir)
	if err := workspace.Init(ctx, calm, dir, workspace.InitOptions{CompanyName: "Third"}); !fault.Is(err, fault.NotEmpty) {
		t.Errorf("%s: it could be made anew: %v", plan.Hit(), err)
	}
	company := wholeCompany(t, calm, dir, plan.Hit())
	if failure == nil && company != "New" {
		t.Errorf("%s: no error, and %s is there", plan.Hit(), company)
	}
	if err := workspace.Recreate(ctx, calm, dir, founding(t, "Newest")); err != nil {
		t.Errorf("%s: %v", plan.Hit(), err)
	}
	if company := wholeCompany(t, calm, dir, plan.Hit()); company != "Newest" {
		t.Errorf("%s: then %s", plan.Hit(), company)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 6 {
		t.Errorf("%s: left: %v (%v)", plan.Hit(), entries, err)
	}
	return plan.Hit() != ""
}

// wholeCompany recovers a workspace and returns its company's name. The only project must have
// the same name.
func wholeCompany(t *testing.T, env workspace.Env, dir, hit string) string {
	t.Helper()
	w, err := workspace.Open(env, dir)
	if err != nil {
		t.Fatalf("%s: %v", hit, err)
	}
	err = w.Recover(context.Background())
	company, companyErr := w.Company()
	projects, listErr := w.Projects()
	if err = errors.Join(err, companyErr, listErr, w.Close()); err != nil {
		t.Fatalf("%s: %v", hit, err)
	}
	if len(projects) != 1 || projects[0].Name != company.Name {
		t.Errorf("%s: %s has the projects %+v", hit, company.Name, projects)
	}
	if found := validate.Folder(env, dir); len(found.Issues) > 0 {
		t.Errorf("%s: %+v", hit, found.Issues)
	}
	return company.Name
}
