package enterprise_test

import (
	"path/filepath"
	"testing"

	"ac/enterprise"
	"ac/internal/durable/faultfs"
	"ac/workspace"
)

// TestAllOrNothing lets every 97th call to the file system fail while a workspace gets
// its company: there is either nothing of it, or all.
func TestAllOrNothing(t *testing.T) {
	t.Parallel()
	plan := enterprise.Plan{Mode: enterprise.ModeEnterprise, ProjectName: "P", ExecutiveManagerName: "E", WorkersPerDepartment: 1, IncludeCEO: true}
	var err error
	if plan.Departments, _, err = enterprise.Choose(plan.Mode, []string{"qa"}); err != nil {
		t.Fatal(err)
	}
	for n, more := 1, true; more && !t.Failed(); n += 97 {
		dir := filepath.Join(t.TempDir(), "ws")
		calm := workspace.SystemEnv()
		calm.OpenFS = faultfs.NewPlan(0, faultfs.Broken).Open
		if err := workspace.Init(t.Context(), calm, dir, workspace.InitOptions{CompanyName: "C"}); err != nil {
			t.Fatal(err)
		}
		faults := faultfs.NewPlan(n, faultfs.Death)
		env := workspace.SystemEnv()
		env.OpenFS, env.PID = faults.Open, 1<<30 // a process that is gone
		if w, err := workspace.Open(env, dir); err == nil {
			err = w.Update(t.Context(), func(u *workspace.Unit) error {
				_, err := plan.Build(u)
				return err
			})
			more = err != nil
			_ = w.Close() // it may be dead
		}
		w, err := workspace.Open(calm, dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		r, err := enterprise.CheckReadiness(w)
		if err != nil || r.Ready == r.Empty {
			t.Errorf("call %d: %+v (%v)", n, r, err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
}
