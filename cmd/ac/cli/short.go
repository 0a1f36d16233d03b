package cli

// What all short commands share: options, context, and printing of lists.

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"ac/company"
	"ac/internal/terminal"
)

// IsShort reports whether a command is a short one.
func IsShort(cmd *cobra.Command) bool { return cmd.Annotations[ShortKind] != "" }

// Prepare adds to all commands what they share: names instead of ids, progress lines, and
// completion.
func (a *App) Prepare(commands []*cobra.Command) {
	a.takeNames(commands)
	a.showProgress(commands)
	a.completeByName(commands)
}

// ShortFlags holds the options of every short command.
type ShortFlags struct {
	InWorkspace, inProject, as, Color string
	AsJSON, NoPager, Quiet            bool
}

// Add declares the options, except those that given already has.
func (o *ShortFlags) Add(given *pflag.FlagSet) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.StringVarP(&o.InWorkspace, "workspace", "C", "", "the workspace, or the folder that has it in .ac")
	flags.StringVarP(&o.inProject, "project", "p", "", "the project: its name, id, or the end of its id")
	flags.StringVar(&o.as, "as", "", "who acts: an agent, or human")
	flags.StringVar(&o.Color, "color", "auto", "auto, always or never")
	flags.BoolVar(&o.AsJSON, "json", false, "print JSON")
	flags.BoolVar(&o.NoPager, "no-pager", false, "do not start a pager")
	flags.BoolVarP(&o.Quiet, "quiet", "q", false, "print no notes; of lists the ids only")
	given.AddFlagSet(flags)
}

// commandFirst moves leading options of short commands after the command name, where the parser
// expects them: ac -C acme ps.
func commandFirst(given []string) []string {
	at := 0
	for at < len(given) {
		name, _, valued := strings.Cut(given[at], "=")
		switch name {
		case "--json", "--no-pager", "-q", "--quiet":
			at++
			continue
		case "-C", "--workspace", "-p", "--project", "--as", "--color":
			if at++; !valued {
				at++
			}
			continue
		}
		break
	}
	if at == 0 || at >= len(given) || strings.HasPrefix(given[at], "-") || strings.Contains(given[at], ":") {
		return given // the parser reports it
	}
	moved := append([]string{given[at]}, given[:at]...)
	return append(moved, given[at+1:]...)
}

// Call is one call of a short command: its context and its options.
type Call struct {
	*App
	ShortFlags
	Scope
	Ctx context.Context //nolint:containedctx // of one call
	All *company.Host
	Now time.Time

	Columns int           // width for texts; 0 for that of stdout
	Pace    time.Duration // how long the output of a watched run is batched
}

// Short sets up a short command: it declares the shared options, and determines the context before
// run is called.
func (a *App) Short(cmd *cobra.Command, run func(c *Call, given []string) error) {
	var o ShortFlags
	a.Everywhere(cmd, &o)
	cmd.RunE = func(cmd *cobra.Command, given []string) error {
		return a.Across(func(all *company.Host) error {
			c, err := a.Begin(cmd.Context(), all, o)
			if err != nil {
				return err
			}
			return run(c, given)
		})
	}
}

// Listing is Short for a command that reads, prints once and exits. It collects less garbage, at
// the cost of up to some 30 MB.
func (a *App) Listing(cmd *cobra.Command, run func(c *Call, given []string) error) {
	a.Short(cmd, func(c *Call, given []string) error {
		defer debug.SetGCPercent(debug.SetGCPercent(rarely))
		return run(c, given)
	})
}

// rarely is the heap growth, in percent, that triggers garbage collection.
const rarely = 800

// Begin determines the context of a call. Without a workspace the call has none, and the error is
// ErrNoWorkspace.
func (a *App) Begin(ctx context.Context, all *company.Host, o ShortFlags) (*Call, error) {
	c := &Call{App: a, ShortFlags: o, Ctx: ctx, All: all, Now: all.Now()}
	switch o.Color {
	case "auto", "always", "never":
	default:
		return c, UsageError{"--color must be auto, always or never"}
	}
	var err error
	c.Scope, err = a.Scope(ctx, all, o)
	return c, err
}

// Everywhere declares the options of every short command, except those that the command already
// has. It also serves commands that need no workspace.
func (a *App) Everywhere(cmd *cobra.Command, o *ShortFlags) {
	o.Add(cmd.Flags())
	cmd.Annotations = map[string]string{ShortKind: "yes"}
}

// ShortKind marks short commands.
const ShortKind = "short"

// DirParam returns the workspace of the call as a param.
func (c *Call) DirParam() company.Dir { return company.Dir{WorkspaceDir: c.Dir} }

// Note prints a note for people to stderr, unless the call is quiet.
func (c *Call) Note(format string, args ...any) {
	if !c.Quiet {
		fmt.Fprintf(c.Stderr, "%s\n", OneLine(fmt.Sprintf(format, args...)))
	}
}

// RequireProject returns an error for a call without a project.
func (c *Call) RequireProject() error {
	if c.Project != "" {
		return nil
	}
	if len(c.Projects) == 0 {
		return fmt.Errorf("there is no project in %s; make one with: ac project:new %s --name NAME", c.Company, c.Dir)
	}
	names := make([]string, len(c.Projects))
	for i, p := range c.Projects {
		names[i] = p.Name
	}
	return fmt.Errorf("which project? there are: %s (ac use NAME, or -p NAME)", strings.Join(names, ", "))
}

// OnTerminal reports whether stdout is a terminal, even one without escape codes.
func (a *App) OnTerminal() bool {
	out, ok := a.Stdout.(Descriptor)
	return ok && term.IsTerminal(int(out.Fd()))
}

// Colours reports whether to print colors to stdout.
func (c *Call) Colours() bool { return terminal.UseColour(c.Color, c.OnTerminal(), os.Getenv) }

// List prints a table on a terminal, and tab-separated rows elsewhere.
func (c *Call) List(table terminal.Table, rows [][]string) error {
	if !c.OnTerminal() {
		for _, row := range rows {
			for i, text := range row {
				if row[i] = terminal.Printable(text); text == "" {
					row[i] = terminal.Unknown
				}
			}
			fmt.Fprintln(c.Stdout, strings.Join(row, "\t"))
		}
		return nil
	}
	lines := table.Lines(c.Width(), c.Colours())
	return c.Paged(strings.Join(lines, "\n") + "\n")
}

// Width returns the width of the output: Columns if set, else that of the terminal, else COLUMNS,
// else 80.
func (c *Call) Width() int {
	if c.Columns > 0 {
		return c.Columns
	}
	if out, ok := c.Stdout.(Descriptor); ok {
		if wide, _, err := term.GetSize(int(out.Fd())); err == nil && wide > 0 {
			return wide
		}
	}
	return terminal.Width(os.Getenv)
}

// Paged prints a text. It uses a pager if stdout is a terminal with too few lines.
func (c *Call) Paged(text string) error {
	out, ok := c.Stdout.(*Output)
	if ok && !c.NoPager && c.OnTerminal() {
		_, high, err := term.GetSize(int(out.Fd()))
		if pager := terminal.Pager(os.LookupEnv); err == nil && strings.Count(text, "\n") >= high && pager != nil {
			return terminal.Page(c.Ctx, pager, terminal.Unlink(text), out.File, os.Stderr)
		}
	}
	_, err := fmt.Fprint(c.Stdout, text)
	return err
}
