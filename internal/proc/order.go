package proc

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// SendOrder writes an order to the stdin of a process and closes it. If the process
// has already ended that is not an error: its output says why it ended.
func SendOrder(stdin io.WriteCloser, order []byte) error {
	_, err := stdin.Write(order)
	for _, err := range []error{err, stdin.Close()} {
		if err != nil && !errors.Is(err, os.ErrClosed) && !errors.Is(err, syscall.EPIPE) {
			return err
		}
	}
	return nil
}
