package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ac/internal/durable"
	"ac/workspace"
)

// foreignCompany creates a workspace as another program might leave it: projects with tasks, one
// of them malformed, and no index.
func foreignCompany(t *testing.T) (dir string, projects []string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "ws")
	env := workspace.SystemEnv()
	if err := workspace.Init(context.Background(), env, dir, workspace.InitOptions{CompanyName: "Acme"}); err != nil {
		t.Fatal(err)
	}
	w, err := workspace.Open(env, dir)
	if err != nil {
		t.Fatal(err)
	}
	for p := range 6 {
		made, err := w.CreateProjectWithDefaults(context.Background(), fmt.Sprint("Project ", p), "", nil)
		if err != nil {
			t.Fatal(err)
		}
		projects = append(projects, made.ID)
		for i := range 8 {
			text := fmt.Sprintf("---\nschema_version: 1\ntype: task\nid: task_%d\nproject_id: %s\ntitle: T\ncreated_at: 2026-01-0%dT00:00:00Z\nstatus: ready\nvisibility: team\n"+
				"schedule: {duration_days: 99999999, depends_on_task_ids: [task_%d]}\ndeliverables: [d]\nacceptance_criteria: [a]\nmilestones: []\n---\n\n## Contract\n\n## Milestones\n", i, made.ID, i+1, i/2)
			if i == 7 {
				text = "---\nschedule: [\n"
			}
			if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(workspace.TasksDir(made.ID)), fmt.Sprintf("task_%d.md", i)), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(w.Close(), os.RemoveAll(filepath.Join(dir, ".local", "index.sqlite"))); err != nil {
		t.Fatal(err)
	}
	return dir, projects
}

// bootstrap requests the desktop's start snapshot in a process of its own. It returns the answer
// without times.
func bootstrap(t *testing.T, dir, project string) string {
	t.Helper()
	params, err := json.Marshal(map[string]string{"workspace_dir": dir, "actor_id": "human_ceo", "scope": "project", "project_id": project, "view": "home"})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "rpc:call", "--method", "desktop.bootstrap.snapshot", "--params", string(params))
	cmd.Env = append(os.Environ(), asProgram+"=1", "GORACE=atexit_sleep_ms=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || stderr.Len() > 0 || bytes.Count(out, []byte("\n")) != 1 {
		t.Errorf("%v %s %.200s", err, &stderr, out)
	}
	return regexp.MustCompile(`"(generated_at|sync_ts)":"[^"]*"`).ReplaceAllString(string(out), "")
}

// TestTwelveDesktops requests the snapshot from twelve processes at once, on a workspace without
// an index. All must get the same answer.
func TestTwelveDesktops(t *testing.T) {
	t.Parallel()
	dir, projects := foreignCompany(t)
	answers := make([]string, 12)
	var group sync.WaitGroup
	for i := range answers {
		group.Go(func() { answers[i] = bootstrap(t, dir, projects[0]) })
	}
	group.Wait()
	for i, answer := range answers {
		if answer != answers[0] || !strings.Contains(answer, `"task_count":7`) {
			t.Errorf("answer %d differs: %s", i, cmp.Diff(answers[0], answer))
		}
	}
}

// TestPollsWriteNothing checks that polling changes no file except the index: same size, inode and
// times.
func TestPollsWriteNothing(t *testing.T) {
	t.Parallel()
	dir, projects := foreignCompany(t)
	bootstrap(t, dir, projects[1])
	before := versions(t, dir)
	for _, project := range []string{projects[1], projects[1]} {
		bootstrap(t, dir, project)
	}
	if diff := cmp.Diff(before, versions(t, dir)); diff != "" {
		t.Error(diff)
	}
}

func versions(t *testing.T, dir string) map[string]durable.Version {
	t.Helper()
	found := map[string]durable.Version{}
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.Contains(name, "index") {
			return err
		}
		st, err := e.Info()
		found[name] = durable.VersionOf(st)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
