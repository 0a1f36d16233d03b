package main

// Snapshots, which clients poll.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"ac/workspace"
)

// measureSnapshots times the snapshots of 500 runs, the inbox with 3,000 decided artifacts, and the
// first request of a desktop client.
func measureSnapshots(ctx context.Context, b *bench) (found []figure, err error) {
	dir := b.path("snapshots")
	if err := b.fixture(ctx, dir, size{teams: 5, agents: 20, projects: 1, runs: 500}); err != nil {
		return nil, err
	}
	if err := age(ctx); err != nil {
		return nil, err
	}
	for _, method := range []string{"monitor.snapshot", "ui.snapshot", "workspace.home.snapshot", "resources.snapshot"} {
		for _, sync := range []bool{true, false} {
			if !sync && method != "monitor.snapshot" && method != "ui.snapshot" {
				continue // the other methods always sync
			}
			_, warm, err := b.coldAndWarm(ctx, method, map[string]any{"workspace_dir": dir, "sync_index": sync})
			if err != nil {
				return nil, err
			}
			f := figure{Name: method + " of 500 runs, synced", Unit: "ms", Seen: ms(warm.median()), Target: 15, Note: warm.spread()}
			if !sync {
				f.Name, f.Target = method+" of 500 runs, not synced", 3
			}
			found = append(found, f)
		}
	}
	dir = b.path("decided")
	if err := b.fixture(ctx, dir, size{projects: 1}); err != nil {
		return nil, err
	}
	if err := decided(dir, 3000); err != nil {
		return nil, err
	}
	if err := age(ctx); err != nil {
		return nil, err
	}
	_, warm, err := b.coldAndWarm(ctx, "inbox.snapshot", map[string]any{"workspace_dir": dir})
	if err != nil {
		return nil, err
	}
	found = append(found, figure{
		Name: "inbox.snapshot, 3,000 artifacts and reviews", Unit: "ms", Seen: ms(warm.median()), Target: 20, Note: warm.spread(),
	})
	desktop, err := measureBootstrap(ctx, b)
	return append(found, desktop...), err
}

// decided creates n artifacts with reviews in the first project of a workspace.
func decided(dir string, n int) error {
	projects, err := os.ReadDir(filepath.Join(dir, filepath.FromSlash(workspace.ProjectsDir)))
	if err != nil || len(projects) == 0 {
		return errors.Join(err, errors.New("the workspace has no project"))
	}
	project := projects[0].Name()
	artifacts := filepath.Join(dir, filepath.FromSlash(workspace.ArtifactsDir(project)))
	if err := os.MkdirAll(artifacts, 0o750); err != nil {
		return err
	}
	for i := range n {
		artifact := fmt.Sprintf("---\ntype: memory_delta\nid: art_%d\ncreated_at: 2026-01-02T00:00:00.%03dZ\n---\n", i, i%1000)
		review := fmt.Sprintf("schema_version: 1\ntype: review\nid: rev_%d\ncreated_at: 2026-01-02T00:00:00.%03dZ\nactor_id: human\nactor_role: human\ndecision: approved\n"+
			"subject:\n  kind: memory_delta\n  artifact_id: art_%d\n  project_id: %s\npolicy:\n  allowed: true\n  rule_id: r\n  reason: r\n", i, i%1000, i, project)
		err := errors.Join(
			os.WriteFile(filepath.Join(artifacts, fmt.Sprintf("art_%d.md", i)), []byte(artifact), 0o600),
			os.WriteFile(filepath.Join(dir, filepath.FromSlash(workspace.ReviewsDir), fmt.Sprintf("rev_%d.yaml", i)), []byte(review), 0o600),
		)
		if err != nil {
			return err
		}
	}
	return nil
}
