package work

// Following a run in the foreground: its output, signals, its agent's requests, and its end. The
// run belongs to its supervisor and survives the follower.

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"ac/cmd/ac/cli"
	"ac/cmd/ac/plumbing/execution"
	"ac/company"
	"ac/company/decisions"
	"ac/company/orchestration"
	"ac/feed"
	"ac/internal/signame"
	"ac/internal/terminal"
	"ac/runs"
	"ac/runs/interaction"
	"ac/runs/session"
	"ac/workspace/doc"
)

// startAndFollow starts a run, and follows it unless detached.
func startAndFollow(c *cli.Call, p orchestration.StartRunParams, o *RunFlags) error {
	return begin(c, o, func(dry bool) (orchestration.StartRunResult, error) {
		p.DryRun = dry
		return company.Do(c.Ctx, c.All, orchestration.Operations.StartRun, p)
	}, p.Isolation == runs.IsolationWorktree)
}

// begin starts a run and follows it unless detached. With worktree it prints a note about
// uncommitted files, which the worktree does not contain.
func begin(c *cli.Call, o *RunFlags, start func(dry bool) (orchestration.StartRunResult, error), worktree bool) error {
	if worktree {
		planned, err := start(true)
		if err != nil {
			return err
		}
		if n := planned.Plan.ChangedFiles; n > 0 {
			verb := "are"
			if n == 1 {
				verb = "is"
			}
			c.Note("note: %s %s not in the worktree", terminal.FormatCount(n, "changed file"), verb)
		}
	}
	// From here on, a signal finds a run to stop.
	signals := make(chan os.Signal, 4)
	if !o.detach {
		signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGHUP)
		defer signal.Stop(signals)
	}
	made, err := start(false)
	if err != nil {
		return err
	}
	row, err := c.Run(made.RunID)
	switch {
	case err != nil:
		return err
	case o.detach:
		return printDetached(c, &row, made)
	}
	return (&follower{Call: c, row: row, ref: made.SessionRef, raw: o.raw}).follow(signals)
}

// detachedRun is the JSON output of a detached start.
type detachedRun struct {
	RunID      string `json:"run_id"`
	SessionRef string `json:"session_ref"`
	ProjectID  string `json:"project_id"`
	AgentID    string `json:"agent_id"`
}

// printDetached prints the id of a started run. It returns an error if the run failed to start.
func printDetached(c *cli.Call, row *company.RunRow, made orchestration.StartRunResult) error {
	if row.Status == doc.StatusFailed && row.ExitCode == nil && row.Signal == nil {
		return fmt.Errorf("run %s did not start: %s", cli.ShortID(row.RunID), cli.OrEmpty(row.Error))
	}
	switch {
	case c.AsJSON:
		return c.PrintJSON(detachedRun{made.RunID, made.SessionRef, row.ProjectID, row.AgentID})
	case c.OnTerminal():
		fmt.Fprintln(c.Stdout, cli.ShortID(made.RunID))
	default:
		fmt.Fprintln(c.Stdout, made.RunID)
	}
	return nil
}

// follower follows one run.
type follower struct {
	*cli.Call
	row  company.RunRow
	ref  string // session ref
	raw  bool
	asks *asker // nil if nobody is asked

	told map[string]bool // requests already shown
}

// follow follows the run to its end, or until a signal detaches it.
func (f *follower) follow(signals <-chan os.Signal) error {
	ctx, cancel := context.WithCancel(f.Ctx)
	defer cancel()
	done := make(chan error, 1)
	var acts sync.WaitGroup
	defer acts.Wait()
	go func() { done <- f.stream(ctx) }()
	var stopped os.Signal
	for {
		select {
		case err := <-done:
			if err != nil {
				return err
			}
			return f.printEnd(stopped)
		case s := <-signals:
			p := company.SessionParams{MaybeDir: company.MaybeDir{WorkspaceDir: f.Dir}, SessionRef: f.ref}
			switch {
			case s == syscall.SIGQUIT || s == syscall.SIGHUP:
				cancel()
				<-done //nolint:errcheck // its reader ended
				f.Note("left running; ac logs -f %s", cli.ShortID(f.row.RunID))
				return nil
			case stopped == nil:
				stopped = s
				f.Note("stopping %s … (Ctrl-C again: kill)", cli.ShortID(f.row.RunID))
				acts.Go(func() { _, _ = company.Do(f.Ctx, f.All, (*company.Host).StopSession, p) }) // the run's end shows the result
			default:
				acts.Go(func() { _, _ = company.Do(f.Ctx, f.All, (*company.Host).KillSession, p) }) // the run's end shows the result
			}
		}
	}
}

// named returns the run as params.
func (f *follower) named() orchestration.NamedRunParams {
	return orchestration.NamedRunParams{Dir: f.DirParam(), ProjectID: f.row.ProjectID, RunID: f.row.RunID}
}

// stream prints the output or transcript of the run until it is over.
func (f *follower) stream(ctx context.Context) error {
	if !f.row.IsConversation || f.raw {
		told := f.PassOn
		if f.AsJSON {
			told = func(stream string, chunk []byte) error { return f.PrintLine(streamedChunk{stream, string(chunk)}) }
		}
		_, err := company.Do(ctx, f.All, orchestration.Operations.WatchRaw, orchestration.RawRunParams{NamedRunParams: f.named(), Deliver: told})
		return err
	}
	shown := func(feed.TranscriptNotification) error { return nil }
	switch {
	case f.AsJSON:
		shown = func(n feed.TranscriptNotification) error { return f.PrintLine(n) }
	case f.OnTerminal():
		live := execution.NewLiveText(f.Stdout, f.answerWith, false)
		shown = live.Take
	}
	if f.CanAsk() {
		f.asks = newAsker(f.Call, f.row.ProjectID, f.row.RunID)
		defer f.asks.close()
	}
	_, err := company.Do(ctx, f.All, orchestration.Operations.WatchRun, orchestration.WatchRunParams{
		NamedRunParams: f.named(), Since: new(int64(0)), Deliver: func(n feed.TranscriptNotification) error {
			if n.Item != nil && n.Item.Interaction != nil && n.Item.Interaction.State != interaction.Open && f.asks != nil {
				f.asks.settle(n.Item.InteractionID)
			}
			err := shown(n)
			f.question(n)
			return err
		},
	})
	return err
}

// streamedChunk is a piece of a command's output.
type streamedChunk struct {
	Stream string `json:"stream"`
	Data   string `json:"data"`
}

// answerWith returns the command that answers a request.
func (f *follower) answerWith(id string) string { return "ac answer " + cli.ShortID(id) }

// question asks about an agent's request, or prints it once.
func (f *follower) question(n feed.TranscriptNotification) {
	if n.Item == nil || n.Item.Interaction == nil || n.Item.Interaction.State != interaction.Open || f.told[n.Item.InteractionID] {
		return
	}
	if f.told == nil {
		f.told = map[string]bool{}
	}
	f.told[n.Item.InteractionID] = true
	switch {
	case f.asks != nil:
		f.asks.ask(n.Item.Interaction)
	case !f.OnTerminal() || f.AsJSON:
		f.Note("? %s asks: %s   (%s allow)", cli.OrUnknown(f.row.Agent, f.row.AgentID), n.Item.Interaction.Title, f.answerWith(n.Item.InteractionID))
	}
}

// followedRun is the last JSON line about a followed run.
type followedRun struct {
	Run company.RunRow `json:"run"`
}

// printEnd prints how the run ended, and returns its exit status.
func (f *follower) printEnd(stopped os.Signal) error {
	p := company.SessionParams{MaybeDir: company.MaybeDir{WorkspaceDir: f.Dir}, SessionRef: f.ref}
	if _, err := company.Do(f.Ctx, f.All, (*company.Host).CollectSession, p); err != nil {
		return err
	}
	spoken := f.row.IsConversation
	row, err := f.Run(f.row.RunID)
	if err != nil {
		return err
	}
	f.row = row
	switch {
	case f.AsJSON:
		if err := f.PrintLine(followedRun{row}); err != nil {
			return err
		}
	case spoken && !f.raw && !f.OnTerminal():
		if err := f.lastMessage(); err != nil {
			return err
		}
	}
	f.Note("%s", f.lastLine(spoken))
	if code := exitOfRun(&row, spoken, stopped); code != 0 {
		return cli.ExitError{Code: code}
	}
	return nil
}

// lastMessage prints the agent's last message.
func (f *follower) lastMessage() error {
	text, err := company.Do(f.Ctx, f.All, orchestration.Operations.LastMessage, f.named())
	if err == nil && text != "" {
		_, err = fmt.Fprintln(f.Stdout, strings.TrimRight(text, "\n"))
	}
	return err
}

// lastLine summarizes the end of a run in one line.
func (f *follower) lastLine(spoken bool) string {
	row := &f.row
	how := row.State
	switch {
	case row.Status == doc.StatusFailed && overTime(row):
		how = "failed, timed out"
	case row.Status == doc.StatusFailed && row.State != company.StateOverBudget && row.State != company.StateFailed:
		how = "failed, " + row.State
	}
	parts := []string{how}
	if row.TookS != nil {
		parts = append(parts, cli.Took(row))
	}
	if spoken && row.Tokens != nil && !row.TokensEstimated {
		parts = append(parts, terminal.FormatTokens(*row.Tokens)+" tokens")
	}
	if row.CostUSD != nil {
		parts = append(parts, terminal.FormatCost(row.CostUSD))
	}
	line := fmt.Sprintf("run %s  %s  %s", cli.ShortID(row.RunID), cli.OrUnknown(row.Agent, row.AgentID), strings.Join(parts, ", "))
	if row.Worktree != nil {
		line += f.changes()
	}
	return line
}

// changes summarizes the run's changes for the last line.
func (f *follower) changes() string {
	changed, err := company.Do(f.Ctx, f.All, decisions.Operations.Changes, decisions.ChangesParams{
		Dir: f.DirParam(), ProjectID: f.row.ProjectID, RunID: f.row.RunID, Form: "rows",
	})
	if err != nil || len(changed.Files) == 0 {
		return "" // ac diff reports the error
	}
	added, removed := 0, 0
	for _, file := range changed.Files {
		added, removed = added+file.Added, removed+file.Removed
	}
	return fmt.Sprintf("; %s: ac diff %s", sizeOf(len(changed.Files), added, removed), cli.ShortID(f.row.RunID))
}

// overTime reports whether a run exceeded its time limit.
func overTime(row *company.RunRow) bool {
	return strings.HasPrefix(cli.OrEmpty(row.Error), session.OverLimit)
}

// exitOfRun returns the exit status of a command that followed a run. stopped is the signal that
// made the follower stop the run, nil if there was none.
func exitOfRun(row *company.RunRow, spoken bool, stopped os.Signal) int {
	by, _ := stopped.(syscall.Signal)
	switch {
	case row.Status == doc.StatusEnded:
		return 0
	case row.State == company.StateOverBudget || overTime(row):
		return exitOverLimit
	case stopped != nil && row.Status != doc.StatusEnded:
		return cli.ExitSignal + int(by)
	case row.State == company.StateLost:
		return exitOurs
	case spoken:
		return 1
	case row.ExitCode != nil && *row.ExitCode != 0:
		return *row.ExitCode
	case row.Signal != nil:
		return cli.ExitSignal + signalNumber(*row.Signal)
	case row.Status == doc.StatusStopped:
		return cli.ExitSignal + int(syscall.SIGTERM)
	}
	return exitOurs
}

// signalNumber returns the number of a signal, 0 if the name is unknown.
func signalNumber(name string) int {
	for n := 1; n < 65; n++ {
		if signame.Of(syscall.Signal(n)) == name {
			return n
		}
	}
	return 0
}
