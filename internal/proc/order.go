package proc

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// SendOrder writes an order to the input of a process and closes it. A process that
// has ended by then, and with it its input, is no error: its output says why.
func SendOrder(stdin io.WriteCloser, order []byte) error {
	_, err := stdin.Write(order)
	for _, err := range []error{err, stdin.Close()} {
		if err != nil && !errors.Is(err, os.ErrClosed) && !errors.Is(err, syscall.EPIPE) {
			return err
		}
	}
	return nil
}
