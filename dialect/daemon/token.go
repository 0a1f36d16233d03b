package daemon

// Tokens that clients authenticate with.

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"syscall"

	"ac/internal/proc"
)

// tokenBytes is the number of random bytes in a token.
const tokenBytes = 32

// maxToken bounds a token file, in bytes.
const maxToken = 4 << 10

// NewToken generates a token.
func NewToken() string {
	b := make([]byte, tokenBytes)
	_, _ = rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// ReadToken reads a token from a file. The error has status ExitRefused unless the file belongs to
// this user, is not accessible to others, and holds one token.
func ReadToken(name string) (string, error) {
	refuse := func(why string) (string, error) {
		return "", Failed(ExitRefused, fmt.Errorf("the token file %s %s", name, why))
	}
	// Non-blocking: opening a FIFO without a writer would block forever.
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) //nolint:gosec // the operator named it
	if err != nil {
		return "", Failed(ExitRefused, fmt.Errorf("the token file cannot be read: %w", err))
	}
	defer func() { _ = f.Close() }() // it was read
	st, err := f.Stat()
	switch {
	case err != nil:
		return "", Failed(ExitRefused, err)
	case !st.Mode().IsRegular():
		return refuse("is no file")
	case !proc.OwnedByUs(st):
		return refuse("belongs to another user")
	case runtime.GOOS != "windows" && st.Mode().Perm()&0o077 != 0:
		return refuse("is open to other users; its mode must be 0600")
	}
	text, err := io.ReadAll(io.LimitReader(f, maxToken))
	token := strings.TrimSpace(string(text))
	switch {
	case err != nil:
		return "", Failed(ExitRefused, err)
	case token == "":
		return refuse("is empty")
	case strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c > '~' }):
		return refuse("holds more than one token")
	}
	return token, nil
}
