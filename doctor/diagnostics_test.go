package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ac/index"
	"ac/workspace"
)

// TestFiftyCanaries plants fifty secrets in the sources of a diagnostics bundle, and searches
// every file of the bundle for them.
func TestFiftyCanaries(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var canaries, environ []string
	plant := func(format string) string {
		secret := fmt.Sprintf(format, len(canaries)) + "Zq9Xv7Lk3Rt5"
		canaries = append(canaries, secret)
		return secret
	}
	for range 10 { // values of variables with secret-looking names, redacted wherever they occur
		secret := plant("plain%dvalue")
		environ = append(environ, fmt.Sprintf("SERVICE_%d_TOKEN=%s", len(canaries), secret))
	}
	known := strings.Join(canaries, " ")
	shapes := []string{"sk-proj-%02dabcdefghijklmnopqrst", "ghp_%02dabcdefghijklmnopqrstuvwxyzAB", "xoxb-%02d34567890-abcdefghij", "api_key=%02dabcdefghijk", "password: %02dhunter2hunter2"}
	secrets := func(n int) string {
		var b strings.Builder
		for i := range n {
			shape := shapes[i%len(shapes)]
			b.WriteString(" " + plant(shape) + " ")
		}
		return b.String()
	}
	// Agent and team names quoted in warnings, session errors, path mappings.
	f.put("org/teams/team_a/team.yaml", "schema_version: 1\ntype: team\nid: \""+known+secrets(10)+"\"\nname: A\ncreated_at: 2026-01-01T00:00:00Z\n")
	f.put("company/policy.yaml", "type: policy\n\""+secrets(10)+"\": 1\nvisibility_defaults: {\""+secrets(10)+"\": x}\n")
	f.put(workspace.MachineFile, "schema_version: 1\ntype: machine\nrepo_roots: {a: \"/srv/"+secrets(5)+"\"}\nprovider_bins: {codex: \"/nowhere/"+secrets(5)+"\"}\n")
	if len(canaries) != 50 {
		t.Fatalf("%d canaries", len(canaries))
	}
	p := f.patient()
	ix := index.For(p.Workspace)
	defer ix.Close()
	p.Index = IndexCheck(p.Workspace, ix, index.UpToDate, f.dir)
	order := BundleOptions{OutDir: filepath.Join(t.TempDir(), "out"), Version: "test", Environ: environ, Parts: Parts{
		Sessions: func(context.Context) (any, SessionFigures, error) { return []string{known}, SessionFigures{}, nil },
		Monitor:  func(context.Context) (any, MonitorFigures, error) { return []string{known}, MonitorFigures{}, nil },
		Inbox:    func(context.Context) (any, InboxFigures, error) { return []string{known}, InboxFigures{}, nil },
		Stats:    func(context.Context) (any, error) { return nil, errors.New("no index: " + known) },
	}}
	bundle, err := WriteBundle(context.Background(), p, order)
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	err = filepath.WalkDir(bundle.BundleDir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		for _, canary := range canaries {
			value := canary[strings.LastIndexAny(canary, "=: ")+1:]
			if bytes.Contains(text, []byte(value)) {
				t.Errorf("%s holds %s", filepath.Base(path), value)
			}
		}
		return err
	})
	if err != nil || files != 6 || bundle.Files.IndexStats != nil {
		t.Errorf("%d files (%v)", files, err)
	}
	if report, err := os.ReadFile(filepath.Join(bundle.BundleDir, "doctor.json")); err != nil || bytes.Count(report, []byte("REDACTED")) < 20 {
		t.Errorf("the canaries never came near the report (%v): %s", err, report)
	}
	again, err := WriteBundle(context.Background(), p, order)
	if err != nil || again.BundleDir == bundle.BundleDir {
		t.Errorf("the second bundle is %s (%v)", again.BundleDir, err)
	}
}

// TestIndexRepair checks an index that is missing, up to date or corrupt. A corrupt one causes a
// warning, and the repair rebuilds it.
func TestIndexRepair(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p := f.patient()
	ix := index.For(p.Workspace)
	defer ix.Close()
	ctx := context.Background()
	look := func(how index.Freshness) Check { return IndexCheck(p.Workspace, ix, how, f.dir)(ctx) }
	if c := look(index.NoSync); c.Status != Warn || f.exists(indexFile) {
		t.Errorf("missing: %+v", c)
	}
	if c := look(index.UpToDate); c.Status != Pass || len(c.Details) != 14 || c.ID != "index.sync" {
		t.Errorf("synced: %+v", c)
	}
	if c := look(index.NoSync); c.Status != Pass || len(c.Details) != 8 {
		t.Errorf("up to date: %+v", c)
	}
	if c := look(index.FullRebuild); c.Status != Pass || len(c.Details) != 6 || c.ID != "index.rebuild" {
		t.Errorf("rebuilt: %+v", c)
	}
	if mends := RepairIndex(p.Workspace, ix)(ctx, false); len(mends) > 0 {
		t.Errorf("a sound index is mended: %+v", mends)
	}
	if err := ix.Close(); err != nil {
		t.Fatal(err)
	}
	f.put(indexFile, strings.Repeat("no database ", 1000))
	for _, side := range []string{"-wal", "-shm"} {
		if err := os.RemoveAll(f.path(indexFile + side)); err != nil {
			t.Fatal(err)
		}
	}
	ix = index.For(p.Workspace)
	defer ix.Close()
	if c := look(index.NoSync); c.Status != Warn || !strings.Contains(c.Message, "cannot be read") {
		t.Errorf("spoilt: %+v", c)
	}
	if mends := RepairIndex(p.Workspace, ix)(ctx, true); len(mends) != 1 || mends[0].Outcome != Planned {
		t.Errorf("dry: %+v", mends)
	}
	if mends := RepairIndex(p.Workspace, ix)(ctx, false); len(mends) != 1 || mends[0].Outcome != Done {
		t.Errorf("mended: %+v", mends)
	}
	if c := look(index.NoSync); c.Status != Pass {
		t.Errorf("after mending: %+v", c)
	}
}
