package proc

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// SendOrder writes an order to the stdin of a process and closes it. It is not an error if the
// process has already ended, because its output tells why.
func SendOrder(stdin io.WriteCloser, order []byte) error {
	_, err := stdin.Write(order)
	for _, err := range []error{err, stdin.Close()} {
		if err != nil && !errors.Is(err, os.ErrClosed) && !errors.Is(err, syscall.EPIPE) {
			return err
		}
	}
	return nil
}
