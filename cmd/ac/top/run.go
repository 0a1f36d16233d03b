package top

// The program: the screen on a terminal.

import (
	"context"
	"errors"
	"io"

	tea "charm.land/bubbletea/v2"
)

// ErrLost is the end of a screen whose workspace cannot be read any more.
var ErrLost = errors.New("the workspace cannot be read any more")

// framesPerSecond bounds how often the screen is drawn.
const framesPerSecond = 20

// Show shows the company on a terminal until somebody quits or the context ends, and puts
// the terminal back as it was. Everything that the screen began has ended when it returns.
// The error is ErrLost, or that of the terminal.
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
