package main

// Decisions, in a workspace with many reviews.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"ac/internal/clock"
	"ac/internal/ulid"
	"ac/workspace"
	"ac/workspace/doc"
)

// manyReviews is the number of decisions in the measured workspace.
const manyReviews = 3000

func measureGovernance(ctx context.Context, b *bench) ([]figure, error) {
	dir := b.path("governance")
	if err := errors.Join(b.fixture(ctx, dir, size{agents: 1}), reviews(dir, manyReviews), age(ctx)); err != nil {
		return nil, err
	}
	// Write-ahead intent, memory, review and log.
	bare, err := b.syncedFiles("approval", 4)
	if err != nil {
		return nil, err
	}
	c, err := b.serve(ctx)
	if err != nil {
		return nil, err
	}
	proposed, approved, err := c.deltas(dir)
	bareTwo, bareErr := b.syncedFiles("proposal", 3)
	return []figure{
		{
			Name: fmt.Sprintf("approval among %d reviews", manyReviews), Unit: "ms", Seen: ms(approved.median()), Target: 15,
			Limit: ms(bare.median()), By: "4 synced files", Note: approved.spread(),
		},
		{Name: "proposal of a memory delta", Unit: "ms", Seen: ms(proposed.median()), Target: 15, Limit: ms(bareTwo.median()), By: "3 synced files", Note: proposed.spread()},
	}, errors.Join(err, bareErr, c.close())
}

// deltas proposes memory deltas and then approves them, one by one.
func (c *child) deltas(dir string) (proposed, approved samples, err error) {
	project, err := c.newProject(dir)
	if err != nil {
		return nil, nil, err
	}
	run, err := c.newRun(dir, project)
	if err != nil {
		return nil, nil, err
	}
	var made struct {
		ArtifactID string `json:"artifact_id"`
	}
	var items []string
	proposed, err = repeat(40, func() error {
		err := c.call("memory.propose_delta", map[string]any{
			"workspace_dir": dir, "project_id": project, "title": "Bench", "under_heading": "## Decisions", "insert_lines": []string{"- a line"},
			"visibility": "managers", "produced_by": "human", "run_id": run, "context_pack_id": "ctx_manual",
		}, &made)
		items = append(items, made.ArtifactID)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	next := 0
	approved, err = repeat(len(items), func() error {
		id := items[next]
		next++
		return c.call("memory.approve_delta", map[string]any{
			"workspace_dir": dir, "project_id": project, "artifact_id": id, "actor_id": "human", "actor_role": "human",
		}, nil)
	})
	return proposed, approved, err
}

// reviews writes n reviews of unrelated items.
func reviews(dir string, n int) error {
	now := clock.System().Now
	ids := ulid.NewSource(now)
	for range n {
		id := ids.New("rev")
		text, err := doc.ReviewCodec.Encode(doc.Review{
			SchemaVersion: doc.Version, Type: "review", ID: id, CreatedAt: clock.Stamp(now()), ActorID: "human", ActorRole: "human", Decision: "approved",
			Subject: doc.ReviewSubject{Kind: "milestone", ArtifactID: ids.New("art"), ProjectID: "proj_bench"},
			Policy:  doc.ReviewPolicy{Allowed: true, RuleID: "vis.org", Reason: "org_visible"},
		})
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, workspace.ReviewsDir, id+".yaml"), text, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
