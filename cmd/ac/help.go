package main

// Help: the overview of the short commands, the help of one command, and the list of all commands.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/internal/terminal"
)

// commandGroup is a titled group of commands. Its members are short commands, or nouns of commands
// with a colon.
type commandGroup struct {
	title   string
	members []string
	more    []string // members that the overview omits
}

// shortGroups returns the groups of the short commands, in the order of the overview.
func shortGroups() []commandGroup {
	return []commandGroup{
		{"Start", []string{"init", "run", "web", "demo"}, nil},
		{"Runs", []string{"ps", "logs", "watch", "attach", "stop", "retry", "continue", "diff", "land"}, []string{"discard"}},
		{"Decide", []string{"status", "inbox", "show", "approve", "deny", "answer"}, nil},
		{"Company", []string{"agents", "teams", "projects", "tasks", "jobs", "plan", "say", "talk"}, nil},
		{"Look", []string{"top", "cost", "doctor", "verify", "use", "service", "version"}, []string{"search", "completion"}},
	}
}

// plumbingGroups returns the groups of the commands with a colon, by noun.
func plumbingGroups() []commandGroup {
	return []commandGroup{
		{"Workspaces and machines", []string{"workspace", "machine", "worktree", "terminal", "demo"}, nil},
		{"Company", []string{"team", "agent", "project", "conversation", "comment"}, nil},
		{"Other machines", []string{"hub", "worker"}, nil},
		{"Runs", []string{"run", "session", "interaction", "sharepack"}, nil},
		{"Work", []string{"task", "pm", "job", "workflow", "heartbeat", "pipeline", "context"}, nil},
		{"Decisions", []string{"inbox", "needs", "artifact", "memory", "milestone", "help"}, nil},
		{"Screens", []string{"ui", "monitor"}, nil},
		{"Proof", []string{"log", "audit"}, nil},
		{"Index and bills", []string{"index", "search", "usage"}, nil},
		{"For programs", []string{"server", "rpc", "protocol", "mcp", "dialect", "system"}, nil},
	}
}

// groupTitle returns the group of a command, "" if it has none.
func groupTitle(cmd *cobra.Command) string {
	groups, member := shortGroups(), cmd.Name()
	if noun, _, plumbing := strings.Cut(member, ":"); plumbing {
		groups, member = plumbingGroups(), noun
	}
	at := slices.IndexFunc(groups, func(g commandGroup) bool { return slices.Contains(slices.Concat(g.members, g.more), member) })
	if at < 0 {
		return ""
	}
	return groups[at].title
}

// overview returns the help of the program. It lists only the short commands that exist in this
// build.
func overview(root *cobra.Command) string {
	there := func(name string) bool {
		return slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == name })
	}
	var b strings.Builder
	b.WriteString("ac runs coding agents side by side and lets you decide what comes of it.\n\n")
	for _, g := range shortGroups() {
		names := slices.DeleteFunc(g.members, func(name string) bool { return !there(name) })
		if len(names) > 0 {
			fmt.Fprintf(&b, "%-10s%s\n", g.title, strings.Join(names, "   "))
		}
	}
	b.WriteString("\n")
	for _, line := range []struct{ name, words, does string }{
		{"init", "", "make a workspace here, with the agents you have"},
		{"run", ` --agent Codex "…"`, "give one something to do"},
		{"ps", "", "what runs, for how long, at what cost"},
		{"top", "", "watch, answer and approve on one screen"},
	} {
		if there(line.name) && (line.name != "ps" || !there("top")) {
			fmt.Fprintf(&b, "  %s%s\n", terminal.Fit("ac "+line.name+line.words, 31), line.does)
		}
	}
	b.WriteString("\nac help COMMAND   with examples      ac help --all   all commands, plumbing too\n")
	return b.String()
}

// allCommands lists all commands by group, short ones first.
func allCommands(root *cobra.Command) string {
	var b strings.Builder
	section := func(short bool, groups []commandGroup) {
		for _, g := range groups {
			var lines strings.Builder
			for _, cmd := range root.Commands() {
				if cmd.IsAvailableCommand() && cli.IsShort(cmd) == short && groupTitle(cmd) == g.title {
					fmt.Fprintf(&lines, "  %-36s%s\n", cmd.Name(), cmd.Short)
				}
			}
			if lines.Len() > 0 {
				fmt.Fprintf(&b, "%s\n%s\n", g.title, lines.String())
			}
		}
	}
	section(true, shortGroups())
	b.WriteString("Plumbing, for programs: arguments and output stay as they are.\n\n")
	section(false, plumbingGroups())
	return strings.TrimSuffix(b.String(), "\n")
}

// explain replaces the library's help of the program, but not that of its commands.
func explain(root *cobra.Command) {
	ofCommand := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, given []string) {
		if cmd != root {
			ofCommand(cmd, given)
			return
		}
		_, _ = fmt.Fprint(cmd.OutOrStdout(), overview(root)) // output records the error
	})
}

// helpCommand returns "ac help". Unlike the library's, it refuses unknown commands.
func helpCommand(a *cli.App) *cobra.Command {
	all, o := false, cli.ShortFlags{}
	cmd := &cobra.Command{
		Use: "help [command]", Short: "Show the help of a command",
		Long: `Show the help of a command, with examples. --all lists every command with what it
does, those for programs (with a colon), too.`,
		Example: "  ac help ps\n  ac help run:execute\n  ac help --all",
		RunE: func(cmd *cobra.Command, given []string) error {
			switch root := cmd.Root(); {
			case all && len(given) > 0:
				return cli.UsageError{Message: "--all takes no command"}
			case all:
				return (&cli.Call{App: a, Ctx: cmd.Context(), ShortFlags: o}).Paged(allCommands(root))
			}
			found, rest, err := cmd.Root().Find(given)
			if err != nil || len(rest) > 0 {
				return cli.UnknownCommand(cmd.Root(), strings.Join(given, " "))
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "list every command")
	a.Everywhere(cmd, &o)
	return cmd
}
