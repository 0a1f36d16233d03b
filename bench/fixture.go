package main

// Workspaces for measurements. They are written without a sync for each file and synced as a whole
// at the end.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"time"

	"ac/internal/clock"
	"ac/internal/durable"
	"ac/runs"
	"ac/workspace"
	"ac/workspace/doc"
)

// unsynced is a file system whose syncs are no-ops.
type unsynced struct{ durable.FS }

func (u unsynced) SyncDir(string) error { return nil }

func (u unsynced) OpenFile(name string, flag int, perm fs.FileMode) (durable.File, error) {
	f, err := u.FS.OpenFile(name, flag, perm)
	return unsyncedFile{f}, err
}

type unsyncedFile struct{ durable.File }

func (unsyncedFile) SyncData() error { return nil }

// size is the content of a workspace. All runs are finished and belong to one project.
type size struct{ teams, agents, projects, runs int }

// settled is the age that a document must have before its parsed form may be cached.
const settled = 2 * time.Second

// fixture creates a workspace of the given size.
func (b *bench) fixture(ctx context.Context, dir string, n size) (err error) {
	env := workspace.SystemEnv()
	env.OpenFS = func(dir string) (durable.FS, error) {
		root, err := durable.OpenRoot(dir)
		return unsynced{root}, err
	}
	if err := workspace.Init(ctx, env, dir, workspace.InitOptions{CompanyName: "Bench"}); err != nil {
		return err
	}
	w, err := workspace.Open(env, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	teams := []string{""}
	for i := range n.teams {
		id, err := w.NewTeam(ctx, fmt.Sprintf("Team %d", i))
		if err != nil {
			return err
		}
		teams = append(teams, id)
	}
	for i := range n.agents {
		_, err := w.NewAgent(ctx, workspace.AgentSpec{
			Name: fmt.Sprintf("Agent %d", i), Role: "worker", Provider: "cmd", TeamID: teams[i%len(teams)],
		})
		if err != nil {
			return err
		}
	}
	project := ""
	for i := range n.projects {
		if project, err = w.NewProject(ctx, fmt.Sprintf("Project %d", i)); err != nil {
			return err
		}
	}
	if err := finishedRuns(ctx, w, project, n.runs); err != nil {
		return err
	}
	// Pending writes would slow down the measured syncs.
	return exec.CommandContext(ctx, "sync").Run()
}

// finishedRuns creates n finished runs.
func finishedRuns(ctx context.Context, w *workspace.Workspace, project string, n int) error {
	for range n {
		made, err := runs.Create(ctx, w, project, "agent_bench", "cmd")
		if err != nil {
			return err
		}
		err = w.Update(ctx, func(u *workspace.Unit) error {
			file := workspace.RunFile(project, made.RunID)
			run, err := workspace.LoadIn(u, doc.RunCodec, file)
			if err != nil {
				return err
			}
			run.Status, run.EndedAt = doc.StatusEnded, clock.Stamp(w.Env.Clock.Now())
			return workspace.Put(u, doc.RunCodec, file, run, 0o644)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// age waits until the documents of a new fixture are old enough to be cached.
func age(ctx context.Context) error {
	timer := time.NewTimer(settled + 100*time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// newProject creates a project through the server.
func (c *child) newProject(dir string) (id string, err error) {
	var made struct {
		ID string `json:"project_id"`
	}
	err = c.call("workspace.project.create_with_defaults", map[string]any{"workspace_dir": dir, "name": "Bench"}, &made)
	return made.ID, err
}

// newRun creates a run through the server.
func (c *child) newRun(dir, project string) (id string, err error) {
	var made struct {
		ID string `json:"run_id"`
	}
	err = c.call("run.create", map[string]any{"workspace_dir": dir, "project_id": project, "agent_id": "agent_bench", "provider": "cmd"}, &made)
	return made.ID, err
}
