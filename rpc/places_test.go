package rpc

// Error messages name a workspace by the path its client gave, and files in it by relative
// paths. They never reveal where on the host the workspace is.

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ac/company"
	"ac/company/provisioning"
	"ac/internal/durable/faultfs"
	"ac/workspace"
)

// hostPlaces is a workspace with a company, reached through a symlink.
type hostPlaces struct {
	*testing.T
	all   *company.Host
	table *Table
	given string // the path that clients use: the symlink
	real  string
	made  provisioning.BootstrapEnterpriseResult
}

func newHostPlaces(t *testing.T) *hostPlaces {
	t.Helper()
	env := workspace.SystemEnv()
	env.OpenFS = faultfs.NewPlan(0, faultfs.Broken).Open // never syncs
	h := &hostPlaces{T: t, table: NewTable("test"), all: company.New(company.Options{Env: env})}
	t.Cleanup(func() {
		if err := h.all.Close(); err != nil {
			t.Error(err)
		}
	})
	h.given, h.real = filepath.Join(workspace.Canonical(t.TempDir()), "named"), filepath.Join(workspace.Canonical(t.TempDir()), "real")
	if err := os.Symlink(h.real, h.given); err != nil {
		t.Fatal(err)
	}
	p := provisioning.BootstrapEnterpriseParams{OrgMode: "enterprise", IncludeCEO: true}
	p.WorkspaceDir, p.Departments, p.WorkersPerDept = h.real, []string{"qa"}, 1
	var err error
	if h.made, err = (provisioning.Folder{InFolder: company.InFolder{Folder: h.all.In(h.real)}}).BootstrapEnterprise(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	return h
}

// calls maps the methods of the newest protocol to params that have an effect.
func (h *hostPlaces) calls() map[string]map[string]any {
	project, lead := h.made.ProjectID, h.made.Departments[0]
	worker := lead.WorkerIDs[0]
	delta := func(scope, ref, under string) map[string]any {
		return map[string]any{
			"project_id": project, "visibility": "managers", "produced_by": worker, "run_id": "run_manual", "context_pack_id": "ctx_manual", "title": "T",
			"under_heading": under, "insert_lines": []string{"- a"}, "scope_kind": scope, "scope_ref": ref, "sensitivity": "internal", "rationale": "r", "evidence": []string{"e"},
		}
	}
	intake := map[string]any{"project_name": "S", "ceo_actor_id": "human_ceo", "executive_manager_agent_id": h.made.Leaders.ExecutiveManager, "intake_file": "request.md"}
	return map[string]map[string]any{
		"context.plan_for_job":                 {"project_id": project, "manager_actor_id": "m", "manager_role": "director", "goal": "g", "worker_agent_id": worker},
		"memory.propose_delta":                 delta("project_memory", project, "## Decisions"),
		"memory.propose_delta guidance":        delta("agent_guidance", worker, "## Operating Rules"),
		"memory.list_deltas":                   {"actor_id": "human", "actor_role": "human"},
		"memory.extract_candidates":            {"project_id": project, "actor_id": "human", "actor_role": "human", "job_id": "job_x"},
		"memory.extract_candidates run":        {"project_id": project, "actor_id": "human", "actor_role": "human", "run_id": "run_x"},
		"pipeline.client_intake.run":           intake,
		"pipeline.department.assign_tasks":     {"project_id": project, "department_key": "qa", "director_agent_id": lead.Director, "worker_agent_ids": []string{worker}, "approved_executive_plan_artifact_id": "art_plan"},
		"usage.reconciliation.record":          {"provider": "codex", "period_start": "2026-01-01", "period_end": "2026-01-02", "billed_cost_usd": 1},
		"usage.reconciliation.snapshot":        {},
		"workspace.bootstrap.enterprise":       {"departments": []string{"qa"}, "workers_per_dept": 1},
		"workspace.enterprise.ensure_defaults": {},
	}
}

// try makes every call, checks the error messages, and returns the number of refused calls.
func (h *hostPlaces) try(what, dir string) (refused int) {
	h.Helper()
	for name, params := range h.calls() {
		params["workspace_dir"] = dir
		raw, err := json.Marshal(params)
		if err != nil {
			h.Fatal(err)
		}
		method, _, _ := strings.Cut(name, " ")
		_, err = h.table.Call(h.Context(), h.all, method, raw)
		if err == nil {
			continue
		}
		refused++
		message := ToWire(err).Message
		if rest := strings.ReplaceAll(message, dir, ""); strings.Contains(rest, filepath.Dir(h.real)) || strings.Contains(rest, filepath.Dir(h.given)) {
			h.Errorf("%s, %s: %s", what, name, message)
		}
	}
	return refused
}

// TestMessagesNameNoHostPaths breaks each file that these methods read, in several ways. No
// error message may contain a host path.
func TestMessagesNameNoHostPaths(t *testing.T) {
	t.Parallel()
	h := newHostPlaces(t)
	project, lead := h.made.ProjectID, h.made.Departments[0]
	ways := map[string]func(name string) error{
		"gone":      func(string) error { return nil },
		"directory": func(name string) error { return os.Mkdir(name, 0o750) },
		"file":      func(name string) error { return os.WriteFile(name, []byte("{ x: ["), 0o600) },
		"outside":   func(name string) error { return os.Symlink(filepath.Dir(h.given), name) },
	}
	refused := h.try("no directory", h.given+"-not") + h.try("below", filepath.Join(h.given, "none"))
	for _, name := range []string{
		workspace.CompanyFile, workspace.ProjectFile(project), workspace.MemoryFile(project), workspace.AgentFile(lead.WorkerIDs[0]), workspace.AgentFile(lead.Director),
		workspace.AgentFile(h.made.Leaders.ExecutiveManager), workspace.GuidanceFile(lead.WorkerIDs[0]), workspace.TeamFile(lead.TeamID), workspace.StatementsFile,
		workspace.ArtifactsDir(project), workspace.ReviewsDir, "request.md", workspace.ArtifactsDir(project) + "/art_plan.md", workspace.ProjectDir(project) + "/jobs",
	} {
		full := filepath.Join(h.real, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o750); err != nil {
			t.Fatal(err)
		}
		for way, breaks := range ways {
			aside := full + ".aside"
			if err := os.Rename(full, aside); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			if err := breaks(full); err != nil {
				t.Fatal(err)
			}
			refused += h.try(name+" "+way, h.given)
			if err := os.RemoveAll(full); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(aside, full); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
		}
	}
	if refused < 100 {
		t.Errorf("only %d calls were refused", refused)
	}
}
