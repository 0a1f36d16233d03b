//go:build !windows

package pipe

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestListen connects to a socket. A second listener at its path is refused, and closing the
// listener removes the file.
func TestListen(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "l") //nolint:usetesting // the name of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	file := filepath.Join(dir, "s.sock")
	l, err := Listen(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(t.Context(), file); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a second one: %v", err)
	}
	said := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err == nil {
			_, err = conn.Write([]byte("hello"))
			err = errors.Join(err, conn.Close())
		}
		said <- err
	}()
	conn, err := net.Dial("unix", file)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	text, err := io.ReadAll(conn)
	if err := errors.Join(err, <-said); err != nil || string(text) != "hello" {
		t.Errorf("%q (%v)", text, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its file: %v", err)
	}
	if _, err := Listen(t.Context(), filepath.Join(dir, "none", "s.sock")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
}
