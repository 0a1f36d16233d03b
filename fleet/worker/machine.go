package worker

// The machine: its disk, load and agents, and notifications about its logs.

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path"
	"strconv"
	"strings"

	"ac/fleet"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/internal/watch"
	"ac/workspace"
)

// reserveBytes is the size of the reserve in bytes. The worker removes this file when the disk is
// full, so that the ends of sessions can be written.
const reserveBytes = 64 << 20

// checkDisk checks the free disk space, and creates or removes the reserve.
func (w *Worker) checkDisk() (free int64, low bool) {
	bytes, err := w.host.Free(w.folder.dir)
	if err != nil {
		return 0, false // the system does not report it
	}
	free = int64(min(bytes, 1<<62)) //nolint:gosec // bounded
	minFree := w.currentSettings().MinFreeBytes
	if w.host.MinFree > 0 {
		minFree = w.host.MinFree
	}
	low = free < minFree
	w.mu.Lock()
	w.lowDisk = low
	w.mu.Unlock()
	switch reserved := durable.Exists(w.folder.fs, reserveFile); {
	case reserved && free < reserveBytes/4:
		_ = w.folder.fs.Remove(reserveFile) // best effort: the next look tries again
	case !reserved && free > minFree+reserveBytes:
		if err := w.folder.reserve(); err != nil {
			w.host.Log.Warn("no room is kept for the ends of sessions", "error", err)
		}
	}
	return free, low
}

// reserve writes the reserve. It writes real data, since a sparse file reserves nothing.
func (f *Folder) reserve() error {
	file, err := f.fs.OpenFile(reserveFile, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	block := bytes.Repeat([]byte("reserved\n"), 1<<16)
	for written := 0; written < reserveBytes && err == nil; written += len(block) {
		err = durable.WriteAll(file, block)
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		_ = f.fs.Remove(reserveFile) // a partial reserve is useless
	}
	return err
}

// load1 returns the machine's load average over one minute, 0 if the system does not report it.
func load1() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), " ")
	load, _ := strconv.ParseFloat(first, 64)
	return load
}

// memFree returns the available memory in bytes, 0 if the system does not report it.
func memFree() int64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "MemAvailable:"); ok {
			kib, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			return kib << 10
		}
	}
	return 0
}

// probe detects the agents on the machine.
func (w *Worker) probe(ctx context.Context) {
	machine, err := w.spool.Machine()
	if err != nil {
		machine = workspace.DefaultMachine()
	}
	found := w.host.Probe(ctx, machine)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.providers = found
}

// probed answers the hub's probe of one agent.
func (w *Worker) probed(ctx context.Context, params json.RawMessage) (json.RawMessage, int64, error) {
	var ask fleet.Probe
	if err := json.Unmarshal(params, &ask); err != nil {
		return nil, 0, fault.New(fault.InvalidParams, "the request is not understood: %w", err)
	}
	if ask.Policy != nil {
		return w.judged(ctx, ask)
	}
	w.probe(ctx)
	w.mu.Lock()
	found, ok := w.providers[ask.Provider]
	w.mu.Unlock()
	if !ok {
		found = fleet.ProviderProbe{Why: "the worker does not have it"}
	}
	result, err := json.Marshal(found)
	return result, 0, err
}

// judged answers a job runner's question about a program, before the runner orders a session.
func (w *Worker) judged(ctx context.Context, ask fleet.Probe) (json.RawMessage, int64, error) {
	if w.host.Judge == nil {
		return nil, 0, fault.New(fault.Unsupported, "the worker judges no programs")
	}
	machine, err := w.spool.Machine()
	if err != nil {
		return nil, 0, err
	}
	secrets, err := w.folder.resolve(ctx, ask.SecretRefs, w.host.Environ)
	if err != nil {
		return nil, 0, err
	}
	found := w.host.Judge(ctx, w.spool, machine, ask, w.environ(secrets))
	result, err := json.Marshal(found)
	return result, 0, err
}

// watchLog pokes the attempt when its run's log grows, until ctx ends. Only the worker waits for
// its goroutine, not the attempt: the kernel takes about 20 ms to release a watched folder.
func (a *attempt) watchLog(ctx context.Context) {
	dir := path.Join(a.w.spool.Dir(), workspace.RunDir(a.ordered.ProjectID, a.ordered.RunID))
	folder := watch.Folder{Dir: dir, Name: path.Base(workspace.LogFile("p", "r")), PollUnwatched: unwatchedPollInterval, PollWatched: watchedPollInterval}
	a.w.work.Go(func() { folder.Until(ctx, func() bool { a.poke(); return false }) })
}
