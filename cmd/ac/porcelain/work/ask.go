package work

// Asking a person about the requests of an agent while its run is followed.

import (
	"bufio"
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/term"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/company/orchestration"
	"ac/internal/terminal"
	"ac/runs/interaction"
)

// lines reads a terminal line by line. Its goroutine runs until the process exits, because nothing
// can interrupt a read from a terminal.
type lines struct{ next chan string }

func newLines(c *cli.Call) *lines {
	l := &lines{next: make(chan string)}
	go func() {
		defer close(l.next)
		in := bufio.NewScanner(c.Stdin)
		for in.Scan() {
			l.next <- in.Text()
		}
	}()
	return l
}

// asker asks about the requests of one run, one after the other, on stderr and stdin.
type asker struct {
	*cli.Call
	project, run string
	cancel       context.CancelFunc
	wg           sync.WaitGroup
	queue        chan *interaction.Record
	typed        *lines // nil until the first question, because the system stops a background process that reads the terminal
}

// maxQueued is how many requests of a run may wait to be asked. Further ones must be answered with
// ac answer.
const maxQueued = 64

func newAsker(c *cli.Call, project, run string) *asker {
	ctx, cancel := context.WithCancel(c.Ctx)
	q := &asker{Call: c, project: project, run: run, cancel: cancel, queue: make(chan *interaction.Record, maxQueued)}
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
	select {
	case q.queue <- i:
	default: // it can be answered with ac answer
	}
}

// close stops asking, and waits for the goroutine.
func (q *asker) close() {
	q.cancel()
	q.wg.Wait()
}

// answer asks about one request and sends the answer.
func (q *asker) answer(ctx context.Context, i *interaction.Record) {
	if q.typed == nil {
		q.typed = newLines(q.Call)
	}
	for {
		fmt.Fprint(q.Stderr, q.choices(i))
		select {
		case text, ok := <-q.typed.next:
			if !ok {
				return
			}
			if text = strings.TrimSpace(text); text == "" {
				continue // Enter alone decides nothing
			}
			p := answerOf(i, text)
			p.Act(q.Dir, q.project, q.run, q.Actor, q.Role, q.Team)
			if _, err := company.Do(ctx, q.All, orchestration.Operations.Respond, p); err != nil && ctx.Err() == nil {
				fmt.Fprintf(q.Stderr, "ERROR: %s\n", cli.OneLine(err.Error()))
			}
			return
		case <-ctx.Done():
			return
		}
	}
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
