package pipe

import "os"

// SocketPair is not supported on this system.
func SocketPair() (a, b *os.File, err error) { return nil, nil, ErrUnsupported }

// HungUp returns false on this system: only a read reports the end of the pipe.
func HungUp(*os.File) bool { return false }

// Writable returns false, because this system cannot tell.
func Writable(*os.File) bool { return false }
