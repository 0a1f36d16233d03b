package sharepack

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ac/events"
	"ac/internal/fault"
	"ac/internal/redact"
	"ac/workspace"
	"ac/workspace/doc"
	"ac/workspace/validate"
	"ac/workspace/workspacetest"
)

type fixture struct {
	w       *workspace.Workspace
	project string
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	env := workspace.SystemEnv()
	w := workspacetest.New(t, env)
	project, err := w.NewProject(context.Background(), "Checkout")
	if err != nil {
		t.Fatal(err)
	}
	return &fixture{w, project}
}

func (f *fixture) path(name string) string { return filepath.Join(f.w.Dir(), filepath.FromSlash(name)) }

func (f *fixture) write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(f.path(name)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.path(name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// artifact writes a proposal; extra goes into its front matter.
func (f *fixture) artifact(t testing.TB, file, id, visibility, run, extra, body string) {
	t.Helper()
	f.write(t, workspace.ArtifactsDir(f.project)+"/"+file, fmt.Sprintf(
		"---\nschema_version: 1\ntype: proposal\nid: %s\ncreated_at: 2026-01-02T03:04:05.678Z\ntitle: T\nvisibility: %s\nproduced_by: human\nrun_id: %s\ncontext_pack_id: ctx_manual\n%s---\n\n# T\n\n## Summary\n\n%s\n\n## Plan\n\n## Risks\n",
		id, visibility, run, extra, body))
}

func event(t testing.TB, visibility, kind string, payload any) string {
	t.Helper()
	line, err := json.Marshal(map[string]any{"schema_version": 1, "session_ref": "local_run_1", "visibility": visibility, "type": kind, "payload": payload})
	if err != nil {
		t.Fatal(err)
	}
	return string(line) + "\n"
}

func printed(t testing.TB, text string) string {
	return event(t, "org", events.ProviderRaw, map[string]string{"stream": "stdout", "chunk": text})
}

func (f *fixture) create(t testing.TB, environ ...string) (CreateResult, doc.SharePack) {
	t.Helper()
	made, err := Create(context.Background(), f.w, redact.NewRedactor(redact.FromEnviron(environ)), f.project, "ann")
	if err != nil {
		t.Fatal(err)
	}
	pack, err := Load(f.w, f.project, made.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, issue := range validate.Folder(f.w.Env, f.w.Dir()).Issues {
		if strings.Contains(issue.Path, "share_packs") { // the runs of these tests have no records
			t.Errorf("the pack is not valid: %v", issue)
		}
	}
	return made, pack
}

// read returns the files of a directory by relative name.
func read(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name)
		files[filepath.ToSlash(rel)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestCreate(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.artifact(t, "art_b.md", "art_b", "org", "run_2", "", "password: hunter2")
	f.artifact(t, "art_a.md", "art_a", "managers", "run_1", "note: kept\n", "plain")
	f.artifact(t, "art_team.md", "art_team", "team", "run_3", "", "")
	f.artifact(t, "art_own.md", "art_own", "private_agent", "run_3", "", "")
	f.artifact(t, "stray.md", "art_else", "org", "run_3", "", "")
	f.artifact(t, "art_c.md", "art_c", "org", "' '", "", "")
	f.artifact(t, "art_d.md", "art_d", "org", "../../../../secret", "", "")
	f.artifact(t, "art_e.md", "art_e", "org", "run_none", "", "")
	f.artifact(t, "art_f.md", "art_f", "org", "run_private", "", "")
	f.write(t, workspace.ArtifactsDir(f.project)+"/art_x.patch", "no artifact")
	f.write(t, workspace.LogFile(f.project, "run_1"), "{ \"b\" : 1, \"a\":{\"token\":\"x\"} , \"visibility\" : \"org\" }\n\n"+
		event(t, "team", "x", nil)+event(t, "managers", "x", nil)+"{\"visibility\":5}\r\n[\"api_key=1\"]\ntorn api_key=abc {\n"+`{"type":"last"`)
	f.write(t, workspace.LogFile(f.project, "run_2"), event(t, "org", "x", nil))
	f.write(t, workspace.LogFile(f.project, "run_private"), event(t, "private_agent", "x", nil))
	made, pack := f.create(t)

	base := "work/projects/" + f.project
	bundle := base + "/share_packs/" + made.ID + "/bundle"
	want := doc.SharePack{
		SchemaVersion: 1, Type: "share_pack", ID: made.ID, CreatedAt: pack.CreatedAt, ProjectID: f.project, CreatedBy: "ann", Visibility: "managers",
		IncludedFiles: []doc.IncludedFile{{SourceRelpath: base + "/memory.md", BundleRelpath: bundle + "/project_memory.md"}},
		IncludedRuns: []doc.IncludedRun{
			{RunID: "run_1", SourceRelpath: base + "/runs/run_1/events.jsonl", BundleRelpath: bundle + "/run_events/run_1.events.jsonl", IncludedEventCount: 6},
			{RunID: "run_2", SourceRelpath: base + "/runs/run_2/events.jsonl", BundleRelpath: bundle + "/run_events/run_2.events.jsonl", IncludedEventCount: 1},
		},
	}
	for _, id := range []string{"art_a", "art_b", "art_c", "art_d", "art_e", "art_f"} {
		visibility := "org"
		if id == "art_a" {
			visibility = "managers"
		}
		want.IncludedArtifacts = append(want.IncludedArtifacts, doc.IncludedArtifact{
			ArtifactID: id, Type: "proposal", Visibility: visibility, SourceRelpath: base + "/artifacts/" + id + ".md", BundleRelpath: bundle + "/" + id + ".md",
		})
	}
	if diff := cmp.Diff(want, pack); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(CreateResult{ID: made.ID, ArtifactIDs: []string{"art_a", "art_b", "art_c", "art_d", "art_e", "art_f"}, RunIDs: []string{"run_1", "run_2"}}, made); diff != "" {
		t.Error(diff)
	}
	files := read(t, f.path(bundle))
	log := `{"b":1,"a":{"token":"[REDACTED]"},"visibility":"org"}` + "\n" + event(t, "managers", "x", nil) + `{"visibility":5}` + "\n" + `["api_key=[REDACTED]"]` + "\n" +
		"torn api_key=[REDACTED] {\n" + `{"type":"last"` + "\n"
	if diff := cmp.Diff(log, files["run_events/run_1.events.jsonl"]); diff != "" {
		t.Error(diff)
	}
	if text := files["art_b.md"]; strings.Contains(text, "hunter2") || !strings.Contains(text, "password: [REDACTED]") {
		t.Errorf("artifact: %s", text)
	}
	if len(files) != 9 {
		t.Errorf("%d files", len(files))
	}
}

// TestCreateOfNothing checks that a pack needs neither artifacts nor memory.
func TestCreateOfNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, name := range []string{workspace.ArtifactsDir(f.project), workspace.MemoryFile(f.project), workspace.SharePacksDir(f.project)} {
		if err := os.RemoveAll(f.path(name)); err != nil {
			t.Fatal(err)
		}
	}
	made, pack := f.create(t)
	if len(pack.IncludedArtifacts)+len(pack.IncludedFiles)+len(pack.IncludedRuns) > 0 {
		t.Errorf("%+v", pack)
	}
	text, err := os.ReadFile(f.path(workspace.SharePackFile(f.project, made.ID)))
	if err != nil || !strings.HasSuffix(string(text), "included_artifacts: []\nincluded_files: []\nincluded_runs: []\n") {
		t.Errorf("%s (%v)", text, err)
	}
}

// TestRefused checks that an error names its cause and leaves nothing behind.
func TestRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file, id, body string
		whole          string
		want           string
	}{
		"traversal":    {file: "art_1.md", id: "../../escape", want: "art_1.md: id"},
		"backslash":    {file: "art_1.md", id: `a\b`, want: "art_1.md: id"},
		"dots":         {file: "art_1.md", id: "..", want: "art_1.md: id"},
		"twice":        {file: "other.md", id: "art_0", want: "other.md"},
		"memory":       {file: "project_memory.md", id: "project_memory", want: "project_memory.md"},
		"no head":      {file: "art_1.md", whole: "# T\n", want: "art_1.md"},
		"bad head":     {file: "art_1.md", whole: "---\nid: [\n---\n", want: "art_1.md"},
		"wrong schema": {file: "art_1.md", whole: "---\nschema_version: 1\ntype: odd\n---\n", want: "art_1.md"},
		"no headings":  {file: "art_1.md", whole: "---\nschema_version: 1\ntype: proposal\nid: art_1\ncreated_at: x\ntitle: T\nvisibility: team\nproduced_by: h\nrun_id: r\ncontext_pack_id: c\n---\n\n# T\n", want: "## Summary"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.artifact(t, "art_0.md", "art_0", "org", "run_1", "", "")
			f.write(t, workspace.LogFile(f.project, "run_1"), event(t, "org", "x", nil))
			if c.whole != "" {
				f.write(t, workspace.ArtifactsDir(f.project)+"/"+c.file, c.whole)
			} else {
				f.artifact(t, c.file, c.id, "org", "run_1", "", "")
			}
			before := read(t, f.w.Dir())
			_, err := Create(context.Background(), f.w, redact.NewRedactor(nil), f.project, "ann")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want one that names %s", err, c.want)
			}
			if diff := cmp.Diff(before, read(t, f.w.Dir())); diff != "" {
				t.Errorf("left behind:\n%s", diff)
			}
			for _, dir := range []string{".local/tmp", workspace.SharePacksDir(f.project)} {
				if entries, err := os.ReadDir(f.path(dir)); err == nil && len(entries) > 0 {
					t.Errorf("%s: %v", dir, entries)
				}
			}
		})
	}
	f := newFixture(t)
	if _, err := Create(context.Background(), f.w, redact.NewRedactor(nil), "proj_none", "ann"); !fault.Is(err, fault.NotFound) {
		t.Errorf("a project that is not there: %v", err)
	}
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	f.artifact(t, "art_0.md", "art_0", "org", "run_1", "", "")
	if _, err := Create(canceled, f.w, redact.NewRedactor(nil), f.project, "ann"); err == nil {
		t.Error("a canceled one was made")
	}
}

// TestSymlinksAway checks that nothing outside the workspace gets into a pack.
func TestSymlinksAway(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("{\"from\":\"outside\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.artifact(t, "art_0.md", "art_0", "org", "run_1", "", "")
	for _, name := range []string{workspace.LogFile(f.project, "run_1"), workspace.MemoryFile(f.project)} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(f.path(name)), 0o755), os.RemoveAll(f.path(name)), os.Symlink(outside, f.path(name))); err != nil {
			t.Fatal(err)
		}
	}
	made, pack := f.create(t)
	if len(pack.IncludedFiles)+len(pack.IncludedRuns) > 0 {
		t.Errorf("%+v", pack)
	}
	for name, text := range read(t, f.path(workspace.SharePackDir(f.project, made.ID))) {
		if strings.Contains(text, "outside") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// TestFiftySecrets plants secrets wherever a pack takes text from, and checks that none gets
// into the pack.
func TestFiftySecrets(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	planted := []string{}
	secret := func() string {
		s := fmt.Sprintf("Q%02d%x", len(planted), sha256.Sum256([]byte{byte(len(planted))}))[:40]
		planted = append(planted, s)
		return s
	}
	quoted := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	environ := []string{
		"DEPLOY_TOKEN=" + secret(), "DB_PASSWD=two words " + secret(), "PRIVATE_KEY=line one\nline \"two\" " + secret(), "CREDENTIALS={\"a\":\"" + secret() + "\\\\\"}",
	}
	value := func(i int) string { _, v, _ := strings.Cut(environ[i], "="); return v }
	head := "api_key: " + secret() + "\nnested:\n  client_secret: \"" + secret() + "\"\n  password: |\n    " + secret() + "\n  list: [\"sk-" + secret() + "\"]\n"
	body := "- **Password:** " + secret() + "\n- `token`: `" + secret() + "`\n\n```sh\nexport MY_API_KEY=" + secret() + "\ncurl -H 'Authorization: Bearer " + secret() + "' https://bob:" + secret() + "@example.org\n```\n\n" +
		"| a | ghp_" + secret() + " |\n\n-----BEGIN OPENSSH PRIVATE KEY-----\n" + secret() + "\n" + secret() + "\n-----END OPENSSH PRIVATE KEY-----\n" + value(0) + " " + value(1) + " " + value(2) + " " + value(3)
	f.artifact(t, "art_1.md", "art_1", "org", "run_1", head, body)
	f.write(t, workspace.MemoryFile(f.project), "# Memory\n\nsecret = "+secret()+"\nglpat-"+secret()+"\ngithub_pat_"+secret()+"\nkey AIza"+secret()+"\n"+value(0)+"\n")

	var log strings.Builder
	log.WriteString(event(t, "org", "run.executing", map[string]any{
		"argv": []string{"tool", "--token", secret(), "--api-key=" + secret(), "-H", "X-Api-Key: " + secret(), "--url", "redis://:" + secret() + "@db", value(0), "sh", "-c", "PASSWORD='" + secret() + "' run"},
		"env":  map[string]any{"OPENAI_API_KEY": secret(), "list": []string{"SECRET=" + secret()}, "pairs": []any{map[string]string{"name": "AUTH_TOKEN", "value": secret()}}},
	}))
	log.WriteString(event(t, "managers", "prompt", map[string]any{"prompt": "Use the password: " + secret() + "\nand token=\"" + secret() + " with words\" and xoxb-" + secret() + "\n" + value(1) + value(2)}))
	deep := map[string]any{"a": []any{map[string]any{"accessToken": secret()}, "Basic dXNlcjpwYXNz", map[string]any{"api_key": []string{secret()}, "text": "sk-ant-api03-" + secret()}}}
	for range 3 { // JSON in JSON
		deep = map[string]any{"deep": deep, "chunk": quoted(deep)}
		log.WriteString(event(t, "org", "nested", deep))
	}
	log.WriteString(printed(t, "\x1b[31msk-proj-"+secret()+"\x1b[0m\n"+quoted(map[string]string{"refresh_token": secret(), "env": value(2)})+"\n"+value(3)))
	log.WriteString(printed(t, quoted(quoted(map[string]string{"v": value(2) + value(3)}))+"\n"))
	// Secrets split across chunks: in two, in many, with other events and another stream in
	// between.
	cut := "token is ghp_" + secret() + " ok\n"
	log.WriteString(printed(t, "é "+cut[:20]) + event(t, "org", "x", 1) + event(t, "org", events.ProviderRaw, map[string]string{"stream": "stderr", "chunk": "between\n"}) + printed(t, cut[20:]))
	across := []string{
		"a password=" + secret() + " b", "{\"api_key\":\"" + secret() + "\"}", "-----BEGIN PRIVATE KEY-----\n" + secret() + "\n" + secret() + "\n-----END PRIVATE KEY-----\n", "Bearer " + secret(),
		"eyJhbGciOiJIUzI1NiJ9.eyJ" + secret() + "." + secret(), "password:\n  " + secret() + "\n", "https://bob:" + secret() + "@h\n", value(0) + " ", value(1) + " ", value(2) + "\n",
	}
	for i, text := range across {
		for len(text) > 0 {
			n := min(len(text), i%5+3)
			log.WriteString(printed(t, text[:n]))
			text = text[n:]
		}
		log.WriteString(printed(t, "\n\n"))
	}
	log.WriteString("no JSON, token: " + secret() + "\n{\"torn\":\"sk-" + secret() + "\n")
	for len(planted) < 55 {
		log.WriteString(event(t, "org", "x", map[string]string{fmt.Sprintf("MY_SECRET_%d", len(planted)): secret()}))
	}
	f.write(t, workspace.LogFile(f.project, "run_1"), log.String())

	made, pack := f.create(t, environ...)
	if len(pack.IncludedRuns) != 1 || len(pack.IncludedArtifacts) != 1 || len(pack.IncludedFiles) != 1 {
		t.Fatalf("%+v", pack)
	}
	files := read(t, f.path(workspace.SharePackDir(f.project, made.ID)))
	for name, text := range files {
		for i, s := range planted {
			if at := strings.Index(text, s[:12]); at >= 0 {
				t.Errorf("secret %d is in %s: %.200s", i, name, text[max(0, at-100):])
			}
		}
	}
	// Search the joined chunks for pieces of secrets.
	var streamed strings.Builder
	for line := range strings.Lines(files["bundle/run_events/run_1.events.jsonl"]) {
		var e struct {
			Payload struct{ Chunk string }
		}
		if json.Unmarshal([]byte(line), &e) == nil {
			streamed.WriteString(e.Payload.Chunk)
		}
	}
	for i, s := range planted {
		for at := 0; at+12 <= len(s); at++ {
			if strings.Contains(streamed.String(), s[at:at+12]) {
				t.Errorf("secret %d is in the chunks put together", i)
				break
			}
		}
	}
	if kept := "é token is [REDACTED_GITHUB_TOKEN]between\n ok\n"; !strings.Contains(streamed.String(), kept) {
		t.Errorf("%q is gone: %s", kept, streamed.String())
	}
	t.Logf("%d secrets planted, %d files searched", len(planted), len(files))
}

// TestLongLine checks that a line that cannot be redacted is replaced by a note.
func TestLongLine(t *testing.T) {
	t.Parallel()
	redactor := redact.NewRedactor(nil)
	for name, line := range map[string]events.Line{
		"long": {Seq: 7, Long: true, Raw: []byte(`{"visibility":"org","payload":"abc`)},
		"deep": {Seq: 7, Raw: bytes.Repeat([]byte("["), 20_000)},
	} {
		text, leaves := redactLine(redactor, nil, line, newSeams(redactor))
		if !leaves || string(text) != "[line 7 of the log is omitted: it is too long or too deeply nested to be redacted]" {
			t.Errorf("%s: %q %v", name, text, leaves)
		}
	}
}
