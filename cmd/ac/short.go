package main

// What all short commands share: their options, their context, and how they print lists.

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

// shortFlags are the options of every short command.
type shortFlags struct {
	inWorkspace, inProject, as, color string
	asJSON, noPager, quiet            bool
}

// add declares the options, but for those that are there.
func (o *shortFlags) add(given *pflag.FlagSet) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.StringVarP(&o.inWorkspace, "workspace", "C", "", "the workspace, or the folder that has it in .ac")
	flags.StringVarP(&o.inProject, "project", "p", "", "the project: its name, id, or the end of its id")
	flags.StringVar(&o.as, "as", "", "who acts: an agent, or human")
	flags.StringVar(&o.color, "color", "auto", "auto, always or never")
	flags.BoolVar(&o.asJSON, "json", false, "print JSON")
	flags.BoolVar(&o.noPager, "no-pager", false, "do not start a pager")
	flags.BoolVarP(&o.quiet, "quiet", "q", false, "print no notes; of lists the ids only")
	given.AddFlagSet(flags)
}

// hoist moves options of short commands behind the command's word, where the parser looks
// for them: ac -C acme ps.
func hoist(given []string) []string {
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

// call is one call of a short command: its context and its options.
type call struct {
	*app
	shortFlags
	scope
	ctx context.Context //nolint:containedctx // of one call
	all *company.Host
	now time.Time

	columns int           // the width that texts are made for, 0 for that of stdout
	pace    time.Duration // for how long the output of a run that is watched is gathered
}

// short completes a short command: its options, and its context, which is found before it
// runs.
func (a *app) short(cmd *cobra.Command, run func(c *call, given []string) error) {
	var o shortFlags
	a.everywhere(cmd, &o)
	cmd.RunE = func(cmd *cobra.Command, given []string) error {
		return a.across(func(all *company.Host) error {
			c, err := a.begin(cmd.Context(), all, o)
			if err != nil {
				return err
			}
			return run(c, given)
		})
	}
}

// listing is short for a command that reads, prints once and ends: its garbage is left to
// the end of the process, up to some 30 MB.
func (a *app) listing(cmd *cobra.Command, run func(c *call, given []string) error) {
	a.short(cmd, func(c *call, given []string) error {
		defer debug.SetGCPercent(debug.SetGCPercent(rarely))
		return run(c, given)
	})
}

// rarely is the growth of the heap, in percent, at which its garbage is collected.
const rarely = 800

// begin finds the context of a call. Where there is no workspace the call has none, and the
// error is errNoWorkspace.
func (a *app) begin(ctx context.Context, all *company.Host, o shortFlags) (*call, error) {
	c := &call{app: a, shortFlags: o, ctx: ctx, all: all, now: all.Now()}
	switch o.color {
	case "auto", "always", "never":
	default:
		return c, usageError{"--color must be auto, always or never"}
	}
	var err error
	c.scope, err = a.scope(ctx, all, o)
	return c, err
}

// everywhere declares the options of every short command, beside those that it has.
// It is for commands that need no workspace, too.
func (a *app) everywhere(cmd *cobra.Command, o *shortFlags) {
	o.add(cmd.Flags())
	cmd.Annotations = map[string]string{shortKind: "yes"}
}

// shortKind marks short commands.
const shortKind = "short"

// dirParam is the workspace of the call, as a param.
func (c *call) dirParam() company.Dir { return company.Dir{WorkspaceDir: c.dir} }

// note prints a remark for people.
func (c *call) note(format string, args ...any) {
	if !c.quiet {
		fmt.Fprintf(c.stderr, "%s\n", oneLine(fmt.Sprintf(format, args...)))
	}
}

// requireProject refuses a call without a project.
func (c *call) requireProject() error {
	if c.project != "" {
		return nil
	}
	if len(c.projects) == 0 {
		return fmt.Errorf("there is no project in %s; make one with: ac project:new %s --name NAME", c.company, c.dir)
	}
	names := make([]string, len(c.projects))
	for i, p := range c.projects {
		names[i] = p.name
	}
	return fmt.Errorf("which project? there are: %s (ac use NAME, or -p NAME)", strings.Join(names, ", "))
}

// onTerminal reports whether stdout is a terminal that understands escape codes or not.
func (a *app) onTerminal() bool {
	out, ok := a.stdout.(descriptor)
	return ok && term.IsTerminal(int(out.Fd()))
}

// colours reports whether stdout gets colours.
func (c *call) colours() bool { return terminal.UseColour(c.color, c.onTerminal(), os.Getenv) }

// list prints a table on a terminal, and rows with tabs in between elsewhere.
func (c *call) list(table terminal.Table, rows [][]string) error {
	if !c.onTerminal() {
		for _, row := range rows {
			for i, text := range row {
				if row[i] = terminal.Printable(text); text == "" {
					row[i] = terminal.Unknown
				}
			}
			fmt.Fprintln(c.stdout, strings.Join(row, "\t"))
		}
		return nil
	}
	lines := table.Lines(c.width(), c.colours())
	return c.paged(strings.Join(lines, "\n") + "\n")
}

// width is the width that is wanted, else that of the terminal, else COLUMNS, else 80.
func (c *call) width() int {
	if c.columns > 0 {
		return c.columns
	}
	if out, ok := c.stdout.(descriptor); ok {
		if wide, _, err := term.GetSize(int(out.Fd())); err == nil && wide > 0 {
			return wide
		}
	}
	return terminal.Width(os.Getenv)
}

// paged prints a text, through a pager where stdout is a terminal that is too short for it.
func (c *call) paged(text string) error {
	out, ok := c.stdout.(*output)
	if ok && !c.noPager && c.onTerminal() {
		_, high, err := term.GetSize(int(out.Fd()))
		if pager := terminal.Pager(os.LookupEnv); err == nil && strings.Count(text, "\n") >= high && pager != nil {
			return terminal.Page(c.ctx, pager, terminal.Unlink(text), out.file, os.Stderr)
		}
	}
	_, err := fmt.Fprint(c.stdout, text)
	return err
}
