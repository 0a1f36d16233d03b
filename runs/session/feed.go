package session

import (
	"io"
	"os"
)

// devNull is the standard input of a provider that gets none.
func devNull() (*os.File, error) { return os.OpenFile(os.DevNull, os.O_RDONLY, 0) }

// feed writes the provider's input and closes it; a provider that does not read
// it is no error.
func feed(w io.WriteCloser, text string) {
	_, _ = io.WriteString(w, text)
	_ = w.Close()
}
