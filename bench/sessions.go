package main

// Sessions: launching, and their processes.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"ac/runs/session"
	"ac/workspace"
)

// Substrings that identify events in a line.
const (
	printed = `"type":"provider.raw"`
	ended   = `"type":"run.ended"`
)

// launched holds the times of launches, to the answer and to the awaited event at the client.
type launched struct{ answered, seen samples }

// launches launches a program thirty times through a real server, one after the other, while the
// client subscribes to the workspace.
func (b *bench) launches(ctx context.Context, dir, project string, argv []string, until string, placement any) (all launched, err error) {
	c, err := b.serve(ctx)
	if err != nil {
		return all, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	if err := c.call("events.subscribe", map[string]any{"workspace_dir": dir}, nil); err != nil {
		return all, err
	}
	for range 30 {
		run, err := c.newRun(dir, project)
		if err != nil {
			return all, err
		}
		if err := c.launch(dir, project, run, argv, until, placement, &all); err != nil {
			return all, err
		}
		// Wait for the end before the next launch.
		if err := c.call("session.collect", map[string]any{"workspace_dir": dir, "session_ref": session.LocalRef(run)}, nil); err != nil {
			return all, err
		}
	}
	return all, nil
}

// launch launches once and times the answer and the awaited event.
func (c *child) launch(dir, project, run string, argv []string, until string, placement any, all *launched) error {
	params := map[string]any{"workspace_dir": dir, "project_id": project, "run_id": run, "argv": argv}
	if placement != nil {
		params["placement"] = placement
	}
	line, err := c.request("session.launch", params)
	if err != nil {
		return err
	}
	began := time.Now()
	if _, err := c.in.Write(line); err != nil {
		return err
	}
	for answered, seen := false, false; !answered || !seen; {
		line, err := c.line()
		if err != nil {
			return fmt.Errorf("session.launch: %w", err)
		}
		switch {
		case !bytes.Contains(line, []byte(notification)):
			answered = true
			all.answered = append(all.answered, time.Since(began))
			if err := decode("session.launch", line, nil); err != nil {
				return err
			}
		case !seen && bytes.Contains(line, []byte(until)) && bytes.Contains(line, []byte(run)):
			seen = true
			all.seen = append(all.seen, time.Since(began))
		}
	}
	return nil
}

// workplace creates a small workspace with one project.
func (b *bench) workplace(ctx context.Context, name string) (dir, project string, err error) {
	dir = b.path(name)
	if err := b.fixture(ctx, dir, size{teams: 2, agents: 4}); err != nil {
		return "", "", err
	}
	c, err := b.serve(ctx)
	if err != nil {
		return "", "", err
	}
	project, err = c.newProject(dir)
	return dir, project, errors.Join(err, c.close())
}

func measureLaunch(ctx context.Context, b *bench) ([]figure, error) {
	dir, project, err := b.workplace(ctx, "launch")
	if err != nil {
		return nil, err
	}
	bare, err := repeat(30, func() error { _, err := exec.CommandContext(ctx, "echo", "hello").Output(); return err })
	if err != nil {
		return nil, err
	}
	words, err := b.launches(ctx, dir, project, []string{"echo", "hello"}, printed, nil)
	if err != nil {
		return nil, err
	}
	silent, err := b.launches(ctx, dir, project, []string{"true"}, ended, nil)
	by := "spawn of echo, its output read"
	return []figure{
		{Name: "launch of echo to its first event", Unit: "ms", Seen: ms(words.seen.median()), Target: 60, Limit: ms(bare.median()), By: by, Note: words.seen.spread()},
		{Name: "launch of true to its closing event", Unit: "ms", Seen: ms(silent.seen.median()), Target: 60, Limit: ms(bare.median()), By: by, Note: silent.seen.spread()},
		{
			Name: "launch over a bare spawn", Unit: "ms", Seen: ms(silent.answered.median() - bare.median()), Target: 12,
			Note: "to the answer, when the provider runs; with policy, record, spec and log durable. 25 ms at most are promised, 12 aimed at",
		},
	}, err
}

// measureSupervisor measures the processes of an idle session.
func measureSupervisor(ctx context.Context, b *bench) (found []figure, err error) {
	dir, project, err := b.workplace(ctx, "supervisor")
	if err != nil {
		return nil, err
	}
	c, err := b.serve(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	run, err := c.newRun(dir, project)
	if err != nil {
		return nil, err
	}
	ref := session.LocalRef(run)
	launch := map[string]any{"workspace_dir": dir, "project_id": project, "run_id": run, "argv": []string{"sleep", "600"}}
	if err := c.call("session.launch", launch, nil); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stop(context.WithoutCancel(ctx), dir, ref)) }()
	supervisor, guard, err := processes(dir, ref)
	if err != nil {
		return nil, err
	}
	if err := age(ctx); err != nil { // wait until they are idle
		return nil, err
	}
	var rss, own, woken float64
	for _, pid := range []int{supervisor, guard} {
		m, err := memoryOf(pid)
		if err != nil {
			return nil, err
		}
		rss, own = rss+m.resident, own+m.proportional
		switches, err := switchesIn(ctx, pid, 3*time.Second)
		if err != nil {
			return nil, err
		}
		woken += switches
	}
	return []figure{
		{Name: "supervisor and guard, RSS", Unit: "MB", Seen: rss, Target: 15, Note: "the sum counts the pages of the program that both share twice"},
		{Name: "supervisor and guard, PSS", Unit: "MB", Seen: own, Target: 15, Note: "shared pages divided among those who share them"},
		{Name: "supervisor and guard at rest, switches in 3 s", Unit: "", Seen: woken, Zero: true, Note: "context switches of all threads"},
	}, nil
}

// stop ends a session without the server, because an interrupt ends the server first.
func stop(ctx context.Context, dir, ref string) error {
	w, err := workspace.Open(workspace.SystemEnv(), dir)
	if err != nil {
		return err
	}
	_, err = session.Stop(ctx, w, ref)
	if err == nil {
		_, err = session.Collect(ctx, w, ref)
	}
	return errors.Join(err, w.Close())
}

// processes returns the PIDs of a live session's supervisor and guard.
func processes(dir, ref string) (supervisor, guard int, err error) {
	w, err := workspace.Open(workspace.SystemEnv(), dir)
	if err != nil {
		return 0, 0, err
	}
	record, err := session.Read(w, ref)
	if err = errors.Join(err, w.Close()); err != nil {
		return 0, 0, err
	}
	if record.OwnerPID == nil || record.PID == nil {
		return 0, 0, errors.New("the session's record names no processes")
	}
	guard, err = parentOf(*record.PID)
	return *record.OwnerPID, guard, err
}
