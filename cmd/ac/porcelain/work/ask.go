package work

// Asking a person about the requests of an agent while its run is followed.

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/company/orchestration"
	"ac/internal/terminal"
	"ac/runs/interaction"
)

// lines reads a terminal line by line. Its goroutine runs until the process exits, because nothing
// can interrupt a read from a terminal.
type lines struct {
	in   io.Reader
	next chan typedLine
}

// typedLine is a line, with the time at which it was read.
type typedLine struct {
	text string
	at   time.Time
}

func newLines(c *cli.Call) *lines {
	l := &lines{in: c.Stdin, next: make(chan typedLine)}
	go func() {
		defer close(l.next)
		in := bufio.NewScanner(l.in)
		for in.Scan() {
			l.next <- typedLine{in.Text(), time.Now()}
		}
	}()
	return l
}

// discard discards lines that were typed and not yet taken.
func (l *lines) discard() {
	if in, ok := l.in.(cli.Descriptor); ok {
		_ = terminal.DiscardInput(in.Fd()) // without it, only the line that was read is discarded
	}
	select {
	case <-l.next:
	default:
	}
}

// asker asks about the requests of one run, one after the other, on stderr and stdin. What was
// typed before a request was shown answers it only if it is the first one: afterwards it was meant
// for the one before.
type asker struct {
	*cli.Call
	project, run string
	cancel       context.CancelFunc
	wg           sync.WaitGroup
	queue        chan *interaction.Record
	typed        *lines // nil until the first question, because the system stops a background process that reads the terminal

	mu      sync.Mutex
	waiting map[string]chan struct{} // of each request that waits for an answer; closed if somebody else settles it
	shown   string                   // id of the request that is asked now, "" if none
}

// maxQueued is how many requests of a run may wait to be asked. Further ones must be answered with
// ac answer.
const maxQueued = 64

func newAsker(c *cli.Call, project, run string) *asker {
	ctx, cancel := context.WithCancel(c.Ctx)
	q := &asker{Call: c, project: project, run: run, cancel: cancel, queue: make(chan *interaction.Record, maxQueued), waiting: map[string]chan struct{}{}}
	q.wg.Go(func() {
		for {
			select {
			case i := <-q.queue:
				q.answer(ctx, i)
			case <-ctx.Done():
				return
			}
		}
	})
	return q
}

// ask queues a request.
func (q *asker) ask(i *interaction.Record) {
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case q.queue <- i:
		q.waiting[i.InteractionID] = make(chan struct{})
	default: // it can be answered with ac answer
	}
}

// settle withdraws a request that somebody else settled.
func (q *asker) settle(id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	settled, ok := q.waiting[id]
	if !ok {
		return
	}
	close(settled)
	delete(q.waiting, id)
	if q.shown == id {
		q.shown = ""
		fmt.Fprintln(q.Stderr) // after the prompt
	}
}

// close stops asking, and waits for the goroutine.
func (q *asker) close() {
	q.cancel()
	q.wg.Wait()
}

// answer asks about one request and sends the answer.
func (q *asker) answer(ctx context.Context, i *interaction.Record) {
	for {
		first := q.typed == nil
		settled, asks := q.show(i)
		if !asks {
			return
		}
		shown := time.Now()
		select {
		case line, ok := <-q.typed.next:
			if !ok {
				return
			}
			text := strings.TrimSpace(line.text)
			if text == "" || !first && line.at.Before(shown) || !q.take(i.InteractionID) {
				continue // Enter alone decides nothing
			}
			p := answerOf(i, text)
			p.Act(q.Dir, q.project, q.run, q.Actor, q.Role, q.Team)
			if _, err := company.Do(ctx, q.All, orchestration.Operations.Respond, p); err != nil && ctx.Err() == nil {
				fmt.Fprintf(q.Stderr, "ERROR: %s\n", cli.OneLine(err.Error()))
			}
			return
		case <-settled:
			return
		case <-ctx.Done():
			return
		}
	}
}

// show discards what was typed since the first request, and prints the choices of a request. asks is
// false if it was settled meanwhile.
func (q *asker) show(i *interaction.Record) (settled chan struct{}, asks bool) {
	if q.typed != nil {
		q.typed.discard()
	} else {
		q.typed = newLines(q.Call)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if settled, asks = q.waiting[i.InteractionID]; asks {
		q.shown = i.InteractionID
		fmt.Fprint(q.Stderr, q.choices(i))
	}
	return settled, asks
}

// take reports whether a request still waits. From then on it is no longer asked.
func (q *asker) take(id string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	_, waits := q.waiting[id]
	delete(q.waiting, id)
	q.shown = ""
	return waits
}

// choices returns the prompt with the possible answers.
func (q *asker) choices(i *interaction.Record) string {
	if i.Kind == interaction.Question || i.Kind == interaction.Input {
		var b strings.Builder
		for n, o := range i.Options {
			fmt.Fprintf(&b, "  %d  %s\n", n+1, terminal.Quote(o.Label))
		}
		return b.String() + "answer › "
	}
	return "[a]llow, [d]eny, allow for this [s]ession › "
}

// takesText reports whether any text answers a request, as opposed to a permission.
func takesText(i *interaction.Record) bool {
	return i.Kind == interaction.Question || i.Kind == interaction.Input
}

// answerOf converts a line to an answer.
func answerOf(i *interaction.Record, line string) (p orchestration.RespondParams) {
	p.InteractionID = i.InteractionID
	if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(i.Options) {
		p.OptionID = i.Options[n-1].OptionID
		return p
	}
	if takesText(i) {
		p.Text = &line
		return p
	}
	switch strings.ToLower(line) {
	case "a", "allow", "y", "yes":
		p.Decision = "allow"
	case "s", "session":
		p.Decision, p.Scope = "allow", "session"
	default:
		if p.Decision = "deny"; line != "d" && line != "deny" && line != "n" && line != "no" {
			p.Text = &line
		}
	}
	return p
}

// readsTerminal reports whether stdin is a terminal.
func readsTerminal(a *cli.App) bool {
	in, ok := a.Stdin.(cli.Descriptor)
	return ok && term.IsTerminal(int(in.Fd()))
}
