package dashboard

// The loop: it prints a screen, reads a line, runs its command, and repeats.

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"ac/snapshot"
)

// Decision is a decision that a line of input requests.
type Decision struct {
	ArtifactID string
	Decision   string // approved or denied
	Notes      string
}

// Loop is an interactive dashboard.
type Loop struct {
	In  io.Reader
	Out io.Writer
	// Once shows one screen and takes no commands.
	Once bool
	// Clear clears the terminal before each screen.
	Clear bool
	// Snapshot returns a snapshot.
	Snapshot func(context.Context) (snapshot.UI, error)
	// Decide makes a decision and returns the kind of its subject. The loop prints an error and
	// continues.
	Decide func(context.Context, Decision) (subjectKind string, err error)
}

const (
	prompt      = "manager-dashboard> "
	clearScreen = "\x1bc"
)

// errLeave ends the loop.
var errLeave = errors.New("leave")

// Run prints the dashboard and runs the commands of the input in order, until one quits or the
// input ends. If the first snapshot fails, Run fails. It prints later failures and continues.
func (l *Loop) Run(ctx context.Context) error {
	if err := l.draw(ctx, ""); err != nil || l.Once {
		return err
	}
	lines := bufio.NewReader(l.In)
	for {
		if err := l.say(prompt); err != nil {
			return err
		}
		line, err := lines.ReadString('\n')
		if line == "" && errors.Is(err, io.EOF) {
			return l.say("\n")
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read the next command: %w", err)
		}
		if err := l.command(ctx, line); errors.Is(err, errLeave) {
			return l.say("Bye.\n")
		} else if err != nil {
			return err
		}
	}
}

func (l *Loop) say(text string) error {
	_, err := io.WriteString(l.Out, text)
	return err
}

// fault returns the line that reports an error.
func fault(err error) string {
	return "ERROR: " + plain(strings.ReplaceAll(err.Error(), "\n", "; ")) + "\n"
}

// draw prints a message and a new snapshot. It clears the terminal before the message, so that the
// message stays visible.
func (l *Loop) draw(ctx context.Context, message string) error {
	ui, err := l.Snapshot(ctx)
	if err != nil {
		return failed{err}
	}
	text := message + Screen(&ui)
	if l.Clear {
		text = clearScreen + text
	}
	return l.say(text)
}

// failed marks a failed snapshot.
type failed struct{ error }

func (f failed) Unwrap() error { return f.error }

// redraw is draw, but prints the error of a failed snapshot and continues.
func (l *Loop) redraw(ctx context.Context, message string) error {
	err := l.draw(ctx, message)
	if without, ok := errors.AsType[failed](err); ok {
		return l.say(message + fault(without))
	}
	return err
}

// command runs the command of one line. An error ends the loop.
func (l *Loop) command(ctx context.Context, line string) error {
	word, rest := cutWord(line)
	switch strings.ToLower(word) {
	case "", "r", "refresh":
		return l.redraw(ctx, "")
	case "a", "approve":
		return l.decide(ctx, "approved", rest)
	case "d", "deny":
		return l.decide(ctx, "denied", rest)
	case "h", "help", "?":
		return l.say(help())
	case "q", "quit", "exit":
		return errLeave
	}
	return l.say(fault(fmt.Errorf("unknown command %q (h shows the commands)", word)))
}

// cutWord splits off the first word of a text.
func cutWord(text string) (word, rest string) {
	text = strings.TrimSpace(text)
	if end := strings.IndexFunc(text, unicode.IsSpace); end >= 0 {
		return text[:end], strings.TrimSpace(text[end:])
	}
	return text, ""
}

func (l *Loop) decide(ctx context.Context, decision, rest string) error {
	id, notes := cutWord(rest)
	if id == "" {
		return l.say(fault(errors.New("an artifact id is missing (h shows the commands)")))
	}
	kind, err := l.Decide(ctx, Decision{ArtifactID: id, Decision: decision, Notes: notes})
	if err != nil {
		return l.redraw(ctx, fault(err))
	}
	return l.redraw(ctx, plain(fmt.Sprintf("%s %s (%s)", decision, id, kind))+"\n")
}
