package top

// Running the screen on a terminal.

import (
	"context"
	"errors"
	"io"

	tea "charm.land/bubbletea/v2"
)

// ErrLost reports that the workspace can no longer be read.
var ErrLost = errors.New("the workspace cannot be read any more")

// framesPerSecond limits how often the screen is drawn.
const framesPerSecond = 20

// Show runs the screen on a terminal until the person quits or the context ends, and then restores
// the terminal. When it returns, all goroutines of the screen have ended. The error is ErrLost, or
// an error of the terminal.
func Show(ctx context.Context, source Source, options Options, in io.Reader, out io.Writer, environ []string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	frames := framesPerSecond
	if options.Still {
		frames = 1
	}
	var program *tea.Program
	m := New(ctx, source, options, func(msg tea.Msg) { program.Send(msg) })
	program = tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out), tea.WithEnvironment(environ), tea.WithFPS(frames))
	_, err := program.Run()
	cancel()
	m.calls.Wait()
	if errors.Is(err, context.Canceled) || errors.Is(err, tea.ErrProgramKilled) || errors.Is(err, tea.ErrInterrupted) {
		err = nil
	}
	if err == nil && m.lost != nil {
		return ErrLost
	}
	return err
}
