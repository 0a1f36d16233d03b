package main

// ac talk: the conversations, and one of them with a line to write.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"ac/company"
	"ac/company/workforce"
	"ac/conversation"
	"ac/internal/clock"
	"ac/internal/terminal"
	"ac/workspace/doc"
)

// shownMessages is how many messages a conversation begins with.
const shownMessages = 20

func talkCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "talk [channel]", Short: "List conversations, or read one and write in it", Args: cobra.MaximumNArgs(1),
		Long: `Without a channel, list the conversations with how many messages are unread.

With one, print its newest messages. On a terminal new ones follow as they are sent, with a
line to write: Enter sends it, Ctrl-D ends. The channel is a name with or without its #, an
id, or the end of an id. With --json a message is an object on a line.`,
		Example: "  ac talk\n  ac talk '#home'",
	}
	a.short(cmd, func(c *call, given []string) error {
		rows, err := c.talks()
		if err != nil {
			return err
		}
		if len(given) == 0 {
			return c.listTalks(rows)
		}
		row, err := c.channel(rows, given[0])
		if err != nil {
			return err
		}
		return c.talk(row)
	})
	return cmd
}

// talks are the conversations of the project and of the workspace.
func (c *call) talks() ([]workforce.TalkRow, error) {
	return company.Do(c.ctx, c.all, workforce.Operations.TalkRows, workforce.TalkRowsParams{Dir: c.dirParam(), ProjectID: c.project, ActorID: c.actor})
}

// channel finds a conversation by its name, id, or the end of its id: in the project first.
func (c *call) channel(rows []workforce.TalkRow, word string) (*workforce.TalkRow, error) {
	var found candidate
	var err error
	for _, rows := range [][]workforce.TalkRow{slices.DeleteFunc(slices.Clone(rows), func(r workforce.TalkRow) bool { return r.ProjectID == nil }), rows} {
		known := candidates(rows, func(r workforce.TalkRow) candidate {
			return candidate{id: r.ConversationID, name: r.Name, also: "#" + r.Slug}
		})
		if found, err = lookup(kindConversation, word, c.company, known); err == nil {
			break
		}
	}
	at := slices.IndexFunc(rows, func(r workforce.TalkRow) bool { return r.ConversationID == found.id })
	if err != nil {
		return nil, err
	}
	return &rows[at], nil
}

func (c *call) listTalks(rows []workforce.TalkRow) error {
	names, err := c.agentNames()
	if err != nil {
		return err
	}
	lines := make([][]string, len(rows))
	for i, r := range rows {
		lines[i] = []string{r.ConversationID, r.Name, orEmpty(r.LastAt), orEmpty(r.LastBy), strconv.Itoa(r.Unread), orEmpty(r.ProjectID)}
	}
	return c.printListing(listing{rows, c.talkTable(rows, names), lines, "No conversations yet: ac projects add NAME makes a project with some"})
}

// talkTable is a list of conversations for a terminal.
func (c *call) talkTable(rows []workforce.TalkRow, names agentNames) terminal.Table {
	t := terminal.Table{Columns: []terminal.Column{{Title: "CHANNEL", Text: true}, {Title: "UNREAD", Right: true}, {Title: "LAST", Right: true, Drop: 4}, {Title: "BY", Most: 14, Drop: 6}, {Title: "PROJECT", Most: 14, Drop: 5}}}
	for i := range rows {
		r := &rows[i]
		at, _ := clock.Parse(orEmpty(r.LastAt))
		unread := count(r.Unread)
		if r.Unread > 0 {
			unread.Colour = terminal.BoldYellow
		}
		project := terminal.Unknown
		if r.ProjectID != nil {
			project = c.projectNamed(*r.ProjectID)
		}
		t.Rows = append(t.Rows, []terminal.Cell{{Text: channelName(r)}, unread, {Text: terminal.Age(at, c.now)}, {Text: names.of(orEmpty(r.LastBy))}, {Text: project}})
	}
	return t
}

// channelName is a conversation as people call it.
func channelName(r *workforce.TalkRow) string {
	if r.Kind == "dm" {
		return r.Name
	}
	return "#" + r.Slug
}

// talk prints a conversation, and follows it on a terminal.
func (c *call) talk(row *workforce.TalkRow) error {
	names, err := c.agentNames()
	if err != nil {
		return err
	}
	p := workforce.MessagesParams{Dir: c.dirParam(), ConversationID: row.ConversationID, Limit: shownMessages}
	if p.Scope.Scope = conversation.ScopeWorkspace; row.ProjectID != nil {
		p.Scope = workforce.Scope{Scope: conversation.ScopeProject, ProjectID: *row.ProjectID}
	}
	in, isFile := c.stdin.(*os.File)
	if isFile && c.onTerminal() && term.IsTerminal(int(in.Fd())) && !c.asJSON && !c.quiet {
		return c.converse(in, row, p, names)
	}
	messages, err := company.Do(c.ctx, c.all, workforce.Operations.Messages, p)
	if err != nil {
		return err
	}
	for _, m := range messages {
		if err := c.printTalk(m, names); err != nil {
			return err
		}
	}
	return c.markRead(messages)
}

// printTalk prints a message for a pipe: a JSON object, or its fields with tabs between.
func (c *call) printTalk(m doc.Message, names agentNames) error {
	if c.asJSON {
		line, err := m.Line()
		if err == nil {
			_, err = c.stdout.Write(line)
		}
		return err
	}
	if c.onTerminal() {
		_, err := fmt.Fprintln(c.stdout, c.talkLine(m, names))
		return err
	}
	_, err := fmt.Fprintln(c.stdout, strings.Join([]string{m.CreatedAt, terminal.Printable(names.of(m.AuthorID)), terminal.Printable(m.Body)}, "\t"))
	return err
}

// talkLine is a message for a terminal; its further lines are indented below the first.
func (c *call) talkLine(m doc.Message, names agentNames) string {
	at, _ := clock.Parse(m.CreatedAt)
	who := terminal.Fit(names.of(m.AuthorID), max(6, min(14, terminal.Columns(names.of(m.AuthorID)))))
	lines := strings.Split(strings.TrimRight(terminal.QuoteLines(m.Body), "\n"), "\n")
	indent := strings.Repeat(" ", len("15:04  ")+terminal.Columns(who)+1)
	return at.Local().Format("15:04") + "  " + who + " " + strings.Join(lines, "\n"+indent)
}

func (c *call) markRead(messages []doc.Message) error {
	if len(messages) == 0 {
		return nil
	}
	_, err := company.Do(c.ctx, c.all, workforce.Operations.MarkRead, workforce.MarkReadParams{Dir: c.dirParam(), ActorID: c.actor, Message: messages[len(messages)-1]})
	return err
}

// converse follows a conversation and sends what is typed, until Ctrl-D or Ctrl-C. A dumb
// terminal gets no line to write.
func (c *call) converse(in *os.File, row *workforce.TalkRow, p workforce.MessagesParams, names agentNames) (err error) {
	ctx, stop := signal.NotifyContext(c.ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	var newest []doc.Message
	follow := func(out io.Writer) error {
		told := func(m doc.Message) error {
			newest = []doc.Message{m}
			_, err := fmt.Fprintln(out, c.talkLine(m, names))
			return err
		}
		_, err := company.Do(ctx, c.all, workforce.Operations.FollowMessages, workforce.FollowMessagesParams{MessagesParams: p, Told: told})
		return err
	}
	if os.Getenv("TERM") == "dumb" {
		return errors.Join(follow(c.stdout), c.markRead(newest))
	}
	line, restore, err := c.lineEditor(in, terminal.Printable(channelName(row))+" > ")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	followed, typed := make(chan error, 1), make(chan error, 1)
	go func() { followed <- follow(line) }() // ends with the context, awaited below
	go func() { typed <- c.typed(ctx, line, p) }()
	select {
	case err = <-typed:
	case <-ctx.Done(): // a signal: the goroutine that reads the terminal ends with the process
		err = exitError{exitSignal + int(syscall.SIGTERM)}
	}
	cancel()
	return errors.Join(err, <-followed, restore(), c.markRead(newest))
}

// lineEditor makes a terminal that is written to while a line is edited. restore puts the
// terminal back.
func (c *call) lineEditor(in *os.File, prompt string) (line *term.Terminal, restore func() error, err error) {
	was, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, nil, err
	}
	line = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{in, c.stdout}, prompt)
	if wide, high, err := term.GetSize(int(in.Fd())); err == nil {
		_ = line.SetSize(wide, high) // it keeps 80 columns
	}
	return line, func() error {
		_, err := fmt.Fprint(c.stdout, "\r\n")
		return errors.Join(term.Restore(int(in.Fd()), was), err)
	}, nil
}

// typed sends each line that is typed.
func (c *call) typed(ctx context.Context, line *term.Terminal, p workforce.MessagesParams) error {
	for ctx.Err() == nil {
		text, err := line.ReadLine()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if strings.TrimSpace(text) == "" {
			continue
		}
		sent := workforce.SendParams{Dir: p.Dir, Scope: p.Scope, ConversationID: p.ConversationID, AuthorID: c.actor, AuthorRole: c.role, Body: text, Kind: "text"}
		if _, err := company.Do(ctx, c.all, workforce.Operations.Send, sent); err != nil {
			if _, err := fmt.Fprintf(line, "ERROR: %s\n", oneLine(err.Error())); err != nil {
				return err
			}
		}
	}
	return nil
}
