package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ac/company"
	"ac/company/companytest"
	"ac/company/workforce"
	"ac/internal/fault"
)

// TestSharePackReplay calls sharepack.replay with the params of a client.
func TestSharePackReplay(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "ws")
	all := companytest.New(t)
	table := NewTable("test")
	call := func(method string, params map[string]any) (string, error) {
		text, err := json.Marshal(params)
		if err != nil {
			t.Fatal(err)
		}
		result, err := table.Call(ctx, all, method, text)
		if err != nil {
			return "", err
		}
		answer, err := Encode(result)
		return string(answer), err
	}
	if _, err := call("workspace.init", map[string]any{"workspace_dir": dir}); err != nil {
		t.Fatal(err)
	}
	project, err := company.Do(ctx, all, workforce.Operations.NewProject, workforce.NameParams{Dir: company.Dir{WorkspaceDir: dir}, Name: "Checkout"})
	if err != nil {
		t.Fatal(err)
	}
	base := filepath.Join(dir, "work", "projects", project)
	log := "{\"type\":\"a\",\"visibility\":\"org\",\"token\":\"x\"}\n{\"type\":\"b\",\"visibility\":\"team\"}\nno JSON\n{\"type\":\"c\"}\n"
	artifact := "---\nschema_version: 1\ntype: proposal\nid: art_1\ncreated_at: x\ntitle: T\nvisibility: org\nproduced_by: human\nrun_id: run_1\ncontext_pack_id: ctx_1\n---\n\n## Summary\n\n## Plan\n\n## Risks\n"
	if err := errors.Join(
		os.Mkdir(filepath.Join(base, "runs", "run_1"), 0o755), os.WriteFile(filepath.Join(base, "runs", "run_1", "events.jsonl"), []byte(log), 0o644),
		os.WriteFile(filepath.Join(base, "artifacts", "art_1.md"), []byte(artifact), 0o644),
	); err != nil {
		t.Fatal(err)
	}
	made, err := company.Do(ctx, all, workforce.Operations.CreateSharePack, workforce.CreateSharePackParams{Dir: company.Dir{WorkspaceDir: dir}, ProjectID: project, CreatedBy: "human"})
	if err != nil {
		t.Fatal(err)
	}
	params := func(more ...any) map[string]any {
		p := map[string]any{"workspace_dir": dir, "project_id": project, "share_pack_id": made.SharePackID}
		for i := 0; i < len(more); i += 2 {
			p[more[i].(string)] = more[i+1]
		}
		return p
	}
	answer := func(mode, events, verified string) string {
		relpath := "work/projects/" + project + "/"
		return `{"share_pack_id":"` + made.SharePackID + `","project_id":"` + project + `","mode":"` + mode + `","runs":[{"run_id":"run_1","source_relpath":"` + relpath +
			`runs/run_1/events.jsonl","bundle_relpath":"` + relpath + `share_packs/` + made.SharePackID + `/bundle/run_events/run_1.events.jsonl","events":[` + events +
			`],"parse_issues":[{"seq":2,"error":"unexpected 'o' at byte 1","raw":"no JSON"}],"verification_issues":[` + verified + `],"deterministic_ok":false}]}`
	}
	const first, last = `{"type":"a","visibility":"org","token":"[REDACTED]"}`, `{"type":"c"}`
	got, err := call("sharepack.replay", params())
	if diff := cmp.Diff(answer("raw", first+","+last, ""), strings.ReplaceAll(got, parseError(got), "unexpected 'o' at byte 1")); err != nil || diff != "" {
		t.Errorf("raw: %v %s", err, diff)
	}
	got, err = call("sharepack.replay", params("mode", "deterministic", "tail", 1, "run_id", "run_1"))
	var result workforce.ReplaySharePackResult
	if err := errors.Join(err, json.Unmarshal([]byte(got), &result)); err != nil {
		t.Fatal(err)
	}
	run := result.Runs[0]
	if len(run.Events) != 1 || string(run.Events[0]) != last || len(run.ParseIssues) != 1 || len(run.VerificationIssues) == 0 || run.DeterministicOK || result.Mode != "deterministic" {
		t.Errorf("deterministic: %s", got)
	}
	for _, issue := range run.VerificationIssues {
		if issue.Seq != 2 {
			t.Errorf("an issue outside the tail: %+v", issue)
		}
	}
	for name, c := range map[string]struct {
		params map[string]any
		field  string // of -32602
		reason fault.Reason
	}{
		"live":        {params: params("mode", "live"), field: "mode"},
		"tail zero":   {params: params("tail", 0), field: "tail"},
		"null run":    {params: params("run_id", nil), field: "run_id"},
		"no pack":     {params: map[string]any{"workspace_dir": dir, "project_id": project}, field: "share_pack_id"},
		"dots":        {params: params("share_pack_id", ".."), field: "share_pack_id"},
		"slash":       {params: params("project_id", "../x"), field: "project_id"},
		"run path":    {params: params("run_id", "a/b"), field: "run_id"},
		"other run":   {params: params("run_id", "run_2"), reason: fault.NotFound},
		"other pack":  {params: params("share_pack_id", "share_2"), reason: fault.NotFound},
		"no place":    {params: params("workspace_dir", t.TempDir()), reason: fault.NotAWorkspace},
		"other place": {params: params("project_id", "proj_2"), reason: fault.NotFound},
	} {
		got, err := call("sharepack.replay", c.params)
		wire := ToWire(err)
		if c.field == "" {
			if wire.Code != CodeApplication || fault.ReasonOf(err) != c.reason {
				t.Errorf("%s: %s %+v", name, got, wire)
			}
			continue
		}
		issues, _ := wire.Data.([]fault.Issue)
		if wire.Code != CodeInvalidParams || len(issues) != 1 || issues[0].Field() != c.field {
			t.Errorf("%s: %s %+v", name, got, wire)
		}
	}
	if _, err := call("sharepack.create", params()); err == nil || ToWire(err).Code != CodeMethodNotFound {
		t.Errorf("sharepack.create: %v", err)
	}
}

// parseError returns the parse error in an answer. Its wording depends on the build.
func parseError(answer string) string {
	_, rest, _ := strings.Cut(answer, `"parse_issues":[{"seq":2,"error":"`)
	text, _, _ := strings.Cut(rest, `","raw"`)
	return text
}
