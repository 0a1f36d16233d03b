package records

// conversation:list, new, dm, send, read and follow.

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/company/workforce"
	"ac/conversation"
	"ac/internal/terminal"
	"ac/workspace"
	"ac/workspace/doc"
)

// inScope holds the options that all conversation commands share.
type inScope struct {
	project string
	json    bool
}

func (s *inScope) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.project, "project", "", "id of a project (default: the workspace)")
	cmd.Flags().BoolVar(&s.json, "json", false, "print JSON")
}

func (s *inScope) scope() workforce.Scope {
	if s.project == "" {
		return workforce.Scope{Scope: conversation.ScopeWorkspace}
	}
	return workforce.Scope{Scope: conversation.ScopeProject, ProjectID: s.project}
}

func conversationListCommand(a *cli.App) *cobra.Command {
	var scope inScope
	cmd := &cobra.Command{
		Use: "conversation:list <dir>", Short: "List the conversations of a company or of a project", Args: cli.Args("dir"),
		Example: "  ac conversation:list ./acme\n  ac conversation:list ./acme --project proj_01M7WQGZ9VWV76QSK07HTTZGPP --json",
		RunE: func(cmd *cobra.Command, given []string) error {
			all, err := cli.Ask(cmd.Context(), a, workforce.Operations.Conversations, workforce.ConversationsParams{Dir: company.Dir{WorkspaceDir: given[0]}, Scope: scope.scope()})
			if err != nil {
				return err
			}
			if scope.json {
				return a.PrintJSON(all)
			}
			for _, c := range all {
				people := fmt.Sprintf("%d people", len(c.Participants.AgentIDs))
				if teams := len(c.Participants.TeamIDs); teams > 0 {
					people += fmt.Sprintf(", %d teams", teams)
				}
				fmt.Fprintf(a.Stdout, "%s  %-7s  %-8s  %s  (%s)\n", c.ID, c.Kind, c.Visibility, terminal.Printable(c.Name), people)
			}
			return nil
		},
	}
	scope.flags(cmd)
	return cmd
}

func conversationNewCommand(a *cli.App) *cobra.Command {
	var scope inScope
	p := workforce.CreateChannelParams{CreatedBy: workspace.DefaultCEO}
	cmd := &cobra.Command{
		Use: "conversation:new <dir>", Short: "Create a channel and print its id", Args: cli.Args("dir"),
		Example: "  ac conversation:new ./acme --name 'Release 2' --agent agent_01M7WQTKN3XZ68N337WHQP6N6Z",
		RunE: func(cmd *cobra.Command, given []string) error {
			if p.Slug == "" {
				if p.Slug = workspace.Slug(p.Name); p.Slug == "" {
					return cli.UsageError{Message: "--name contains no letter or digit for a slug; set --slug"}
				}
			}
			p.WorkspaceDir, p.Scope = given[0], scope.scope()
			made, err := cli.Ask(cmd.Context(), a, workforce.Operations.CreateChannel, p)
			return printConversation(a, made, scope.json, err)
		},
	}
	scope.flags(cmd)
	cli.Mirror(cmd, &p,
		"name: name of the channel",
		"slug?: short name (default: derived from the name)",
		"visibility: who may see it",
		"by=created_by: id of the creator")
	cmd.Flags().StringArrayVar(&p.ParticipantAgentIDs, "agent", nil, "id of a member; may be repeated")
	cmd.Flags().StringArrayVar(&p.ParticipantTeamIDs, "team", nil, "id of a member team; may be repeated")
	return cmd
}

func conversationDMCommand(a *cli.App) *cobra.Command {
	var scope inScope
	p := workforce.CreateDMParams{CreatedBy: workspace.DefaultCEO}
	cmd := &cobra.Command{
		Use: "conversation:dm <dir>", Short: "Print the id of the direct messages of two, created if there are none", Args: cli.Args("dir"),
		Example: "  ac conversation:dm ./acme --with agent_01M7WQTKN3XZ68N337WHQP6N6Z",
		RunE: func(cmd *cobra.Command, given []string) error {
			p.WorkspaceDir, p.Scope = given[0], scope.scope()
			made, err := cli.Ask(cmd.Context(), a, workforce.Operations.CreateDM, p)
			return printConversation(a, made, scope.json, err)
		},
	}
	scope.flags(cmd)
	cli.Mirror(cmd, &p,
		"by=created_by: id of the creator",
		"with=peer_agent_id: id of the other agent")
	return cmd
}

func printConversation(a *cli.App, c doc.Conversation, asJSON bool, err error) error {
	if err == nil && asJSON {
		return a.PrintJSON(c)
	}
	return a.PrintID(c.ID, err)
}

func conversationSendCommand(a *cli.App) *cobra.Command {
	var scope inScope
	p := workforce.SendParams{AuthorID: workspace.DefaultCEO, AuthorRole: "ceo"}
	cmd := &cobra.Command{
		Use: "conversation:send <dir> <conversation> [text]", Short: "Send a message; without a text argument, read it from stdin", Args: textArgs,
		Example: "  ac conversation:send ./acme conv_workspace_home 'Good morning'\n  git log -1 | ac conversation:send ./acme conv_workspace_home",
		RunE: func(cmd *cobra.Command, given []string) error {
			text, err := textOf(a, given)
			if err != nil {
				return err
			}
			p.WorkspaceDir, p.Scope, p.ConversationID, p.Body = given[0], scope.scope(), given[1], text
			sent, err := cli.Ask(cmd.Context(), a, workforce.Operations.Send, p)
			if err != nil {
				return err
			}
			if scope.json {
				return a.PrintJSON(sent)
			}
			return a.PrintID(sent.Message.ID, nil)
		},
	}
	scope.flags(cmd)
	cli.Mirror(cmd, &p,
		"by=author_id: id of the author",
		"role=author_role: role of the author")
	cmd.Flags().StringArrayVar(&p.Mentions, "mention", nil, "id of an agent to mention; may be repeated")
	return cmd
}

func textArgs(cmd *cobra.Command, given []string) error {
	if len(given) == 3 {
		return nil
	}
	return cli.Args("dir", "conversation")(cmd, given)
}

// textOf returns the text of a message: the argument, or stdin.
func textOf(a *cli.App, given []string) (string, error) {
	if len(given) == 3 {
		return given[2], nil
	}
	text, err := io.ReadAll(io.LimitReader(a.Stdin, conversation.MaxBody+1))
	return string(text), err
}

func conversationReadCommand(a *cli.App) *cobra.Command {
	var scope inScope
	limit := 300
	cmd := &cobra.Command{
		Use: "conversation:read <dir> <conversation>", Short: "Print the newest messages, oldest first", Args: cli.Args("dir", "conversation"),
		Example: "  ac conversation:read ./acme conv_workspace_home --limit 20",
		RunE: func(cmd *cobra.Command, given []string) error {
			messages, err := cli.Ask(cmd.Context(), a, workforce.Operations.Messages, scope.messages(given, limit))
			if err != nil {
				return err
			}
			if scope.json {
				return a.PrintJSON(messages)
			}
			for _, m := range messages {
				printMessage(a, m)
			}
			return nil
		},
	}
	scope.flags(cmd)
	cmd.Flags().IntVar(&limit, "limit", limit, "maximum number of messages")
	return cmd
}

// messages returns the params for listing messages.
func (s *inScope) messages(given []string, limit int) workforce.MessagesParams {
	return workforce.MessagesParams{Dir: company.Dir{WorkspaceDir: given[0]}, Scope: s.scope(), ConversationID: given[1], Limit: limit}
}

func conversationFollowCommand(a *cli.App) *cobra.Command {
	var scope inScope
	limit := 10
	cmd := &cobra.Command{
		Use: "conversation:follow <dir> <conversation>", Short: "Print messages as they are sent, until interrupted", Args: cli.Args("dir", "conversation"),
		Long:    "Print the newest messages and then each new one, from any program, until interrupted or until stdout is closed. With --json print one message a line.",
		Example: "  ac conversation:follow ./acme conv_workspace_home",
		RunE: func(cmd *cobra.Command, given []string) error {
			p := scope.messages(given, limit)
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			if _, err := cli.Ask(cmd.Context(), a, workforce.Operations.Messages, p); err != nil {
				return err
			}
			out := bufio.NewWriter(a.Stdout)
			told := func(m doc.Message) error {
				if scope.json {
					line, err := m.Line()
					_, writeErr := out.Write(line)
					return errors.Join(err, writeErr, out.Flush())
				}
				writeMessage(out, m)
				return out.Flush()
			}
			_, err := cli.Ask(ctx, a, workforce.Operations.FollowMessages, workforce.FollowMessagesParams{MessagesParams: p, Deliver: told})
			return err
		},
	}
	scope.flags(cmd)
	cmd.Flags().IntVar(&limit, "limit", limit, "maximum number of earlier messages")
	return cmd
}

func printMessage(a *cli.App, m doc.Message) { writeMessage(a.Stdout, m) }

// writeMessage prints a message for people. It indents all lines after the first.
func writeMessage(out io.Writer, m doc.Message) {
	kind := ""
	if m.Kind != "text" {
		kind = " [" + m.Kind + "]"
	}
	lines := strings.Split(m.Body, "\n")
	for i := range lines {
		lines[i] = terminal.Printable(lines[i])
	}
	fmt.Fprintf(out, "%s  %s (%s)%s: %s\n", m.CreatedAt, terminal.Printable(m.AuthorID), m.AuthorRole, kind, strings.Join(lines, "\n    "))
}
