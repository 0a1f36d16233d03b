package supervisor

import (
	"errors"
	"io"
	"os"
	"time"

	"ac/internal/pipe"
	"ac/internal/redact"
	"ac/runs/provider"
	"ac/runs/session/output"
)

// pipes are the standard streams of a provider: our ends, and the child's, which the guard
// inherits.
type pipes struct {
	stdin, stdout, stderr                *os.File
	childStdin, childStdout, childStderr *os.File
}

func (s *supervisor) pipes() (*pipes, error) {
	p := &pipes{}
	var err error
	if s.order.Stdin == nil && s.order.Live == nil {
		p.childStdin, err = devNull()
	} else {
		p.childStdin, p.stdin, err = os.Pipe()
	}
	if err == nil {
		p.stdout, p.childStdout, err = os.Pipe()
	}
	if err == nil && provider.DriverOf(s.order.Provider) == provider.Gemini {
		pipe.Grow(p.stdout, s.maxEcho())
	}
	if err == nil {
		p.stderr, p.childStderr, err = os.Pipe()
	}
	if err != nil {
		return nil, errors.Join(err, p.closeOurs(), p.closeChild())
	}
	return p, nil
}

// maxEcho returns how much gemini may print at once. It repeats its prompt as JSON and, at exit,
// drops what does not fit into its pipe, including its usage.
func (s *supervisor) maxEcho() int {
	longest := 0
	if s.order.Stdin != nil {
		longest = len(*s.order.Stdin)
	}
	for _, word := range s.order.Argv {
		longest = max(longest, len(word))
	}
	return 2*longest + output.ReadBlock
}

// expire interrupts reads of pipes that another process still holds open.
func (p *pipes) expire() error {
	now := time.Unix(1, 0)
	return errors.Join(p.stdout.SetReadDeadline(now), p.stderr.SetReadDeadline(now))
}

func (p *pipes) closeOurs() error  { return closeAll(p.stdin, p.stdout, p.stderr) }
func (p *pipes) closeChild() error { return closeAll(p.childStdin, p.childStdout, p.childStderr) }

func closeAll(files ...*os.File) error {
	var errs []error
	for _, f := range files {
		if f == nil {
			continue
		}
		if err := f.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// masked returns an environment with its secrets masked.
func masked(env map[string]string) map[string]string {
	if env == nil {
		return nil
	}
	safe := make(map[string]string, len(env))
	for name, value := range env {
		if redact.SecretName(name) {
			value = redact.Mask
		}
		safe[name] = value
	}
	return safe
}

// devNull opens the standard input of a provider that gets no input.
func devNull() (*os.File, error) { return os.OpenFile(os.DevNull, os.O_RDONLY, 0) }

// feed writes the provider's input and closes it. It ignores errors, because a provider need not
// read its input.
func feed(w io.WriteCloser, text string) {
	_, _ = io.WriteString(w, text)
	_ = w.Close()
}
