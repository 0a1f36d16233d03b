package index

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"ac/workspace"
)

// TestOddLogs replaces logs with things that are not regular files. All other logs are indexed,
// and nothing blocks.
func TestOddLogs(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "ws")
	if err := workspace.Init(t.Context(), workspace.SystemEnv(), dir, workspace.InitOptions{CompanyName: "Acme"}); err != nil {
		t.Fatal(err)
	}
	w, err := workspace.Open(workspace.SystemEnv(), dir)
	if err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "outside.jsonl")
	line := []byte(`{"type":"note.said","ts_wallclock":"2026-01-02T03:04:05.678Z"}` + "\n")
	if err := os.WriteFile(outside, line, 0o600); err != nil {
		t.Fatal(err)
	}
	odd := []func(name string) error{
		func(name string) error { return syscall.Mkfifo(name, 0o600) },
		func(name string) error { return os.Mkdir(name, 0o700) },
		func(name string) error { return os.Symlink(outside, name) },
		func(name string) error { return os.Symlink("events.jsonl", name) },
		func(name string) error { return syscall.Mknod(name, syscall.S_IFSOCK|0o600, 0) },
		func(name string) error { return os.WriteFile(name, line, 0o600) },
	}
	for i, place := range odd {
		id := fmt.Sprintf("run_%d", i)
		run := filepath.Join(dir, filepath.FromSlash(workspace.RunDir("p", id)))
		record := fmt.Sprintf("schema_version: 1\ntype: run\nid: %s\nproject_id: p\nagent_id: a\nprovider: cmd\ncreated_at: 2026-01-01T00:00:00.000Z\nstatus: ended\n"+
			"ended_at: 2026-01-01T00:01:00.000Z\ncontext_pack_id: c\nevents_relpath: work/projects/p/runs/%s/events.jsonl\n", id, id)
		if err := errors.Join(os.MkdirAll(run, 0o750), os.WriteFile(filepath.Join(run, "run.yaml"), []byte(record), 0o600), place(filepath.Join(run, "events.jsonl"))); err != nil {
			t.Fatal(err)
		}
	}
	ix := For(w)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for range 2 { // built, then updated
		if _, err := ix.Sync(ctx); err != nil {
			t.Fatal(err)
		}
		if err := ix.View(ctx, func(v *View) error {
			s, err := v.Stats()
			if err == nil && (s.Runs != len(odd) || s.Events != 1) {
				t.Errorf("%+v", s)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(ix.Close(), w.Close()); err != nil {
		t.Error(err)
	}
}
