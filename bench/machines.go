package main

// Sessions on other machines: the cost of the way through a hub, compared with the same session
// here. Hub and workers run on this machine, so they share its processors.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"ac/events"
	"ac/runs/session"
	"ac/workspace"
)

// fleet is a workspace with a hub and workers.
type fleet struct {
	b            *bench
	dir, project string
	server       *child
	hub          *child
	listens      string // where the hub listens
	workers      []*child
}

func (b *bench) hubProgram() string { return b.path("ac-hub") }

// startFleet creates a workspace with this name and starts a hub and workers for it.
func (b *bench) startFleet(ctx context.Context, name string, workers int, hubArgs ...string) (f *fleet, err error) {
	if err := b.buildProgram(ctx, "./cmd/ac-hub", b.hubProgram()); err != nil {
		return nil, err
	}
	f = &fleet{b: b}
	if f.dir, f.project, err = b.workplace(ctx, name); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.close())
		}
	}()
	if f.server, err = b.serve(ctx); err != nil {
		return f, err
	}
	if f.hub, f.listens, err = ready(ctx, b.hubProgram(), append([]string{"hub:start", f.dir, "--listen", "127.0.0.1:0"}, hubArgs...)...); err != nil {
		return f, err
	}
	for n := range workers {
		if err := f.hire(ctx, workerName(n)); err != nil {
			return f, err
		}
	}
	return f, nil
}

func workerName(n int) string { return "box" + strconv.Itoa(n) }

// ready starts a program and waits for the line that reports that it is ready. It returns the
// address in that line, if there is one.
func ready(ctx context.Context, program string, args ...string) (c *child, listens string, err error) {
	if c, err = spawn(ctx, program, args...); err != nil {
		return nil, "", err
	}
	line, err := c.line()
	if err != nil {
		return c, "", fmt.Errorf("%s: %w", args[0], err)
	}
	var said struct{ Listen []string }
	if err := json.Unmarshal(line, &said); err != nil {
		return c, "", fmt.Errorf("%s: %w", args[0], err)
	}
	if len(said.Listen) > 0 {
		listens = said.Listen[0]
	}
	return c, listens, nil
}

// invite has the hub invite a worker.
func (f *fleet) invite(name string) (token string, err error) {
	var invited struct{ Token string }
	invite := map[string]any{"workspace_dir": f.dir, "name": name, "slots": 4, "actor_id": "human", "actor_role": "human"}
	err = f.server.call("worker.invite", invite, &invited)
	return invited.Token, err
}

// hire invites a worker, has it join and starts it.
func (f *fleet) hire(ctx context.Context, name string) error {
	token, err := f.invite(name)
	if err != nil {
		return err
	}
	w, err := f.join(ctx, filepath.Base(f.dir)+"-"+name, token)
	if w != nil {
		f.workers = append(f.workers, w)
	}
	return err
}

// joinTries is the number of attempts to join a hub, for busy machines.
const joinTries = 5

// join creates a worker from an invitation and starts it.
func (f *fleet) join(ctx context.Context, folder, token string) (*child, error) {
	folder = f.b.path(folder)
	for tries := 1; ; tries++ {
		join := exec.CommandContext(ctx, f.b.hubProgram(), "worker:join", "-", "--dir", folder)
		join.Stdin = strings.NewReader(token + "\n")
		out, err := join.CombinedOutput()
		if err == nil {
			break
		}
		if tries == joinTries {
			return nil, fmt.Errorf("worker:join: %w: %s", err, out)
		}
	}
	w, _, err := ready(ctx, f.b.hubProgram(), "worker:start", "--dir", folder, "--min-free", "1")
	return w, err
}

// close ends all workers, the hub and the server.
func (f *fleet) close() (err error) {
	for _, c := range append(f.workers, f.hub) {
		if c != nil {
			err = errors.Join(err, c.cmd.Process.Signal(syscall.SIGTERM), c.close())
		}
	}
	if f.server != nil {
		err = errors.Join(err, f.server.close())
	}
	return err
}

// onWorker returns the placement of a session on a worker, or nil for this machine.
func onWorker(name string) any {
	if name == "" {
		return nil
	}
	return map[string]any{"where": "remote", "worker_id": name}
}

func measureMachines(ctx context.Context, b *bench) (all []figure, err error) {
	f, err := b.startFleet(ctx, "machines", 4)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	for _, of := range []func(context.Context) ([]figure, error){f.launches, f.lines, f.logs, f.saturation} {
		found, err := of(ctx)
		if all = append(all, found...); err != nil {
			return all, err
		}
	}
	return all, nil
}

// launches compares launches of true on a worker and here.
func (f *fleet) launches(ctx context.Context) ([]figure, error) {
	here, err := f.b.launches(ctx, f.dir, f.project, []string{"true"}, ended, onWorker(""))
	if err != nil {
		return nil, err
	}
	there, err := f.b.launches(ctx, f.dir, f.project, []string{"true"}, ended, onWorker(workerName(0)))
	local := ms(here.seen.median())
	return []figure{{
		Name: "launch of true on a worker to its closing event", Unit: "ms", Seen: ms(there.seen.median()), Target: 3*local + 40,
		Limit: local, By: "the same launch here", Note: there.seen.spread(),
	}}, err
}

// lines compares the time from a printed line to its notification. The line contains its own time.
func (f *fleet) lines(ctx context.Context) ([]figure, error) {
	here, err := f.lineTimes(ctx, "")
	if err != nil {
		return nil, err
	}
	there, err := f.lineTimes(ctx, workerName(0))
	return []figure{{
		Name: "a line printed on a worker to its notification", Unit: "ms", Seen: ms(there.median()),
		Limit: ms(here.median()), By: "the same line printed here", Note: "20 ms of it gather a batch; " + there.spread(),
	}}, err
}

// timedLines is the number of lines of one session.
const timedLines = 40

func (f *fleet) lineTimes(ctx context.Context, place string) (all samples, err error) {
	c, err := f.b.serve(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	if err := c.call("events.subscribe", map[string]any{"workspace_dir": f.dir}, nil); err != nil {
		return nil, err
	}
	script := fmt.Sprintf("sleep 0.3; for i in $(seq %d); do sleep 0.1; date +at=%%s%%N,; done", timedLines)
	if err := c.begin(f, place, []string{"sh", "-c", script}, new(string)); err != nil {
		return nil, err
	}
	for len(all) < timedLines {
		line, err := c.line()
		if err != nil {
			return all, err
		}
		_, rest, found := bytes.Cut(line, []byte("at="))
		text, _, closed := bytes.Cut(rest, []byte(","))
		if !found || !closed || !bytes.Contains(line, []byte(printed)) {
			continue
		}
		at, err := strconv.ParseInt(string(text), 10, 64)
		if err != nil {
			continue // an event that quotes the script itself
		}
		all = append(all, time.Since(time.Unix(0, at)))
	}
	return all, nil
}

// begin launches a program in a new run.
func (c *child) begin(f *fleet, place string, argv []string, run *string) (err error) {
	if *run, err = c.newRun(f.dir, f.project); err != nil {
		return err
	}
	params := map[string]any{"workspace_dir": f.dir, "project_id": f.project, "run_id": *run, "argv": argv}
	if p := onWorker(place); p != nil {
		params["placement"] = p
	}
	return c.call("session.launch", params, nil)
}

// volume is the logged output of sessions and the time it took.
type volume struct {
	events int
	bytes  int64
	took   time.Duration
}

func (v volume) megas() float64 { return float64(v.bytes) / 1e6 / v.took.Seconds() }

// together runs one session at each place, lets all start to print at the same moment, and waits
// until all are collected.
func (f *fleet) together(argv []string, places ...string) (v volume, err error) {
	sign, err := os.CreateTemp(f.b.dir, "go-")
	if err != nil {
		return v, err
	}
	if err := errors.Join(sign.Close(), os.Remove(sign.Name())); err != nil {
		return v, err
	}
	script := append([]string{"sh", "-c", `while [ ! -e "$0" ]; do sleep 0.02; done; exec "$@"`, sign.Name()}, argv...)
	runs := make([]string, len(places))
	for i, place := range places {
		if err := f.server.begin(f, place, script, &runs[i]); err != nil {
			return v, err
		}
	}
	if err := os.WriteFile(sign.Name(), nil, 0o600); err != nil {
		return v, err
	}
	began := time.Now()
	for _, run := range runs {
		if err := f.server.call("session.collect", map[string]any{"workspace_dir": f.dir, "session_ref": session.LocalRef(run)}, nil); err != nil {
			return v, err
		}
	}
	v.took = time.Since(began)
	for _, run := range runs {
		log, err := os.ReadFile(filepath.Join(f.dir, filepath.FromSlash(workspace.LogFile(f.project, run))))
		if err != nil {
			return v, err
		}
		if !bytes.Contains(log, []byte(`"type":"`+events.RunEnded+`"`)) {
			return v, fmt.Errorf("%s did not end: %.300s", run, log[max(0, len(log)-600):])
		}
		v.events += bytes.Count(log, []byte("\n"))
		v.bytes += int64(len(log))
	}
	return v, nil
}

// logMegas is the output of the session whose log goes through the hub, in MB.
const logMegas = 24

// logs compares recording one long output on a worker and here.
func (f *fleet) logs(context.Context) ([]figure, error) {
	argv := printer(jsonLine(), logMegas*1e6)
	here, err := f.together(argv, "")
	if err != nil {
		return nil, err
	}
	there, err := f.together(argv, workerName(0))
	return []figure{{
		Name: fmt.Sprintf("one run's log of %.0f MB through the hub", float64(there.bytes)/1e6), Unit: "MB/s", Seen: there.megas(), Target: here.megas() / 3, AtLeast: true,
		Limit: here.megas(), By: "the same recorded here", Note: fmt.Sprintf("%d events; to the collected end, with its output as a result", there.events),
	}}, err
}

// small returns the command of a program that prints short lines one at a time.
func small(lines int) []string {
	return []string{"sh", "-c", fmt.Sprintf(`i=0; while [ $i -lt %d ]; do echo "a line of output such as a build or a test prints, number $i"; i=$((i+1)); done`, lines)}
}

// saturation measures the lines a second that arrive from 1, 2 and 4 workers, to show where more
// workers bring no more.
func (f *fleet) saturation(context.Context) (all []figure, err error) {
	const lines = 30_000
	here, err := f.together(small(lines), "")
	if err != nil {
		return nil, err
	}
	for _, workers := range []int{1, 2, 4} {
		places := make([]string, workers)
		for n := range places {
			places[n] = workerName(n)
		}
		v, err := f.together(small(lines), places...)
		if err != nil {
			return all, err
		}
		all = append(all, figure{
			Name: fmt.Sprintf("lines sealed by the hub, of %d workers", workers), Unit: "/s", Seen: rate(workers*lines, v.took),
			Limit: rate(lines, here.took), By: "the same by one session here",
			Note: fmt.Sprintf("%.0f events a second, of %d bytes; the fuller a machine, the more lines are in one", rate(v.events, v.took), v.bytes/int64(v.events)),
		})
	}
	return all, nil
}
