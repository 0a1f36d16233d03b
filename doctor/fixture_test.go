package doctor

// Fixtures of the tests: a workspace with problems that checks find.

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ac/runs"
	"ac/workspace"
)

// deadPID is above any pid that a system assigns.
const deadPID = 1 << 30

// fixture is a workspace with a project and a run.
type fixture struct {
	t            *testing.T
	env          workspace.Env
	dir          string
	project, run string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, env: workspace.SystemEnv(), dir: filepath.Join(t.TempDir(), "ws")}
	ctx := context.Background()
	if err := workspace.Init(ctx, f.env, f.dir, workspace.InitOptions{CompanyName: "Acme"}); err != nil {
		t.Fatal(err)
	}
	w := f.open(f.env)
	project, err := w.CreateProjectWithDefaults(ctx, "Alpha", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	f.project = project.ID
	run, err := runs.Create(ctx, w, project.ID, project.SecretaryID, "manual")
	if err != nil {
		t.Fatal(err)
	}
	f.run = run.RunID
	f.put(workspace.MachineFile, "schema_version: 1\ntype: machine\nrepo_roots: {}\nprovider_bins: {codex: /nowhere/codex, claude: /nowhere/claude, gemini: /nowhere/gemini}\n")
	return f
}

func (f *fixture) open(env workspace.Env) *workspace.Workspace {
	f.t.Helper()
	w, err := workspace.Open(env, f.dir)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = w.Close() })
	return w
}

func (f *fixture) patient() Target {
	f.t.Helper()
	return Target{Env: f.env, Dir: f.dir, RequestedDir: f.dir, Workspace: f.open(f.env)}
}

func (f *fixture) log() string { return workspace.LogFile(f.project, f.run) }

func (f *fixture) path(name string) string { return filepath.Join(f.dir, name) }

func (f *fixture) put(name, text string) {
	f.t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(f.path(name)), 0o750), os.WriteFile(f.path(name), []byte(text), 0o600)); err != nil {
		f.t.Fatal(err)
	}
}

// old backdates a file by five hours.
func (f *fixture) old(name string) {
	f.t.Helper()
	then := time.Now().Add(-5 * time.Hour)
	if err := os.Chtimes(f.path(name), then, then); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) left(name, text string) {
	f.t.Helper()
	f.put(name, text)
	f.old(name)
}

func (f *fixture) exists(name string) bool {
	_, err := os.Lstat(f.path(name))
	return err == nil
}

func (f *fixture) read(name string) string {
	f.t.Helper()
	text, err := os.ReadFile(f.path(name))
	if err != nil {
		f.t.Fatal(err)
	}
	return string(text)
}

// tear appends a torn line to the run's log.
func (f *fixture) tear() {
	f.t.Helper()
	f.put(f.log(), f.read(f.log())+`{"schema_version":1,"type":"run.st`)
}

const intent = ".local/journal/unit_01M7WQF4000000000000000000.json"

// messes creates every problem that a repair can fix, and returns the number of repairs due.
func (f *fixture) messes() int {
	f.t.Helper()
	f.blocked()
	f.tear()
	if err := os.RemoveAll(f.path("inbox/help_requests")); err != nil {
		f.t.Fatal(err)
	}
	f.left(".local/locks/workspace.write.lock", fmt.Sprintf(`{"pid":%d,"acquired_at":"2026-11-20T15:02:36.819Z"}`+"\n", deadPID))
	f.left(".local/locks/workspace.write.lock.new-abc", fmt.Sprintf(`{"pid":%d}`, deadPID))
	f.left(".local/locks/workspace.write.lock.stale-abc", "")
	f.left(".local/locks/run-0123456789abcdef.lock", "")
	f.left(fmt.Sprintf("company/.company.yaml.tmp-%d-1-abcdef", deadPID), "half")
	f.put(".local/sessions/local_"+f.run+".yaml", "schema_version: 1\ntype: session_record\nsession_ref: local_"+f.run+
		"\nworkspace_dir: "+f.dir+"\nproject_id: "+f.project+"\nrun_id: "+f.run+
		fmt.Sprintf("\nstatus: running\nexit_code: null\nsignal: null\nstarted_at_ms: 1\nowner_pid: %d\nowner_start: x\nsocket: /nowhere/s\n", deadPID))
	return 9
}

// blocked leaves a write-ahead intent in the journal that can never be completed.
func (f *fixture) blocked() {
	f.t.Helper()
	f.put("company/aside", "a file in the way\n")
	f.put(".local/tmp/stage_1/memory.md", "built\n")
	f.put(intent, blockingIntent())
}

// blockingIntent returns an intent that writes a document below a regular file and renames a tree
// into place.
func blockingIntent() string {
	content := []byte("b: 1\n")
	hash := func(text []byte) string { sum := sha256.Sum256(text); return hex.EncodeToString(sum[:]) }
	ops := fmt.Sprintf(`[{"kind":"write","name":"company/aside/b.yaml","content":%q,"perm":420,"after":%q},{"kind":"rename","name":"work/projects/proj_new","from":".local/tmp/stage_1"}]`,
		base64.StdEncoding.EncodeToString(content), hash(content))
	return fmt.Sprintf(`{"version":1,"ops":%s,"hash":%q}`+"\n", ops, hash([]byte(ops)))
}

// snapshotOf returns the names and contents of all files of a tree, without their times.
func snapshotOf(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		text := ""
		if entry.Type().IsRegular() {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text = string(content)
		}
		fmt.Fprintf(&b, "%s %q\n", rel, text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
