package work

// ac watch: following one run, or all runs of the project.

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

	"ac/cmd/ac/cli"
	"ac/cmd/ac/plumbing/execution"
	"ac/company"
	"ac/company/orchestration"
	"ac/feed"
	"ac/internal/clock"
	"ac/internal/terminal"
	"ac/workspace/doc"
)

func watchCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "watch [run]", Short: "Print what a run does, or all runs, as they do it", Args: cobra.MaximumNArgs(1),
		Long: `Print what a run does, until it is over. Without a run: what every run of the project
does, new ones among them, a line each, until Ctrl-C. Nothing is stopped by its end.

Exit status: 0 when the run ended, 3 when it failed or was stopped, 130 after Ctrl-C.`,
		Example: "  ac watch 4WKKE6\n  ac watch",
	}
	a.Short(cmd, func(c *cli.Call, given []string) error {
		ctx, stop := signal.NotifyContext(c.Ctx, syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		var err error
		if len(given) == 0 {
			err = watchAll(ctx, c)
		} else {
			err = watchOne(ctx, c, given[0])
		}
		if ctx.Err() != nil {
			return cli.ExitError{Code: cli.ExitSignal + int(syscall.SIGINT)}
		}
		return err
	})
	return cmd
}

// watchOne follows one run to its end.
func watchOne(ctx context.Context, c *cli.Call, word string) error {
	row, err := c.Run(word)
	if err != nil {
		return err
	}
	status, err := Show(ctx, c, &row, 0, execution.WatchedItems, c.Stdout, c.Stderr)
	if err != nil {
		return err
	}
	return statusError(status)
}

// statusError returns the exit status of a command that followed a run.
func statusError(status string) error {
	if status == doc.StatusFailed || status == doc.StatusStopped {
		return cli.ExitError{Code: execution.ExitRunFailed}
	}
	return nil
}

// Show prints what a run does after a line of its log, to its end.
func Show(ctx context.Context, c *cli.Call, row *company.RunRow, since int64, tail int, out, errs io.Writer) (status string, err error) {
	named := orchestration.NamedRunParams{Dir: c.DirParam(), ProjectID: row.ProjectID, RunID: row.RunID}
	if row.IsConversation {
		live := execution.NewLiveText(out, func(id string) string { return "ac answer " + cli.ShortID(id) }, false)
		p := orchestration.WatchRunParams{NamedRunParams: named, Since: &since, Tail: tail, Deliver: live.Take, Settled: c.All.ForgetTranscripts}
		if c.AsJSON {
			p.Deliver = func(n feed.TranscriptNotification) error { return c.PrintLine(n) }
		}
		result, err := company.Do(ctx, c.All, orchestration.Operations.WatchRun, p)
		return result.Status, err
	}
	told := func(stream string, chunk []byte) (err error) {
		switch {
		case c.AsJSON:
			return c.PrintLine(loggedChunk{row.RunID, stream, string(chunk)})
		case stream == "stderr":
			_, err = errs.Write(chunk)
		default:
			_, err = out.Write(chunk)
		}
		return err
	}
	result, err := company.Do(ctx, c.All, orchestration.Operations.WatchRaw, orchestration.RawRunParams{NamedRunParams: named, Since: since, Deliver: told, Pace: c.Pace})
	return result.Status, err
}

// allRuns follows the runs of a project.
type allRuns struct {
	*cli.Call
	wg   sync.WaitGroup
	news chan string // ids of runs with new events

	mu      sync.Mutex
	watched map[string]bool
	at      map[string]int64 // last line of the log that was shown, by run
}

// lockedWriter serializes the writes of several goroutines.
type lockedWriter struct {
	mu  sync.Mutex
	out io.Writer
}

func (l *lockedWriter) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(text)
}

// watchAll follows every live run of the project, including later ones.
func watchAll(ctx context.Context, c *cli.Call) error {
	if err := c.RequireProject(); err != nil {
		return err
	}
	own, app := *c, *c.App
	app.Stdout, app.Stderr, own.App = &lockedWriter{out: c.Stdout}, &lockedWriter{out: c.Stderr}, &app
	w := &allRuns{Call: &own, news: make(chan string, 1024), watched: map[string]bool{}, at: map[string]int64{}}
	defer w.wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop, err := company.Do(ctx, c.All, orchestration.Operations.FollowEvents, orchestration.FollowEventsParams{
		Dir: c.DirParam(), ProjectID: c.Project, Deliver: func(ctx context.Context, e feed.Event) error {
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
	list, err := company.Do(ctx, c.All, (*company.Company).RunRows, company.RunRowsParams{Dir: c.DirParam(), ProjectID: c.Project, Live: true})
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

// watch starts following a run, unless it is already followed.
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
			w.Note("note: run %s: %v", cli.ShortID(run), err)
		}
	})
}

// follow shows a run to its end. For a run that was created before the watch began, it shows only
// new events.
func (w *allRuns) follow(ctx context.Context, run string) error {
	row, err := w.Run(run)
	if err != nil {
		return err
	}
	w.mu.Lock()
	since := w.at[run]
	w.mu.Unlock()
	made, _ := clock.Parse(cli.OrEmpty(row.CreatedAt))
	fresh := !made.Before(w.Now.Truncate(time.Millisecond))
	if !row.Live() && (!fresh || since > 0) {
		return nil
	}
	named := orchestration.NamedRunParams{Dir: w.DirParam(), ProjectID: row.ProjectID, RunID: run}
	if !fresh && since == 0 {
		if since, err = company.Do(ctx, w.All, orchestration.Operations.LogEnd, named); err != nil {
			return err
		}
	}
	who := fmt.Sprintf("%s %s %s ", terminal.Printable(cli.OrUnknown(row.Agent, row.AgentID)), cli.ShortID(run), bar())
	out, errs := &markedLines{out: w.Stdout, mark: who}, &markedLines{out: w.Stdout, mark: who}
	_, err = Show(ctx, w.Call, &row, since, 0, out, errs)
	end, endErr := company.Do(context.WithoutCancel(ctx), w.All, orchestration.Operations.LogEnd, named)
	w.mu.Lock()
	w.at[run] = max(end, 1)
	w.mu.Unlock()
	return errors.Join(err, out.flush(), errs.flush(), endErr)
}

// bar returns the separator between a run and its output.
func bar() string {
	if terminal.Unicode(os.Getenv) {
		return "│"
	}
	return "|"
}

// markedLines puts a mark before each line, and writes only whole lines.
type markedLines struct {
	out  io.Writer
	mark string
	held []byte
}

// Write holds back a text until its line is complete.
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

// flush writes an incomplete last line.
func (m *markedLines) flush() error {
	if len(m.held) == 0 {
		return nil
	}
	_, err := m.Write([]byte("\n"))
	return err
}
