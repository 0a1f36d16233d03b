package cli

// The progress line of long commands, on stderr and only on terminals.

import (
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"ac/internal/terminal"
	"ac/workspace"
)

// startProgress starts the progress line. It returns nil if stderr is not a terminal. The first
// output ends the line.
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

// Progress starts the progress line of a short command, unless it is quiet.
func (c *Call) Progress(label string) *terminal.Progress {
	if c.Quiet {
		return nil
	}
	return c.startProgress(label)
}

// longCommands returns the commands with a colon that may take long, with the labels of their
// progress lines.
func longCommands() map[string]string {
	return map[string]string{
		"index:rebuild": "rebuilding the index", "log:verify": "verifying", "audit:seal": "sealing", "audit:verify": "verifying the seals",
		"workspace:export": "exporting", "workspace:import": "importing", "heartbeat:tick": "ticking",
		"job:collect": "waiting for the job", "artifact:fill": "waiting for the agent",
	}
}

// showProgress adds a progress line to long commands.
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
