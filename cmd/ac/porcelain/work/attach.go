package work

// ac attach: following a run, with a line for messages to its agent.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/cmd/ac/plumbing/execution"
	"ac/company"
	"ac/company/orchestration"
	"ac/feed"
	"ac/internal/terminal"
	"ac/runs"
	"ac/runs/interaction"
	"ac/runs/session"
	"ac/runs/transcript"
)

func attachCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "attach [run]", Short: "Follow a run and speak with its agent", Args: cobra.MaximumNArgs(1),
		Long: `Print what a run does, and take lines for its agent: a text steers it, !text interrupts
it and says the text; /allow, /deny, /stop, /detach and /help act. Ctrl-C interrupts the
turn, Ctrl-D detaches: the run goes on. A run that is over can be continued.

Exit status: 0 when the run ended or was left, 3 when it failed or was stopped.`,
		Example: "  ac attach 4WKKE6",
	}
	a.Short(cmd, func(c *cli.Call, given []string) error {
		if !readsTerminal(c.App) || !c.OnTerminal() {
			return cli.UsageError{Message: "attach needs a terminal; steer with: ac say --run RUN TEXT"}
		}
		row, err := c.LastOr(given)
		if err != nil {
			return err
		}
		if row.Live() {
			return attach(c, &row, 0)
		}
		fmt.Fprintf(c.Stderr, "%s is over (%s)\n", cli.ShortID(row.RunID), row.State)
		text, err := textToSay(c, nil, "continue with › ")
		if err != nil {
			return err
		}
		return continueAndFollow(c, &row, text)
	})
	return cmd
}

// continueAndFollow continues a run and follows it.
func continueAndFollow(c *cli.Call, row *company.RunRow, text string) error {
	return continueRun(c, row, Continuation(c, row, text), false)
}

// Continuation returns the params that continue a run with a message.
func Continuation(c *cli.Call, row *company.RunRow, text string) (p orchestration.ContinueParams) {
	p.Act(c.Dir, row.ProjectID, row.RunID, c.Actor, c.Role, c.Team)
	p.PromptText, p.Resume, p.LanePriority = &text, runs.ResumeAuto, "normal"
	return p
}

// continueRun continues a run, and follows it unless detach is set.
func continueRun(c *cli.Call, row *company.RunRow, p orchestration.ContinueParams, detach bool) error {
	before, err := company.Do(c.Ctx, c.All, orchestration.Operations.Transcript, orchestration.TranscriptParams{
		Dir: c.DirParam(), ProjectID: row.ProjectID, RunID: row.RunID, Tail: 1,
	})
	if err != nil {
		return err
	}
	gone, err := company.Do(c.Ctx, c.All, orchestration.Operations.Continue, p)
	switch {
	case err != nil:
		return err
	case detach:
		return printDetached(c, &company.RunRow{ProjectID: row.ProjectID, AgentID: row.AgentID}, orchestration.StartRunResult{RunID: row.RunID, SessionRef: gone.SessionRef})
	case !readsTerminal(c.App) || !c.OnTerminal():
		return untilIdle(c, row, before.HeadSeq, before.Turn)
	}
	return attach(c, row, before.HeadSeq)
}

// errIdle ends a watch when the agent has finished its turn and waits.
var errIdle = errors.New("idle")

// untilIdle prints what a run does after line from of its log, until the agent has finished a turn
// later than turn.
func untilIdle(c *cli.Call, row *company.RunRow, from int64, turn int) error {
	live := execution.NewLiveText(c.Stdout, func(id string) string { return "ac answer " + cli.ShortID(id) }, false)
	ctx, cancel := context.WithCancelCause(c.Ctx)
	defer cancel(nil)
	idle, settled := false, false // used only by the delivery, which calls both functions
	result, err := company.Do(ctx, c.All, orchestration.Operations.WatchRun, orchestration.WatchRunParams{
		NamedRunParams: orchestration.NamedRunParams{Dir: c.DirParam(), ProjectID: row.ProjectID, RunID: row.RunID}, Since: &from,
		Settled: func() {
			if settled = true; idle { // it became idle before the watch began
				cancel(errIdle)
			}
		},
		Deliver: func(n feed.TranscriptNotification) error {
			if n.Op == transcript.Status {
				idle = n.State.Activity == transcript.ActivityIdle && n.State.Turn > turn
			}
			if settled && idle {
				return errIdle
			}
			if c.AsJSON {
				return c.PrintLine(n)
			}
			return live.Take(n)
		},
	})
	if errors.Is(err, errIdle) || errors.Is(context.Cause(ctx), errIdle) {
		return nil
	}
	return errors.Join(err, statusError(result.Status))
}

// attachment is a run that a person follows and sends messages to.
type attachment struct {
	*cli.Call
	row *company.RunRow

	mu   sync.Mutex
	open []*interaction.Record // open requests, oldest first
}

// attach follows a run after a line of its log, and sends typed lines to its agent.
func attach(c *cli.Call, row *company.RunRow, since int64) error {
	t := &attachment{Call: c, row: row}
	ctx, cancel := context.WithCancel(c.Ctx)
	defer cancel()
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	typed, done := newLines(c), make(chan error, 1)
	status := ""
	go func() {
		var err error
		status, err = t.show(ctx, since)
		done <- err
	}()
	detached := func() error {
		cancel()
		<-done //nolint:errcheck // its reader ended
		fmt.Fprintf(c.Stderr, "\nleft running; ac attach %s\n", cli.ShortID(row.RunID))
		return nil
	}
	t.prompt()
	for {
		select {
		case err := <-done:
			fmt.Fprintln(c.Stderr)
			return errors.Join(err, statusError(status))
		case s := <-signals:
			if s != syscall.SIGINT {
				return detached()
			}
			t.report(t.interrupt(ctx))
		case line, more := <-typed.next:
			text := strings.TrimSpace(line.text)
			if !more || text == "/detach" {
				return detached()
			}
			t.report(t.typed(ctx, text))
		}
	}
}

// who returns the prompt.
func (t *attachment) who() string {
	return terminal.Printable(cli.OrUnknown(t.row.Agent, t.row.AgentID)) + " › "
}

func (t *attachment) prompt() { fmt.Fprint(t.Stderr, t.who()) }

// report prints the result of a line, and the prompt.
func (t *attachment) report(said string, err error) {
	switch {
	case err != nil:
		fmt.Fprintf(t.Stderr, "ERROR: %s\n", cli.OneLine(err.Error()))
	case said != "":
		fmt.Fprintln(t.Stderr, said)
	}
	t.prompt()
}

// show prints what the run does, above the prompt.
func (t *attachment) show(ctx context.Context, since int64) (string, error) {
	tail := 0
	if since == 0 {
		tail = execution.WatchedItems
	}
	out := &abovePrompt{out: t.Stdout, prompt: t.who, dumb: os.Getenv("TERM") == "dumb"}
	if !t.row.IsConversation {
		return Show(ctx, t.Call, t.row, since, tail, out, out)
	}
	live := execution.NewLiveText(out, func(string) string { return "/allow or /deny" }, false)
	named := orchestration.NamedRunParams{Dir: t.DirParam(), ProjectID: t.row.ProjectID, RunID: t.row.RunID}
	result, err := company.Do(ctx, t.All, orchestration.Operations.WatchRun, orchestration.WatchRunParams{
		NamedRunParams: named, Since: &since, Tail: tail, Deliver: func(n feed.TranscriptNotification) error {
			if n.Item != nil && n.Item.Interaction != nil {
				t.keep(n.Item.Interaction)
			}
			return live.Take(n)
		},
	})
	return result.Status, err
}

// keep updates the list of open requests.
func (t *attachment) keep(i *interaction.Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	left := t.open[:0]
	for _, known := range t.open {
		if known.InteractionID != i.InteractionID {
			left = append(left, known)
		}
	}
	if t.open = left; i.State == interaction.Open {
		t.open = append(t.open, i)
	}
}

// asked returns the oldest open request, nil if there is none.
func (t *attachment) asked() *interaction.Record {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.open) == 0 {
		return nil
	}
	return t.open[0]
}

// attachHelp is the output of /help.
const attachHelp = `text       say it to the agent, or answer its question
!text      interrupt the agent and say it
/allow     allow what it asks; /allow session: for the rest of the session; /deny [why]
/stop      stop the run
/detach    leave it running (Ctrl-D); Ctrl-C interrupts the turn`

// typed handles a line, and returns what to print about it.
func (t *attachment) typed(ctx context.Context, line string) (string, error) {
	word, rest, _ := strings.Cut(line, " ")
	switch {
	case line == "":
		return "", nil
	case word == "/help":
		return attachHelp, nil
	case word == "/stop":
		p := company.SessionParams{MaybeDir: company.MaybeDir{WorkspaceDir: t.Dir}, SessionRef: t.row.SessionRef}
		_, err := company.Do(ctx, t.All, (*company.Host).StopSession, p)
		return "stopping " + cli.ShortID(t.row.RunID) + " …", err
	case word == "/allow" || word == "/deny":
		p, err := decide(t.asked(), word, strings.TrimSpace(rest))
		if err != nil {
			return "", err
		}
		return "", t.respond(ctx, p)
	case strings.HasPrefix(line, "/"):
		return "", fmt.Errorf("there is no %s; /help", word)
	}
	if asked := t.asked(); asked != nil && takesText(asked) {
		return "", t.respond(ctx, answerOf(asked, line))
	}
	text, interrupts := strings.CutPrefix(line, "!")
	return steerInWords(ctx, t.Call, t.row, text, interrupts)
}

// decide builds the response for /allow or /deny. asked is the open request, nil if there is none.
func decide(asked *interaction.Record, word, rest string) (p orchestration.RespondParams, err error) {
	switch {
	case asked == nil:
		return p, errors.New("nothing is asked")
	case takesText(asked):
		return p, fmt.Errorf("%s answers permissions; this is a question: type the answer", word)
	}
	p.InteractionID = asked.InteractionID
	switch {
	case word == "/deny":
		p.Decision = "deny"
		if rest != "" {
			p.Text = &rest
		}
	case rest == "" || rest == "session":
		p.Decision, p.Scope = "allow", rest
	default:
		return p, errors.New("/allow takes nothing, or session for the rest of the session")
	}
	return p, nil
}

// respond answers a request.
func (t *attachment) respond(ctx context.Context, p orchestration.RespondParams) error {
	p.Act(t.Dir, t.row.ProjectID, t.row.RunID, t.Actor, t.Role, t.Team)
	_, err := company.Do(ctx, t.All, orchestration.Operations.Respond, p)
	return err
}

// interrupt ends the current turn.
func (t *attachment) interrupt(ctx context.Context) (string, error) {
	var p orchestration.InterruptParams
	p.Act(t.Dir, t.row.ProjectID, t.row.RunID, t.Actor, t.Role, t.Team)
	done, err := company.Do(ctx, t.All, orchestration.Operations.Interrupt, p)
	return fmt.Sprintf("interrupted turn %d", done.Turn), err
}

// steerInWords sends a message to the agent of a run, and returns how it will arrive, in words.
func steerInWords(ctx context.Context, c *cli.Call, row *company.RunRow, text string, interrupts bool) (string, error) {
	said, err := Steer(ctx, c, row, text, interrupts)
	if err != nil {
		return "", err
	}
	return "said (" + Arrival(said) + ")", nil
}

// Steer sends a message to the agent of a run, and returns how it will arrive.
func Steer(ctx context.Context, c *cli.Call, row *company.RunRow, text string, interrupts bool) (session.SteerResult, error) {
	p := orchestration.SteerParams{Text: text, Mode: session.ModeNextTurn}
	if interrupts {
		p.Mode = session.ModeInterrupt
	}
	p.Act(c.Dir, row.ProjectID, row.RunID, c.Actor, c.Role, c.Team)
	return company.Do(ctx, c.All, orchestration.Operations.Steer, p)
}

// Arrival returns in words how a message arrives.
func Arrival(said session.SteerResult) string {
	switch said.Delivery {
	case session.DeliveryMidTurn:
		return "in this turn"
	case session.DeliveryNextTurn:
		return "next turn"
	}
	return strings.ReplaceAll(said.Delivery, "_", " ")
}

// abovePrompt writes above the line that is being typed. Typed text stays in the terminal's line
// buffer. Ctrl-R shows it again.
type abovePrompt struct {
	out    io.Writer
	prompt func() string
	dumb   bool
}

func (w *abovePrompt) Write(text []byte) (int, error) {
	if w.dumb {
		return w.out.Write(text)
	}
	_, err := fmt.Fprintf(w.out, "\r\x1b[K%s%s", text, w.prompt())
	return len(text), err
}
