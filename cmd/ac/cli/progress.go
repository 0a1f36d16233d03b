package cli

// The line that shows that a long command goes on. It is on stderr, on terminals only.

import (
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"ac/internal/terminal"
	"ac/workspace"
)

// startProgress starts the line on a terminal, nil elsewhere. The first byte of output ends it.
func (a *App) startProgress(label string) *terminal.Progress {
	errs, ok := a.Stderr.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" || !term.IsTerminal(int(errs.Fd())) {
		return nil
	}
	wide, _, err := term.GetSize(int(errs.Fd()))
	if err != nil {
		wide = terminal.Width(os.Getenv)
	}
	ticker := time.NewTicker(terminal.ProgressEvery)
	p := terminal.StartProgress(errs, label, wide, terminal.Unicode(os.Getenv), workspace.SystemEnv().Clock.Now(), ticker.C)
	if out, ok := a.Stdout.(*Output); ok {
		out.before = func() { ticker.Stop(); p.End() }
	}
	return p
}

// Progress starts the line of a short command, unless it is quiet.
func (c *Call) Progress(label string) *terminal.Progress {
	if c.Quiet {
		return nil
	}
	return c.startProgress(label)
}

// longCommands are the commands with a colon that may take long, with the words of their
// line.
func longCommands() map[string]string {
	return map[string]string{
		"index:rebuild": "rebuilding the index", "log:verify": "verifying", "audit:seal": "sealing", "audit:verify": "verifying the seals",
		"workspace:export": "exporting", "workspace:import": "importing", "heartbeat:tick": "ticking",
		"job:collect": "waiting for the job", "artifact:fill": "waiting for the agent",
	}
}

// showProgress makes long commands show that they go on.
func (a *App) showProgress(commands []*cobra.Command) {
	for _, cmd := range commands {
		label, inner := longCommands()[cmd.Name()], cmd.RunE
		if label == "" {
			continue
		}
		cmd.RunE = func(cmd *cobra.Command, given []string) error {
			p := a.startProgress(label)
			defer p.End()
			return inner(cmd, slices.Clone(given))
		}
	}
}
