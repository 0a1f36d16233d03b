package main

// The control room: its page, a snapshot, and the latency from another process's write to a stream.

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"ac/workspace"
)

// room is a running ui:web.
type room struct {
	cmd *exec.Cmd
	url string
}

func (b *bench) openRoom(ctx context.Context, dir, project string) (*room, error) {
	cmd := exec.CommandContext(ctx, b.program, "ui:web", dir, "--project", project, "--port", "0")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	first, err := bufio.NewReader(out).ReadString('\n')
	words := strings.Fields(first)
	if err != nil || len(words) == 0 {
		return nil, errors.Join(err, cmd.Process.Kill(), errors.New("ui:web does not tell where it is"))
	}
	return &room{cmd, words[len(words)-1]}, nil
}

// close ends the server with SIGTERM and returns how long that took.
func (r *room) close() (time.Duration, error) {
	began := time.Now()
	err := errors.Join(r.cmd.Process.Signal(syscall.SIGTERM), r.cmd.Wait())
	return time.Since(began), err
}

// get requests a path and reads the answer. It returns the time to the first byte.
func (r *room) get(ctx context.Context, path string) (first time.Duration, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url+path, nil)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	first = time.Since(began)
	_, err = io.Copy(io.Discard, answer.Body)
	if answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", path, answer.Status)
	}
	return first, errors.Join(err, answer.Body.Close())
}

func (r *room) firstBytes(ctx context.Context, path string, n int) (all samples, err error) {
	for range n + 5 {
		first, err := r.get(ctx, path)
		if err != nil {
			return nil, err
		}
		all = append(all, first)
	}
	return all[5:], nil // the first five are warm-up
}

// told times lines from their write into a log to their arrival at a client of a stream.
func (r *room) told(ctx context.Context, log, path, mark string, n int) (all samples, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url+path, nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	lines := bufio.NewReaderSize(answer.Body, 1<<20)
	file, err := os.OpenFile(log, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	for i := range n {
		if err := pauseFor(ctx, 50*time.Millisecond); err != nil { // keeps the lines apart
			return nil, err
		}
		word := fmt.Sprintf("%s_%d_", mark, i)
		began := time.Now()
		_, err := fmt.Fprintf(file, `{"event_id":%q,"run_id":"run_bench","type":"note","ts_wallclock":%q}`+"\n", word, began.UTC().Format("2006-01-02T15:04:05.000Z"))
		if err != nil {
			return nil, err
		}
		for line := ""; !strings.Contains(line, word); {
			if line, err = lines.ReadString('\n'); err != nil {
				return nil, err
			}
		}
		all = append(all, time.Since(began))
	}
	return all, nil
}

func pauseFor(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

func measureWeb(ctx context.Context, b *bench) (found []figure, err error) {
	dir := b.path("web")
	if err := b.fixture(ctx, dir, size{teams: 5, agents: 20, projects: 1, runs: 500}); err != nil {
		return nil, err
	}
	projects, err := os.ReadDir(filepath.Join(dir, filepath.FromSlash(workspace.ProjectsDir)))
	if err != nil || len(projects) != 1 {
		return nil, errors.Join(err, errors.New("the workspace has not one project"))
	}
	project := projects[0].Name()
	r, err := b.openRoom(ctx, dir, project)
	if err != nil {
		return nil, err
	}
	defer func() {
		took, closeErr := r.close()
		err = errors.Join(err, closeErr)
		found = append(found, figure{Name: "ui:web, end after SIGTERM with an open stream", Unit: "ms", Seen: ms(took), Target: 2000})
	}()
	page, pageErr := r.firstBytes(ctx, "/", 100)
	synced, syncedErr := r.firstBytes(ctx, "/api/ui/snapshot", 30)
	plain, plainErr := r.firstBytes(ctx, "/api/ui/snapshot?sync_index=0", 30)
	log := filepath.Join(dir, filepath.FromSlash(workspace.LogFile(project, "run_bench")))
	dirErr := os.MkdirAll(filepath.Dir(log), 0o750)
	events, eventsErr := r.told(ctx, log, "/api/stream?runs=1", "live", 40)
	if err := errors.Join(pageErr, syncedErr, plainErr, dirErr, eventsErr); err != nil {
		return nil, err
	}
	idle, err := r.idle(ctx)
	return []figure{
		{Name: "ui:web, first byte of the page", Unit: "ms", Seen: ms(page.median()), Note: page.spread()},
		{Name: "ui:web, snapshot of 500 runs, synced", Unit: "ms", Seen: ms(synced.median()), Note: synced.spread()},
		{Name: "ui:web, snapshot of 500 runs, not synced", Unit: "ms", Seen: ms(plain.median()), Note: plain.spread()},
		{Name: "ui:web, from a line in a log to a stream", Unit: "ms", Seen: ms(events.median()), Target: 100, Note: "written by another process; " + events.spread()},
		idle,
	}, err
}

// idle counts the context switches of a server with an open stream without events.
func (r *room) idle(ctx context.Context) (figure, error) {
	http.DefaultClient.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url+"/api/events", nil)
	if err != nil {
		return figure{}, err
	}
	answer, err := http.DefaultClient.Do(request) //nolint:bodyclose // the end of the server closes it
	if err != nil {
		return figure{}, err
	}
	if _, err := bufio.NewReader(answer.Body).ReadString('}'); err != nil {
		return figure{}, err
	}
	if err := pauseFor(ctx, 6*time.Second); err != nil { // until the index worker and its follow-up check are done
		return figure{}, err
	}
	woken, err := switchesIn(ctx, r.cmd.Process.Pid, 5*time.Second)
	return figure{Name: "ui:web with an open stream, switches in 5 s", Unit: "", Seen: woken, Zero: true, Note: "context switches of all threads; a keepalive every 15 s is among them"}, err
}
