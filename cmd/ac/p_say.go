package main

// ac say: a word to a conversation, to an agent, or into a run.

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ac/company"
	"ac/company/workforce"
	"ac/conversation"
	"ac/workspace/doc"
)

func sayCommand(a *app) *cobra.Command {
	var to, run string
	interrupts := false
	cmd := &cobra.Command{
		Use: "say <text>", Short: "Say something in a conversation, to an agent, or into a run", Args: cobra.ExactArgs(1),
		Long: `Say something: in a channel, to an agent (in your direct messages), or with --run to the
agent of a run, into its turn where it takes that. Without either, in #home. The text may
be - for stdin. Prints where it was said; in a pipe, the id of what was said.`,
		Example: "  ac say \"the release is out\"\n  ac say --to Ann \"look at the log first\"\n  ac say --run 4WKKE6 \"and add a test\"",
	}
	a.short(cmd, func(c *call, given []string) error {
		text, err := c.textToSay(given, "")
		switch {
		case err != nil:
			return err
		case to != "" && run != "":
			return usageError{"--to and --run exclude each other"}
		case interrupts && run == "":
			return usageError{"--interrupt needs --run"}
		case run != "":
			return c.sayToRun(run, text, interrupts)
		}
		return c.sayTo(to, text)
	})
	cmd.Flags().StringVar(&to, "to", "", "a channel, or an agent")
	cmd.Flags().StringVar(&run, "run", "", "a run")
	cmd.Flags().BoolVar(&interrupts, "interrupt", false, "end the turn under way and say it then (with --run)")
	return cmd
}

func (c *call) sayToRun(word, text string, interrupts bool) error {
	row, err := c.run(word)
	if err != nil {
		return err
	}
	said, err := c.steered(c.ctx, &row, text, interrupts)
	switch {
	case err != nil:
		return err
	case c.asJSON:
		return c.printJSON(said)
	case c.onTerminal():
		fmt.Fprintf(c.stdout, "said (%s)\n", arrival(said))
	default:
		fmt.Fprintln(c.stdout, said.SteerID)
	}
	return nil
}

func (c *call) sayTo(word, text string) error {
	in, err := c.conversationFor(word)
	if err != nil {
		return err
	}
	sent, err := company.Do(c.ctx, c.all, workforce.Operations.Send, workforce.SendParams{
		Dir: c.dirParam(), Scope: scopeOf(in), ConversationID: in.ID, AuthorID: c.actor, AuthorRole: c.role, Body: text, Kind: "text",
	})
	switch {
	case err != nil:
		return err
	case c.asJSON:
		return c.printJSON(sent)
	case !c.onTerminal():
		fmt.Fprintln(c.stdout, sent.Message.ID)
	case in.Kind == "dm":
		fmt.Fprintf(c.stdout, "said to %s\n", oneLine(in.Name))
	default:
		fmt.Fprintf(c.stdout, "said in #%s\n", oneLine(in.Slug))
	}
	return nil
}

func scopeOf(in doc.Conversation) workforce.Scope {
	return workforce.Scope{Scope: in.Scope, ProjectID: in.ProjectID}
}

// conversationFor finds a conversation of the project by id, name or slug, else the direct
// messages with an agent. Without a word it is the project's home, or the company's.
func (c *call) conversationFor(word string) (doc.Conversation, error) {
	scope := workforce.Scope{Scope: conversation.ScopeWorkspace}
	if c.project != "" {
		scope = workforce.Scope{Scope: conversation.ScopeProject, ProjectID: c.project}
	}
	list, err := company.Do(c.ctx, c.all, workforce.Operations.Conversations, workforce.ConversationsParams{Dir: c.dirParam(), Scope: scope})
	if err != nil {
		return doc.Conversation{}, err
	}
	known, byID := []candidate{}, map[string]doc.Conversation{}
	for _, in := range list {
		if in.Kind == "home" && word == "" {
			return in, nil
		}
		if in.Kind != "dm" {
			known = append(known, candidate{id: in.ID, name: "#" + in.Slug, line: in.Name})
		}
		byID[in.ID] = in
	}
	found, err := lookup("channel", channelWord(word), c.where(), known)
	if err == nil || strings.HasPrefix(word, "#") {
		return byID[found.id], err
	}
	agent, err := c.agent(word)
	if err != nil {
		return doc.Conversation{}, err
	}
	return company.Do(c.ctx, c.all, workforce.Operations.CreateDM, workforce.CreateDMParams{
		Dir: c.dirParam(), Scope: scope, CreatedBy: c.actor, PeerAgentID: agent.id, Visibility: "private_agent",
	})
}

// channelWord is a word for a channel as lists show it; an id stays as it is.
func channelWord(word string) string {
	if strings.HasPrefix(word, "conv_") || strings.HasPrefix(word, "#") {
		return word
	}
	return "#" + word
}
