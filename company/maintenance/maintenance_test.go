package maintenance

// Cheap checks of a workspace, sealing in the background, and validation of files outside
// workspaces.

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ac/audit"
	"ac/company"
	"ac/company/companytest"
	"ac/doctor"
	"ac/heartbeat"
	"ac/internal/fault"
	"ac/internal/frontmatter"
	"ac/internal/yamldoc"
	"ac/runs"
	"ac/workspace"
	"ac/workspace/doc"
	"ac/workspace/workspacetest"
)

// glance returns the result of the cheap checks, without the finding about disk space.
func glance(t *testing.T, all *company.Host, dir string) GlanceResult {
	t.Helper()
	found, err := company.Do(t.Context(), all, Folder.Glance, company.Dir{WorkspaceDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	found.Findings = slices.DeleteFunc(found.Findings, func(c doctor.Check) bool { return c.ID == "disk.free" })
	return found
}

// TestGlance checks that a folder in any state has a result with the status of its worst finding.
func TestGlance(t *testing.T) {
	t.Parallel()
	all := companytest.New(t)
	if found := glance(t, all, filepath.Join(t.TempDir(), "none")); found.Status != doctor.Fail || len(found.Findings) != 1 || found.Beats || !found.SealedAt.IsZero() {
		t.Errorf("no workspace: %+v", found)
	}

	w := workspacetest.New(t, workspace.SystemEnv())
	if found := glance(t, all, w.Dir()); found.Status == doctor.Fail || found.Findings == nil || len(found.Findings) != 0 || !found.Beats || !found.SealedAt.IsZero() {
		t.Errorf("a new workspace: %+v", found)
	}

	_, err := heartbeat.SetConfig(t.Context(), w, func(c *doc.HeartbeatConfig) { c.Enabled = false })
	if err = errors.Join(err, seal(t, all, w)); err != nil {
		t.Fatal(err)
	}
	if found := glance(t, all, w.Dir()); found.Beats || found.SealedAt.IsZero() {
		t.Errorf("sealed, without a heartbeat: %+v", found)
	}

	if err := os.WriteFile(filepath.Join(w.Dir(), workspace.MachineFile), []byte("type: ["), 0o600); err != nil {
		t.Fatal(err)
	}
	found := glance(t, all, w.Dir())
	if !slices.ContainsFunc(found.Findings, func(c doctor.Check) bool { return c.Status == found.Status }) || found.Status != doctor.Fail {
		t.Errorf("a broken machine file: %+v", found)
	}
}

// seal adds a log to a workspace and seals it.
func seal(t *testing.T, all *company.Host, w *workspace.Workspace) error {
	t.Helper()
	addRun(t, w)
	_, err := company.Do(t.Context(), all, Operations.SealAudit, SealParams{Dir: company.Dir{WorkspaceDir: w.Dir()}, KeyFile: filepath.Join(t.TempDir(), "key")})
	return err
}

// addRun adds a run, and so a log, to a workspace.
func addRun(t *testing.T, w *workspace.Workspace) {
	t.Helper()
	project, err := w.NewProject(t.Context(), "P")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := runs.Create(t.Context(), w, project, "agent_a", "cmd"); err != nil {
		t.Fatal(err)
	}
}

// TestSealEvery checks that SealEvery seals open workspaces, and reports and retries a refused key.
// After its context is canceled, it does not seal the next workspace.
func TestSealEvery(t *testing.T) {
	t.Parallel()
	all := companytest.New(t)
	for range 2 {
		w := workspacetest.New(t, workspace.SystemEnv())
		addRun(t, w)
		if _, err := all.In(w.Dir()).Enter(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	key := filepath.Join(t.TempDir(), "key")
	if _, err := AuditKey(all, key); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(key, 0o644); err != nil { //nolint:gosec // others may read it: that is refused
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var refused, sealed []string
	SealEvery(ctx, all, time.Millisecond, key, func(dir string, s audit.SealResult, err error) {
		switch {
		case fault.Is(err, fault.Denied):
			if refused = append(refused, dir); len(refused) == 4 {
				if err := os.Chmod(key, 0o600); err != nil {
					t.Error(err)
				}
			}
		case err != nil || s.Added != 1:
			t.Errorf("%s: %+v %v", dir, s, err)
		default:
			sealed = append(sealed, dir)
			cancel()
		}
	})
	if opened := all.Opened(); len(refused) != 4 || len(sealed) != 1 || sealed[0] != opened[0].Dir() {
		t.Errorf("refused %q, sealed %q", refused, sealed)
	} else if _, ok := audit.LastSealed(opened[1]); ok {
		t.Error("the second one was sealed after the end")
	}
}

// TestValidateFile checks that links are followed. Errors about missing and oversized files name
// the file.
func TestValidateFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	err := errors.Join(
		os.WriteFile(at("good.md"), []byte("text"), 0o600), os.Symlink("good.md", at("link.md")), os.Symlink("none.md", at("loose.md")),
		os.WriteFile(at("long.md"), []byte(strings.Repeat("x", yamldoc.MaxBytes+1)), 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]fault.Reason{
		"good.md": "", "link.md": "", "none.md": fault.NotFound, "loose.md": fault.NotFound, "": fault.InvalidFile, "long.md": fault.InvalidFile,
	} {
		read := ""
		_, err := ValidateFile(at(name), func(text []byte) []frontmatter.Issue {
			read = string(text)
			return nil
		})
		switch {
		case want == "":
			if err != nil || read != "text" {
				t.Errorf("%s: %q %v", name, read, err)
			}
		case !fault.Is(err, want) || !strings.Contains(err.Error(), at(name)):
			t.Errorf("%s: %v", name, err)
		}
	}
}
