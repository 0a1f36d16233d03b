package work

// ac logs: the past output of a run, and its new output.

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/cmd/ac/plumbing/execution"
	"ac/company"
	"ac/company/orchestration"
	"ac/feed"
)

// logsOptions holds the options of ac logs.
type logsOptions struct {
	follow, raw, stderr bool
	lines               int
}

func logsCommand(a *cli.App) *cobra.Command {
	var o logsOptions
	cmd := &cobra.Command{
		Use: "logs [run]", Short: "Print what a run printed", Args: cobra.MaximumNArgs(1),
		Long: `Print what a run printed: of a command its output, stdout to stdout and stderr to
stderr; of an agent that is spoken with its transcript. Without a run, the newest.
With --json a line is an object: of a transcript the params of a
transcript.notification, else run_id, stream and data.`,
		Example: "  ac logs\n  ac logs -f 4WKKE6\n  ac logs -n 20 last",
	}
	a.Short(cmd, func(c *cli.Call, given []string) error {
		if o.lines < 0 {
			return cli.UsageError{Message: "-n must not be negative"}
		}
		if o.raw && o.stderr {
			return cli.UsageError{Message: "--raw and --stderr exclude each other"}
		}
		row, err := c.LastOr(given)
		if err != nil {
			return err
		}
		ctx, stop := signal.NotifyContext(c.Ctx, syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		printed, err := printLog(ctx, c, &row, o)
		switch {
		case ctx.Err() != nil:
			return cli.ExitError{Code: cli.ExitSignal + int(syscall.SIGINT)}
		case err == nil && !printed:
			c.Note("run %s printed nothing", cli.ShortID(row.RunID))
		}
		return err
	})
	flags := cmd.Flags()
	flags.BoolVarP(&o.follow, "follow", "f", false, "go on until the run is over")
	flags.IntVarP(&o.lines, "lines", "n", 0, "begin with the last N lines")
	flags.BoolVar(&o.raw, "raw", false, "of an agent, too, what it printed as it is")
	flags.BoolVar(&o.stderr, "stderr", false, "only what went to stderr")
	return cmd
}

// printLog prints the log of a run and reports whether there was any.
func printLog(ctx context.Context, c *cli.Call, row *company.RunRow, o logsOptions) (printed bool, err error) {
	named := orchestration.NamedRunParams{Dir: c.DirParam(), ProjectID: row.ProjectID, RunID: row.RunID}
	out, errs := newLastLines(c.Stdout, o.lines), newLastLines(c.Stderr, o.lines)
	settled := func() {
		out.passOn()
		errs.passOn()
	}
	if row.IsConversation && !o.raw && !o.stderr {
		live := execution.NewLiveText(out, execution.RunAnswer(c.Dir, row.RunID), false)
		p := orchestration.WatchRunParams{NamedRunParams: named, Since: new(int64(0)), NoFollow: !o.follow, Settled: settled, Deliver: live.Take}
		if c.AsJSON {
			p.Deliver = func(n feed.TranscriptNotification) error { return c.PrintLine(n) }
		}
		_, err = company.Do(ctx, c.All, orchestration.Operations.WatchRun, p)
		settled() // the watch may have ended before it was settled
		return c.AsJSON || out.written, errors.Join(err, out.err)
	}
	told := func(stream string, chunk []byte) error {
		if o.stderr && stream != "stderr" {
			return nil
		}
		printed = true
		switch {
		case c.AsJSON:
			return c.PrintLine(loggedChunk{row.RunID, stream, string(chunk)})
		case stream == "stderr":
			_, err := errs.Write(chunk)
			return err
		}
		_, err := out.Write(chunk)
		return err
	}
	_, err = company.Do(ctx, c.All, orchestration.Operations.WatchRaw, orchestration.RawRunParams{NamedRunParams: named, NoFollow: !o.follow, Settled: settled, Deliver: told})
	settled()
	return printed, errors.Join(err, out.err, errs.err)
}

// loggedChunk is a piece of a command's output.
type loggedChunk struct {
	RunID  string `json:"run_id"`
	Stream string `json:"stream"`
	Data   string `json:"data"`
}

// lastLines holds back the last lines of what is written, until passOn is called. Then it writes
// everything through. With 0 lines it writes through from the start.
type lastLines struct {
	out     io.Writer
	most    int
	held    []byte
	written bool // something was written
	err     error
}

func newLastLines(out io.Writer, most int) *lastLines { return &lastLines{out: out, most: most} }

// Write holds back or writes a text.
func (l *lastLines) Write(text []byte) (int, error) {
	l.written = l.written || len(text) > 0
	if l.most == 0 {
		return l.out.Write(text)
	}
	l.held = append(l.held, text...)
	lines := bytes.TrimSuffix(l.held, []byte("\n"))
	for range l.most {
		at := bytes.LastIndexByte(lines, '\n')
		if at < 0 {
			return len(text), nil
		}
		lines = lines[:at]
	}
	l.held = append(l.held[:0], l.held[len(lines)+1:]...)
	return len(text), nil
}

// passOn writes the lines held back. Later writes go through.
func (l *lastLines) passOn() {
	if l.most == 0 {
		return
	}
	l.most = 0
	if len(l.held) > 0 && l.err == nil {
		_, l.err = l.out.Write(l.held)
	}
	l.held = nil
}
