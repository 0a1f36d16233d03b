package main

// Requests on larger workspaces.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"ac/internal/durable"
)

// readAll times bare reads of the files with one name below a folder.
func readAll(dir, name string) (samples, error) {
	return repeat(5, func() error {
		return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Name() == name {
				_, err = os.ReadFile(path)
			}
			return err
		})
	})
}

// readEach returns the sum of the median times, in ms, of reading the files with each name.
func readEach(dir string, names ...string) (sum float64, err error) {
	for _, name := range names {
		took, err := readAll(dir, name)
		if err != nil {
			return 0, err
		}
		sum += ms(took.median())
	}
	return sum, nil
}

// coldAndWarm times the first call of a fresh server and the calls after it.
func (b *bench) coldAndWarm(ctx context.Context, method string, params any) (cold, warm samples, err error) {
	for range 3 {
		c, err := b.serve(ctx)
		if err != nil {
			return nil, nil, err
		}
		err = c.call("system.ping", map[string]any{}, nil)
		call := func() error { return c.call(method, params, nil) }
		first, callErr := repeat(1, call)
		more, moreErr := repeat(5, call)
		cold, warm = append(cold, first...), append(warm, more...)
		if err = errors.Join(err, callErr, moreErr, c.close()); err != nil {
			return nil, nil, err
		}
	}
	return cold, warm, nil
}

func measureOrganisation(ctx context.Context, b *bench) ([]figure, error) {
	dir := b.path("organisation")
	if err := b.fixture(ctx, dir, size{teams: 10, agents: 500, projects: 100}); err != nil {
		return nil, err
	}
	if err := age(ctx); err != nil {
		return nil, err
	}
	agents, err := readEach(dir, "agent.yaml")
	if err != nil {
		return nil, err
	}
	all, err := readEach(dir, "agent.yaml", "team.yaml", "project.yaml")
	if err != nil {
		return nil, err
	}
	in := map[string]any{"workspace_dir": dir}
	openCold, openWarm, err := b.coldAndWarm(ctx, "workspace.open", in)
	if err != nil {
		return nil, err
	}
	listCold, listWarm, err := b.coldAndWarm(ctx, "workspace.agents.list", in)
	what := "reading the same documents"
	return []figure{
		{Name: "workspace.open, 500 agents, 100 projects, cold", Unit: "ms", Seen: ms(openCold.median()), Target: 100, Limit: all, By: what, Note: openCold.spread()},
		{Name: "workspace.open, the same, warm", Unit: "ms", Seen: ms(openWarm.median()), Target: 5, Limit: all, By: what, Note: openWarm.spread()},
		{Name: "workspace.agents.list of 500, cold", Unit: "ms", Seen: ms(listCold.median()), Target: 20, Limit: agents, By: what, Note: listCold.spread()},
		{Name: "workspace.agents.list of 500, warm", Unit: "ms", Seen: ms(listWarm.median()), Target: 20, Limit: agents, By: what, Note: listWarm.spread()},
	}, err
}

// syncedFiles times the creation of one directory and n small files, each synced.
func (b *bench) syncedFiles(name string, n int) (samples, error) {
	root, err := durable.OpenRoot(b.dir)
	if err != nil {
		return nil, err
	}
	attempt := 0
	all, err := repeat(5, func() error {
		attempt++
		dir := fmt.Sprintf("%s%d", name, attempt)
		if err := root.Mkdir(dir, 0o755); err != nil {
			return err
		}
		for i := range n {
			if err := durable.WriteNew(root, fmt.Sprintf("%s/%d", dir, i), []byte("schema_version: 1\n"), 0o644); err != nil {
				return err
			}
		}
		return root.SyncDir(dir)
	})
	return all, errors.Join(err, root.Close())
}

// filesOfRun is the number of files that run.create writes: record, log, and two of the context
// pack.
const filesOfRun = 4

func measureProject(ctx context.Context, b *bench) ([]figure, error) {
	const teams = 60
	dir := b.path("teams")
	if err := b.fixture(ctx, dir, size{teams: teams, agents: 120}); err != nil {
		return nil, err
	}
	// A conversation with messages for each team and two more, a secretary with a journal, and the
	// project with its memory.
	bare, err := b.syncedFiles("files", 2*(teams+2)+4)
	if err != nil {
		return nil, err
	}
	c, err := b.serve(ctx)
	if err != nil {
		return nil, err
	}
	project, err := c.newProject(dir) // also creates the workspace's defaults
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	made, err := repeat(10, func() error {
		_, err := c.newProject(dir)
		return err
	})
	bareRun, bareErr := b.syncedFiles("run", filesOfRun)
	created, createErr := repeat(50, func() error {
		_, err := c.newRun(dir, project)
		return err
	})
	return []figure{
		{
			Name: "create_with_defaults, 60 teams", Unit: "ms", Seen: ms(made.median()), Target: 150,
			Limit: ms(bare.median()), By: fmt.Sprintf("%d synced files", 2*(teams+2)+4), Note: made.spread(),
		},
		{Name: "run.create", Unit: "ms", Seen: ms(created.median()), Target: 10, Limit: ms(bareRun.median()), By: fmt.Sprintf("%d synced files", filesOfRun), Note: created.spread()},
	}, errors.Join(err, bareErr, createErr, c.close())
}

// manyRuns creates a workspace with one project of 3,000 finished runs. It returns the workspace's
// directory and the project's id.
func (b *bench) manyRuns(ctx context.Context) (dir, project string, err error) {
	dir = b.path("runs")
	if err := b.fixture(ctx, dir, size{teams: 1, agents: 1, projects: 1, runs: 3000}); err != nil {
		return "", "", err
	}
	projects, err := os.ReadDir(filepath.Join(dir, "work", "projects"))
	if err != nil || len(projects) == 0 {
		return "", "", errors.Join(err, errors.New("the workspace has no project"))
	}
	return dir, projects[0].Name(), age(ctx)
}

func measureRuns(ctx context.Context, b *bench) ([]figure, error) {
	dir, project, err := b.manyRuns(ctx)
	if err != nil {
		return nil, err
	}
	bare, err := readEach(dir, "run.yaml")
	if err != nil {
		return nil, err
	}
	cold, warm, err := b.coldAndWarm(ctx, "run.list", map[string]any{"workspace_dir": dir})
	if err != nil {
		return nil, err
	}
	spawned, err := spawnTrue(ctx)
	if err != nil {
		return nil, err
	}
	launched, err := b.launches(ctx, dir, project, []string{"true"}, ended, nil)
	what := "reading the same documents"
	return []figure{
		{Name: "run.list of 3,000, cold", Unit: "ms", Seen: ms(cold.median()), Target: 200, Limit: bare, By: what, Note: cold.spread()},
		{Name: "run.list of 3,000, warm", Unit: "ms", Seen: ms(warm.median()), Target: 25, Limit: bare, By: what, Note: warm.spread()},
		{
			Name: "session.launch of true beside 3,000 runs", Unit: "ms", Seen: ms(launched.answered.median()), Target: 30,
			Limit: ms(spawned.median()), By: "spawn of true", Note: "to the answer; " + launched.answered.spread(),
		},
	}, err
}
