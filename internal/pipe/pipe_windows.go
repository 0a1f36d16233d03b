package pipe

import "os"

// SocketPair is not supported here.
func SocketPair() (a, b *os.File, err error) { return nil, nil, ErrUnsupported }

// HungUp is not known here: a read reports the end of the pipe.
func HungUp(*os.File) bool { return false }

// Writable is not known here.
func Writable(*os.File) bool { return false }
