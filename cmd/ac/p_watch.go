package main

// ac watch: one run as it goes, or all runs of the project.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"ac/company"
	"ac/company/orchestration"
	"ac/feed"
	"ac/internal/clock"
	"ac/internal/terminal"
	"ac/workspace/doc"
)

func watchCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "watch [run]", Short: "Print what a run does, or all runs, as they do it", Args: cobra.MaximumNArgs(1),
		Long: `Print what a run does, until it is over. Without a run: what every run of the project
does, new ones among them, a line each, until Ctrl-C. Nothing is stopped by its end.

Exit status: 0 when the run ended, 3 when it failed or was stopped, 130 after Ctrl-C.`,
		Example: "  ac watch 4WKKE6\n  ac watch",
	}
	a.short(cmd, func(c *call, given []string) error {
		ctx, stop := signal.NotifyContext(c.ctx, syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		var err error
		if len(given) == 0 {
			err = c.watchAll(ctx)
		} else {
			err = c.watchOne(ctx, given[0])
		}
		if ctx.Err() != nil {
			return exitError{exitSignal + int(syscall.SIGINT)}
		}
		return err
	})
	return cmd
}

// watchOne follows one run to its end.
func (c *call) watchOne(ctx context.Context, word string) error {
	row, err := c.run(word)
	if err != nil {
		return err
	}
	status, err := c.shown(ctx, &row, 0, watchedItems, c.stdout, c.stderr)
	if err != nil {
		return err
	}
	return statusError(status)
}

// statusError ends a command with the status of one that followed a run.
func statusError(status string) error {
	if status == doc.StatusFailed || status == doc.StatusStopped {
		return exitError{exitRunFailed}
	}
	return nil
}

// shown prints what a run does behind a line of its log, to its end.
func (c *call) shown(ctx context.Context, row *company.RunRow, since int64, tail int, out, errs io.Writer) (status string, err error) {
	named := orchestration.NamedRunParams{Dir: c.dirParam(), ProjectID: row.ProjectID, RunID: row.RunID}
	if row.Spoken {
		live := newLiveText(out, func(id string) string { return "ac answer " + shortID(id) }, false)
		p := orchestration.WatchRunParams{NamedRunParams: named, Since: &since, Tail: tail, Told: live.take, Settled: c.all.ForgetTranscripts}
		if c.asJSON {
			p.Told = func(n feed.TranscriptNotification) error { return c.printLine(n) }
		}
		result, err := company.Do(ctx, c.all, orchestration.Operations.WatchRun, p)
		return result.Status, err
	}
	told := func(stream string, chunk []byte) (err error) {
		switch {
		case c.asJSON:
			return c.printLine(loggedChunk{row.RunID, stream, string(chunk)})
		case stream == "stderr":
			_, err = errs.Write(chunk)
		default:
			_, err = out.Write(chunk)
		}
		return err
	}
	result, err := company.Do(ctx, c.all, orchestration.Operations.WatchRaw, orchestration.RawRunParams{NamedRunParams: named, Since: since, Told: told, Pace: c.pace})
	return result.Status, err
}

// allRuns are the watches of the runs of a project.
type allRuns struct {
	*call
	wg   sync.WaitGroup
	news chan string // ids of runs that did something

	mu      sync.Mutex
	watched map[string]bool
	at      map[string]int64 // line of the log up to which a run was shown
}

// lockedWriter lets several goroutines write whole lines.
type lockedWriter struct {
	mu  sync.Mutex
	out io.Writer
}

func (l *lockedWriter) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(text)
}

// watchAll follows every run of the project that lives or comes to life.
func (c *call) watchAll(ctx context.Context) error {
	if err := c.requireProject(); err != nil {
		return err
	}
	own, app := *c, *c.app
	app.stdout, app.stderr, own.app = &lockedWriter{out: c.stdout}, &lockedWriter{out: c.stderr}, &app
	w := &allRuns{call: &own, news: make(chan string, 1024), watched: map[string]bool{}, at: map[string]int64{}}
	defer w.wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop, err := company.Do(ctx, c.all, orchestration.Operations.FollowEvents, orchestration.FollowEventsParams{
		Dir: c.dirParam(), ProjectID: c.project, Deliver: func(ctx context.Context, e feed.Event) error {
			select {
			case w.news <- e.Run:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		},
	})
	if err != nil {
		return err
	}
	defer stop()
	list, err := company.Do(ctx, c.all, (*company.Company).RunRows, company.RunRowsParams{Dir: c.dirParam(), ProjectID: c.project, Live: true})
	if err != nil {
		return err
	}
	for i := range list.Rows {
		w.watch(ctx, list.Rows[i].RunID)
	}
	for {
		select {
		case run := <-w.news:
			w.watch(ctx, run)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// watch begins to follow a run, unless it is followed.
func (w *allRuns) watch(ctx context.Context, run string) {
	w.mu.Lock()
	known := w.watched[run]
	w.watched[run] = true
	w.mu.Unlock()
	if known || run == "" {
		return
	}
	w.wg.Go(func() {
		defer func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.watched[run] = false
		}()
		if err := w.follow(ctx, run); err != nil && ctx.Err() == nil {
			w.note("note: run %s: %v", shortID(run), err)
		}
	})
}

// follow shows a run to its end. Of one that was made before the watch, only what comes
// is shown.
func (w *allRuns) follow(ctx context.Context, run string) error {
	row, err := w.run(run)
	if err != nil {
		return err
	}
	w.mu.Lock()
	since := w.at[run]
	w.mu.Unlock()
	made, _ := clock.Parse(orEmpty(row.CreatedAt))
	fresh := !made.Before(w.now.Truncate(time.Millisecond))
	if !row.Live() && (!fresh || since > 0) {
		return nil
	}
	named := orchestration.NamedRunParams{Dir: w.dirParam(), ProjectID: row.ProjectID, RunID: run}
	if !fresh && since == 0 {
		if since, err = company.Do(ctx, w.all, orchestration.Operations.LogEnd, named); err != nil {
			return err
		}
	}
	who := fmt.Sprintf("%s %s %s ", terminal.Printable(orUnknown(row.Agent, row.AgentID)), shortID(run), bar())
	out, errs := &markedLines{out: w.stdout, mark: who}, &markedLines{out: w.stdout, mark: who}
	_, err = w.shown(ctx, &row, since, 0, out, errs)
	end, endErr := company.Do(context.WithoutCancel(ctx), w.all, orchestration.Operations.LogEnd, named)
	w.mu.Lock()
	w.at[run] = max(end, 1)
	w.mu.Unlock()
	return errors.Join(err, out.flush(), errs.flush(), endErr)
}

// bar is what stands between a run and what it does.
func bar() string {
	if terminal.Unicode(os.Getenv) {
		return "│"
	}
	return "|"
}

// markedLines puts a mark before each line, and writes whole lines only.
type markedLines struct {
	out  io.Writer
	mark string
	held []byte
}

// Write holds a text until its line is whole.
func (m *markedLines) Write(text []byte) (int, error) {
	m.held = append(m.held, text...)
	at := bytes.LastIndexByte(m.held, '\n')
	if at < 0 {
		return len(text), nil
	}
	var b bytes.Buffer
	for line := range bytes.Lines(m.held[:at+1]) {
		b.WriteString(m.mark + terminal.QuoteLines(string(line)))
	}
	m.held = append(m.held[:0], m.held[at+1:]...)
	_, err := m.out.Write(b.Bytes())
	return len(text), err
}

// flush writes what is left of a last line.
func (m *markedLines) flush() error {
	if len(m.held) == 0 {
		return nil
	}
	_, err := m.Write([]byte("\n"))
	return err
}
