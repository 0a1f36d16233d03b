package provisioning_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"ac/company"
	"ac/company/provisioning"
	"ac/enterprise"
	"ac/workspace"
	"ac/workspace/validate"
)

// places lists the kinds of directories in which an enterprise can be created.
func places() []string { return []string{"absent", "empty directory", "empty workspace"} }

// placed creates a directory of the given kind.
func placed(t *testing.T, place string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "ws")
	var err error
	switch place {
	case "empty directory":
		err = os.Mkdir(dir, 0o750)
	case "empty workspace":
		err = workspace.Init(t.Context(), workspace.SystemEnv(), dir, workspace.InitOptions{CompanyName: "C"})
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// in returns the folder at a path.
func in(all *company.Host, dir string) provisioning.Folder {
	return provisioning.Folder{InFolder: company.InFolder{Folder: all.In(dir)}}
}

// TestTwoAtOnce has four hosts ensure an enterprise in one directory concurrently. It checks that
// exactly one creates it and that all see all of it.
func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	for _, place := range places() {
		dir := placed(t, place)
		var group sync.WaitGroup
		results := make([]provisioning.EnsureEnterpriseResult, 4)
		for i := range results {
			group.Go(func() {
				all := company.New(company.Options{Env: workspace.SystemEnv()})
				var err error
				p := provisioning.EnterpriseParams{WorkersPerDept: 1, Departments: []string{"qa", "data"}}
				p.WorkspaceDir = dir
				if results[i], err = in(all, dir).EnsureEnterprise(t.Context(), p); err != nil {
					t.Error(err)
				}
				if err := all.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		built := 0
		for _, r := range results {
			if r.Bootstrapped {
				built++
			}
			if !r.Ready || len(r.Departments) != 2 || r.Leaders.ExecutiveManager == "" {
				t.Errorf("%s: %+v", place, r)
			}
		}
		if built != 1 {
			t.Errorf("%s: %d companies were built", place, built)
		}
		if found := validate.Folder(workspace.SystemEnv(), dir); len(found.Issues) > 0 {
			t.Errorf("%+v", found.Issues)
		}
	}
}

// TestBootstrapsAtOnce has four hosts create the same enterprise concurrently in a directory that
// is absent, empty, or an empty workspace. It checks that all get the same result.
func TestBootstrapsAtOnce(t *testing.T) {
	t.Parallel()
	for _, place := range places() {
		dir := placed(t, place)
		var group sync.WaitGroup
		results := make([]provisioning.BootstrapEnterpriseResult, 4)
		for i := range results {
			group.Go(func() {
				all := company.New(company.Options{Env: workspace.SystemEnv()})
				p := provisioning.BootstrapEnterpriseParams{OrgMode: enterprise.ModeEnterprise, IncludeCEO: true}
				p.WorkspaceDir, p.WorkersPerDept, p.Departments = dir, 1, []string{"qa", "data"}
				var err error
				if results[i], err = in(all, dir).BootstrapEnterprise(t.Context(), p); err != nil {
					t.Errorf("%s: %v", place, err)
				}
				if err := all.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		for _, r := range results[1:] {
			if !reflect.DeepEqual(r, results[0]) {
				t.Errorf("%s: %+v beside %+v", place, r, results[0])
			}
		}
	}
}

// TestStarterFiles checks that each new agent has its guidance, role, skills and journal files.
func TestStarterFiles(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "ws")
	all := company.New(company.Options{Env: workspace.SystemEnv()})
	p := provisioning.EnterpriseParams{WorkersPerDept: 1, Departments: []string{"qa"}}
	p.WorkspaceDir = dir
	if _, err := in(all, dir).EnsureEnterprise(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if err := all.Close(); err != nil {
		t.Error(err)
	}
	w, err := workspace.Open(workspace.SystemEnv(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	agents, err := w.Agents()
	if err != nil || len(agents) != 6 {
		t.Fatalf("%d agents (%v)", len(agents), err)
	}
	for _, a := range agents {
		if a.ID == workspace.GlobalManagerID || strings.HasPrefix(a.ID, workspace.SecretaryPrefix) {
			continue
		}
		for _, file := range []string{"AGENTS.md", "role.md", "skills_index.md", "journal.md"} {
			text, err := w.Read(workspace.AgentDir(a.ID) + "/" + file)
			if err != nil || !strings.HasSuffix(string(text), "\n") || strings.HasSuffix(string(text), "\n\n") {
				t.Errorf("%s of %s: %q (%v)", file, a.Name, text, err)
			}
		}
	}
}
