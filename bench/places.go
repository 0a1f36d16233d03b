package main

// Commands on whole workspaces, each in a separate process.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ac/workspace"
)

// run times one process of the program.
func (b *bench) run(ctx context.Context, words ...string) (time.Duration, error) {
	began := time.Now()
	out, err := exec.CommandContext(ctx, b.program, words...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("ac %s: %w: %s", words[0], err, out)
	}
	return time.Since(began), err
}

func measureWorkspace(ctx context.Context, b *bench) ([]figure, error) {
	small, large := b.path("company"), b.path("large")
	if _, err := b.run(ctx, "workspace:bootstrap", small); err != nil {
		return nil, err
	}
	if err := b.fixture(ctx, large, size{teams: 60, agents: 500, projects: 20, runs: 100}); err != nil {
		return nil, err
	}
	spawned, err := spawnTrue(ctx)
	if err != nil {
		return nil, err
	}
	params, err := json.Marshal(map[string]any{"workspace_dir": small})
	if err != nil {
		return nil, err
	}
	opened, err := repeat(30, func() error {
		_, err := b.run(ctx, "rpc:call", "--method", "workspace.open", "--params", string(params))
		return err
	})
	if err != nil {
		return nil, err
	}
	figures := []figure{{
		Name: "rpc:call of workspace.open, whole process", Unit: "ms", Seen: ms(opened.median()), Target: 20,
		Limit: ms(spawned.median()), By: "spawn of true", Note: "a company of two departments; " + opened.spread(),
	}}
	copied, copyErr := b.measureCopies(ctx, large)
	sealed, sealErr := b.measureMigration(ctx)
	return slices.Concat(figures, copied, sealed), errors.Join(copyErr, sealErr)
}

func (b *bench) measureCopies(ctx context.Context, from string) ([]figure, error) {
	files := 0
	err := filepath.WalkDir(from, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			files++
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	bare, err := b.syncedFiles("copies", files)
	if err != nil {
		return nil, err
	}
	var exported, imported samples
	for i := range 3 {
		out := b.path(fmt.Sprint("out", i))
		took, err := b.run(ctx, "workspace:export", from, out)
		if err != nil {
			return nil, err
		}
		exported = append(exported, took)
		if took, err = b.run(ctx, "workspace:import", out, b.path(fmt.Sprint("in", i))); err != nil {
			return nil, err
		}
		imported = append(imported, took)
	}
	by := fmt.Sprintf("%d synced files", files)
	return []figure{
		{Name: "workspace:export, 500 agents, 100 runs", Unit: "ms", Seen: ms(exported.median()), Limit: ms(bare.median()), By: by, Note: exported.spread()},
		{Name: "workspace:import, the same", Unit: "ms", Seen: ms(imported.median()), Limit: ms(bare.median()), By: by, Note: imported.spread()},
	}, nil
}

// measureMigration times workspace:migrate, which seals a log of 30 MB.
func (b *bench) measureMigration(ctx context.Context) ([]figure, error) {
	dir := b.path("old")
	if err := b.fixture(ctx, dir, size{}); err != nil {
		return nil, err
	}
	line := `{"type":"note","ts_wallclock":"2026-02-01T00:00:00.000Z","actor":"a","visibility":"org","payload":"` + strings.Repeat("x", 200) + `"}` + "\n"
	text := strings.Repeat(line, 30_000_000/len(line))
	name := filepath.Join(dir, workspace.LogFile("proj_old", "run_old"))
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o750), os.WriteFile(name, []byte(text), 0o600)); err != nil {
		return nil, err
	}
	took, err := b.run(ctx, "workspace:migrate", dir)
	return []figure{{Name: "workspace:migrate, a log of 30 MB", Unit: "MB/s", Seen: float64(len(text)) / 1e6 / took.Seconds()}}, err
}
