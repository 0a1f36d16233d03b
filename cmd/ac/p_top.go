package main

// ac top: the company on the whole screen.

import (
	"errors"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"ac/cmd/ac/top"
	"ac/internal/terminal"
)

// topGarbage is how much garbage may lie around in the process of the screen, in percent of
// what it keeps. It is open all day beside agents that need the memory, and draws little.
const topGarbage = 60

// topCommand is ac top.
func topCommand(a *app) *cobra.Command {
	readOnly := false
	cmd := &cobra.Command{
		Use: "top", Short: "Watch, answer and approve on one screen", Args: args(),
		Long: `Show what runs, what waits for you, the plan, the conversations and the costs on the whole
screen, as they change. Keys decide, answer, say something, stop, land and start; ? lists
them. Runs go on when it ends.

AC_REDUCED_MOTION=1 draws at most once a second. For screen readers: ac watch, ac inbox.`,
		Example: "  ac top\n  ac top --read-only",
	}
	a.short(cmd, func(c *call, _ []string) error {
		in, isFile := c.stdin.(*os.File)
		if !isFile || !term.IsTerminal(int(in.Fd())) || !c.onTerminal() || os.Getenv("TERM") == "dumb" {
			return usageError{"top needs a terminal; once: ac status"}
		}
		options := top.Options{
			ReadOnly: readOnly, Colour: c.colours(), Unicode: terminal.Unicode(os.Getenv),
			Still: os.Getenv("AC_REDUCED_MOTION") == "1", Now: c.all.Now,
		}
		debug.SetGCPercent(topGarbage)
		err := top.Show(c.ctx, newTopSource(c), options, in, a.rawStdout(), os.Environ())
		if errors.Is(err, top.ErrLost) {
			c.note("%s cannot be read any more", c.dir)
			return exitError{exitFailure}
		}
		return err
	})
	cmd.Flags().BoolVar(&readOnly, "read-only", false, "without the keys that change something")
	return cmd
}
