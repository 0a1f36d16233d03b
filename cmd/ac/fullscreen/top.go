// Package fullscreen implements ac top: the screen of package top for a workspace. Its keys run the
// operations of the short commands.
package fullscreen

import (
	"errors"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"ac/cmd/ac/cli"
	"ac/cmd/ac/top"
	"ac/internal/terminal"
)

// topGarbage is the garbage collection target of the screen's process, in percent of the live heap.
// The screen is open all day beside agents that need the memory, and allocates little.
const topGarbage = 60

// Command returns ac top.
func Command(a *cli.App) *cobra.Command {
	readOnly := false
	cmd := &cobra.Command{
		Use: "top", Short: "Watch, answer and approve on one screen", Args: cli.Args(),
		Long: `Show what runs, what waits for you, the plan, the conversations and the costs on the whole
screen, as they change. Keys decide, answer, say something, stop, land and start; ? lists
them. Runs go on when it ends.

AC_REDUCED_MOTION=1 draws at most once a second. For screen readers: ac watch, ac inbox.`,
		Example: "  ac top\n  ac top --read-only",
	}
	a.Short(cmd, func(c *cli.Call, _ []string) error {
		in, isFile := c.Stdin.(*os.File)
		if !isFile || !term.IsTerminal(int(in.Fd())) || !c.OnTerminal() || os.Getenv("TERM") == "dumb" {
			return cli.UsageError{Message: "top needs a terminal; once: ac status"}
		}
		options := top.Options{
			ReadOnly: readOnly, Colour: c.Colours(), Unicode: terminal.Unicode(os.Getenv),
			Still: os.Getenv("AC_REDUCED_MOTION") == "1", Now: c.All.Now,
		}
		debug.SetGCPercent(topGarbage)
		err := top.Show(c.Ctx, newTopSource(c), options, in, a.RawStdout(), os.Environ())
		if errors.Is(err, top.ErrLost) {
			c.Note("%s cannot be read any more", c.Dir)
			return cli.ExitError{Code: cli.ExitFailure}
		}
		return err
	})
	cmd.Flags().BoolVar(&readOnly, "read-only", false, "without the keys that change something")
	return cmd
}
