package index

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ac/workspace"
)

// filled creates a workspace with some runs.
func filled(t *testing.T) (*company, *workspace.Workspace) {
	t.Helper()
	c, w := newCompany(t, filepath.Join(t.TempDir(), "ws"), false)
	t.Cleanup(func() { must(w.Close()) })
	for i := range childRuns {
		dir := fmt.Sprintf("work/projects/p/runs/r%d", i)
		c.put(dir+"/run.yaml", runYAML(fmt.Sprintf("r%d", i), "a1", "ended"))
		c.put(dir+"/events.jsonl", strings.Repeat(eventLine(i, "note")+"\n", 30))
	}
	return c, w
}

func start(t *testing.T, what, dir string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], dir)
	cmd.Env = append(os.Environ(), childEnv+"="+what)
	stderr := &bytes.Buffer{}
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, stderr
}

// TestManyProcesses lets eight processes build, sync and read one index at once while a ninth
// writes events. No process fails or sees half an index, and the final index equals a rebuilt
// one.
func TestManyProcesses(t *testing.T) {
	t.Parallel()
	manyProcesses(t, func(*workspace.Workspace) {})
}

// TestDeletedUnderManyProcesses is TestManyProcesses with the index file deleted again and
// again.
func TestDeletedUnderManyProcesses(t *testing.T) {
	t.Parallel()
	manyProcesses(t, func(w *workspace.Workspace) {
		files, err := filepath.Glob(Path(w.Dir()) + "*")
		must(err)
		for _, file := range files {
			if err := os.Remove(file); err != nil && !os.IsNotExist(err) {
				t.Error(err)
			}
		}
	})
}

// manyProcesses is the body of both tests. It calls also after every fifth write.
func manyProcesses(t *testing.T, also func(*workspace.Workspace)) {
	c, w := filled(t)
	var wg sync.WaitGroup
	for i := range 8 {
		what := []string{"sync", "rebuild", "read", "sync"}[i%4]
		cmd, stderr := start(t, what, w.Dir())
		wg.Go(func() {
			if err := cmd.Wait(); err != nil {
				t.Errorf("%v: %s", err, stderr)
			}
		})
	}
	for i := range 40 {
		c.append(fmt.Sprintf("work/projects/p/runs/r%d/events.jsonl", i%childRuns), eventLine(i, "policy.denied")+"\n")
		if i%5 == 0 {
			also(w)
		}
	}
	wg.Wait()
	ix := For(w)
	defer ix.Close()
	if _, err := ix.Sync(context.Background()); err != nil {
		t.Fatal(err)
	}
	synced := dump(t, ix)
	if len(synced["events"]) != childRuns*30+40 {
		t.Errorf("%d events", len(synced["events"]))
	}
	if _, err := ix.Rebuild(context.Background()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(dump(t, ix), synced); diff != "" {
		t.Error(diff)
	}
}

// TestKilled kills builders at various moments. They leave a consistent index or none, and the
// next sync is correct.
func TestKilled(t *testing.T) {
	t.Parallel()
	c, w := filled(t)
	ix := For(w)
	defer ix.Close()
	ctx := context.Background()
	for round := range sized(24, 4) {
		what := []string{"rebuild for ever", "sync for ever"}[round%2]
		cmd, _ := start(t, what, w.Dir())
		for i := range 1 + round%5 {
			c.append(fmt.Sprintf("work/projects/p/runs/r%d/events.jsonl", (round+i)%childRuns), eventLine(i, "note")+"\n")
			time.Sleep(time.Duration(round) * time.Millisecond) // chooses the moment of the kill, waits for nothing
		}
		must(cmd.Process.Kill())
		_ = cmd.Wait() // killed
		if _, err := look(ctx, ix, NoSync, whole); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
	}
	if _, err := ix.Sync(ctx); err != nil {
		t.Fatal(err)
	}
	synced := dump(t, ix)
	if _, err := ix.Rebuild(ctx); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(dump(t, ix), synced); diff != "" {
		t.Error(diff)
	}
}
