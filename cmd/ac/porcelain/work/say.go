package work

// ac say: sending a message to a conversation, an agent, or a run.

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/company/workforce"
	"ac/conversation"
	"ac/workspace/doc"
)

func sayCommand(a *cli.App) *cobra.Command {
	var to, run string
	interrupts := false
	cmd := &cobra.Command{
		Use: "say <text>", Short: "Say something in a conversation, to an agent, or into a run", Args: cobra.ExactArgs(1),
		Long: `Say something: in a channel, to an agent (in your direct messages), or with --run to the
agent of a run, into its turn where it takes that. Without either, in #home. The text may
be - for stdin. Prints where it was said; in a pipe, the id of what was said.`,
		Example: "  ac say \"the release is out\"\n  ac say --to Ann \"look at the log first\"\n  ac say --run 4WKKE6 \"and add a test\"",
	}
	a.Short(cmd, func(c *cli.Call, given []string) error {
		text, err := textToSay(c, given, "")
		switch {
		case err != nil:
			return err
		case to != "" && run != "":
			return cli.UsageError{Message: "--to and --run exclude each other"}
		case interrupts && run == "":
			return cli.UsageError{Message: "--interrupt needs --run"}
		case run != "":
			return sayToRun(c, run, text, interrupts)
		}
		return sayTo(c, to, text)
	})
	cmd.Flags().StringVar(&to, "to", "", "a channel, or an agent")
	cmd.Flags().StringVar(&run, "run", "", "a run")
	cmd.Flags().BoolVar(&interrupts, "interrupt", false, "end the turn under way and say it then (with --run)")
	return cmd
}

func sayToRun(c *cli.Call, word, text string, interrupts bool) error {
	row, err := c.Run(word)
	if err != nil {
		return err
	}
	said, err := Steer(c.Ctx, c, &row, text, interrupts)
	switch {
	case err != nil:
		return err
	case c.AsJSON:
		return c.PrintJSON(said)
	case c.OnTerminal():
		fmt.Fprintf(c.Stdout, "said (%s)\n", Arrival(said))
	default:
		fmt.Fprintln(c.Stdout, said.SteerID)
	}
	return nil
}

func sayTo(c *cli.Call, word, text string) error {
	in, err := conversationFor(c, word)
	if err != nil {
		return err
	}
	sent, err := company.Do(c.Ctx, c.All, workforce.Operations.Send, workforce.SendParams{
		Dir: c.DirParam(), Scope: scopeOf(in), ConversationID: in.ID, AuthorID: c.Actor, AuthorRole: c.Role, Body: text, Kind: "text",
	})
	switch {
	case err != nil:
		return err
	case c.AsJSON:
		return c.PrintJSON(sent)
	case !c.OnTerminal():
		fmt.Fprintln(c.Stdout, sent.Message.ID)
	case in.Kind == "dm":
		fmt.Fprintf(c.Stdout, "said to %s\n", cli.OneLine(in.Name))
	default:
		fmt.Fprintf(c.Stdout, "said in #%s\n", cli.OneLine(in.Slug))
	}
	return nil
}

func scopeOf(in doc.Conversation) workforce.Scope {
	return workforce.Scope{Scope: in.Scope, ProjectID: in.ProjectID}
}

// conversationFor finds a conversation of the project by id, name or slug, else the direct messages
// with an agent. For an empty word it returns the home conversation of the project, or of the
// company.
func conversationFor(c *cli.Call, word string) (doc.Conversation, error) {
	scope := workforce.Scope{Scope: conversation.ScopeWorkspace}
	if c.Project != "" {
		scope = workforce.Scope{Scope: conversation.ScopeProject, ProjectID: c.Project}
	}
	list, err := company.Do(c.Ctx, c.All, workforce.Operations.Conversations, workforce.ConversationsParams{Dir: c.DirParam(), Scope: scope})
	if err != nil {
		return doc.Conversation{}, err
	}
	known, byID := []cli.Candidate{}, map[string]doc.Conversation{}
	for _, in := range list {
		if in.Kind == "home" && word == "" {
			return in, nil
		}
		if in.Kind != "dm" {
			known = append(known, cli.Candidate{ID: in.ID, Name: "#" + in.Slug, Line: in.Name})
		}
		byID[in.ID] = in
	}
	found, err := cli.Lookup("channel", channelWord(word), c.Where(), known)
	if err == nil || strings.HasPrefix(word, "#") {
		return byID[found.ID], err
	}
	agent, err := c.Agent(word)
	if err != nil {
		return doc.Conversation{}, err
	}
	return company.Do(c.Ctx, c.All, workforce.Operations.CreateDM, workforce.CreateDMParams{
		Dir: c.DirParam(), Scope: scope, CreatedBy: c.Actor, PeerAgentID: agent.ID, Visibility: "private_agent",
	})
}

// channelWord returns a channel's name with its #. It leaves ids unchanged.
func channelWord(word string) string {
	if strings.HasPrefix(word, "conv_") || strings.HasPrefix(word, "#") {
		return word
	}
	return "#" + word
}
