package execution

// Answering requests of agents at a terminal.

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"ac/cmd/ac/cli"
	"ac/company/orchestration"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/internal/terminal"
	"ac/runs/interaction"
	"ac/workspace"
)

// atTerminal reports whether stdin is a terminal, so that a person can be asked.
func atTerminal(a *cli.App) bool {
	in, isFile := a.Stdin.(*os.File)
	return isFile && term.IsTerminal(int(in.Fd()))
}

// answering asks a person about the requests of agents. It is not safe for concurrent use.
type answering struct {
	a     *cli.App
	on    onRun // the actor, and the run; without a run, all runs of the workspace
	lines <-chan string
	kept  map[string]bool // requests to be answered later
	over  bool            // the person has quit
	// inText: the transcript above already shows the title of the request.
	inText bool
}

// The polling intervals for new requests, and for answers from other people.
const (
	lookForMore   = 500 * time.Millisecond
	lookForOthers = time.Second
)

// newAnswering starts reading the terminal. The reading goroutine runs until the process exits,
// because nothing else interrupts a read from a terminal.
func newAnswering(a *cli.App, on onRun) *answering {
	lines := make(chan string)
	go func() {
		defer close(lines)
		in := bufio.NewReader(a.Stdin)
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			lines <- strings.TrimRight(line, "\r\n")
		}
	}()
	return &answering{a: a, on: on, lines: lines, kept: map[string]bool{}}
}

// answerAtTerminal asks a person about one open request, or about all of them.
func answerAtTerminal(a *cli.App, cmd *cobra.Command, on onRun, id string, more bool) error {
	if !atTerminal(a) {
		return errors.New("nothing was decided: name --allow, --deny, --option, --text or --answer; without one, stdin must be a terminal")
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	s := newAnswering(a, on)
	if id == "" {
		return s.all(ctx, more)
	}
	now, err := s.now(ctx, interaction.Record{ProjectID: on.project, RunID: on.run, Request: interaction.Request{InteractionID: id}})
	switch {
	case err != nil:
		return err
	case now.State != interaction.Open:
		return s.tellOther(ctx, now)
	}
	_, err = s.one(ctx, now)
	return err
}

// all asks about the open requests, oldest first. With more, it then waits for further ones.
func (s *answering) all(ctx context.Context, more bool) error {
	for told := false; ; {
		next, err := s.next(ctx)
		switch {
		case err != nil:
			return err
		case next == nil && !more:
			return nil
		case next == nil:
			if !told {
				fmt.Fprintln(s.a.Stdout, "Nothing waits for an answer. Ctrl-C ends.")
			}
			told = true
			if err := PauseFor(ctx, lookForMore); err != nil {
				return nil //nolint:nilerr // the person ended it
			}
			continue
		}
		told = false
		if goesOn, err := s.one(ctx, *next); err != nil || !goesOn {
			return err
		}
	}
}

// PauseFor waits for d, or until ctx is done, in which case it returns the cause.
func PauseFor(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// inLine asks about a request below the transcript that shows it, once.
func (s *answering) inLine(ctx context.Context, r interaction.Record) error {
	s.inText = true
	if s.over || s.kept[r.InteractionID] {
		return nil
	}
	s.kept[r.InteractionID] = true // show it only once
	if now, err := s.now(ctx, r); err != nil || now.State != interaction.Open {
		return err // the transcript shows more about a closed request
	}
	goesOn, err := s.one(ctx, r)
	s.over = !goesOn
	return err
}

// next returns the oldest open request that was not kept for later, nil if there is none.
func (s *answering) next(ctx context.Context) (*interaction.Record, error) {
	p := orchestration.ListInteractionsParams{ProjectID: s.on.project, RunID: s.on.run, State: interaction.Open, Limit: 500}
	p.WorkspaceDir = s.on.dir
	found, err := cli.Ask(ctx, s.a, orchestration.Operations.ListInteractions, p)
	for i := range found.Interactions {
		if r := &found.Interactions[i]; r.State == interaction.Open && !s.kept[r.InteractionID] {
			return r, err
		}
	}
	return nil, err
}

// now returns the current state of a request.
func (s *answering) now(ctx context.Context, r interaction.Record) (interaction.Record, error) {
	p := orchestration.InteractionParams{ProjectID: r.ProjectID, RunID: r.RunID, InteractionID: r.InteractionID}
	p.WorkspaceDir = s.on.dir
	return cli.Ask(ctx, s.a, orchestration.Operations.Interaction, p)
}

// one shows a request and sends the answer. It reports whether to ask about the next one.
func (s *answering) one(ctx context.Context, r interaction.Record) (goesOn bool, err error) {
	s.show(r, workspace.SystemEnv().Clock.Now())
	p := orchestration.RespondParams{InteractionID: r.InteractionID}
	p.Act(s.on.dir, r.ProjectID, r.RunID, s.on.actor, s.on.role, s.on.team)
	decided, goesOn, err := s.decide(ctx, r, &p)
	if err != nil || !decided {
		return goesOn, err
	}
	done, err := cli.Ask(ctx, s.a, orchestration.Operations.Respond, p)
	switch {
	case fault.Is(err, fault.InteractionClosed):
		return true, s.tellOther(ctx, r)
	case err != nil:
		return false, err
	}
	fmt.Fprintf(s.a.Stdout, "%s %s\n", done.InteractionID, done.State)
	return true, nil
}

// tellOther prints who answered first.
func (s *answering) tellOther(ctx context.Context, r interaction.Record) error {
	now, err := s.now(ctx, r)
	if err == nil {
		fmt.Fprintln(s.a.Stdout, terminal.Quote(fmt.Sprintf("%s is %s by %s already", r.InteractionID, now.State, now.By)))
	}
	return err
}

// show prints a request.
func (s *answering) show(r interaction.Record, now time.Time) {
	var b strings.Builder
	if !s.inText {
		fmt.Fprintf(&b, "? %s\n", terminal.Quote(r.Title))
	}
	fmt.Fprintf(&b, "  %s of %s", terminal.Quote(r.AgentID), r.RunID)
	if r.ExpiresAt != nil {
		if until, ok := clock.Parse(*r.ExpiresAt); ok {
			fmt.Fprintf(&b, "  (%s left)", max(until.Sub(now), 0).Round(time.Second))
		}
	}
	b.WriteString("\n")
	for _, text := range []string{r.Prompt, r.Diff} {
		for line := range strings.Lines(terminal.QuoteLines(text)) {
			b.WriteString("  " + strings.TrimRight(line, "\n") + "\n")
		}
	}
	_, _ = io.WriteString(s.a.Stdout, b.String()) // the next prompt reports the error
}

// Inputs that do not decide anything.
const (
	wordKeep = "k"
	wordQuit = "q"
)

// line asks for one line. decided is false if the person keeps the request for later or quits, or
// if somebody else answers in the meantime. goesOn then reports whether to ask about the next
// request.
func (s *answering) line(ctx context.Context, r interaction.Record, prompt string) (line string, decided, goesOn bool, err error) {
	fmt.Fprint(s.a.Stdout, prompt)
	ticker := time.NewTicker(lookForOthers)
	defer ticker.Stop()
	closed := false
	for {
		select {
		case line, open := <-s.lines:
			switch {
			case !open:
				return "", false, false, nil
			case closed: // typed for the closed request, not for the next one
				return "", false, true, nil
			case line == wordKeep:
				s.kept[r.InteractionID] = true
				return "", false, true, nil
			case line == wordQuit:
				return "", false, false, nil
			}
			return line, true, true, nil
		case <-ctx.Done():
			return "", false, false, nil
		case <-ticker.C:
			now, err := s.now(ctx, r)
			if err != nil {
				return "", false, false, err
			}
			if !closed && now.State != interaction.Open {
				closed = true
				fmt.Fprintln(s.a.Stdout)
				if err := s.tellOther(ctx, r); err != nil {
					return "", false, false, err
				}
				fmt.Fprint(s.a.Stdout, "Enter goes on. ")
			}
		}
	}
}

// decide asks for an answer that fits the kind of request.
func (s *answering) decide(ctx context.Context, r interaction.Record, p *orchestration.RespondParams) (decided, goesOn bool, err error) {
	switch r.Kind {
	case interaction.Question:
		return s.choose(ctx, r, p)
	case interaction.Input:
		return s.write(ctx, r, p)
	}
	prompt := "[a]llow once, "
	session := false
	for _, o := range r.Options {
		session = session || o.Effect == "allow" && o.Scope == "session"
	}
	if session {
		prompt += "[s]ession, "
	}
	for {
		word, decided, goesOn, err := s.line(ctx, r, prompt+"[d]eny, [t]ext and deny, [k]eep for later, [q]uit: ")
		if err != nil || !decided {
			return false, goesOn, err
		}
		switch {
		case word == "a":
			p.Decision = "allow"
		case word == "s" && session:
			p.Decision, p.Scope = "allow", "session"
		case word == "d":
			p.Decision = "deny"
		case word == "t":
			text, decided, goesOn, err := s.line(ctx, r, "Text for the agent: ")
			if err != nil || !decided {
				return false, goesOn, err
			}
			if p.Decision = "deny"; strings.TrimSpace(text) != "" {
				p.Text = &text
			}
		default:
			continue
		}
		return true, true, nil
	}
}

// choose asks for the answers to questions.
func (s *answering) choose(ctx context.Context, r interaction.Record, p *orchestration.RespondParams) (decided, goesOn bool, err error) {
	p.Answers = map[string][]string{}
	for _, q := range r.Questions {
		var b strings.Builder
		if len(r.Questions) > 1 || q.Question != r.Title {
			fmt.Fprintf(&b, "  %s\n", terminal.Quote(q.Question))
		}
		for i, o := range q.Options {
			fmt.Fprintf(&b, "  %d  %s\n", i+1, terminal.Quote(strings.TrimSpace(o.Label+"  "+o.Description)))
		}
		fmt.Fprint(s.a.Stdout, b.String())
		prompt := "A number"
		switch {
		case len(q.Options) == 0:
			prompt = "An answer"
		case q.Multi && q.FreeText:
			prompt = "Numbers with commas between, or an answer"
		case q.Multi:
			prompt = "Numbers with commas between"
		case q.FreeText:
			prompt = "A number, or an answer"
		}
		for {
			line, decided, goesOn, err := s.line(ctx, r, prompt+", [k]eep for later, [q]uit: ")
			if err != nil || !decided {
				return false, goesOn, err
			}
			if chosen := chosenOf(q, line); len(chosen) > 0 {
				p.Answers[q.QuestionID] = chosen
				break
			}
		}
	}
	return true, true, nil
}

// chosenOf parses the answer to a question. It returns nil if the answer is invalid.
func chosenOf(q interaction.QuestionPart, line string) (chosen []string) {
	line = strings.TrimSpace(line)
	words := []string{line}
	if q.Multi {
		words = strings.Split(line, ",")
	}
	for _, word := range words {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || n < 1 || n > len(q.Options) {
			if q.FreeText && line != "" {
				return []string{line}
			}
			return nil
		}
		chosen = append(chosen, q.Options[n-1].Label)
	}
	return chosen
}

// write asks for lines until an empty one.
func (s *answering) write(ctx context.Context, r interaction.Record, p *orchestration.RespondParams) (decided, goesOn bool, err error) {
	var text []string
	for prompt := "Lines up to an empty one, [k]eep for later, [q]uit:\n> "; ; prompt = "> " {
		line, decided, goesOn, err := s.line(ctx, r, prompt)
		if err != nil || !decided {
			return false, goesOn, err
		}
		if line == "" {
			whole := strings.Join(text, "\n")
			p.Text = &whole
			return true, true, nil
		}
		text = append(text, line)
	}
}
