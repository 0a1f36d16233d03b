package main

// The first request of a desktop client.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"ac/workspace"
)

const tasksPerProject = 40

// measureBootstrap times desktop.bootstrap.snapshot of 60 projects with 40 tasks each and 500 runs,
// in a server and as a separate process.
func measureBootstrap(ctx context.Context, b *bench) ([]figure, error) {
	dir := b.path("desktop")
	if err := b.fixture(ctx, dir, size{teams: 5, agents: 20, projects: 60, runs: 500}); err != nil {
		return nil, err
	}
	if err := planned(dir, tasksPerProject); err != nil {
		return nil, err
	}
	if err := age(ctx); err != nil {
		return nil, err
	}
	in := map[string]any{"workspace_dir": dir, "actor_id": "founder", "scope": "workspace", "view": "home"}
	_, warm, err := b.coldAndWarm(ctx, "desktop.bootstrap.snapshot", in)
	if err != nil {
		return nil, err
	}
	params, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	var whole samples
	for range 15 {
		took, err := b.run(ctx, "rpc:call", "--method", "desktop.bootstrap.snapshot", "--params", string(params))
		if err != nil {
			return nil, err
		}
		whole = append(whole, took)
	}
	var start samples
	for range 15 {
		began := time.Now()
		if _, err := b.run(ctx, "rpc:call", "--method", "system.ping"); err != nil {
			return nil, err
		}
		start = append(start, time.Since(began))
	}
	const of = "desktop.bootstrap.snapshot of 60 x 40 tasks, 500 runs, "
	return []figure{
		{Name: of + "warm", Unit: "ms", Seen: ms(warm.median()), Target: 40, Note: warm.spread()},
		{Name: of + "a process", Unit: "ms", Seen: ms(whole.median()), Target: 120, Limit: ms(start.median()), By: "a process that pings", Note: whole.spread()},
	}, nil
}

// planned adds n tasks to every project of a workspace.
func planned(dir string, n int) error {
	projects, err := os.ReadDir(filepath.Join(dir, filepath.FromSlash(workspace.ProjectsDir)))
	for _, project := range projects {
		tasks := filepath.Join(dir, filepath.FromSlash(workspace.ProjectsDir), project.Name(), "tasks")
		err = errors.Join(err, os.MkdirAll(tasks, 0o750))
		for i := range n {
			text := fmt.Sprintf("---\nschema_version: 1\ntype: task\nid: task_%d\nproject_id: %s\ntitle: Task %d\ncreated_at: 2026-01-02T00:00:00.000Z\nstatus: ready\nvisibility: org\n"+
				"schedule:\n  planned_start: 2026-01-02T00:00:00.000Z\n  duration_days: 2\n  depends_on_task_ids: []\n"+
				"milestones:\n  - {id: ms_1, title: First, kind: coding, status: done, acceptance_criteria: [it works]}\n  - {id: ms_2, title: Second, kind: research, status: ready, acceptance_criteria: [it is known]}\n---\n\n# Task\n", i, project.Name(), i)
			err = errors.Join(err, os.WriteFile(filepath.Join(tasks, fmt.Sprintf("task_%d.md", i)), []byte(text), 0o600))
		}
	}
	return err
}
