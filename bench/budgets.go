package main

// Budgets: summing the use of a project's runs.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"ac/runs/budget"
	"ac/workspace"
)

// measureBudgets sums 10,000 finished runs, each of which reported 1,500 tokens.
func measureBudgets(ctx context.Context, b *bench) (found []figure, err error) {
	const runs, tokens = 10_000, 1500
	dir := b.path("budgets")
	if err := b.fixture(ctx, dir, size{}); err != nil {
		return nil, err
	}
	for i := range runs {
		record := fmt.Sprintf("schema_version: 1\ntype: run\nid: %s\nproject_id: proj\nagent_id: agent\nprovider: cmd\ncreated_at: 2026-01-01T00:00:00.%03dZ\nstatus: ended\n"+
			"ended_at: 2026-01-01T00:01:00.000Z\ncontext_pack_id: ctx\nevents_relpath: x\nusage:\n  source: provider_reported\n  confidence: high\n"+
			"  total_tokens: %d\n  cost_usd: 0.25\nspec:\n  kind: command\n  argv: [\"true\"]\n  task_id: task_%d\n", indexRun(i), i%1000, tokens, i%100)
		place := filepath.Join(dir, filepath.FromSlash(workspace.RunDir("proj", indexRun(i))))
		if err := errors.Join(os.MkdirAll(place, 0o750), os.WriteFile(filepath.Join(place, "run.yaml"), []byte(record), 0o600)); err != nil {
			return nil, err
		}
	}
	if err := age(ctx); err != nil {
		return nil, err
	}
	w, err := workspace.Open(workspace.SystemEnv(), workspace.Canonical(dir))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	sums := budget.NewSums(w)
	sum := func() error {
		totals, err := sums.Of(budget.Subject{Project: "proj", Task: "task_7"})
		if err == nil && (totals.Project.Tokens != runs*tokens || totals.Task.Tokens != runs/100*tokens) {
			err = fmt.Errorf("the sums are %+v", totals)
		}
		return err
	}
	first, err := repeat(1, sum)
	if err != nil {
		return nil, err
	}
	more, err := repeat(30, sum)
	return []figure{
		{Name: "budget sums over 10,000 runs, warm", Unit: "ms", Seen: ms(more.median()), Target: 5, Note: "the first, which reads them all, " + first.median().Round(1e6).String() + "; " + more.spread()},
	}, err
}
