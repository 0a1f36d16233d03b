package main

// Following a run in the foreground: its output, signals, what its agent asks, and how it
// ended. The run lives under its supervisor, whatever becomes of the one who follows.

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

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

// startAndFollow starts a run, and follows it unless it is detached.
func (c *call) startAndFollow(p orchestration.StartRunParams, o *runFlags) error {
	return c.begin(o, func(dry bool) (orchestration.StartRunResult, error) {
		p.DryRun = dry
		return company.Do(c.ctx, c.all, orchestration.Operations.StartRun, p)
	}, p.Isolation == runs.IsolationWorktree)
}

// begin starts a run that is in a worktree or not, says what is not in that, and follows
// the run unless it is detached.
func (c *call) begin(o *runFlags, start func(dry bool) (orchestration.StartRunResult, error), worktree bool) error {
	if worktree {
		planned, err := start(true)
		if err != nil {
			return err
		}
		if n := planned.Plan.ChangedFiles; n > 0 {
			c.note("note: %d changed %s not in the worktree", n, plural(n, "file is", "files are"))
		}
	}
	// From here on a signal finds a run that it can stop.
	signals := make(chan os.Signal, 4)
	if !o.detach {
		signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGHUP)
		defer signal.Stop(signals)
	}
	made, err := start(false)
	if err != nil {
		return err
	}
	row, err := c.run(made.RunID)
	switch {
	case err != nil:
		return err
	case o.detach:
		return c.detached(&row, made)
	}
	return (&follower{call: c, row: row, ref: made.SessionRef, raw: o.raw}).follow(signals)
}

func plural(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}

// detachedRun is the JSON output of a start that nobody follows.
type detachedRun struct {
	RunID      string `json:"run_id"`
	SessionRef string `json:"session_ref"`
	ProjectID  string `json:"project_id"`
	AgentID    string `json:"agent_id"`
}

// detached prints the id of a run that has started. One that failed to is an error.
func (c *call) detached(row *company.RunRow, made orchestration.StartRunResult) error {
	if row.Status == doc.StatusFailed && row.ExitCode == nil && row.Signal == nil {
		return fmt.Errorf("run %s did not start: %s", shortID(row.RunID), orEmpty(row.Error))
	}
	switch {
	case c.asJSON:
		return c.printJSON(detachedRun{made.RunID, made.SessionRef, row.ProjectID, row.AgentID})
	case c.onTerminal():
		fmt.Fprintln(c.stdout, shortID(made.RunID))
	default:
		fmt.Fprintln(c.stdout, made.RunID)
	}
	return nil
}

// follower follows one run.
type follower struct {
	*call
	row  company.RunRow
	ref  string // of its session
	raw  bool
	asks *asker // nil where nobody is asked

	told map[string]bool // questions that were mentioned
}

// follow follows the run to its end, or until it is left.
func (f *follower) follow(signals <-chan os.Signal) error {
	ctx, cancel := context.WithCancel(f.ctx)
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
			return f.ended(stopped)
		case s := <-signals:
			p := company.SessionParams{MaybeDir: company.MaybeDir{WorkspaceDir: f.dir}, SessionRef: f.ref}
			switch {
			case s == syscall.SIGQUIT || s == syscall.SIGHUP:
				cancel()
				<-done //nolint:errcheck // its reader ended
				f.note("left running; ac logs -f %s", shortID(f.row.RunID))
				return nil
			case stopped == nil:
				stopped = s
				f.note("stopping %s … (Ctrl-C again: kill)", shortID(f.row.RunID))
				acts.Go(func() { _, _ = company.Do(f.ctx, f.all, (*company.Host).StopSession, p) }) // its end tells
			default:
				acts.Go(func() { _, _ = company.Do(f.ctx, f.all, (*company.Host).KillSession, p) }) // its end tells
			}
		}
	}
}

// named is the run as watches want it.
func (f *follower) named() orchestration.NamedRunParams {
	return orchestration.NamedRunParams{Dir: f.dirParam(), ProjectID: f.row.ProjectID, RunID: f.row.RunID}
}

// stream passes on what the run prints or does, until it is over.
func (f *follower) stream(ctx context.Context) error {
	if !f.row.Spoken || f.raw {
		told := f.passOn
		if f.asJSON {
			told = func(stream string, chunk []byte) error { return f.printLine(streamedChunk{stream, string(chunk)}) }
		}
		_, err := company.Do(ctx, f.all, orchestration.Operations.WatchRaw, orchestration.RawRunParams{NamedRunParams: f.named(), Told: told})
		return err
	}
	shown := func(feed.TranscriptNotification) error { return nil }
	switch {
	case f.asJSON:
		shown = func(n feed.TranscriptNotification) error { return f.printLine(n) }
	case f.onTerminal():
		live := newLiveText(f.stdout, f.answerWith, false)
		shown = live.take
	}
	if f.call.asks() {
		f.asks = f.newAsker(f.row.ProjectID, f.row.RunID)
		defer f.asks.close()
	}
	_, err := company.Do(ctx, f.all, orchestration.Operations.WatchRun, orchestration.WatchRunParams{
		NamedRunParams: f.named(), Since: new(int64(0)), Told: func(n feed.TranscriptNotification) error {
			err := shown(n)
			f.question(n)
			return err
		},
	})
	return err
}

// streamedChunk is a piece of what a command printed.
type streamedChunk struct {
	Stream string `json:"stream"`
	Data   string `json:"data"`
}

// answerWith is the command that answers a question.
func (f *follower) answerWith(id string) string { return "ac answer " + shortID(id) }

// question asks what the agent asks, or mentions it once.
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
	case !f.onTerminal() || f.asJSON:
		f.note("? %s asks: %s   (%s allow)", orUnknown(f.row.Agent, f.row.AgentID), n.Item.Interaction.Title, f.answerWith(n.Item.InteractionID))
	}
}

// followedRun is the last line of JSON of a run that was followed.
type followedRun struct {
	Run company.RunRow `json:"run"`
}

// ended says how the run ended, and ends the command with its status.
func (f *follower) ended(stopped os.Signal) error {
	p := company.SessionParams{MaybeDir: company.MaybeDir{WorkspaceDir: f.dir}, SessionRef: f.ref}
	if _, err := company.Do(f.ctx, f.all, (*company.Host).CollectSession, p); err != nil {
		return err
	}
	spoken := f.row.Spoken
	row, err := f.run(f.row.RunID)
	if err != nil {
		return err
	}
	f.row = row
	switch {
	case f.asJSON:
		if err := f.printLine(followedRun{row}); err != nil {
			return err
		}
	case spoken && !f.raw && !f.onTerminal():
		if err := f.lastMessage(); err != nil {
			return err
		}
	}
	f.note("%s", f.lastLine(spoken))
	if code := exitOfRun(&row, spoken, stopped); code != 0 {
		return exitError{code}
	}
	return nil
}

// lastMessage prints the agent's last message.
func (f *follower) lastMessage() error {
	text, err := company.Do(f.ctx, f.all, orchestration.Operations.LastMessage, f.named())
	if err == nil && text != "" {
		_, err = fmt.Fprintln(f.stdout, strings.TrimRight(text, "\n"))
	}
	return err
}

// lastLine is how a run ended, on one line.
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
		parts = append(parts, took(row))
	}
	if spoken && row.Tokens != nil && !row.TokensEstimated {
		parts = append(parts, terminal.Tokens(*row.Tokens)+" tokens")
	}
	if row.CostUSD != nil {
		parts = append(parts, terminal.Cost(row.CostUSD))
	}
	line := fmt.Sprintf("run %s  %s  %s", shortID(row.RunID), orUnknown(row.Agent, row.AgentID), strings.Join(parts, ", "))
	if row.Worktree != nil {
		line += f.changes()
	}
	return line
}

// changes is what the run changed, as the end of its last line.
func (f *follower) changes() string {
	changed, err := company.Do(f.ctx, f.all, decisions.Operations.Changes, decisions.ChangesParams{
		Dir: f.dirParam(), ProjectID: f.row.ProjectID, RunID: f.row.RunID, Form: "rows",
	})
	if err != nil || len(changed.Files) == 0 {
		return "" // ac diff says why
	}
	added, removed := 0, 0
	for _, file := range changed.Files {
		added, removed = added+file.Added, removed+file.Removed
	}
	return fmt.Sprintf("; %d %s +%d -%d: ac diff %s", len(changed.Files), plural(len(changed.Files), "file", "files"), added, removed, shortID(f.row.RunID))
}

// overTime reports whether a run took longer than it might.
func overTime(row *company.RunRow) bool {
	return strings.HasPrefix(orEmpty(row.Error), session.OverLimit)
}

// exitOfRun is the exit status of a command that followed a run. stopped is the signal by
// which its follower stopped it, nil for none.
func exitOfRun(row *company.RunRow, spoken bool, stopped os.Signal) int {
	by, _ := stopped.(syscall.Signal)
	switch {
	case row.Status == doc.StatusEnded:
		return 0
	case row.State == company.StateOverBudget || overTime(row):
		return exitOverLimit
	case stopped != nil && row.Status != doc.StatusEnded:
		return exitSignal + int(by)
	case row.State == company.StateLost:
		return exitOurs
	case spoken:
		return 1
	case row.ExitCode != nil && *row.ExitCode != 0:
		return *row.ExitCode
	case row.Signal != nil:
		return exitSignal + signalNumber(*row.Signal)
	case row.Status == doc.StatusStopped:
		return exitSignal + int(syscall.SIGTERM)
	}
	return exitOurs
}

// signalNumber is the number of a signal, 0 for an unknown one.
func signalNumber(name string) int {
	for n := 1; n < 65; n++ {
		if signame.Of(syscall.Signal(n)) == name {
			return n
		}
	}
	return 0
}
