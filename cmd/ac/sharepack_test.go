package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ac/cmd/ac/cli"
	"ac/company/workforce"
)

// command runs a command line in this process.
func command(t *testing.T, words ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	a := &cli.App{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs}
	code = run(context.Background(), a, words)
	return out.String(), errs.String(), code
}

// TestSharePackCommands creates a share pack, replays it, and completes its ids. It sets an
// environment variable, so it cannot run in parallel.
func TestSharePackCommands(t *testing.T) {
	t.Setenv("SHARED_TOKEN", "a value without a shape")
	ws := filepath.Join(t.TempDir(), "ws")
	must := func(words ...string) string {
		t.Helper()
		stdout, stderr, code := command(t, words...)
		if code != 0 || stderr != "" {
			t.Fatalf("%v: exit %d, %s", words, code, stderr)
		}
		return strings.TrimSuffix(stdout, "\n")
	}
	must("workspace:init", ws)
	project := must("project:new", ws, "--name", "Checkout")
	var run struct {
		RunID string `json:"run_id"`
	}
	if err := json.Unmarshal([]byte(must("run:new", ws, "--project", project, "--agent", must("agent:new", ws, "--name", "Ann", "--role", "worker", "--provider", "cmd"), "--provider", "cmd")), &run); err != nil {
		t.Fatal(err)
	}
	artifacts := filepath.Join(ws, "work", "projects", project, "artifacts")
	artifact := "---\nschema_version: 1\ntype: proposal\nid: art_1\ncreated_at: x\ntitle: T\nvisibility: org\nproduced_by: human\nrun_id: " + run.RunID +
		"\ncontext_pack_id: ctx_1\n---\n\n## Summary\n\na value without a shape\n\n## Plan\n\n## Risks\n"
	if err := os.WriteFile(filepath.Join(artifacts, "art_1.md"), []byte(artifact), 0o644); err != nil {
		t.Fatal(err)
	}

	line := must("sharepack:create", ws, "--project", project)
	var made workforce.CreateSharePackResult
	if err := json.Unmarshal([]byte(line), &made); err != nil || strings.Contains(line, "\n") {
		t.Fatalf("%q: %v", line, err)
	}
	share := made.SharePackID
	want := `{"share_pack_id":"` + share + `","manifest_relpath":"work/projects/` + project + `/share_packs/` + share + `/manifest.yaml","bundle_relpath":"work/projects/` + project +
		`/share_packs/` + share + `/bundle","included_artifact_ids":["art_1"],"included_run_ids":["` + run.RunID + `"]}`
	if line != want {
		t.Errorf("got  %s\nwant %s", line, want)
	}
	text, err := os.ReadFile(filepath.Join(ws, filepath.FromSlash(made.BundleRelpath), "art_1.md"))
	if err != nil || strings.Contains(string(text), "without a shape") {
		t.Errorf("%s (%v)", text, err)
	}
	manifest, err := os.ReadFile(filepath.Join(ws, filepath.FromSlash(made.ManifestRelpath)))
	if err != nil || !strings.Contains(string(manifest), "created_by: human\n") {
		t.Errorf("%s (%v)", manifest, err)
	}

	// The log is unchanged, so its hash chain is valid.
	replay := must("sharepack:replay", ws, "--project", project, "--share", share, "--mode", "deterministic", "--tail", "none", "--json")
	if !strings.HasPrefix(replay, `{"share_pack_id":"`+share) || !strings.HasSuffix(replay, `"parse_issues":[],"verification_issues":[],"deterministic_ok":true}]}`) || strings.Contains(replay, "\n") {
		t.Errorf("%s", replay)
	}
	if one := must("sharepack:replay", ws, "--project", project, "--share", share, "--run", run.RunID, "--tail", "5"); !strings.Contains(one, `"mode":"raw"`) {
		t.Errorf("%s", one)
	}
	if named := must("sharepack:create", ws, "--project", project, "--by", "ann"); !strings.Contains(named, "share_") {
		t.Errorf("%s", named)
	}

	for flag, word := range map[string]string{"--project": project, "--share": share, "--run": run.RunID, "--mode": "verified"} {
		stdout, _, _ := command(t, "__complete", "sharepack:replay", ws, "--project", project, "--share", share, flag, "")
		if !strings.Contains(stdout, word) {
			t.Errorf("%s is completed with %q", flag, stdout)
		}
	}
	if help := must("sharepack:create", "--help"); !strings.Contains(help, "--by") || !strings.Contains(help, "Examples:") {
		t.Errorf("%s", help)
	}
}

// TestSharePackCommandFaults checks the error messages, and that no share pack is left behind.
func TestSharePackCommandFaults(t *testing.T) {
	t.Parallel()
	ws := filepath.Join(t.TempDir(), "ws")
	if _, stderr, code := command(t, "workspace:init", ws); code != 0 {
		t.Fatal(stderr)
	}
	project, _, _ := command(t, "project:new", ws, "--name", "Checkout")
	project = strings.TrimSpace(project)
	bad := filepath.Join(ws, "work", "projects", project, "artifacts", "art_bad.md")
	if err := os.WriteFile(bad, []byte("no artifact\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		words []string
		want  string
	}{
		{[]string{"sharepack:create", ws}, "error: required option --project is missing"},
		{[]string{"sharepack:create"}, "error: missing argument <dir>"},
		{[]string{"sharepack:create", ws, "--project", project, "--by", " "}, "error: required option --by is missing"},
		{[]string{"sharepack:create", ws, "--project", "../x"}, `ERROR: [{"path":["project_id"]`},
		{[]string{"sharepack:create", ws, "--project", "proj_none"}, "ERROR: project proj_none does not exist"},
		{[]string{"sharepack:create", ws, "--project", project}, "ERROR: work/projects/" + project + "/artifacts/art_bad.md is not a valid artifact: missing_frontmatter"},
		{[]string{"sharepack:replay", ws, "--project", project}, "error: required option --share is missing"},
		{[]string{"sharepack:replay", ws, "--project", project, "--share", "share_none"}, "ERROR: share pack share_none does not exist in project " + project},
		{[]string{"sharepack:replay", ws, "--project", project, "--share", "x", "--mode", "live"}, `ERROR: [{"path":["mode"]`},
		{[]string{"sharepack:replay", ws, "--project", project, "--share", "../x"}, `ERROR: [{"path":["share_pack_id"]`},
	} {
		stdout, stderr, code := command(t, c.words...)
		if code != 1 || stdout != "" || !strings.HasPrefix(stderr, c.want) {
			t.Errorf("%v: exit %d, stdout %q, stderr %q, want %q", c.words, code, stdout, stderr, c.want)
		}
	}
	if entries, err := os.ReadDir(filepath.Join(ws, "work", "projects", project, "share_packs")); err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v (%v)", entries, err)
	}
}
