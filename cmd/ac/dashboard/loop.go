package dashboard

// The loop: a screen, a line, what it asks for, and again.

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

// Decision is what a line asks to decide.
type Decision struct {
	ArtifactID string
	Decision   string // approved or denied
	Notes      string
}

// Loop is a dashboard that takes commands.
type Loop struct {
	In  io.Reader
	Out io.Writer
	// Once shows one screen and takes no commands.
	Once bool
	// Clear clears the terminal before each screen.
	Clear bool
	// Snapshot takes a snapshot.
	Snapshot func(context.Context) (snapshot.UI, error)
	// Decide makes a decision and says what kind of thing was decided. An error is
	// told, and the loop goes on.
	Decide func(context.Context, Decision) (subjectKind string, err error)
}

const (
	prompt      = "manager-dashboard> "
	clearScreen = "\x1bc"
)

// errLeave ends the loop.
var errLeave = errors.New("leave")

// Run shows the dashboard and carries out the lines of the input in their order,
// until one says to leave or there are no more. A first snapshot that fails is an
// error, later ones are told.
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

// fault is the line that says that something went wrong.
func fault(err error) string {
	return "ERROR: " + plain(strings.ReplaceAll(err.Error(), "\n", "; ")) + "\n"
}

// draw shows a new snapshot below a message, which would be lost if the terminal
// were cleared behind it.
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

// failed says that there is no snapshot.
type failed struct{ error }

func (f failed) Unwrap() error { return f.error }

// redraw is draw, but tells why there is no snapshot.
func (l *Loop) redraw(ctx context.Context, message string) error {
	err := l.draw(ctx, message)
	if without, ok := errors.AsType[failed](err); ok {
		return l.say(message + fault(without))
	}
	return err
}

// command carries out one line. Its error ends the loop.
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

// cutWord takes the first word off a text; blanks and tabs end it.
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
