package enterprise_test

import (
	"path/filepath"
	"testing"

	"ac/enterprise"
	"ac/internal/durable/faultfs"
	"ac/workspace"
)

// TestAllOrNothing simulates a crash at every 97th file system call while an enterprise is built.
// It checks that, after recovery, the enterprise is complete or absent.
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
		env.OpenFS, env.PID = faults.Open, 1<<30 // a dead process
		if w, err := workspace.Open(env, dir); err == nil {
			err = w.Update(t.Context(), func(u *workspace.Unit) error {
				_, err := plan.Build(u)
				return err
			})
			more = err != nil
			_ = w.Close() // may fail after the simulated crash
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
