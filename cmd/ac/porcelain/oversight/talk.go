package oversight

// ac talk: listing conversations, and reading and writing in one.

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

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/company/workforce"
	"ac/conversation"
	"ac/internal/clock"
	"ac/internal/terminal"
	"ac/workspace/doc"
)

// ShownMessages is how many existing messages are shown of a conversation.
const ShownMessages = 20

func talkCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "talk [channel]", Short: "List conversations, or read one and write in it", Args: cobra.MaximumNArgs(1),
		Long: `Without a channel, list the conversations with how many messages are unread.

With one, print its newest messages. On a terminal new ones follow as they are sent, with a
line to write: Enter sends it, Ctrl-D ends. The channel is a name with or without its #, an
id, or the end of an id. With --json a message is an object on a line.`,
		Example: "  ac talk\n  ac talk '#home'",
	}
	a.Short(cmd, func(c *cli.Call, given []string) error {
		rows, err := Talks(c)
		if err != nil {
			return err
		}
		if len(given) == 0 {
			return listTalks(c, rows)
		}
		row, err := channel(c, rows, given[0])
		if err != nil {
			return err
		}
		return talk(c, row)
	})
	return cmd
}

// Talks returns the conversations of the project and of the workspace.
func Talks(c *cli.Call) ([]workforce.TalkRow, error) {
	return company.Do(c.Ctx, c.All, workforce.Operations.TalkRows, workforce.TalkRowsParams{Dir: c.DirParam(), ProjectID: c.Project, ActorID: c.Actor})
}

// channel finds a conversation by its name, id, or the end of its id. It searches the conversations
// of the project first.
func channel(c *cli.Call, rows []workforce.TalkRow, word string) (*workforce.TalkRow, error) {
	var found cli.Candidate
	var err error
	for _, rows := range [][]workforce.TalkRow{slices.DeleteFunc(slices.Clone(rows), func(r workforce.TalkRow) bool { return r.ProjectID == nil }), rows} {
		known := cli.Candidates(rows, func(r workforce.TalkRow) cli.Candidate {
			return cli.Candidate{ID: r.ConversationID, Name: r.Name, Also: "#" + r.Slug}
		})
		if found, err = cli.Lookup(cli.KindConversation, word, c.Company, known); err == nil {
			break
		}
	}
	at := slices.IndexFunc(rows, func(r workforce.TalkRow) bool { return r.ConversationID == found.ID })
	if err != nil {
		return nil, err
	}
	return &rows[at], nil
}

func listTalks(c *cli.Call, rows []workforce.TalkRow) error {
	names, err := ReadAgentNames(c)
	if err != nil {
		return err
	}
	lines := make([][]string, len(rows))
	for i, r := range rows {
		lines[i] = []string{r.ConversationID, r.Name, cli.OrEmpty(r.LastAt), cli.OrEmpty(r.LastBy), strconv.Itoa(r.Unread), cli.OrEmpty(r.ProjectID)}
	}
	return printListing(c, listing{rows, talkTable(c, rows, names), lines, "No conversations yet: ac projects add NAME makes a project with some"})
}

// talkTable returns the table of conversations for a terminal.
func talkTable(c *cli.Call, rows []workforce.TalkRow, names AgentNames) terminal.Table {
	t := terminal.Table{Columns: []terminal.Column{{Title: "CHANNEL", Text: true}, {Title: "UNREAD", Right: true}, {Title: "LAST", Right: true, Drop: 4}, {Title: "BY", MaxWidth: 14, Drop: 6}, {Title: "PROJECT", MaxWidth: 14, Drop: 5}}}
	for i := range rows {
		r := &rows[i]
		at, _ := clock.Parse(cli.OrEmpty(r.LastAt))
		unread := count(r.Unread)
		if r.Unread > 0 {
			unread.Colour = terminal.BoldYellow
		}
		project := terminal.Unknown
		if r.ProjectID != nil {
			project = c.ProjectNamed(*r.ProjectID)
		}
		t.Rows = append(t.Rows, []terminal.Cell{{Text: ChannelName(r)}, unread, {Text: terminal.FormatAge(at, c.Now)}, {Text: names.Of(cli.OrEmpty(r.LastBy))}, {Text: project}})
	}
	return t
}

// ChannelName returns the display name of a conversation.
func ChannelName(r *workforce.TalkRow) string {
	if r.Kind == "dm" {
		return r.Name
	}
	return "#" + r.Slug
}

// talk prints a conversation. On a terminal it also follows the conversation and sends typed lines.
func talk(c *cli.Call, row *workforce.TalkRow) error {
	names, err := ReadAgentNames(c)
	if err != nil {
		return err
	}
	p := workforce.MessagesParams{Dir: c.DirParam(), ConversationID: row.ConversationID, Limit: ShownMessages}
	if p.Scope.Scope = conversation.ScopeWorkspace; row.ProjectID != nil {
		p.Scope = workforce.Scope{Scope: conversation.ScopeProject, ProjectID: *row.ProjectID}
	}
	in, isFile := c.Stdin.(*os.File)
	if isFile && c.OnTerminal() && term.IsTerminal(int(in.Fd())) && !c.AsJSON && !c.Quiet {
		return converse(c, in, row, p, names)
	}
	messages, err := company.Do(c.Ctx, c.All, workforce.Operations.Messages, p)
	if err != nil {
		return err
	}
	for _, m := range messages {
		if err := printTalk(c, m, names); err != nil {
			return err
		}
	}
	return markRead(c, messages)
}

// printTalk prints a message: as JSON, as a line on a terminal, or as tab-separated fields.
func printTalk(c *cli.Call, m doc.Message, names AgentNames) error {
	if c.AsJSON {
		line, err := m.Line()
		if err == nil {
			_, err = c.Stdout.Write(line)
		}
		return err
	}
	if c.OnTerminal() {
		_, err := fmt.Fprintln(c.Stdout, TalkLine(m, names))
		return err
	}
	_, err := fmt.Fprintln(c.Stdout, strings.Join([]string{m.CreatedAt, terminal.Printable(names.Of(m.AuthorID)), terminal.Printable(m.Body)}, "\t"))
	return err
}

// TalkLine formats a message for a terminal. It indents all lines after the first.
func TalkLine(m doc.Message, names AgentNames) string {
	at, _ := clock.Parse(m.CreatedAt)
	who := terminal.Fit(names.Of(m.AuthorID), max(6, min(14, terminal.Columns(names.Of(m.AuthorID)))))
	lines := strings.Split(strings.TrimRight(terminal.QuoteLines(m.Body), "\n"), "\n")
	indent := strings.Repeat(" ", len("15:04  ")+terminal.Columns(who)+1)
	return at.Local().Format("15:04") + "  " + who + " " + strings.Join(lines, "\n"+indent)
}

func markRead(c *cli.Call, messages []doc.Message) error {
	if len(messages) == 0 {
		return nil
	}
	_, err := company.Do(c.Ctx, c.All, workforce.Operations.MarkRead, workforce.MarkReadParams{Dir: c.DirParam(), ActorID: c.Actor, Message: messages[len(messages)-1]})
	return err
}

// converse follows a conversation and sends typed lines, until Ctrl-D or Ctrl-C. On a dumb terminal
// it only follows.
func converse(c *cli.Call, in *os.File, row *workforce.TalkRow, p workforce.MessagesParams, names AgentNames) (err error) {
	ctx, stop := signal.NotifyContext(c.Ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	var newest []doc.Message
	follow := func(out io.Writer) error {
		told := func(m doc.Message) error {
			newest = []doc.Message{m}
			_, err := fmt.Fprintln(out, TalkLine(m, names))
			return err
		}
		_, err := company.Do(ctx, c.All, workforce.Operations.FollowMessages, workforce.FollowMessagesParams{MessagesParams: p, Deliver: told})
		return err
	}
	if os.Getenv("TERM") == "dumb" {
		return errors.Join(follow(c.Stdout), markRead(c, newest))
	}
	line, restore, err := lineEditor(c, in, terminal.Printable(ChannelName(row))+" > ")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	followed, typed := make(chan error, 1), make(chan error, 1)
	go func() { followed <- follow(line) }() // ends with ctx; awaited below
	go func() { typed <- typedLine(ctx, c, line, p) }()
	select {
	case err = <-typed:
	case <-ctx.Done(): // a signal; the goroutine that reads the terminal lives until the process exits
		err = cli.ExitError{Code: cli.ExitSignal + int(syscall.SIGTERM)}
	}
	cancel()
	return errors.Join(err, <-followed, restore(), markRead(c, newest))
}

// lineEditor returns a terminal that supports output while a line is edited. restore resets the
// terminal.
func lineEditor(c *cli.Call, in *os.File, prompt string) (line *term.Terminal, restore func() error, err error) {
	was, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, nil, err
	}
	line = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{in, c.Stdout}, prompt)
	if wide, high, err := term.GetSize(int(in.Fd())); err == nil {
		_ = line.SetSize(wide, high) // on failure it keeps 80 columns
	}
	return line, func() error {
		_, err := fmt.Fprint(c.Stdout, "\r\n")
		return errors.Join(term.Restore(int(in.Fd()), was), err)
	}, nil
}

// typedLine sends each typed line as a message.
func typedLine(ctx context.Context, c *cli.Call, line *term.Terminal, p workforce.MessagesParams) error {
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
		sent := workforce.SendParams{Dir: p.Dir, Scope: p.Scope, ConversationID: p.ConversationID, AuthorID: c.Actor, AuthorRole: c.Role, Body: text, Kind: "text"}
		if _, err := company.Do(ctx, c.All, workforce.Operations.Send, sent); err != nil {
			if _, err := fmt.Fprintf(line, "ERROR: %s\n", cli.OneLine(err.Error())); err != nil {
				return err
			}
		}
	}
	return nil
}
